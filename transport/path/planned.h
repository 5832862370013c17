// Planned: the selector `plan`. It gives each path the share of the payload that a plan sets, as
// far as these paths are usable, and less while its queue is longer than the others'. Without
// shares, and while no path with a share works, it is REPS.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "transport/path/selector.h"

namespace heddle::transport {

class Planned final : public Selector {
 public:
  Planned();

  uint32_t select(const UsablePaths& usable, Random& random) override;
  void on_sent(uint16_t path, Bytes sent) override;
  void on_ack(uint16_t path, const PathSample& sample, Bytes acked) override;
  void set_shares(std::span<const PlannedShare> shares) override;

 private:
  struct Turn {
    uint16_t path = 0;
    uint32_t share_per_million = 0;
    // Bytes sent, divided by the share: the path with the least is next.
    double sent = 0;
    Nanos shortest_rtt = Nanos::never();  // since the shares were set

    double queued_bytes(const PathSample& sample) const;
    double of_share(double bytes) const { return bytes * 1e6 / share_per_million; }
  };

  std::vector<Turn> turns_;
  std::unique_ptr<Selector> adaptive_;
};

std::unique_ptr<Selector> make_planned();

}  // namespace heddle::transport
