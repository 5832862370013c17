// Any datagrams, in runs as a network with GRO joins them, through FecDatapath::receive() into one
// batch that is never cleared: what its caller sees are the datagrams as they came, in their order
// and within their frames, but for those that a peer that takes part may have sent; then what was
// rebuilt. Each datagram begins with two bytes of length, whose upper bit says that it is of a
// stranger.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "datapath/fec/fec_datapath.h"
#include "datapath/fec/parity_packet.h"
#include "datapath/fec/testing/fake_datapath.h"

namespace {

namespace dp = heddle::datapath;

constexpr uint8_t kPeer = 2;
constexpr uint8_t kStranger = 9;
constexpr uint16_t kOfStranger = 0x8000;
constexpr size_t kMostAtOnce = 48;  // fewer than runs in a batch

// The datapath under test and the network below it, both sides known to each other.
class Side {
 public:
  Side() : peer_(kPeer) {
    auto wire = std::make_unique<dp::FakeDatapath>(uint8_t{1});
    wire_ = wire.get();
    wire_->set_peer(peer_);
    peer_.set_peer(*wire_);
    wire_->coalesces = true;
    datapath_ = *dp::with_fec(std::move(wire), {4, 2});
    const dp::Packet header = dp::data_packet(0, 1, heddle::transport::kDataHeaderBytes);
    heddle::transport::TxBurst burst;
    burst.to = peer_.local_address();
    burst.connection = 1;
    burst.segments = 1;
    burst.header_bytes = heddle::transport::kDataHeaderBytes;
    burst.headers = header.data();
    datapath_->transmit({&burst, 1});
    const auto announcement = dp::write_announcement(peer_.local_address().port);
    receive({{announcement.begin(), announcement.end()}}, kPeer);
  }

  void receive(const std::vector<dp::Packet>& datagrams, uint8_t from) {
    wire_->from_host = from;
    wire_->inbox.assign(datagrams.begin(), datagrams.end());
    wire_->clock = wire_->clock + heddle::micros(100);
    datapath_->receive(batch_, nullptr);
    if (!wire_->inbox.empty()) __builtin_trap();
    check(datagrams, from);
    datapath_->release(batch_);
  }

 private:
  void check(const std::vector<dp::Packet>& datagrams, uint8_t from) const {
    size_t next = 0;
    for (size_t i = 0; i < batch_.count; ++i) {
      const heddle::transport::RxRun& run = batch_.runs[i];
      if (run.segments == 0 || run.trimmed || run.opened) __builtin_trap();
      for (uint32_t s = 0; s < run.segments; ++s) {
        const bool last = s + 1 == run.segments;
        const std::span<const std::byte> seen(run.frame + size_t{s} * run.step(),
                                              last ? run.last_segment_bytes : run.segment_bytes);
        while (next < datagrams.size() && !std::ranges::equal(seen, datagrams[next])) {
          check_removed(datagrams[next++], from);
        }
        if (next < datagrams.size()) {
          ++next;
        } else if (!heddle::transport::identify_packet(seen)) {
          __builtin_trap();  // neither one that came nor rebuilt
        }
      }
    }
    while (next < datagrams.size()) check_removed(datagrams[next++], from);
  }

  static void check_removed(const dp::Packet& datagram, uint8_t from) {
    if (from != kPeer || datagram[0] != heddle::transport::kParityFirstByte) __builtin_trap();
  }

  dp::FakeDatapath peer_;
  dp::FakeDatapath* wire_ = nullptr;
  std::unique_ptr<dp::Datapath> datapath_;
  dp::RxBatch batch_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::span<const std::byte> left(reinterpret_cast<const std::byte*>(data), size);
  Side side;
  std::vector<dp::Packet> datagrams;
  uint8_t from = kPeer;
  while (left.size() > 2) {
    uint16_t length = 0;
    std::memcpy(&length, left.data(), sizeof length);
    left = left.subspan(2);
    const uint8_t sender = (length & kOfStranger) != 0 ? kStranger : kPeer;
    length = std::max<uint16_t>(length & (kOfStranger - 1), 1);
    const auto datagram = left.first(std::min<size_t>(length, left.size()));
    left = left.subspan(datagram.size());
    if (sender != from || datagrams.size() == kMostAtOnce) {
      side.receive(datagrams, from);
      datagrams.clear();
    }
    from = sender;
    datagrams.emplace_back(datagram.begin(), datagram.end());
  }
  side.receive(datagrams, from);
  return 0;
}
