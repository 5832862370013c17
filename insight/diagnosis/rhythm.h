// Rhythm: a job's steps, as its collectives repeat them: the period by autocorrelation of the
// calls, the time of a step, and the one change of that time that stands out. Ranks and links are
// compared with each other; what slows all of them alike shows here alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "insight/diagnosis.h"
#include "insight/diagnosis/job_facts.h"
#include "insight/diagnosis/params.h"

namespace heddle::insight {

// What a search may cost: its time is proportional to communicators, and at most to the square of
// calls.
struct RhythmBounds {
  size_t communicators = params::kMostRhythms;
  size_t calls = params::kMostRhythmCalls;  // of each, the latest
};

// Of the communicators with the most collectives that ended since then; sorted by communicator.
std::vector<Rhythm> find_rhythms(const JobFacts& facts, int64_t since_ns,
                                 const RhythmBounds& bounds = {});

// A note for each rhythm whose steps became slower for good while no verdict explains it.
void note_slower_steps(Diagnosis& diagnosis);

}  // namespace heddle::insight
