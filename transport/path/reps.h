// Reps: sends on the paths whose packets were delivered, as many bytes as were delivered ("REPS:
// Recycled Entropy Packet Spraying", Bonato et al., 2024). So each link is used in proportion to
// what it delivers, without knowledge of which paths share a link. Marked and lost bursts are not
// recycled.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "transport/params.h"
#include "transport/path/selector.h"
#include "transport/path/two_choices.h"

namespace heddle::transport {

class Reps final : public Selector {
 public:
  // The next two paths in turn that have bytes to recycle: the one with the lower latest round
  // trip. Where there are none TwoChoices finds a path, and now and then an idle path that promises
  // less delay takes the place of the recycled one.
  uint32_t select(const UsablePaths& usable, Random& random) override;
  void on_sent(uint16_t path, Bytes sent) override;
  void on_ack(uint16_t path, const PathSample& sample, Bytes acked) override;

 private:
  // Paths remembered, each in a place of its own where there are no more; a new one takes the place
  // of an old one.
  static constexpr uint32_t kMost = params::reps::kMost;
  static constexpr uint16_t kNoPath = UINT16_MAX;

  // Bytes acknowledged less bytes sent since, in units; below zero: more were sent.
  struct Balance {
    uint16_t path = kNoPath;
    int16_t units = 0;
  };

  uint32_t find(uint16_t path) const;
  uint32_t next_recyclable(const UsablePaths& usable);
  void set(uint32_t at, int32_t units);

  TwoChoices explore_;
  std::array<Balance, kMost> balances_{};
  uint32_t recyclable_ = 0;  // bit i: balances_[i] is above zero
  uint8_t next_ = 0;         // whose turn it is
  uint8_t selected_ = 0;     // the balance recycled last: mostly the one that on_sent() needs
};

std::unique_ptr<Selector> make_reps();

}  // namespace heddle::transport
