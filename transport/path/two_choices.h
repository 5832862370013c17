// TwoChoices: takes two paths at random for each burst and sends on the better of them (the power
// of two choices, Mitzenmacher 2001; as UCCL uses it). Almost as good as the best of all, at a
// fraction of its cost, and unlike the best of all it does not drive every sender onto the same
// path at once.
#pragma once

#include <cstdint>
#include <memory>

#include "transport/path/selector.h"

namespace heddle::transport {

class TwoChoices final : public Selector {
 public:
  // A path that was never measured and has nothing in flight comes first; such paths are looked for
  // until there are none, then now and then, since paths return. Of the two drawn the one with the
  // clearly lower expected delay wins; then one without marks; then the one with less in flight.
  // Where the measure of one is stale and nothing is in flight on it, only what is in flight
  // counts: so a slow path gets a burst now and then, and is noticed when it recovers.
  uint32_t select(const UsablePaths& usable, Random& random) override;
  void on_ack(uint16_t path, const PathSample& sample, Bytes acked) override;

 private:
  uint32_t selects_till_search_ = 0;
};

std::unique_ptr<Selector> make_two_choices();

}  // namespace heddle::transport
