// What is true of arriving packets, and what acknowledgements contain.
#include "transport/recovery/acknowledgements.h"

#include <algorithm>

#include "base/check.h"

namespace heddle::transport {
namespace {

using namespace params::acknowledgements;

constexpr size_t kLargestAck = 36 + (kMaxAckRanges - 1) * 8;

uint8_t coarse(Nanos time) { return static_cast<uint8_t>(time.count >> 20); }

}  // namespace

void AckManager::mark_pending(Nanos now, uint16_t path) {
  paths_[path].arrived_at = coarse(now);
  paths_[path].quiet = false;
  if (paths_[path].pending) return;
  paths_[path].pending = true;
  if (pending()) {
    paths_[last_pending_].next_pending = path;
  } else {
    first_pending_ = path;
  }
  last_pending_ = path;
}

void AckManager::forget_gaps() {
  for (RxPath& path : paths_) path.numbers.forget_gaps(pool_);
}

// Counts the arrival, and says what is true of it.
inline uint32_t AckManager::facts_of(Nanos now, const ConnectionHeader& header,
                                     const Arrival& arrival, bool in_order) {
  const auto fact = [](bool holds, AckRules::Fact one) { return holds ? uint32_t{one} : 0u; };
  const bool deferred = (header.flags & kFlagAckLater) != 0;
  const bool requested = (header.flags & kFlagAckNow) != 0;
  const bool rest_comes = deferred && arrival.within_message;
  uint32_t facts = fact(requested, AckRules::kRequested) | fact(deferred, AckRules::kDeferred) |
                   fact(arrival.within_message, AckRules::kWithin) |
                   fact(arrival.bytes == 0, AckRules::kControl);
  if (!rest_comes) {
    waiting_bytes_ += static_cast<uint32_t>(arrival.bytes);
    waiting_ += arrival.bytes > 0 ? 1 : 0;
    deferred_ += deferred ? 1 : 0;
  }
  // In a retransmitted chunk another field is in the place of the send time.
  const bool timed = header.type != PacketType::kRetransmission;
  // A cumulative request may have overtaken this packet on a faster path.
  if (deferred && timed && header.sent_at <= requested_sent_at_) facts |= AckRules::kOvertaken;
  if (requested && timed) requested_sent_at_ = std::max(requested_sent_at_, header.sent_at);
  if (!in_order) {
    prompt_until_ = now + AckRules::kPromptAfterGap;
    facts |= AckRules::kOutOfOrder;
  }
  // The end of a deferred message is deferred, unless the rest came before this.
  if (arrival.completes && (!deferred || rest_comes)) facts |= AckRules::kCompletes;
  if (deferred_ >= AckRules::kMostDeferred) facts |= AckRules::kManyDeferred;
  const bool many = waiting_bytes_ >= AckRules::kBytes && waiting_ >= AckRules::kArrivals;
  return facts | fact(many, AckRules::kManyBytes) | fact(now < prompt_until_, AckRules::kAfterGap);
}

void AckManager::note(Nanos now, const ConnectionHeader& header, const Arrival& arrival) {
  CHECK(header.path < limit_);
  if (header.path >= paths_.size()) {
    // Not by doubling: half of that would lie idle for as long as the connection lives.
    const size_t used = header.path + 1u;
    if (used > paths_.capacity()) paths_.reserve(std::min<size_t>(used + kPathsMore, limit_));
    paths_.resize(used);
  }
  noted_at_ = now;
  RxPath& path = paths_[header.path];
  const uint64_t low = arrival.low;
  const uint64_t high = arrival.high;
  const bool newest = high > path.numbers.largest();
  // The sender waits for the report of a gap, or of a packet that fills one.
  const bool in_order = newest && !path.numbers.leaves_gap(low);
  path.numbers.insert(pool_, low, high);
  if (newest) {
    path.echoed_sent_at = header.sent_at;
    path.received_at = now;
  }
  const bool marked = arrival.ecn == Ecn::kCongestion;
  if (marked) path.marked += static_cast<uint32_t>(high - low + 1);
  mark_pending(now, header.path);
  uint32_t facts = facts_of(now, header, arrival, in_order);
  if (marked) facts |= AckRules::kMarked;
  due_at_ = std::min(due_at_, now + AckRules::delay(facts, arrival.round_trip));
}

void AckManager::note_duplicate(Nanos now, uint16_t path) {
  if (path >= paths_.size() || paths_[path].numbers.empty()) return;
  mark_pending(now, path);
  due_at_ = now;
}

void AckManager::write_path(uint16_t id, Writer& writer) {
  RxPath& path = paths_[id];
  AckFrame frame;
  frame.path = static_cast<uint16_t>(first_name_ + id);
  frame.echoed_sent_at = path.echoed_sent_at;
  frame.received_at = path.received_at;
  frame.marked = path.marked;
  path.received_at = kReportedBefore;
  path.numbers.describe(pool_, frame);
  write_ack(frame, writer);
}

bool AckManager::write(Nanos now, uint64_t window_bytes, Writer& writer) {
  if (!pending() || writer.left() < kAckTimesBytes + kLargestAck) return false;
  write_ack_times({now, window_bytes}, writer);
  size_t written = 0;
  while (pending() && writer.left() >= kLargestAck) {
    const uint16_t path = first_pending_;
    first_pending_ = path == last_pending_ ? kNoPath : paths_[path].next_pending;
    paths_[path].pending = false;
    write_path(path, writer);
    ++written;
  }
  if (pending()) return true;
  due_at_ = Nanos::never();
  waiting_bytes_ = 0;
  waiting_ = 0;
  deferred_ = 0;
  // A few paths more, in turn, where something arrived not long ago: an earlier acknowledgement of
  // them may have been lost. Not with each of many small acknowledgements: that would cost more
  // than they do.
  if (now < repeat_at_) return true;
  repeat_at_ = now + AckRules::kDelay;
  const size_t more =
      std::min(kRepeatedPaths - std::min(now < prompt_until_ ? 0 : written, kRepeatedPaths),
               paths_.size() - 1);
  for (size_t i = 0; i < more && writer.left() >= kLargestAck; ++i) {
    rotation_ = static_cast<uint16_t>((rotation_ + 1u) % paths_.size());
    RxPath& path = paths_[rotation_];
    if (static_cast<uint8_t>(coarse(now) - path.arrived_at) >= kRepeatedFor) path.quiet = true;
    if (!path.quiet && !path.numbers.empty()) write_path(rotation_, writer);
  }
  return true;
}

}  // namespace heddle::transport
