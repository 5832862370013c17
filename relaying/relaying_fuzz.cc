// Any bytes as a frame of a relayed session: each is read or refused, and what is read is written
// again as the same bytes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "relaying/frame.h"
#include "relaying/params.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto frame = heddle::relaying::read_frame(bytes);
  if (!frame) return 0;
  std::vector<std::byte> again(size + heddle::relaying::params::kFrameBytes);
  const size_t length = heddle::relaying::write_frame(again, *frame);
  if (length != size || !std::ranges::equal(bytes, std::span(again).first(length))) {
    __builtin_trap();
  }
  return 0;
}
