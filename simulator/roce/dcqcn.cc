// The reaction point of DCQCN: see dcqcn.h.
#include "simulator/roce/dcqcn.h"

#include <algorithm>

#include "simulator/roce/params.h"

namespace heddle::simulator::roce {

Dcqcn::Dcqcn(const DcqcnOptions& options, BitsPerSec line_rate)
    : options_(options),
      line_rate_(line_rate),
      additive_({line_rate.count / options.additive_part}),
      hyper_({additive_.count * options.hyper_factor}),
      rate_(line_rate),
      target_(line_rate) {}

void Dcqcn::on_cnp(Nanos now) {
  advance(now);
  target_ = rate_;
  const auto cut = static_cast<uint64_t>(static_cast<Uint128>(rate_.count) * alpha_ / (2 * kOne));
  rate_.count = std::max(rate_.count - cut, std::min(options_.least_rate, line_rate_).count);
  alpha_ += (kOne - alpha_) / options_.gain_divisor;
  alpha_at_ = now + options_.alpha_timer;
  rate_at_ = now + options_.rate_timer;
  bytes_ = 0;
  timer_steps_ = byte_steps_ = 0;
}

void Dcqcn::on_sent(Nanos now, uint32_t bytes) {
  if (!limited()) return;
  advance(now);
  bytes_ += bytes;
  while (bytes_ >= options_.byte_counter.count) {
    bytes_ -= options_.byte_counter.count;
    ++byte_steps_;
    increase();
  }
}

void Dcqcn::advance(Nanos now) {
  for (; alpha_at_ <= now && alpha_ > 0; alpha_at_ += options_.alpha_timer) {
    alpha_ -= (alpha_ + options_.gain_divisor - 1) / options_.gain_divisor;
  }
  for (; rate_at_ <= now && limited(); rate_at_ += options_.rate_timer) {
    ++timer_steps_;
    increase();
  }
}

void Dcqcn::increase() {
  const uint32_t steps = options_.fast_recovery_steps;
  if (std::min(timer_steps_, byte_steps_) > steps) {
    target_.count += hyper_.count;
  } else if (std::max(timer_steps_, byte_steps_) >= steps) {
    target_.count += additive_.count;
  }
  target_ = std::min(target_, line_rate_);
  rate_.count += (target_.count - rate_.count) / 2;
  if (target_.count - rate_.count < params::kClose.count) rate_ = target_;
}

}  // namespace heddle::simulator::roce
