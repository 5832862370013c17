// CreditSource: an endpoint's one source of credit for all who send to it (EQDS, NSDI 2022). It
// gives credit in turns, so that senders share evenly by bytes, and keeps what is given and has not
// arrived below what the last link holds: then no queue builds there, however many send. The
// endpoint drives it: demands, arrivals and time in; out come accounts whose credit went up.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/nanos.h"
#include "base/units.h"
#include "transport/credits/arrival_rate.h"
#include "transport/credits/credit_account.h"
#include "transport/credits/credit_pacer.h"
#include "transport/credits/credit_queue.h"
#include "transport/credits/credit_round_trips.h"
#include "transport/engine_budget.h"
#include "transport/wire/credit_frames.h"

namespace heddle::transport {

struct CreditOptions {
  BitsPerSec rate;                 // at which this host receives; zero: measured
  Bytes receive_capacity;          // of its socket: never more is outstanding
  uint32_t datagram_bytes = 1500;  // the largest that is received
  EngineBudget* budget = nullptr;  // of the rate; null: all of it is this source's
};

// What arrived in one go.
struct CreditArrival {
  uint64_t cost = 0;  // credit_cost() of it
  uint32_t datagrams = 1;
  bool repeated = false;
};

class CreditSource {
 public:
  explicit CreditSource(const CreditOptions& options) : options_(options) {}

  // Credit that a silent sender may hold. All together hold half of what may be outstanding.
  uint32_t allowance() const { return allowance_of(members_.size()); }
  // As much as a sender that joins next is given to begin with.
  uint32_t first_allowance() const { return allowance_of(members_.size() + 1); }

  // `first_credit`: as the handshake advertised it. The account must not move until leave().
  void join(CreditAccount& account, uint32_t connection, uint32_t first_credit);
  void leave(CreditAccount& account);

  [[nodiscard]] bool on_demand(Nanos now, CreditAccount& account, const DemandFrame& demand);
  void on_arrival(Nanos now, CreditAccount& account, const CreditArrival& arrival);
  // The network's round trip to the account's sender and back, which has just ended.
  void on_round_trip(Nanos now, CreditAccount& account, Nanos rtt);
  // Gives what may be given now, and names the connections that have a frame to send for it (see
  // take_frame()), until the next call.
  std::span<const uint32_t> poll(Nanos now);
  // The credit frame for a connection; none is due for it afterwards.
  CreditFrame take_frame(CreditAccount& account);

  // When poll() next has something to do without an arrival; never(): not before one.
  Nanos next_at() const { return std::min(look_at_, pacer_.due_at()); }
  void set_receive_capacity(Bytes capacity) { options_.receive_capacity = capacity; }

  // --- what it knows ---
  uint64_t outstanding() const { return outstanding_; }  // given, wanted, not arrived
  uint64_t cap() const;                                  // of outstanding()
  BitsPerSec rate() const { return options_.rate.count != 0 ? own_rate() : arrivals_.estimate(); }
  size_t bytes_held() const {
    return (members_.capacity() + active_.capacity()) * sizeof(CreditAccount*);
  }

 private:
  BitsPerSec own_rate() const {
    if (options_.budget == nullptr) return options_.rate;
    return options_.budget->rate_of(options_.rate, active_.size());
  }
  uint64_t target() const;
  BitsPerSec pace() const;
  void adapt_ceiling();
  uint32_t allowance_of(size_t members) const;
  uint64_t quantum() const;
  uint64_t claim_of(const CreditAccount& account) const;
  void recount(CreditAccount& account);
  void settle(CreditAccount& account);
  bool may_have_more(const CreditAccount& account) const;
  void enqueue(CreditAccount& account);
  bool has_room(const CreditAccount& account, uint64_t bytes) const;
  void give(Nanos now, CreditAccount& account, uint64_t bytes);
  void begin_round(Nanos now);
  void end_round(Nanos now);
  void wait_for(Nanos now, CreditAccount& account);
  void look_for_late(Nanos now);
  void stretch(BitsPerSec arrived, bool short_of_credit);

  static constexpr uint32_t kUnstretched = 8;

  CreditOptions options_;
  std::vector<CreditAccount*> members_;
  std::vector<CreditAccount*> active_;  // want more than has arrived
  CreditQueue queue_;
  uint64_t outstanding_ = 0;
  std::vector<uint32_t> due_;  // what poll() names
  CreditPacer pacer_;
  Nanos look_at_ = Nanos::never();  // for senders that are late
  bool announces_ = false;          // the allowance is smaller than the advertised one
  bool credit_was_short_ = false;   // a sender waited for credit when the round began
  bool starved_ = false;            // and less arrived in the latest round than the link takes
  Nanos arrived_at_;                // anything
  uint64_t round_bytes_ = 0;
  uint64_t round_repeated_ = 0;      // of these, retransmitted
  int32_t repeated_part_ = 0;        // smoothed over rounds, of 1,024
  uint64_t ceiling_ = UINT64_MAX;    // of cap(), after losses
  uint32_t stretch_ = kUnstretched;  // of target(): part that the round trips do not explain
  CreditRoundTrips round_trips_;
  ArrivalRate arrivals_;
};

}  // namespace heddle::transport
