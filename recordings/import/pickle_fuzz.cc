// Reading any bytes as a pickle ends and runs nothing; the dump in it is read or refused.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "recordings/import/flight_recorder.h"
#include "recordings/import/pickle.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto document = heddle::recordings::read_pickle(bytes, "frames");
  if (!document) return 0;
  if (!heddle::recordings::looks_like_flight_recorder(*document)) return 0;
  const auto process = heddle::recordings::read_flight_recorder(*document, "nccl_trace_rank_1");
  return process && process->calls.size() > size ? 1 : 0;
}
