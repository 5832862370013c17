// TurnBudget: a driver without work must sleep. Detects loops of turns without input or output:
// timers in the past, a poll_timeout() that never advances.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/nanos.h"
#include "tests/vopr/checkers/report.h"

namespace heddle::vopr {

class TurnBudget {
 public:
  // Limit of consecutive idle turns in one millisecond of virtual time (the first idle turn after
  // work is not counted, since it checks for more work). Legitimate ones are timers: a few for each
  // path.
  static constexpr uint32_t kIdleTurnsMost = 200;

  TurnBudget(uint32_t host, Report& report) : host_(host), report_(report) {}

  void on_turn(Nanos now, bool had_work) {
    const int64_t milli = now / millis(1);
    if (milli != milli_) idle_ = 0;
    milli_ = milli;
    const bool after_work = std::exchange(had_work_, had_work);
    if (had_work || after_work) return;
    if (++idle_ > most_) most_ = idle_;
    if (idle_ == kIdleTurnsMost) {
      report_.fail("host " + std::to_string(host_) + " turned " + std::to_string(idle_) +
                   " times for nothing in the millisecond at " + std::to_string(now.count) + " ns");
    }
  }

  uint32_t most() const { return most_; }

 private:
  uint32_t host_;
  Report& report_;
  int64_t milli_ = -1;
  bool had_work_ = true;
  uint32_t idle_ = 0;
  uint32_t most_ = 0;
};

}  // namespace heddle::vopr
