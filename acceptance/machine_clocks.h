// Machine clocks: by how much the clocks of machines are ahead of this machine's. Each machine is
// asked over a connection that is open: the answer was given between question and answer, so half
// of the shortest round trip bounds the error, however long logging in took (RFC 5905's offset and
// the sample of its clock filter).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"

namespace heddle::acceptance {

class Commands;

struct ClockOffset {
  double ahead_s = 0;
  double error_s = 0;  // the offset is between ahead_s less and more than this
};

struct ClockReading {
  Nanos asked;       // by this machine's wall clock
  Nanos round_trip;  // by its steady clock
  Nanos there;       // the other machine's wall clock
};

// Of the reading with the shortest round trip; nothing without readings.
std::optional<ClockOffset> clock_offset(const std::vector<ClockReading>& readings);

// Of each host, in order; nothing for one that does not answer, as one with an older heddle.
// Errors: kSystem.
Result<std::vector<std::optional<ClockOffset>>> read_clocks(
    Commands& commands, const std::vector<std::string>& hosts,
    const std::function<bool()>& interrupted);

// The other side: writes a line, and then its wall clock for each SIGUSR1, until there have been
// kClockReadings of them or none came for kFactsTime.
void answer_clock();

}  // namespace heddle::acceptance
