// Reached: what the runs have covered: faults of the network, drop reasons, recovery steps, causes
// of closes and errors. Runs that do not reach a branch prove nothing about it, so the complete set
// of runs must reach all of them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "events/counting_sink.h"
#include "simulator/fates.h"

namespace heddle::vopr {

class Reached {
 public:
  static constexpr size_t kErrorCodes = static_cast<size_t>(ErrorCode::kSystem) + 1;

  void add(ErrorCode code) { ++errors_[static_cast<size_t>(code)]; }
  void add(const simulator::FateCounts& fates);
  void add(const events::CountingSink& events);
  void add(const std::string& what, uint64_t count = 1);
  void add(const Reached& other);

  // A table of everything that can be reached, with its count: a name and a count on each line.
  // add_text() adds the tables of several processes.
  std::string to_text() const;
  bool add_text(const std::string& table);
  // What was not reached and must be.
  std::vector<std::string> missing() const;

 private:
  struct Entry {
    std::string name;
    uint64_t count = 0;
  };

  std::vector<Entry> entries() const;

  std::array<uint64_t, kErrorCodes> errors_{};
  std::array<uint64_t, static_cast<size_t>(simulator::Fate::kCount)> fates_{};
  std::array<uint64_t, events::kDropReasonCount> drops_{};
  std::array<uint64_t, events::kRecoveryStepCount> steps_{};
  std::array<uint64_t, events::kCloseCauseCount> closes_{};
  std::array<uint64_t, events::kLossCauseCount> losses_{};
  std::array<uint64_t, events::kRoutesVerdictCount> verdicts_{};
  std::vector<Entry> others_;
};

}  // namespace heddle::vopr
