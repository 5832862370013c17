// Dcqcn: the reaction point of DCQCN (Zhu et al., SIGCOMM 2015, section 3.3), one a queue pair. A
// requester reports CNPs and sent bytes, and asks for its rate. Timers take effect when they are
// looked at, so they need no events.
#pragma once

#include <cstdint>

#include "base/nanos.h"
#include "base/units.h"
#include "simulator/roce_options.h"

namespace heddle::simulator::roce {

class Dcqcn {
 public:
  Dcqcn(const DcqcnOptions& options, BitsPerSec line_rate);

  void on_cnp(Nanos now);
  void on_sent(Nanos now, uint32_t bytes);
  // R_C.
  BitsPerSec rate(Nanos now) {
    advance(now);
    return rate_;
  }
  // R_T.
  BitsPerSec target() const { return target_; }
  // In [0, 1].
  double alpha() const { return static_cast<double>(alpha_) / static_cast<double>(kOne); }

 private:
  static constexpr uint64_t kOne = uint64_t{1} << 32;  // alpha is in units of 1 / kOne

  bool limited() const { return rate_ < line_rate_; }
  void advance(Nanos now);
  void increase();

  DcqcnOptions options_;
  BitsPerSec line_rate_;
  BitsPerSec additive_;
  BitsPerSec hyper_;
  BitsPerSec rate_;
  BitsPerSec target_;
  uint64_t alpha_ = kOne;
  Nanos alpha_at_ = Nanos::never();  // the next decay
  Nanos rate_at_ = Nanos::never();   // the next increase by the timer
  uint64_t bytes_ = 0;               // since the last increase by the byte counter
  uint32_t timer_steps_ = 0;         // since the last CNP
  uint32_t byte_steps_ = 0;
};

}  // namespace heddle::simulator::roce
