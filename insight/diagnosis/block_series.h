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
#include "insight/diagnosis/robust.h"

namespace heddle::insight {

using Link = std::pair<uint32_t, uint32_t>;  // ranks in the communicator: sender and receiver

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
  // By link and block: surplus of delay over the median link, as a share of the transfer.
  std::map<Link, std::vector<double>> delayed;
  uint64_t operations = 0;
};

// Of every communicator with at least two ranks that were all recorded.
std::vector<BlockSeries> make_series(const JobFacts& facts, int64_t since_ns);

struct Outlier {
  size_t candidate = 0;
  Episode episode;
  double level = 0;   // median in the episode
  double others = 0;  // median of all candidates' medians there
  double errors = 0;  // how many standard errors the level lies above the threshold of nothing
  bool from_beginning = false;
  bool lasts = false;  // until the last block
};

// Candidates that are above the threshold for an episode: longer, steadier and further than the
// spread of all candidates' values explains. Each row of `values` is a candidate's.
std::vector<Outlier> find_outliers(const std::vector<std::vector<double>>& values,
                                   double threshold);

// From the evidence of an outlier, 0.5 to 0.99.
double confidence_of(const Outlier& outlier);

}  // namespace heddle::insight
