// Fuzzes the parser of received frames: every access stays inside, what it accepts lies inside the
// frame, and a datagram that is built from what was parsed is parsed to the same. The first byte
// chooses how much of the frame is in its first buffer.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/check.h"
#include "datapath/xdp/frame.h"

namespace heddle::datapath {
namespace {

constexpr uint16_t kPort = 0x12b7;  // 4791, as in the corpus

void rebuild(const ParsedFrame& parsed, std::span<const std::byte> payload) {
  transport::Address to = parsed.from;
  to.port = kPort;
  const FrameTemplate frame = make_frame_template({}, parsed.from, to);
  std::vector<std::byte> built(frame.header_bytes + payload.size());
  ChecksumSum sum;
  sum.add(payload);
  write_frame_headers(frame,
                      {.from_port = parsed.from.port,
                       .to_port = kPort,
                       .traffic_class = static_cast<uint8_t>(parsed.ecn),
                       .payload_bytes = static_cast<uint32_t>(payload.size())},
                      sum, built.data());
  std::copy(payload.begin(), payload.end(), built.begin() + frame.header_bytes);
  ParsedFrame again;
  CHECK(parse_frame(built, static_cast<uint32_t>(built.size()), kPort, parsed.from.scope, again) ==
        FrameFault::kNone);
  CHECK(again.from == parsed.from && again.ecn == parsed.ecn);
  CHECK(again.payload_bytes == payload.size());
  ChecksumSum complete = again.header_sum;
  complete.add(std::span(built).subspan(again.payload_at));
  CHECK(again.checked || ParsedFrame::holds(complete));
}

}  // namespace
}  // namespace heddle::datapath

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace heddle::datapath;
  if (size < 1) return 0;
  // A copy of its own size, so that the address sanitizer sees every access behind it.
  const std::vector<std::byte> frame(reinterpret_cast<const std::byte*>(data) + 1,
                                     reinterpret_cast<const std::byte*>(data) + size);
  const size_t first = std::min<size_t>(frame.size(), kMaxFrameHeaderBytes + data[0]);
  const std::vector<std::byte> start(frame.begin(), frame.begin() + static_cast<ptrdiff_t>(first));
  ParsedFrame parsed;
  const auto bytes = static_cast<uint32_t>(frame.size());
  if (parse_frame(start, bytes, kPort, 3, parsed) != FrameFault::kNone) return 0;
  CHECK(parsed.payload_bytes > 0 && parsed.payload_at <= kMaxFrameHeaderBytes);
  CHECK(parsed.payload_at + parsed.payload_bytes <= bytes);
  if (parsed.payload_bytes <= 65'000) {
    rebuild(parsed, std::span(frame).subspan(parsed.payload_at, parsed.payload_bytes));
  }
  return 0;
}
