// Any bytes as datagrams for the parser of parity and the rebuilder: each begins with two bytes of
// length. What is read is written again as the same bytes, and what is rebuilt is a packet of the
// connection that its parity named.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "datapath/fec/parity_packet.h"
#include "datapath/fec/rebuilder.h"
#include "transport/packet_identity.h"

namespace {

namespace dp = heddle::datapath;

constexpr size_t kMost = 512;

void check_same(std::span<const std::byte> datagram, const dp::Parity& parity) {
  std::vector<std::byte> again(datagram.size());
  const size_t header = dp::write_parity_header(parity, again);
  std::ranges::copy(parity.body, again.begin() + static_cast<ptrdiff_t>(header));
  if (header + parity.body.size() != datagram.size() || !std::ranges::equal(again, datagram)) {
    __builtin_trap();
  }
  for (uint32_t i = 0; i < parity.list.members; ++i) {
    const auto found = parity.list.find(parity.list.at(i));
    if (!found || *found > i) __builtin_trap();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::span<const std::byte> left(reinterpret_cast<const std::byte*>(data), size);
  dp::Rebuilder rebuilder(kMost);
  heddle::Nanos now = heddle::seconds(1);
  while (left.size() >= 2) {
    uint16_t length = 0;
    std::memcpy(&length, left.data(), sizeof length);
    left = left.subspan(2);
    const auto datagram = left.first(std::min<size_t>(length, left.size()));
    left = left.subspan(datagram.size());
    now = now + heddle::micros(100);
    if (const auto parity = dp::read_parity(datagram)) {
      check_same(datagram, *parity);
      rebuilder.handle(now, *parity, {});
    } else if (const auto port = dp::read_announcement(datagram)) {
      if (dp::read_announcement(dp::write_announcement(*port)) != port) __builtin_trap();
    } else if (const auto packet = heddle::transport::identify_packet(datagram)) {
      rebuilder.remember(now, *packet, datagram);
    }
    heddle::transport::RxRun run;
    while (rebuilder.take(run)) {
      if (run.segment_bytes > kMost ||
          !heddle::transport::identify_packet({run.frame, run.segment_bytes})) {
        __builtin_trap();
      }
    }
    rebuilder.release();
  }
  return 0;
}
