// One run: a fabric, machines and programs from the options; first a phase with faults, in which no
// data may be lost or wrong, then one without, in which everything must end. The report lists
// violations.
#pragma once

#include <cstdint>

#include "events/events.h"
#include "tests/vopr/checkers/report.h"
#include "tests/vopr/options.h"
#include "tests/vopr/reached.h"

namespace heddle::vopr {

struct Findings {
  Report report;
  Reached reached;
  uint64_t events = 0;  // of the simulated network
  uint64_t operations = 0;
  uint64_t bytes = 0;
  Nanos lasted;                  // virtual time
  uint64_t held_most = 0;        // bytes, by one endpoint
  uint32_t idle_turns_most = 0;  // see TurnBudget
  uint64_t trace_hash = 0;       // equal for equal runs
};

// `trace` may be null; it receives every event of every host.
Findings run(const Options& options, events::Sink* trace);

}  // namespace heddle::vopr
