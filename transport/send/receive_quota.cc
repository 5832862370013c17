// What a peer takes in a round trip, measured once in each.
#include "transport/send/receive_quota.h"

#include "transport/congestion/fixed_point.h"
#include "transport/params.h"

namespace heddle::transport {
namespace {

using namespace params::receive_quota;

}  // namespace

// Acknowledgements may come late and together: the time in which the packets left bounds the rate.
void ReceiveQuota::end_round(Nanos now, Nanos sent_at, Nanos trip) {
  const Nanos span = std::max(now - began_at_, sent_at - began_sent_at_);
  const bool first = began_at_.count == 0;
  const uint64_t seen = first ? 0
                              : multiply_divide(delivered_, static_cast<uint64_t>(trip.count),
                                                static_cast<uint64_t>(span.count));
  if (seen > peak_ + peak_ / kGrowingPart) {
    growing_ = kGrowingRounds;
  } else if (growing_ > 0) {
    --growing_;
  }
  if (short_) peak_ -= peak_ / kForgetPart;
  peak_ = std::max(peak_, seen);
  const auto round_trip = static_cast<uint64_t>(trip.count);
  const uint64_t beyond = round_trip - kServiceInterval.count;
  const uint64_t more = growing_ > 0 ? peak_ / 2 : 0;
  const uint64_t most = multiply_divide(capacity_, round_trip, kServiceInterval.count);
  road_ = multiply_divide(std::min(peak_ + more, most), beyond, round_trip);
  const uint64_t spread = std::min(peak_ + std::max(more, peak_ / 4), most + most / 4);
  rate_ = std::min(multiply_divide(spread, uint64_t{1} << kRateBits, round_trip), kMostRate);
  began_at_ = now;
  began_sent_at_ = sent_at;
  delivered_ = 0;
  short_ = false;
}

Nanos ReceiveQuota::ready_at(Nanos now, uint64_t held, uint64_t cost) const {
  // What no socket of this size holds does not wait for the spreading: it leaves alone.
  if (cost > capacity_) return Nanos::never();
  if (road_ == 0 || rate_ == 0 || held + cost > most()) return Nanos::never();
  const uint64_t wanted = std::min(capacity_, std::max(cost, granule()));
  const uint64_t waits = backlog(now);
  if (waits + wanted <= capacity_) return now;
  const uint64_t ahead = waits + wanted - capacity_;
  return now +
         Nanos{static_cast<int64_t>(multiply_divide(ahead, uint64_t{1} << kRateBits, rate_)) + 1};
}

}  // namespace heddle::transport
