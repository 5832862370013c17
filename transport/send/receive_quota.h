// ReceiveQuota: how much may be in flight towards a peer besides what the congestion window allows.
// Two limits: a burst that the peer's socket cannot hold until the peer reads it is dropped there,
// while bytes that are still on a long road wait in no socket. The peer advertises the first, its
// socket's capacity. The second is derived from acknowledgements: what the peer has been seen to
// take in one round trip, less the service interval. SendWindow calls left() before each burst.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/nanos.h"
#include "transport/params.h"

namespace heddle::transport {

class ReceiveQuota {
 public:
  static constexpr Nanos kServiceInterval = params::receive_quota::kServiceInterval;

  // What the peer's socket holds for this sender: datagrams with their overhead, as is all below.
  void set_capacity(uint64_t bytes) { capacity_ = std::min(bytes, kMostCapacity); }
  uint64_t capacity() const { return capacity_; }
  // In flight at most.
  uint64_t most() const { return capacity_ + road_; }

  // What may leave now while `held` is in flight. Beyond the capacity it leaves no faster than the
  // peer was seen to take it, and a quarter more (a half while that grows); by what has left ahead
  // of that the socket may be filled.
  uint64_t left(Nanos now, uint64_t held) const {
    const uint64_t room = most() > held ? most() - held : 0;
    if (road_ == 0) return room;
    const uint64_t surely = capacity_ > held ? capacity_ - held : 0;
    const uint64_t ahead = std::min(capacity_, backlog(now));
    const uint64_t spread = capacity_ - ahead < granule() ? 0 : capacity_ - ahead;
    return std::min(room, std::max(surely, spread));
  }
  // There was more to send than left().
  void note_short() { short_ = true; }
  // When a burst may leave that only the spreading holds back; never(): it does not.
  Nanos ready_at(Nanos now, uint64_t held, uint64_t cost) const;

  void on_sent(Nanos now, uint64_t cost) {
    if (road_ == 0) return;
    backlog_ = backlog(now) + cost;
    counted_at_ = now;
  }
  // The peer has taken `cost`; the newest of it left at `sent_at`. `trip`: the shortest round trip.
  void on_acked(Nanos now, Nanos sent_at, uint64_t cost, Nanos trip) {
    if (trip <= kServiceInterval) {
      road_ = 0;
      return;
    }
    delivered_ += cost;
    if (now - began_at_ >= trip) end_round(now, sent_at, trip);
  }

 private:
  static constexpr uint64_t kMostCapacity = uint64_t{1} << 40;
  static constexpr int kRateBits = 16;
  static constexpr uint64_t kMostRate = uint64_t{1} << 32;
  static constexpr int64_t kLongest = int64_t{1} << 30;  // after a second nothing waits

  // Nothing less leaves by the spreading: each wait costs a turn of the sender's loop.
  uint64_t granule() const {
    return std::min<uint64_t>(capacity_ / 8, params::receive_quota::kMostGranule);
  }
  void end_round(Nanos now, Nanos sent_at, Nanos trip);
  uint64_t backlog(Nanos now) const {
    const auto passed =
        static_cast<uint64_t>(std::clamp<int64_t>((now - counted_at_).count, 0, kLongest));
    const uint64_t taken = (rate_ * passed) >> kRateBits;
    return backlog_ > taken ? backlog_ - taken : 0;
  }

  uint64_t capacity_ = 0;
  uint64_t road_ = 0;     // beyond the capacity; 0: the road is short, or nothing is known yet
  uint64_t peak_ = 0;     // the most that was taken in a round trip, decaying
  uint64_t rate_ = 0;     // of the spreading, in bytes x 2^kRateBits a nanosecond
  uint64_t backlog_ = 0;  // ahead of that rate, at counted_at_
  Nanos counted_at_;
  uint64_t delivered_ = 0;  // of the round
  Nanos began_at_;          // the round
  Nanos began_sent_at_;
  bool short_ = false;
  uint8_t growing_ = 0;  // rounds in which more may be found
};

}  // namespace heddle::transport
