// A link's queue as one list in order of arrival, with a cursor at the packet that is being sent.
#include "simulator/link.h"

#include <algorithm>

#include "base/check.h"

namespace heddle::simulator {

using transport::Ecn;

Link::Verdict Link::offer(Nanos now, PacketId id, PacketStore& packets, bool unbounded) {
  if (down_) return Verdict::kDown;
  advance(now, packets);
  Packet& packet = packets[id];
  const uint32_t bytes = packet.wire_bytes();
  if (!unbounded && queued_bytes_ + bytes > shape_.queue.count) {
    ++counters_.queue_drops;
    return Verdict::kFull;
  }
  if (queued_bytes_ > shape_.ecn_threshold.count || shape_.ecn_threshold.count == 0) {
    if (packet.ecn == Ecn::kEct0 || packet.ecn == Ecn::kEct1) {
      packet.ecn = Ecn::kCongestion;
      ++counters_.marks;
    }
  }
  free_at_ = std::max(now, free_at_) + serialisation(bytes);
  packet.departs_at = free_at_;
  packet.arrives_at = free_at_ + shape_.delay;
  packet.next = kNoIndex;
  if (head_ == kNoIndex) {
    head_ = id;
    next_at_ = packet.arrives_at;
  } else {
    packets[tail_].next = id;
  }
  tail_ = id;
  if (leaving_ == kNoIndex) leaving_ = id;
  queued_bytes_ += bytes;
  ++counters_.packets;
  counters_.bytes += bytes;
  counters_.queued_bytes_max = std::max(counters_.queued_bytes_max, queued_bytes_);
  return Verdict::kTaken;
}

PacketId Link::pop(Nanos now, PacketStore& packets) {
  CHECK(head_ != kNoIndex && next_at_ == now);
  advance(now, packets);
  const PacketId id = head_;
  CHECK(id != leaving_);
  head_ = packets[id].next;
  if (head_ == kNoIndex) tail_ = kNoIndex;
  next_at_ = head_ == kNoIndex ? Nanos::never() : packets[head_].arrives_at;
  packets[id].next = kNoIndex;
  return id;
}

uint64_t Link::queued_bytes(Nanos now, const PacketStore& packets) {
  advance(now, packets);
  return queued_bytes_;
}

Nanos Link::drained_to(Nanos now, uint64_t bytes, const PacketStore& packets) {
  advance(now, packets);
  uint64_t left = queued_bytes_;
  Nanos at = now;
  for (PacketId id = leaving_; id != kNoIndex && left > bytes; id = packets[id].next) {
    left -= packets[id].wire_bytes();
    at = packets[id].departs_at;
  }
  return at;
}

void Link::set_rate(Nanos now, BitsPerSec rate, PacketStore& packets) {
  advance(now, packets);
  shape_.rate = rate;
  memo_bytes_ = 0;
  if (leaving_ == kNoIndex) return;
  Nanos at = packets[leaving_].departs_at;
  for (PacketId id = packets[leaving_].next; id != kNoIndex; id = packets[id].next) {
    at += serialisation(packets[id].wire_bytes());
    packets[id].departs_at = at;
    packets[id].arrives_at = at + shape_.delay;
  }
  free_at_ = at;
  next_at_ = packets[head_].arrives_at;
}

PacketId Link::set_down(Nanos now) {
  const PacketId first = head_;
  head_ = tail_ = leaving_ = kNoIndex;
  queued_bytes_ = 0;
  next_at_ = Nanos::never();
  free_at_ = now;
  down_ = true;
  return first;
}

void Link::advance(Nanos now, const PacketStore& packets) {
  while (leaving_ != kNoIndex && packets[leaving_].departs_at <= now) {
    queued_bytes_ -= packets[leaving_].wire_bytes();
    leaving_ = packets[leaving_].next;
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
