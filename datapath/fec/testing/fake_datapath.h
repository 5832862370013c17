// FakeDatapath: one of two datapaths in memory that send to each other, for tests of the datapath
// around them: a clock that the test moves, datagrams that it drops, bursts that it refuses.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "datapath/datapath.h"
#include "datapath/fec/testing/packets.h"
#include "datapath/regions.h"
#include "transport/packet_key.h"

namespace heddle::datapath {

class FakeDatapath final : public Datapath {
 public:
  explicit FakeDatapath(uint8_t host, uint32_t max_datagram_bytes = 1472) {
    address_.host[15] = host;
    address_.port = 4791;
    capabilities_.max_datagram_bytes = max_datagram_bytes;
    capabilities_.max_paths = 8;
    capabilities_.predicts = true;
    capabilities_.receive_capacity = mebibytes(4);
  }

  void set_peer(FakeDatapath& peer) { peer_ = &peer; }

  // --- what a test changes and looks at ---
  Nanos clock = seconds(1);
  bool coalesces = false;  // receive() joins datagrams of one size
  uint8_t from_host = 0;   // receive() says that they come from; 0: from the peer
  uint32_t refuses = 0;    // this many further bursts
  std::function<bool(const Packet&)> drops;
  std::vector<Packet> sent;  // and not dropped
  size_t transmit_calls = 0;
  Nanos waited_until;

  const Capabilities& capabilities() const override { return capabilities_; }
  transport::Address local_address() const override { return address_; }
  Nanos now() override { return clock; }

  size_t transmit(std::span<const transport::TxBurst> bursts) override {
    ++transmit_calls;
    for (size_t i = 0; i < bursts.size(); ++i) {
      if (refuses > 0) {
        --refuses;
        return i;
      }
      for (uint32_t s = 0; s < bursts[i].segments; ++s) put(packet_of(bursts[i], s));
    }
    return bursts.size();
  }

  size_t receive(RxBatch& batch, const transport::Prediction* prediction) override {
    CHECK(prediction == nullptr && !lent_);
    batch.count = batch.event_count = 0;
    frames_.clear();
    while (!inbox.empty() && batch.count < batch.runs.size()) take_run(batch.runs[batch.count++]);
    lent_ = batch.count > 0;
    return batch.count;
  }
  void release(RxBatch& batch) override {
    CHECK(lent_);
    lent_ = false;
    batch.count = 0;
  }
  void place(std::span<const transport::Placement> placements) override {
    regions_.place(placements);
  }
  void wait(Nanos until) override { waited_until = until; }
  void wake() override {}
  Result<transport::RegionId> register_memory(void* start, size_t bytes) override {
    return regions_.add_host(start, bytes);
  }
  void unregister_memory(transport::RegionId region) override { regions_.remove(region); }
  bool poll_error(transport::NetworkError& error) override {
    if (errors.empty()) return false;
    error = errors.front();
    errors.pop_front();
    return true;
  }
  const DatapathStatistics& statistics() const override { return statistics_; }

  std::deque<Packet> inbox;
  std::deque<transport::NetworkError> errors;

 private:
  Packet packet_of(const transport::TxBurst& burst, uint32_t segment) const {
    const std::span<const std::byte> header(burst.headers + size_t{segment} * burst.header_bytes,
                                            burst.header_bytes);
    const bool last = segment + 1u == burst.segments;
    const uint32_t bytes = last ? burst.last_payload_bytes : burst.payload_bytes;
    const std::byte* payload =
        bytes == 0
            ? nullptr
            : regions_.resolve(
                  {burst.region, burst.offset + uint64_t{segment} * burst.payload_bytes, bytes});
    Packet packet(header.begin(), header.end());
    if (burst.key != nullptr) {
      packet.resize(header.size() + bytes + transport::kTagBytes);
      transport::encrypt_segment(*burst.key, header, {payload, bytes}, packet.data());
    } else {
      packet.insert(packet.end(), payload, payload + bytes);
    }
    return packet;
  }

  // Its frame is no longer than its datagrams, so that a sanitizer sees who leaves it.
  void take_run(transport::RxRun& run) {
    run = {};
    run.from = peer_->address_;
    if (from_host != 0) run.from.host[15] = from_host;
    run.received_at = clock;
    run.segment_bytes = static_cast<uint32_t>(inbox.front().size());
    Packet joined;
    do {
      run.last_segment_bytes = static_cast<uint32_t>(inbox.front().size());
      joined.insert(joined.end(), inbox.front().begin(), inbox.front().end());
      ++run.segments;
      inbox.pop_front();
    } while (coalesces && !inbox.empty() && run.segments < transport::kMaxBurstSegments &&
             run.last_segment_bytes == run.segment_bytes &&
             inbox.front().size() <= run.segment_bytes);
    frames_.push_back(std::make_unique_for_overwrite<std::byte[]>(joined.size()));
    std::ranges::copy(joined, frames_.back().get());
    run.frame = frames_.back().get();
  }

  void put(Packet packet) {
    if (drops && drops(packet)) return;
    sent.push_back(packet);
    peer_->inbox.push_back(std::move(packet));
  }

  Capabilities capabilities_;
  transport::Address address_;
  FakeDatapath* peer_ = nullptr;
  RegionTable regions_;
  std::vector<std::unique_ptr<std::byte[]>> frames_;
  bool lent_ = false;
  DatapathStatistics statistics_;
};

}  // namespace heddle::datapath
