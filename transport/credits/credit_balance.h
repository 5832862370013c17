// CreditBalance: the sender's side of receiver credits: how much it may send, and the demand that
// it advertises. Lost bytes return their credit at once, so they can be retransmitted.
#pragma once

#include <algorithm>
#include <cstdint>

#include "transport/credits/credit_account.h"
#include "transport/credits/params.h"
#include "transport/wire/credit_frames.h"

namespace heddle::transport {

class CreditBalance {
 public:
  // From now on nothing leaves without credit; the peer has given this much to begin with.
  void open(uint64_t first_credit) {
    on_ = true;
    limit_ = allowance_ = first_credit;
  }
  bool on() const { return on_; }
  uint64_t left() const { return limit_ > used_ ? limit_ - used_ : 0; }
  bool covers(uint64_t cost) const { return !on_ || cost <= left(); }

  void on_sent(uint64_t cost) {
    used_ += cost;
    out_ += cost;
  }
  // `was_lost`: it had been declared lost (a spurious loss).
  void on_acked(uint64_t cost, bool was_lost) {
    if (was_lost) {
      used_ += cost;
    } else {
      out_ -= std::min(out_, cost);
    }
  }
  void on_lost(uint64_t cost) {
    used_ -= std::min(used_, cost);
    out_ -= std::min(out_, cost);
  }
  void on_credit(const CreditFrame& frame) {
    limit_ = std::max(limit_, frame.limit);
    allowance_ = frame.allowance;
  }

  // Nothing is in flight, and not even this may leave.
  bool stuck(uint64_t cost) const { return on_ && out_ == 0 && left() < cost; }
  // Whether little is left of the demand that the peer knows of, so that it is worth asking how
  // much there is.
  bool asks_soon() const { return on_ && advertised_ < limit_ + kAhead; }
  // `backlog` bytes, headers included, wait to be sent. True: a demand frame is due.
  bool note_backlog(uint64_t backlog) {
    const uint64_t wanted = used_ + backlog;
    const bool more = wanted > limit_ && wanted > advertised_;
    if (!more || (advertised_ > limit_ && wanted - advertised_ < kStep)) return false;
    advertised_ = wanted;
    return true;
  }
  // Nothing waits to be sent. True: a demand frame is due that withdraws the advertised demand.
  bool note_idle() {
    if (!on_ || out_ > 0) return false;
    // What was given for a demand that has gone is not kept: all senders together may hold no more
    // than their allowances while they are silent.
    if (left() > allowance_) used_ = limit_ - allowance_;
    if (advertised_ <= used_) return false;
    advertised_ = used_;
    return true;
  }
  DemandFrame demand() {
    ++serial_;
    return {serial_, used_ - std::min(used_, out_), std::max(advertised_, used_)};
  }

 private:
  static constexpr uint64_t kAhead = params::credits::kAhead;
  static constexpr uint64_t kStep = params::credits::kStep;

  uint64_t limit_ = 0;
  uint64_t used_ = 0;        // sent and not lost, and what was given back
  uint64_t out_ = 0;         // of that, in flight
  uint64_t advertised_ = 0;  // the demand that was advertised last
  uint64_t allowance_ = 0;
  DemandSerial serial_;
  bool on_ = false;
};

}  // namespace heddle::transport
