// When to acknowledge, and what to write.
#include "transport/recovery/ack_maker.h"

#include <algorithm>

#include "base/check.h"

namespace heddle::transport {
namespace {

constexpr size_t kRepeatedPaths = 3;
// What arrived longer ago is not told again. Where many acknowledgements leave, several have said
// it; where few do, a sender who is still unsure has asked by then. In units of 2^20 ns. A path
// that is not looked at while its arrival is so old but not yet wrapped counts as new once more.
constexpr uint8_t kRepeatedFor = 64;
// Room for so many paths more is made at a time.
constexpr size_t kPathsMore = 7;
constexpr size_t kLargestAck = 36 + (kMaxAckRanges - 1) * 8;

uint8_t coarse(Nanos time) { return static_cast<uint8_t>(time.count >> 20); }

}  // namespace

void AckMaker::mark_pending(Nanos now, uint16_t path) {
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

void AckMaker::forget_gaps() {
  for (RxPath& path : paths_) path.numbers.forget_gaps(pool_);
}

void AckMaker::note(Nanos now, const ConnectionHeader& header, const Arrival& arrival) {
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
  // A gap, or something that fills one, is news that the sender waits for.
  const bool in_order = newest && !path.numbers.leaves_gap(low);
  path.numbers.insert(pool_, low, high);
  if (newest) {
    path.echoed_sent_at = header.sent_at;
    path.received_at = now;
  }
  const bool marked = arrival.ecn == Ecn::kCongestion;
  if (marked) path.marked += static_cast<uint32_t>(high - low + 1);
  mark_pending(now, header.path);
  const bool later = (header.flags & kFlagAckLater) != 0;
  const bool rest_comes = later && arrival.within_message;
  if (!rest_comes && arrival.bytes > 0) {
    untold_bytes_ += static_cast<uint32_t>(arrival.bytes);
    ++untold_;
  }
  if (later && !rest_comes) ++later_;
  const bool asks = (header.flags & kFlagAckNow) != 0;
  // What asked for more than itself may have come over a faster path.
  const bool timed = header.type != PacketType::kRepeat;  // else another field is there
  const bool asked_before = later && timed && header.sent_at <= asked_sent_at_;
  if (asks && timed) asked_sent_at_ = std::max(asked_sent_at_, header.sent_at);
  // Where the rest has come before this, nothing else will tell.
  const bool completes = arrival.completes && (!later || rest_comes);
  const bool now_due = asks || asked_before || !in_order || marked || completes ||
                       later_ >= kMostLater || (untold_bytes_ >= kBytes && untold_ >= kArrivals);
  if (!in_order) prompt_until_ = now + kPromptAfterGap;
  const bool prompt = now < prompt_until_;
  due_at_ = std::min(due_at_, now_due ? now : now + delay_of(arrival, later, prompt));
}

Nanos AckMaker::delay_of(const Arrival& arrival, bool later, bool prompt) {
  if (arrival.bytes == 0) return kControlDelay;
  if (prompt) return kDelay;
  if (arrival.within_message) {
    return later ? delay_before_rest(arrival.round_trip) : delay_within(arrival.round_trip);
  }
  return later ? kControlDelay : kDelay;
}

void AckMaker::note_duplicate(Nanos now, uint16_t path) {
  if (path >= paths_.size() || paths_[path].numbers.empty()) return;
  mark_pending(now, path);
  due_at_ = now;
}

void AckMaker::write_path(uint16_t id, Writer& writer) {
  RxPath& path = paths_[id];
  AckFrame frame;
  frame.path = static_cast<uint16_t>(first_name_ + id);
  frame.echoed_sent_at = path.echoed_sent_at;
  frame.received_at = path.received_at;
  frame.marked = path.marked;
  path.received_at = kToldBefore;
  path.numbers.describe(pool_, frame);
  write_ack(frame, writer);
}

bool AckMaker::write(Nanos now, uint64_t window_bytes, Writer& writer) {
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
  untold_bytes_ = 0;
  untold_ = 0;
  later_ = 0;
  // A few paths more, in turn, where something arrived not long ago: what an earlier
  // acknowledgement said of them may have been lost. Not with each of many small ones: that would
  // cost more than they do.
  if (now < repeat_at_) return true;
  repeat_at_ = now + kDelay;
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
