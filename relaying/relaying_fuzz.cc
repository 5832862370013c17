// Any bytes as a frame of a relayed session: each is read or refused, and what is read is written
// again as the same bytes. A refusal's texts are made printable when they are read: what is written
// of them is then what is read of them.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/printable.h"
#include "base/result.h"
#include "relaying/frame.h"
#include "relaying/params.h"

namespace {

bool is_printable(const heddle::Error& error) {
  return std::ranges::all_of(std::array{error.what, error.why, error.todo},
                             [](const auto& text) { return heddle::printable(text) == text; });
}

bool is_same(const heddle::Error& a, const heddle::Error& b) {
  return a.code == b.code && a.what == b.what && a.why == b.why && a.todo == b.todo;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto frame = heddle::relaying::read_frame(bytes);
  if (!frame) return 0;
  std::vector<std::byte> again(size + heddle::relaying::params::kFrameBytes);
  const auto written = std::span(again).first(heddle::relaying::write_frame(again, *frame));
  if (frame->kind != heddle::relaying::FrameKind::kRefuse) {
    if (!std::ranges::equal(bytes, written)) __builtin_trap();
    return 0;
  }
  const auto second = heddle::relaying::read_frame(written);
  if (!second || !is_printable(frame->error) || !is_same(frame->error, second->error)) {
    __builtin_trap();
  }
  return 0;
}
