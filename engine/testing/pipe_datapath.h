// PipeDatapath: two datapaths joined inside one process, for engine tests with real threads and the
// real clock. It loses nothing, except while `cut`; faults are the simulator's task.
#pragma once

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/descriptor.h"
#include "datapath/datapath.h"
#include "datapath/regions.h"

namespace heddle::engine {

class PipeDatapath final : public datapath::Datapath {
 public:
  using Pair = std::pair<std::shared_ptr<PipeDatapath>, std::shared_ptr<PipeDatapath>>;

  static Pair make_pair() {
    auto wire = std::make_shared<Wire>();
    return {std::make_shared<PipeDatapath>(wire, 0), std::make_shared<PipeDatapath>(wire, 1)};
  }

  struct Datagram {
    std::vector<std::byte> bytes;
  };

  // State shared by both ends.
  struct Wire {
    std::mutex mutex;
    std::deque<Datagram> queue[2];  // towards end 0 and 1
    // One per end: signaled when data arrives, when the queue has room again, or by wake().
    std::array<Descriptor, 2> bell = {Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
                                      Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))};
    bool cut = false;
    size_t limit = 256;  // datagrams per queue; further ones are refused
  };

  PipeDatapath(std::shared_ptr<Wire> wire, int end) : wire_(std::move(wire)), end_(end) {
    capabilities_.max_datagram_bytes = 9000;
    capabilities_.max_paths = 16;
    capabilities_.max_burst_segments = 1;
    capabilities_.receive_capacity = Bytes{256 * 9000};
  }

  // While cut, all datagrams in both directions are lost.
  void set_cut(bool cut) {
    const std::lock_guard lock(wire_->mutex);
    wire_->cut = cut;
  }

  // Sets the number of datagrams per queue; a burst that does not fit is refused.
  void set_limit(size_t limit) {
    const std::lock_guard lock(wire_->mutex);
    wire_->limit = limit;
  }

  // Each receive returns one datagram and reports that it filled a predicted place.
  void set_fills_places() { fills_places_ = true; }

  // Advertises that it takes predictions, though it places nothing; call it before endpoints are
  // made.
  void set_predicts() { capabilities_.predicts = true; }
  // The place that the last receive's prediction named; kNoRegion: there was no prediction.
  transport::Payload predicted() const { return predicted_; }

  static transport::Address address_of(int end) {
    transport::Address address;
    address.port = static_cast<uint16_t>(1000 + end);
    return address;
  }
  transport::Address peer_address() const { return address_of(1 - end_); }

  const datapath::Capabilities& capabilities() const override { return capabilities_; }
  transport::Address local_address() const override { return address_of(end_); }

  Nanos now() override {
    return nanos(std::chrono::duration_cast<std::chrono::nanoseconds>(
                     std::chrono::steady_clock::now().time_since_epoch())
                     .count());
  }

  size_t transmit(std::span<const transport::TxBurst> bursts) override {
    const std::lock_guard lock(wire_->mutex);
    ++statistics_.transmit_calls;
    std::deque<Datagram>& queue = wire_->queue[1 - end_];
    for (size_t i = 0; i < bursts.size(); ++i) {
      if (queue.size() + bursts[i].segments > wire_->limit) {
        ++statistics_.transmit_refused;
        return i;
      }
      statistics_.datagrams_sent += bursts[i].segments;
      if (!wire_->cut) cut_into(queue, bursts[i]);
    }
    ring(1 - end_);
    return bursts.size();
  }

  size_t receive(datapath::RxBatch& batch, const transport::Prediction* prediction) override {
    CHECK((prediction == nullptr || capabilities_.predicts) && lent_.empty());
    predicted_ = prediction != nullptr ? prediction->place : transport::Payload{};
    const std::lock_guard lock(wire_->mutex);
    ++statistics_.receive_calls;
    std::deque<Datagram>& queue = wire_->queue[end_];
    batch.count = 0;
    const size_t most = fills_places_ ? 1 : datapath::RxBatch::kMaxRuns;
    batch.place_filled = fills_places_ && !queue.empty();
    while (batch.count < most && !queue.empty()) {
      lent_.push_back(std::move(queue.front()));
      queue.pop_front();
      Datagram& datagram = lent_.back();
      transport::RxRun& run = batch.runs[batch.count++];
      run = {};
      run.from = peer_address();
      run.received_at = now();
      run.segments = 1;
      run.segment_bytes = run.last_segment_bytes = static_cast<uint32_t>(datagram.bytes.size());
      while (capabilities_.predicts && run.segments < 8 && !queue.empty() &&
             queue.front().bytes.size() == run.segment_bytes) {
        const std::vector<std::byte>& next = queue.front().bytes;
        datagram.bytes.insert(datagram.bytes.end(), next.begin(), next.end());
        queue.pop_front();
        ++run.segments;
      }
      run.frame = datagram.bytes.data();
    }
    for (size_t i = 0; i < batch.count; ++i) {
      statistics_.datagrams_received += batch.runs[i].segments;
    }
    if (batch.count > 0) ring(1 - end_);
    return batch.count;
  }

  void release(datapath::RxBatch& batch) override {
    batch.count = 0;
    lent_.clear();
  }

  void place(std::span<const transport::Placement> placements) override {
    regions_.place(placements);
  }

  void wait(Nanos until) override {
    const Nanos longest = std::min(until, now() + seconds(1)) - now();
    if (longest.count > 0 && !something_came()) {
      pollfd bell = {.fd = wake_descriptor(), .events = POLLIN};
      const timespec time = {longest.count / 1'000'000'000, longest.count % 1'000'000'000};
      ppoll(&bell, 1, &time, nullptr);
    }
    uint64_t rung = 0;
    const ssize_t taken = read(wake_descriptor(), &rung, sizeof rung);
    static_cast<void>(taken);
  }

  void wake() override { ring(end_); }
  int wake_descriptor() const override { return wire_->bell[static_cast<size_t>(end_)].number(); }

  Result<transport::RegionId> register_memory(void* start, size_t bytes) override {
    return regions_.add_host(start, bytes);
  }
  void unregister_memory(transport::RegionId region) override { regions_.remove(region); }
  bool poll_error(transport::NetworkError&) override { return false; }
  const datapath::DatapathStatistics& statistics() const override { return statistics_; }

 private:
  void ring(int end) {
    const uint64_t one = 1;
    const ssize_t written = write(wire_->bell[static_cast<size_t>(end)].number(), &one, sizeof one);
    static_cast<void>(written);
  }
  bool something_came() {
    const std::lock_guard lock(wire_->mutex);
    return !wire_->queue[end_].empty();
  }
  void cut_into(std::deque<Datagram>& queue, const transport::TxBurst& burst) {
    uint64_t offset = burst.offset;
    for (uint32_t i = 0; i < burst.segments; ++i) {
      const bool last = i + 1U == burst.segments;
      const uint32_t payload_bytes = last ? burst.last_payload_bytes : burst.payload_bytes;
      const std::byte* header = burst.headers + size_t{i} * burst.header_bytes;
      Datagram datagram;
      const std::byte* payload =
          payload_bytes > 0 ? regions_.resolve({burst.region, offset, payload_bytes}) : nullptr;
      if (burst.key != nullptr) {
        datagram.bytes.resize(burst.header_bytes + payload_bytes + transport::kTagBytes);
        transport::encrypt_segment(*burst.key, {header, burst.header_bytes},
                                   {payload, payload_bytes}, datagram.bytes.data());
      } else {
        datagram.bytes.assign(header, header + burst.header_bytes);
        datagram.bytes.insert(datagram.bytes.end(), payload, payload + payload_bytes);
      }
      offset += payload_bytes;
      queue.push_back(std::move(datagram));
    }
  }

  const std::shared_ptr<Wire> wire_;
  const int end_;
  bool fills_places_ = false;
  transport::Payload predicted_;
  datapath::Capabilities capabilities_;
  datapath::DatapathStatistics statistics_;
  datapath::RegionTable regions_;
  std::deque<Datagram> lent_;
};

}  // namespace heddle::engine
