// Reached: what runs of the proof have met: faults of the network, reasons for dropping, steps of
// recovery, causes of closes and errors. A proof that does not reach a branch says nothing of it,
// so the whole run demands all of them.
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

  // A table of all that can be met with how often it was: a name and a count a line. The tables of
  // several processes add up by reading them.
  std::string to_text() const;
  bool add_text(const std::string& table);
  // What was never met and should have been.
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
  std::array<uint64_t, events::kWaysVerdictCount> verdicts_{};
  std::vector<Entry> others_;
};

}  // namespace heddle::vopr
