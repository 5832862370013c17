// StartOrder: which flow of a workload starts next: at its time, or when the trigger that it waits
// for fires.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/nanos.h"
#include "topology/workload.h"

namespace heddle::simulator {

class StartOrder {
 public:
  // The workload must outlive it.
  explicit StartOrder(const topology::Workload& workload);

  // --- flows that wait for no trigger; times count from time 0 ---
  // Each once; nothing: none is due.
  std::optional<uint32_t> take_due(Nanos at);
  bool all_taken() const { return taken_ == by_start_.size(); }
  // Of the next one; never(): all are taken.
  Nanos next_at() const;

  // --- triggers ---
  // One more end that the trigger waits for; true: it fires.
  bool count_end(uint32_t trigger);
  // Whether it starts one flow when it fires, and not all.
  bool starts_one(uint32_t trigger) const;
  // A flow that waits for it, each once.
  std::optional<uint32_t> take_waiting(uint32_t trigger);

 private:
  // It fires after this number of ends.
  struct Counter {
    uint32_t ends = 1;
    std::vector<uint32_t> waiting;  // flows, the next at the back
  };

  const topology::Workload& workload_;
  std::vector<uint32_t> by_start_;  // flows that wait for no trigger
  size_t taken_ = 0;                // index into by_start_
  std::vector<Counter> counters_;   // per trigger
};

}  // namespace heddle::simulator
