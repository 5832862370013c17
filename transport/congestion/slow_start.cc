// HyStart++ with thresholds for data centres: full growth, careful growth, the end.
#include "transport/congestion/slow_start.h"

#include <algorithm>

#include "transport/params.h"

namespace heddle::transport {
namespace {

using namespace params::slow_start;

}  // namespace

Nanos SlowStart::delay_threshold(Nanos min_rtt, BitsPerSec pacing_rate) {
  const Nanos burst = pacing_rate.count == 0
                          ? kBurstMost
                          : std::min(transmit_time(kBurst, pacing_rate), kBurstMost);
  const Nanos least = kHostNoise + 2 * burst;
  return std::clamp(min_rtt / kMinRttDivisor, least, kThresholdMost);
}

uint64_t SlowStart::grow(Nanos now, const AckSample& sample, uint64_t window,
                         BitsPerSec pacing_rate) {
  // A round has passed when something sent in it is acknowledged; it goes on while it has too few
  // samples to judge by, since acknowledgements are coalesced and a small window gets one or two of
  // them.
  if (sample.sent_at >= round_began_ && samples_ >= kSamples) {
    if (careful_rounds_ > 0 && ++careful_rounds_ > kCarefulRounds) {
      end(window);
      return 0;
    }
    begin_round(now);
  }
  if (sample.rtt > Nanos{}) {
    ++samples_;
    round_min_ = std::min(round_min_, sample.rtt);
  }
  if (samples_ >= kSamples) {
    if (careful_rounds_ == 0) {
      if (round_min_ >= sample.min_rtt + delay_threshold(sample.min_rtt, pacing_rate)) {
        careful_rounds_ = 1;
        baseline_ = round_min_;
      }
    } else if (round_min_ < baseline_) {
      careful_rounds_ = 0;  // the rise was not a standing queue
    }
  }
  const uint64_t grown =
      careful_rounds_ == 0 ? sample.acked.count : sample.acked.count / kCarefulDivisor;
  return std::min(grown, threshold_ - window);
}

void SlowStart::restart(uint64_t threshold) {
  threshold_ = threshold;
  careful_rounds_ = 0;
  begin_round({});
}

void SlowStart::begin_round(Nanos now) {
  round_began_ = now;
  round_min_ = Nanos::never();
  samples_ = 0;
}

}  // namespace heddle::transport
