// Any bytes as a capture: reading ends, and what was counted is bounded by what was read. The first
// byte says what the rest is: a file, or packets of a link type, each after two bytes of length.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <span>
#include <vector>

#include "base/check.h"
#include "recordings/capture/datagram.h"
#include "recordings/capture/heddle_flows.h"
#include "recordings/capture/roce_flows.h"
#include "recordings/capture/stream.h"

namespace heddle::recordings {
namespace {

void check(const CaptureSizes& sizes) {
  for (const TrafficClass& each : sizes.classes) {
    CHECK(each.packet_sizes.count() <= each.packets);
    CHECK(each.messages == each.packets_of_message.count());
    CHECK(each.messages <= each.message_sizes.count());
    CHECK(each.message_sizes.count() <= each.messages + each.messages_not_known);
    CHECK(each.packets_of_message.total() <= sizes.roce.packets + sizes.heddle.packets);
    CHECK(each.last >= each.first);
    CHECK(each.late_packets <= each.packets);
  }
}

void fuzz_file(std::span<const uint8_t> bytes) {
  if (bytes.empty()) return;
  std::vector<uint8_t> copy(bytes.begin(), bytes.end());
  std::FILE* const file = fmemopen(copy.data(), copy.size(), "r");
  if (file == nullptr) return;
  const auto sizes = read_capture_stream(file, "fuzzed", CaptureOptions{});
  if (!sizes) return;
  CHECK(sizes->packets <= bytes.size());
  check(*sizes);
}

void fuzz_packets(LinkType link, std::span<const std::byte> bytes) {
  RoceFlows roce;
  HeddleFlows heddle({18'700});
  int64_t at = 0;
  while (bytes.size() > 2) {
    const size_t length = static_cast<size_t>(bytes[0]) | static_cast<size_t>(bytes[1]) << 8;
    bytes = bytes.subspan(2);
    const auto frame = bytes.first(std::min(length, bytes.size()));
    bytes = bytes.subspan(frame.size());
    const FrameContents contents = read_frame(link, frame);
    if (!contents.datagram) continue;
    CHECK(contents.datagram->payload.size() <= contents.datagram->payload_bytes);
    roce.add(nanos(at), *contents.datagram);
    heddle.add(nanos(at++), *contents.datagram);
  }
  CaptureSizes sizes;
  roce.finish(sizes);
  heddle.finish(sizes);
  check(sizes);
}

}  // namespace
}  // namespace heddle::recordings

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using heddle::recordings::LinkType;
  if (size == 0) return 0;
  constexpr LinkType kLinks[] = {LinkType::kEthernet, LinkType::kRawIp, LinkType::kCooked,
                                 LinkType::kCooked2, LinkType::kNull};
  const std::span<const uint8_t> rest(data + 1, size - 1);
  const size_t which = data[0] % (std::size(kLinks) + 1);
  if (which == std::size(kLinks)) {
    heddle::recordings::fuzz_file(rest);
  } else {
    heddle::recordings::fuzz_packets(kLinks[which], std::as_bytes(rest));
  }
  return 0;
}
