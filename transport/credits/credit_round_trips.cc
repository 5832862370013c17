// CreditRoundTrips: see credit_round_trips.h.
#include "transport/credits/credit_round_trips.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "transport/credits/params.h"

namespace heddle::transport {
namespace {

using namespace params::credits;

}  // namespace

// Their average, since each has its part of what is outstanding. One counts as what it was while
// the link was clear; one that was not measured then as the shortest of all, but for what no queue
// of this source explains: taken as it was measured, the queue would keep itself up.
void CreditRoundTrips::take_average(Nanos now, std::span<CreditAccount* const> active) {
  averaged_at_ = now;
  averaged_over_ = active.size();
  const Nanos least = std::min(least_, least_before_);
  Nanos sum;
  int64_t measured = 0;
  for (const CreditAccount* account : active) {
    if (account->clear_at != Nanos{}) {
      sum += account->rtt_surely;
    } else if (account->rtt != Nanos::never()) {
      const bool sure = account->rtt_surely != Nanos::never();
      sum += sure ? std::max(least, account->rtt_surely) : least;
    } else {
      continue;
    }
    ++measured;
  }
  if (measured > 0) average_ = Nanos{sum.count / measured};
}

void CreditRoundTrips::measure(Nanos now, CreditAccount& account, BitsPerSec rate) {
  Nanos rtt = now - account.marked_at;
  account.mark = 0;
  if (rtt <= account.rtt) account.measured_at = now;
  account.rtt = std::min(account.rtt, rtt);
  if (account.clear_at != Nanos{}) {
    account.rtt_surely = std::min(account.rtt_surely, rtt);
  } else if (rate.count > 0) {
    account.rtt_surely =
        std::min(account.rtt_surely, rtt - transmit_time({account.marked_behind}, rate));
  }
  if (now - least_since_ > kMeasuredFor) {
    least_before_ = std::exchange(least_, Nanos::never());
    least_since_ = now;
  }
  least_ = std::min(least_, account.rtt);
  rtt = std::min(rtt, 2 * patience());  // the sample may include a retransmission
  const Nanos off{std::abs(rtt.count - turn_.count)};
  if (turn_.count == 0) {
    turn_ = rtt;
    deviation_ = Nanos{rtt.count / 2};
    return;
  }
  turn_ += Nanos{(rtt.count - turn_.count) / 16};
  deviation_ += Nanos{(off.count - deviation_.count) / 8};
}

void CreditRoundTrips::note_clear(Nanos now, CreditAccount& account, Nanos rtt) const {
  const bool stale = account.clear_at == Nanos{} || now - account.clear_at > kMeasuredFor;
  if (!stale && rtt >= account.rtt_surely) return;
  account.rtt_surely = rtt;
  account.clear_at = now;
}

void CreditRoundTrips::measure_anew(Nanos now, CreditAccount& account) const {
  if (now - account.measured_at <= kMeasuredFor) return;
  account.rtt = Nanos::never();
  if (account.clear_at == Nanos{}) account.rtt_surely = Nanos::never();
}

Nanos CreditRoundTrips::patience() const {
  if (turn_.count == 0) return kFirstPatience;
  return std::min(turn_ + 4 * deviation_ + kCatchUp, kLongestPatience);
}

Nanos CreditRoundTrips::patience_after(uint8_t times) const {
  return std::min(patience() * (int64_t{1} << times), kLongestPatience);
}

}  // namespace heddle::transport
