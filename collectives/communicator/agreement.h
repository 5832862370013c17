// Agreement: the calls by which ranks come to one tuning before the first call of a user. Rank 0
// broadcasts its tuning; where that is to be measured, all ranks make the calls of a Measurement,
// one group after the other, and rank 0 broadcasts after each whether another follows, or the
// result. The communicator's body makes the calls and passes the clock.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "collectives/call.h"
#include "collectives/choice/measurement.h"
#include "collectives/tuning.h"

namespace heddle::collectives {

class Agreement {
 public:
  // Calls of the agreement after the first have numbers beyond all of users' calls.
  static constexpr uint64_t kFirstNumber = uint64_t{1} << 62;

  // Of rank 0 `offered` counts.
  Agreement(uint32_t rank, uint32_t ranks, const Tuning& offered);

  // The call that all ranks make now, its algorithm and its number. The first has number 0.
  struct Step {
    Call call;
    Algorithm algorithm;
    uint64_t number;
  };
  Step begin_step(Nanos now);
  // It has ended. True: the ranks agree. Errors: kVersion (rank 0 sent what this rank cannot read).
  Result<bool> end_step(Nanos now);

  // What rank 0 broadcast last; nothing before the first broadcast has ended. Final when end_step()
  // returned true.
  const std::optional<Tuning>& tuning() const { return tuning_; }
  // Whether these ranks measured, with a result that is worth keeping. Rank 0 knows.
  bool measured() const { return measured_; }

 private:
  // Behind the tuning: which group of calls follows, counted from 1; 0: none.
  static constexpr size_t kNextGroupAt = Tuning::kBytes;

  void offer(const Tuning& tuning, size_t next_group);
  Result<bool> end_broadcast(Nanos now);
  void end_group(Nanos now);

  const uint32_t rank_;
  const uint32_t ranks_;
  std::array<std::byte, Tuning::kBytes + 1> message_{};
  std::optional<Tuning> tuning_;
  uint64_t steps_ = 0;
  bool measured_ = false;

  std::unique_ptr<Measurement> measurement_;
  std::vector<float> buffer_;
  std::optional<size_t> group_;  // nothing: a broadcast is running
  size_t call_ = 0;
  Nanos measurement_began_;
  Nanos group_began_;
  Nanos call_began_;
};

}  // namespace heddle::collectives
