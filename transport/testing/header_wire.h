// HeaderWire: two endpoints joined in memory on virtual time by a link of a rate, a delay and loss
// that carries headers only. Payload is never read or written, so what a run of it costs is the
// transport's work (and the copy of each header). One side streams messages of one size to the
// other, which keeps receives posted. For benchmarks and tests of the steady state.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/random.h"
#include "base/ring.h"
#include "base/units.h"
#include "transport/endpoint.h"

namespace heddle::transport::testing {

struct HeaderWireOptions {
  EndpointOptions endpoint;
  uint32_t message_bytes = 1 << 20;
  uint32_t outstanding = 16;              // messages posted at a time, on each side
  uint32_t coalesce = kMaxBurstSegments;  // segments of a burst that arrive as one run, at most
  BitsPerSec rate = gigabits_per_s(100);
  Nanos delay = micros(10);       // one way
  uint32_t loss_per_million = 0;  // of data segments
  uint64_t seed = 1;
  std::array<events::Sink*, 2> sinks{};
  void (*watch)(bool inside) = nullptr;  // called before and after calls of an endpoint
};

class HeaderWire {
 public:
  explicit HeaderWire(const HeaderWireOptions& options);
  ~HeaderWire();

  // Streams until side 0 has sent `count` more data segments.
  void run_segments(uint64_t count);
  void set_loss(uint32_t per_million) { options_.loss_per_million = per_million; }

  Endpoint& operator[](size_t side) { return *sides_[side].endpoint; }
  const ConnectionStatistics& statistics(size_t side) const;
  uint64_t segments_sent() const { return segments_sent_; }
  uint64_t bursts_sent() const { return bursts_sent_; }    // with data
  uint64_t control_sent() const { return control_sent_; }  // packets, in both directions
  uint64_t messages_completed() const { return messages_completed_; }
  Nanos now() const { return now_; }

 private:
  struct Arrival {
    Nanos at;
    RxRun run;
    uint32_t frame = 0;
  };
  struct Side {
    std::unique_ptr<Endpoint> endpoint;
    ConnectionId connection = 0;
    Ring<Arrival> arrivals;
    Nanos link_free_at;  // of the link towards this side
  };

  static Address address(size_t side);
  void connect();
  void post(size_t side);
  void turn(size_t side);
  void take_results(size_t side);
  void transmit(size_t from, const TxBurst& burst);
  void deliver(size_t to, const RxRun& run, uint32_t frame, uint64_t bytes);
  uint32_t lend_frame();
  std::byte* frame(uint32_t index) { return frames_[index].get(); }
  void advance();
  void watch(bool inside) const {
    if (options_.watch != nullptr) options_.watch(inside);
  }

  HeaderWireOptions options_;
  Random random_;
  Nanos now_ = seconds(1);
  std::array<Side, 2> sides_;
  std::unique_ptr<TxBatch> batch_;
  std::vector<std::unique_ptr<std::byte[]>> frames_;
  std::vector<uint32_t> free_frames_;
  uint64_t segments_sent_ = 0;
  uint64_t bursts_sent_ = 0;
  uint64_t control_sent_ = 0;
  uint64_t messages_completed_ = 0;
};

}  // namespace heddle::transport::testing
