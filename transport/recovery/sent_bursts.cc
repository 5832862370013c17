// Matching acknowledged ranges against runs. Both are in number order, so one pass over the list's
// front does it; a run that is acknowledged whole, the usual case, costs the same whatever its
// number of segments.
#include "transport/recovery/sent_bursts.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "transport/params.h"

namespace heddle::transport {
namespace {

// Bits of [low, high] within the run's numbers.
uint64_t bits_within(const SentBurst& run, const NumberRange& range) {
  const uint64_t low = std::max(range.low, run.first_number);
  const uint64_t high = std::min(range.high, run.last_number());
  if (low > high) return 0;
  const uint64_t count = high - low + 1;
  const uint64_t ones = count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
  return ones << (low - run.first_number);
}

// Calls `visit(first, count)` for each sequence of ones.
template <typename Visit>
void for_each_sequence(uint64_t bits, Visit visit) {
  while (bits != 0) {
    const auto first = static_cast<uint32_t>(std::countr_zero(bits));
    const auto count = static_cast<uint32_t>(std::countr_one(bits >> first));
    visit(first, count);
    if (first + count >= 64) return;
    bits &= ~uint64_t{0} << (first + count);
  }
}

}  // namespace

uint64_t SentBurst::bytes(uint32_t first, uint32_t segments) const {
  if (!data) return 0;
  const bool with_last = first + segments == count;
  const uint64_t payload =
      uint64_t{segments - (with_last ? 1u : 0u)} * record.step + (with_last ? record.last : 0);
  return payload + uint64_t{segments} * header_bytes;
}

void SentList::append(SentPool& pool, uint32_t index) {
  SentBurst& run = pool[index];
  CHECK(run.first_number >= next_number_);
  next_number_ = run.last_number() + 1;
  run.next = kNoIndex;
  if (tail_ == kNoIndex) {
    head_ = index;
  } else {
    pool[tail_].next = index;
  }
  tail_ = index;
  if (run.hop_limit != 0) {  // remembered in case that it arrives, and not awaited
    run.lost = run.all();
    ++lost_bursts_;
    return;
  }
  in_flight_bytes_ += static_cast<uint32_t>(run.bytes(0, run.count));
  in_flight_segments_ += run.count;
}

uint32_t SentList::unlink(SentPool& pool, uint32_t previous, uint32_t index) {
  const uint32_t next = pool[index].next;
  if (previous == kNoIndex) {
    head_ = next;
  } else {
    pool[previous].next = next;
  }
  if (tail_ == index) tail_ = previous;
  if (pool[index].lost != 0) --lost_bursts_;
  pool[index] = SentBurst{};
  pool.give_back(index);
  return next;
}

void SentList::settle(SentBurst& run, uint64_t fresh, AckOutcome& outcome,
                      SentBurstListener& listener) {
  const uint64_t spurious = fresh & run.lost;
  for_each_sequence(fresh & ~run.lost, [&](uint32_t first, uint32_t count) {
    const uint64_t bytes = run.bytes(first, count);
    in_flight_bytes_ -= static_cast<uint32_t>(bytes);
    in_flight_segments_ -= count;
    outcome.acked_bytes += bytes;
    outcome.in_time = true;
    listener.on_acked(run, first, count, false);
  });
  for_each_sequence(spurious, [&](uint32_t first, uint32_t count) {
    if (run.hop_limit == 0) {
      outcome.spurious_segments += count;
      outcome.spurious_behind =
          std::max(outcome.spurious_behind,
                   largest_acked() - std::min(largest_acked(), run.first_number + first));
      outcome.spurious_sent_at = run.sent_at;
    }
    listener.on_acked(run, first, count, true);
  });
  run.acked |= fresh;
  const uint64_t number = run.first_number + 63u - static_cast<uint64_t>(std::countl_zero(fresh));
  if (!outcome.any || number > outcome.newest_number) {
    outcome.newest_number = number;
    outcome.newest_sent_at = run.sent_at;
  }
  outcome.any = true;
}

AckOutcome SentList::acknowledge(SentPool& pool, Nanos now, const AckFrame& frame,
                                 SentBurstListener& listener) {
  AckOutcome outcome;
  const uint64_t largest = std::max(largest_acked(), frame.ranges[0].high);
  largest_acked_low_ = static_cast<uint32_t>(largest);
  size_t range = frame.range_count;  // ranges are newest first; the list is oldest first
  uint32_t previous = kNoIndex;
  uint32_t index = head_;
  while (index != kNoIndex) {
    SentBurst& run = pool[index];
    while (range > 0 && frame.ranges[range - 1].high < run.first_number) --range;
    if (range == 0) break;
    uint64_t bits = 0;
    for (size_t i = range; i > 0 && frame.ranges[i - 1].low <= run.last_number(); --i) {
      bits |= bits_within(run, frame.ranges[i - 1]);
    }
    const uint64_t fresh = bits & ~run.acked;
    if (fresh != 0) settle(run, fresh, outcome, listener);
    if (run.acked == run.all()) {
      index = unlink(pool, previous, index);
      continue;
    }
    if (run.overtaken_at.count == 0 && run.first_number < largest) run.overtaken_at = now;
    previous = index;
    index = run.next;
  }
  return outcome;
}

void SentList::lose(SentBurst& run, uint64_t bits, events::LossCause cause,
                    SentBurstListener& listener) {
  if (run.lost == 0) ++lost_bursts_;
  run.lost |= bits;
  for_each_sequence(bits, [&](uint32_t first, uint32_t count) {
    in_flight_bytes_ -= static_cast<uint32_t>(run.bytes(first, count));
    in_flight_segments_ -= count;
    listener.on_lost(run, first, count, cause);
  });
}

Nanos SentList::detect(SentPool& pool, Nanos now, const ReorderLimits& limits,
                       SentBurstListener& listener) {
  const uint64_t largest = largest_acked();
  const ReorderWindow& window = limits.window;
  Nanos again = Nanos::never();
  for (uint32_t index = head_; index != kNoIndex; index = pool[index].next) {
    SentBurst& run = pool[index];
    if (run.first_number >= largest) break;
    const uint64_t open = run.all() & ~run.acked & ~run.lost;
    if (open == 0) continue;
    if (run.overtaken_at.count == 0) run.overtaken_at = now;
    const bool by_time = limits.acked_sent_at - run.sent_at > limits.stale;
    const uint64_t margin = by_time ? 0 : window.numbers();
    if (run.first_number + margin >= largest) continue;
    const Nanos due = run.overtaken_at + window.time();
    if (due > now && !by_time) {
      again = std::min(again, due);
      continue;
    }
    // Of the run's open segments, those that are far enough below the newest acknowledged number.
    const NumberRange overtaken{run.first_number, largest - margin - 1};
    lose(run, open & bits_within(run, overtaken), events::LossCause::kGap, listener);
  }
  return again;
}

void SentList::declare_one_lost(SentPool& pool, uint64_t number, events::LossCause cause,
                                SentBurstListener& listener) {
  for (uint32_t index = head_; index != kNoIndex; index = pool[index].next) {
    SentBurst& run = pool[index];
    if (run.first_number > number) return;
    const uint64_t open = bits_within(run, {number, number}) & ~run.acked & ~run.lost;
    if (open != 0) return lose(run, open, cause, listener);
  }
}

void SentList::declare_lost(SentPool& pool, events::LossCause cause, SentBurstListener& listener) {
  for (uint32_t index = head_; index != kNoIndex; index = pool[index].next) {
    SentBurst& run = pool[index];
    const uint64_t open = run.all() & ~run.acked & ~run.lost;
    if (open != 0) lose(run, open, cause, listener);
  }
}

void SentList::forget_lost(SentPool& pool, Nanos horizon) {
  uint32_t previous = kNoIndex;
  uint32_t index = head_;
  while (index != kNoIndex && lost_bursts_ > 0) {
    SentBurst& run = pool[index];
    const bool settled = (run.acked | run.lost) == run.all();
    if (settled && (run.sent_at < horizon || lost_bursts_ > params::kLostBurstsRemembered)) {
      index = unlink(pool, previous, index);
      continue;
    }
    if (run.sent_at >= horizon && lost_bursts_ <= params::kLostBurstsRemembered) return;
    previous = index;
    index = run.next;
  }
}

void SentList::clear(SentPool& pool) {
  for (uint32_t index = head_; index != kNoIndex;) index = unlink(pool, kNoIndex, index);
  in_flight_bytes_ = in_flight_segments_ = 0;
}

const SentBurst* SentList::oldest(const SentPool& pool) const {
  for (uint32_t index = head_; index != kNoIndex; index = pool[index].next) {
    if (pool[index].in_flight()) return &pool[index];
  }
  return nullptr;
}

bool SentList::any_asks(const SentPool& pool) const {
  for (uint32_t index = head_; index != kNoIndex; index = pool[index].next) {
    if (pool[index].asks && pool[index].in_flight()) return true;
  }
  return false;
}

bool SentList::awaits(const SentPool& pool, uint64_t number) const {
  for (uint32_t index = head_; index != kNoIndex; index = pool[index].next) {
    const SentBurst& run = pool[index];
    if (number < run.first_number || number > run.last_number()) continue;
    return (run.acked >> (number - run.first_number) & 1) == 0;
  }
  return false;
}

}  // namespace heddle::transport
