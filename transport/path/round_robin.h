// RoundRobin: every usable path in turn, without measurements, as in packet spraying; the baseline
// for adaptive selectors.
#pragma once

#include <cstdint>
#include <memory>

#include "transport/path/selector.h"

namespace heddle::transport {

class RoundRobin final : public Selector {
 public:
  // The usable path with the next higher number than the last, whatever the order of `usable`; so a
  // path that comes or goes does not change whose turn it is.
  uint32_t select(const UsablePaths& usable, Random& random) override;
  void on_ack(uint16_t path, const PathSample& sample, Bytes acked) override;

 private:
  uint16_t last_ = UINT16_MAX;
};

std::unique_ptr<Selector> make_round_robin();

}  // namespace heddle::transport
