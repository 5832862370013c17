// Pair: two endpoints with a network of delay and loss between them, on virtual time, in one test. It moves real
// bytes. Faults beyond loss, and fabrics, are the simulator's; this is for tests of the transport alone.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "base/random.h"
#include "transport/endpoint.h"

namespace heddle::transport::testing {

struct PairOptions {
  EndpointOptions endpoint;
  Nanos delay = micros(20);          // one way
  uint32_t loss_per_million = 0;
  uint64_t seed = 1;
  uint32_t coalesce = 64;            // segments of one burst that arrive as one run, at most
  std::function<bool(int side, const TxBurst& burst, uint32_t segment)> drop;  // more loss, by choice
};

class Pair {
 public:
  explicit Pair(PairOptions options);

  Endpoint& operator[](int side) { return *endpoints_[static_cast<size_t>(side)]; }
  Nanos now() const { return now_; }
  Address address(int side) const;

  // Bytes of this side that payload can name; region 0 of each side is its eager memory.
  RegionId add_region(int side, size_t bytes);
  std::vector<std::byte>& region(int side, RegionId id) {
    return regions_[static_cast<size_t>(side)][id];
  }

  // Runs until `done` says so, or until `limit` of virtual time has passed; true: done.
  bool run_until(const std::function<bool()>& done, Nanos limit);
  void run_for(Nanos span);
  // This side gets no turn while paused; what arrives waits.
  void pause(int side, bool paused) { paused_[static_cast<size_t>(side)] = paused; }

  std::vector<Completion> completions[2];
  std::vector<Notice> notices[2];
  uint64_t datagrams = 0;

 private:
  struct Arrival {
    int side = 0;
    Address from;
    std::vector<std::byte> frame;
    uint32_t segments = 0;
    uint32_t segment_bytes = 0;
    uint32_t last_bytes = 0;
  };

  bool turn(int side);
  void send(int side, const TxBurst& burst);
  void settle(int side);
  Nanos next_time() const;

  PairOptions options_;
  Random random_;
  Nanos now_ = seconds(1);
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
  std::vector<std::vector<std::byte>> regions_[2];
  std::multimap<Nanos, Arrival> arrivals_;
  bool paused_[2] = {false, false};
};

}  // namespace heddle::transport::testing
