// The rules of the diagnosis: each looks at the facts for one kind of fault, and reports verdicts.
#pragma once

#include <string>
#include <vector>

#include "insight/diagnosis.h"
#include "insight/diagnosis/block_series.h"
#include "insight/diagnosis/job_facts.h"
#include "insight/diagnosis/outliers.h"

namespace heddle::insight {

// Operations that never end: hangs of a rank, of communication, and circles.
void find_hangs(const JobFacts& facts, int64_t until_ns, Diagnosis& diagnosis);
// Operations that ranks called differently.
void find_mismatches(const JobFacts& facts, Diagnosis& diagnosis);
// Ranks for whose computation the others wait; of unequal work a note.
void find_slow_ranks(const JobFacts& facts, const BlockSeries& series, Diagnosis& diagnosis);
// Links whose data is late.
void find_slow_links(const JobFacts& facts, const BlockSeries& series, Diagnosis& diagnosis);

// Paths that fail together, again and again or for good.
void find_path_faults(const JobFacts& facts, int64_t since_ns, Diagnosis& diagnosis);

// The place that links (pairs of processes) have in common: a NIC where they share a host and no
// other explains them, else the first link.
Place place_of_links(const JobFacts& facts,
                     const std::vector<std::pair<uint32_t, uint32_t>>& links);

// Of an outlier: since and until when, how sure, and whether there is a baseline.
void take_times(const BlockSeries& series, const Outlier& outlier, Verdict& verdict);

// "12.345 s"
std::string seconds_text(int64_t ns);
// "allreduce 42"
std::string operation_text(const Operation& operation);

}  // namespace heddle::insight
