// Late links of a communicator, operation by operation: are they late in the same ones, and while
// another communicator is busy. This separates flows that meet on a link from a link that is slow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "insight/diagnosis/job_facts.h"
#include "insight/diagnosis/link_delays.h"

namespace heddle::insight {

// As find_slow_links (rules.h) found them; links are pairs of ranks.
struct LateLinks {
  uint64_t communicator = 0;
  std::vector<Link> late;    // the worst first
  std::vector<Link> with;    // late in the same blocks, between other hosts (companions.h)
  std::vector<Link> others;  // that were compared with them
  int64_t since_ns = 0;
  int64_t until_ns = 0;
  int64_t compared_ns = 0;  // the series' beginning
  bool of_nic = false;
  std::optional<size_t> verdict;  // of Diagnosis::verdicts; nothing: none of them stands out

  std::vector<Link> all() const;
};

// An operation from the time that all ranks had called until its end.
struct ComparedOperation {
  int64_t due = 0;
  int64_t ended = 0;
  uint32_t known = 0;  // links of which it shows the delay
  uint32_t late = 0;   // of these
  uint32_t usual = 0;  // of these, nearly as fast as others
  bool all_late() const;
  bool none_late() const;
};

// Of the operations that are alike (kind, algorithm and, where sizes do not vary, count): those
// that transfer most in all, in order, between since_ns and until_ns.
std::vector<ComparedOperation> compare_operations(const JobFacts& facts, const LateLinks& links);

// How the delays of all the links rise and fall in those operations that are alike in which they
// are late by most, from the first in which all are high to the last. A delay is high from half of
// its link's highest on, and low below a quarter.
struct Coming {
  size_t all = 0;      // operations in which all were high
  size_t none = 0;     // in which all were low
  size_t some = 0;     // the others
  size_t comings = 0;  // times that all became high
  // Of two of the links' delays, the mean correlation: 1: they differ by a factor alone; 0: each
  // varies by itself.
  double agreement = 0;
  double delay = 0;  // mean of a link, over the usual operation's transfer
  int64_t since_ns = 0;
  int64_t until_ns = 0;

  size_t operations() const { return all + none + some; }
  // Late together, again and again, and not late between: a link that is slow is so each time.
  bool comes_and_goes() const;
  bool stays() const;
};
Coming coming_of(const JobFacts& facts, const LateLinks& links);

// Operations beside which another communicator's ran, and those that were alone.
struct Beside {
  size_t busy = 0;
  size_t busy_late = 0;
  size_t alone = 0;
  size_t alone_late = 0;
  // Late only while the other is busy; late without it, too.
  bool depends() const;
  bool is_late_alone() const;
};
Beside beside_other(const std::vector<ComparedOperation>& compared, const JobFacts& facts,
                    uint64_t communicator);

}  // namespace heddle::insight
