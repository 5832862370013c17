// CreditRoundTrips: times from credit that was given to the arrival of the payload sent for it. It
// measures three: of each sender without the queue at this host; the average over senders with
// demand; and the smoothed time with queues, from which the timeout of a sender follows (RFC 6298).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/nanos.h"
#include "base/units.h"
#include "transport/credits/credit_account.h"

namespace heddle::transport {

class CreditRoundTrips {
 public:
  // Of those that wanted something when it was found.
  Nanos average() const { return average_; }
  Nanos averaged_at() const { return averaged_at_; }
  // Those who come first are the near ones: what they need says little of the others.
  bool is_average_of_few(size_t active) const {
    return active > averaged_over_ + averaged_over_ / 8;
  }
  void take_average(Nanos now, std::span<CreditAccount* const> active);

  // The credit up to the account's mark has been used. `rate`: of this host; zero: not known.
  void measure(Nanos now, CreditAccount& account, BitsPerSec rate);
  // A round trip of the network that no payload queued before.
  void note_clear(Nanos now, CreditAccount& account, Nanos rtt) const;
  // A path that has become longer is found out while no queue of this source hides it.
  void measure_anew(Nanos now, CreditAccount& account) const;

  // When a sender that holds credit is late: as a retransmission timeout (RFC 6298).
  Nanos patience() const;
  // Of one that was late before, this often in a row.
  Nanos patience_after(uint8_t times) const;

 private:
  Nanos turn_;  // from credit to payload, smoothed, queues included
  Nanos deviation_;
  Nanos least_ = Nanos::never();  // of all senders since least_since_, and in the time before
  Nanos least_before_ = Nanos::never();
  Nanos least_since_;
  Nanos average_;
  Nanos averaged_at_;
  size_t averaged_over_ = 0;  // number of those accounts
};

}  // namespace heddle::transport
