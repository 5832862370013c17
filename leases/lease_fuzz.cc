// Fuzzer: any text from a store is read as a lease or refused, and what is read is written and read
// again alike.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "leases/lease.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace heddle;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const Result<leases::Lease> lease = leases::parse_lease(text, "fuzz");
  if (!lease) return 0;
  CHECK(leases::check_job_name(lease->job).has_value());
  const Result<leases::Lease> again = leases::parse_lease(leases::text_of(*lease), "again");
  CHECK(again.has_value());
  CHECK(again->loads == lease->loads && again->bytes == lease->bytes);
  return 0;
}
