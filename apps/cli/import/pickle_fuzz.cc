// Whatever stands in a pickle, reading it ends, runs nothing, and the dump in it is read or
// refused.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "apps/cli/import/flight_recorder.h"
#include "apps/cli/import/pickle.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto document = heddle::cli::read_pickle(bytes, "frames");
  if (!document) return 0;
  if (!heddle::cli::looks_like_flight_recorder(*document)) return 0;
  const auto process = heddle::cli::read_flight_recorder(*document, "nccl_trace_rank_1");
  return process && process->calls.size() > size ? 1 : 0;
}
