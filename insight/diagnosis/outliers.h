// Outliers: candidates (ranks, links, NICs) whose values, one a block, lie above the others' for an
// episode: longer, steadier and further than the noise explains.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "insight/diagnosis/params.h"
#include "insight/diagnosis/robust.h"

namespace heddle::insight {

struct Block;

struct Outlier {
  size_t candidate = 0;
  Episode episode;
  double level = 0;   // median in the episode
  double others = 0;  // usual one of all candidates' medians there
  double errors = 0;  // how many standard errors its mean lies above the others'
  bool from_beginning = false;
  bool lasts = false;  // until the last block
};

struct OutlierRule {
  double threshold = 0;
  double usual = 0.5;     // quantile of the candidates that is the measure of all
  int64_t least_ns = 0;   // of an episode
  bool sporadic = false;  // surely high in half of the blocks is enough
  double least_errors = params::kLeastErrors;
};

// Each row of `values` is a candidate's, by block.
std::vector<Outlier> find_outliers(const std::vector<std::vector<double>>& values,
                                   const std::vector<Block>& blocks, const OutlierRule& rule);

// From the evidence of an outlier, 0.81 to 0.99: the rules give outliers of at least kLeastErrors.
double confidence_of(const Outlier& outlier);

}  // namespace heddle::insight
