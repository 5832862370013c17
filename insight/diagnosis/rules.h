// The rules of the diagnosis: each looks at the facts for one kind of fault, and reports verdicts.
#pragma once

#include <string>
#include <vector>

#include "insight/diagnosis.h"
#include "insight/diagnosis/block_series.h"
#include "insight/diagnosis/job_facts.h"
#include "insight/diagnosis/late_together.h"
#include "insight/diagnosis/outliers.h"

namespace heddle::insight {

// Operations that never end: hangs of a rank, of communication, and circles.
void find_hangs(const JobFacts& facts, int64_t until_ns, Diagnosis& diagnosis);
// Operations that ranks called differently.
void find_mismatches(const JobFacts& facts, Diagnosis& diagnosis);
// Ranks for whose computation the others wait; of unequal work a note.
void find_slow_ranks(const JobFacts& facts, const BlockSeries& series, Diagnosis& diagnosis);
// Work that differs between ranks and is new with each step, as by the lengths of sequences: a note
// where the ranks wait for it. None where a verdict explains what they wait for.
void find_length_imbalance(const JobFacts& facts, int64_t since_ns, Diagnosis& diagnosis);
// Links whose data is late; those that are so one by one are added to `late`.
void find_slow_links(const JobFacts& facts, const BlockSeries& series, Diagnosis& diagnosis,
                     std::vector<LateLinks>& late);

// Verdicts on late links that share no host become collisions where the links are late together
// again and again, or only while another communicator's late links are busy.
void find_collisions(const JobFacts& facts, const std::vector<LateLinks>& late,
                     Diagnosis& diagnosis);
// Verdicts on a rank's computation and on the data of its host at the same time become one.
// Operations were compared from this time on.
void find_mixed_slow(const JobFacts& facts, int64_t compared_from_ns, Diagnosis& diagnosis);

// Paths that fail together, again and again or for good.
void find_path_faults(const JobFacts& facts, int64_t since_ns, Diagnosis& diagnosis);

// The place that links (pairs of processes) have in common: a NIC where they share a host and no
// other explains them, else the first link.
Place place_of_links(const JobFacts& facts,
                     const std::vector<std::pair<uint32_t, uint32_t>>& links);
// Whether these are links of several pairs of hosts without a host that is at all of them.
bool share_no_host(const JobFacts& facts, const std::vector<std::pair<uint32_t, uint32_t>>& links);

// Of an outlier: since and until when, how sure, and whether there is a baseline.
void take_times(const BlockSeries& series, const Outlier& outlier, Verdict& verdict);

// "12.345 s"
std::string seconds_text(int64_t ns);
// "allreduce 42"
std::string operation_text(const Operation& operation);

}  // namespace heddle::insight
