// A link's queue as one sequence in arrival order, with a cursor at the packet in transmission.
#include "simulator/link.h"

#include <algorithm>

#include "base/check.h"

namespace heddle::simulator {

using transport::Ecn;

bool draws_mark(const topology::LinkShape& shape, uint64_t queued_bytes, Random& random) {
  const uint64_t over = queued_bytes - shape.ecn_threshold.count;
  if (over >= shape.ecn_ramp.count) return true;
  const Uint128 share = static_cast<Uint128>(shape.ecn_ramp_per_million) * over;
  return random.chance_per_million(static_cast<uint32_t>(share / shape.ecn_ramp.count));
}

Link::Verdict Link::offer(Nanos now, PacketId id, PacketStore& packets, bool unbounded,
                          Random& random) {
  if (down_) return Verdict::kDown;
  advance(now);
  Packet& packet = packets[id];
  const uint32_t bytes = packet.wire_bytes();
  if (!unbounded && queued_bytes_ + bytes > shape_.queue.count) {
    ++counters_.queue_drops;
    return Verdict::kFull;
  }
  if (queued_bytes_ > shape_.ecn_threshold.count || shape_.ecn_threshold.count == 0) {
    const bool capable = packet.ecn == Ecn::kEct0 || packet.ecn == Ecn::kEct1;
    if (capable && draws_mark(shape_, queued_bytes_, random)) {
      packet.ecn = Ecn::kCongestion;
      ++counters_.marks;
    }
  }
  free_at_ = std::max(now, free_at_) + serialisation(bytes);
  if (passing_.empty()) next_at_ = free_at_ + shape_.delay;
  passing_.push_back({free_at_, id, bytes});
  queued_bytes_ += bytes;
  ++counters_.packets;
  counters_.bytes += bytes;
  counters_.queued_bytes_max = std::max(counters_.queued_bytes_max, queued_bytes_);
  return Verdict::kTaken;
}

LinkCounters Link::counters() const {
  return {.packets = counters_.packets,
          .bytes = counters_.bytes,
          .queue_drops = counters_.queue_drops,
          .marks = counters_.marks,
          .queued_bytes_max = std::max(counters_.queued_bytes_max, queued_earlier_max_),
          .pauses = 0,
          .paused_time = {}};
}

uint64_t Link::carried_bytes(Nanos now) {
  advance(now);
  if (left_ == passing_.size()) return counters_.bytes;
  const Passing& leaving = passing_[left_];
  const uint64_t to_leave = bytes_within(leaving.departs_at - now, shape_.rate).count;
  const uint64_t part = leaving.bytes - std::min<uint64_t>(to_leave, leaving.bytes);
  return counters_.bytes - queued_bytes_ + part;
}

uint64_t Link::take_queue_peak(Nanos now) {
  advance(now);
  const uint64_t peak = counters_.queued_bytes_max;
  queued_earlier_max_ = std::max(queued_earlier_max_, peak);
  counters_.queued_bytes_max = queued_bytes_;
  return peak;
}

PacketId Link::pop(Nanos now) {
  CHECK(!passing_.empty() && next_at_ == now);
  advance(now);
  CHECK(left_ > 0);
  const PacketId id = passing_.pop_front().packet;
  --left_;
  next_at_ = passing_.empty() ? Nanos::never() : passing_.front().departs_at + shape_.delay;
  return id;
}

Nanos Link::drained_to(Nanos now, uint64_t bytes) {
  advance(now);
  uint64_t queued = queued_bytes_;
  Nanos at = now;
  for (size_t i = left_; i < passing_.size() && queued > bytes; ++i) {
    queued -= passing_[i].bytes;
    at = passing_[i].departs_at;
  }
  return at;
}

void Link::set_rate(Nanos now, BitsPerSec rate) {
  advance(now);
  shape_.rate = rate;
  memo_bytes_ = 0;
  if (left_ == passing_.size()) return;
  free_at_ = passing_[left_].departs_at;
  for (size_t i = left_ + 1; i < passing_.size(); ++i) {
    free_at_ += serialisation(passing_[i].bytes);
    passing_[i].departs_at = free_at_;
  }
  next_at_ = passing_.front().departs_at + shape_.delay;
}

void Link::set_down(Nanos now, std::vector<PacketId>& cut_off) {
  advance(now);
  while (!passing_.empty()) cut_off.push_back(passing_.pop_front().packet);
  left_ = 0;
  counters_.bytes -= queued_bytes_;
  queued_bytes_ = 0;
  next_at_ = Nanos::never();
  free_at_ = now;
  down_ = true;
}

void Link::advance(Nanos now) {
  while (left_ < passing_.size() && passing_[left_].departs_at <= now) {
    queued_bytes_ -= passing_[left_++].bytes;
  }
}

Nanos Link::serialisation(uint32_t wire_bytes) {
  if (memo_bytes_ != wire_bytes) {
    memo_bytes_ = wire_bytes;
    memo_time_ = transmit_time({wire_bytes}, shape_.rate);
  }
  return memo_time_;
}

}  // namespace heddle::simulator
