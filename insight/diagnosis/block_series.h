// BlockSeries: a communicator's completed collectives in blocks of consecutive ones: how late each
// rank's computation was beside the others', and each link's data. Outliers of such series are
// what slow ranks and links are found by.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "insight/diagnosis/job_facts.h"
#include "insight/diagnosis/link_delays.h"
#include "insight/diagnosis/params.h"

namespace heddle::insight {

struct Block {
  int64_t begin = 0;
  int64_t end = 0;
  double transfer_ns = 0;  // from the time that all ranks had called until the last one's end
  uint64_t operations = 0;
};

struct BlockSeries {
  uint64_t communicator = 0;
  std::vector<Block> blocks;
  // By rank and block: surplus of computation over the median rank, as a share of the block's time.
  std::vector<std::vector<double>> late;
  // By rank: computation over the median rank's, in all; and elements of its all-to-alls.
  std::vector<std::vector<double>> computed_ns;
  std::vector<std::vector<double>> load;
  // By link between hosts, and block: delay beside the usual link, as a share of the transfer.
  std::map<Link, std::vector<double>> delayed;
  uint64_t operations = 0;
  double least_errors = params::kLeastErrors;  // of an outlier
};

// A communicator's completed collectives, by number; at least one, and all with as many parts, two
// or more.
using Collectives = std::vector<const Operation*>;
// By communicator, of those that ended since then.
std::map<uint64_t, Collectives> completed_collectives(const JobFacts& facts, int64_t since_ns);

// Of every communicator with at least two ranks that were all recorded.
std::vector<BlockSeries> make_series(const JobFacts& facts, int64_t since_ns);

// Its links' delays over all its blocks; nothing: none was measured, or its ranks are too many.
std::optional<DelayMatrix> delay_matrix(const JobFacts& facts, const BlockSeries& series);

}  // namespace heddle::insight
