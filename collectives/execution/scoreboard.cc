// Scoreboard: see scoreboard.h.
#include "collectives/execution/scoreboard.h"

#include <bit>

#include "base/check.h"

namespace heddle::collectives {
namespace {

bool conflict(const Scoreboard::Demand& earlier, const Scoreboard::Demand& later) {
  return earlier.written.overlaps(later.read) || earlier.written.overlaps(later.written) ||
         earlier.read.overlaps(later.written);
}

}  // namespace

uint32_t Scoreboard::admit(const Demand& demand) {
  CHECK(!full());
  const auto slot = static_cast<uint32_t>(std::countr_one(live_));
  uint32_t hazards = 0;
  uint32_t unposted = 0;
  uint32_t answered = 0;
  for (uint32_t rest = live_; rest != 0; rest &= rest - 1) {
    const auto other = static_cast<uint32_t>(std::countr_zero(rest));
    const uint32_t bit = 1U << other;
    if (conflict(demands_[other], demand)) (demand.answers ? answered : hazards) |= bit;
    const bool same = demand.stream != kNoStream && demands_[other].stream == demand.stream;
    if (same && (posted_ & bit) == 0) unposted |= bit;
  }
  demands_[slot] = demand;
  hazards_[slot] = hazards;
  answered_[slot] = answered;
  unposted_[slot] = unposted;
  posted_ &= ~(1U << slot);
  live_ |= 1U << slot;
  return slot;
}

void Scoreboard::on_posted(uint32_t slot) {
  const uint32_t bit = 1U << slot;
  posted_ |= bit;
  for (uint32_t& unposted : unposted_) unposted &= ~bit;
}

void Scoreboard::on_touched(uint32_t slot) {
  const uint32_t bit = 1U << slot;
  demands_[slot].read = {};
  demands_[slot].written = {};
  for (uint32_t& hazards : hazards_) hazards &= ~bit;
  for (uint32_t& answered : answered_) answered &= ~bit;
}

void Scoreboard::on_done(uint32_t slot) {
  CHECK((live_ >> slot & 1) != 0);
  on_posted(slot);
  on_touched(slot);
  live_ &= ~(1U << slot);
}

}  // namespace heddle::collectives
