// CoarseTime: a point in time in 32 bits, for what every path keeps: steps of 1,024 ns, rounded up
// so that nothing comes due too early, and right within 36 minutes of the `now` it meets.
#pragma once

#include <cstdint>

#include "base/nanos.h"
#include "base/serial.h"

namespace heddle::transport {

class CoarseTime {
 public:
  // Never.
  CoarseTime() = default;
  explicit CoarseTime(Nanos at) {
    if (at == Nanos::never()) return;
    const auto steps = static_cast<uint32_t>((at.count + kStep - 1) >> kShift);
    steps_ = steps == 0 ? 1 : steps;  // 0 stands for never
  }

  bool due(Nanos now) const { return steps_ != 0 && ahead(now) <= 0; }
  // never(), or when it is due.
  Nanos near(Nanos now) const {
    return steps_ == 0 ? Nanos::never() : Nanos{((now.count >> kShift) + ahead(now)) << kShift};
  }

 private:
  static constexpr int kShift = 10;
  static constexpr int64_t kStep = int64_t{1} << kShift;

  // Half the range away it may be past or future: it counts as due now.
  int32_t ahead(Nanos now) const {
    const Serial<CoarseTime, uint32_t> here(static_cast<uint32_t>(now.count >> kShift));
    return here.steps_to(steps_).value_or(0);
  }

  uint32_t steps_ = 0;
};

}  // namespace heddle::transport
