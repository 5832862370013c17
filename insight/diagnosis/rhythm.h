// Rhythm: a job's steps, as its collectives repeat them: the period by autocorrelation of the
// calls, the time of a step, and the one change of that time that stands out. Ranks and links are
// compared with each other; what slows all of them alike shows here alone.
#pragma once

#include <vector>

#include "insight/diagnosis.h"
#include "insight/diagnosis/job_facts.h"

namespace heddle::insight {

// Of the communicators with the most collectives that ended since then; sorted by communicator.
std::vector<Rhythm> find_rhythms(const JobFacts& facts, int64_t since_ns);

// A note for each rhythm whose steps became slower for good while no verdict explains it.
void note_slower_steps(Diagnosis& diagnosis);

}  // namespace heddle::insight
