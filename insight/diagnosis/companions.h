// Companions: links that are late in the same blocks as another one, and share no host with it. One
// alone may not stand out; that it is late whenever the other is shows that they meet.
#pragma once

#include <vector>

#include "insight/diagnosis/block_series.h"
#include "insight/diagnosis/job_facts.h"
#include "insight/diagnosis/link_delays.h"

namespace heddle::insight {

// Of a link's blocks, those in which it is late.
double late_share(const std::vector<double>& row);

// Of links that share no host with any of `late`. `values`: delay of these, by block.
std::vector<Link> companions_of(const JobFacts& facts, const BlockSeries& series,
                                const std::vector<double>& values, const std::vector<Link>& late);

}  // namespace heddle::insight
