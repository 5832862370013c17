// See outliers.h.
#include "insight/diagnosis/outliers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "insight/diagnosis/block_series.h"
#include "insight/diagnosis/params.h"

namespace heddle::insight {
namespace {

using Rows = std::vector<std::vector<double>>;

// Values less a line through the medians of their halves: what is neither level nor trend.
void add_residuals(const std::vector<double>& values, std::vector<double>& residuals) {
  const size_t half = values.size() / 2;
  const double first = median(values_in(values, {0, half}));
  const double last = median(values_in(values, {values.size() - half, values.size()}));
  const double slope = values.size() >= params::kLeastEpisode
                           ? (last - first) / static_cast<double>(values.size() - half)
                           : 0;
  std::vector<double> flat(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    flat[i] = values[i] - slope * static_cast<double>(i);
  }
  const double level = median(flat);
  for (const double value : flat) residuals.push_back(value - level);
}

// How much a candidate's value varies beside what the episode changes, and for how long: a mean of
// n values whose neighbors are correlated varies as that of fewer.
class NoiseOf {
 public:
  NoiseOf(const Rows& values, const Episode& episode, double threshold) {
    const double most = params::kMostNoise * threshold;
    for (const std::vector<double>& row : values) {
      for (const Episode& part :
           {Episode{0, episode.begin}, episode, Episode{episode.end, row.size()}}) {
        if (part.length() == 0) continue;
        std::vector<double> residuals;
        add_residuals(values_in(row, part), residuals);
        all_.insert(all_.end(), residuals.begin(), residuals.end());
        for (size_t i = 0; i < residuals.size(); ++i) {
          const double value = std::clamp(residuals[i], -most, most);
          squares_ += value * value;
          if (i > 0) products_ += value * std::clamp(residuals[i - 1], -most, most);
        }
      }
    }
  }

  double deviation() const {
    const double by_squares = std::sqrt(squares_ / static_cast<double>(all_.size()));
    return std::max(by_squares, spread(all_, 0));
  }
  // Of a median of n values, beside its error without correlation.
  double inflation() const {
    const double correlation = std::clamp(products_ / std::max(squares_, 1e-12), 0.0, 0.9);
    return std::sqrt((1 + correlation) / (1 - correlation));
  }

 private:
  std::vector<double> all_;
  double squares_ = 0;
  double products_ = 0;
};

// Of a median of values that jump between two levels, as where ranks share cores, nothing is known
// from how much single values vary: it is one of the two. Their mean says how often they are high.
// What is beyond twice the level counts no more than that, so that a checkpoint decides nothing.
double mean_in(const std::vector<double>& values, const Episode& episode, double most) {
  double sum = 0;
  for (size_t i = episode.begin; i < episode.end; ++i) sum += std::clamp(values[i], -most, most);
  return sum / static_cast<double>(episode.length());
}

// The highest of n candidates' noise is higher than one's, in standard errors if it is Gaussian.
double least_errors(double of_one, size_t candidates) {
  return std::sqrt(of_one * of_one + 2 * std::log(static_cast<double>(candidates)));
}

// How the candidates' levels differ where none is an outlier: of the lower half, since more than
// one may be. Nothing: they are few.
std::optional<double> spread_between(std::vector<double> levels, double others, double threshold) {
  if (levels.size() < params::kFewLevels) return std::nullopt;
  std::sort(levels.begin(), levels.end());
  levels.resize((levels.size() + 1) / 2);
  std::vector<double> below;
  for (const double level : levels) below.push_back(others - level);
  return std::max(params::kDeviationOfMad * median(std::move(below)), threshold / 8);
}

// What candidates that are high in the same episode are compared with. Where ranks are late by
// design a quarter of all may be, mostly in one episode, so it is computed once for each.
struct Comparison {
  double others = 0;                  // the usual level
  std::optional<double> between;      // as spread_between()
  std::optional<double> block_error;  // of a value; nothing: it is not computed yet
};

class Comparisons {
 public:
  Comparisons(const Rows& values, const OutlierRule& rule) : values_(values), rule_(rule) {}

  const Comparison& in(const Episode& episode) { return known(episode); }

  // Standard error of one block's value.
  double block_error(const Episode& episode) {
    std::optional<double>& error = known(episode).block_error;
    if (!error) {
      const NoiseOf noise(values_, episode, rule_.threshold);
      error = std::max(noise.deviation(), rule_.threshold / 20) * noise.inflation();
    }
    return *error;
  }

 private:
  Comparison& known(const Episode& episode) {
    const auto [at, fresh] = by_episode_.try_emplace(std::pair(episode.begin, episode.end));
    if (!fresh) return at->second;
    std::vector<double> levels;
    levels.reserve(values_.size());
    for (const std::vector<double>& row : values_)
      levels.push_back(median(values_in(row, episode)));
    Comparison& made = at->second;
    made.others = quantile(levels, rule_.usual);
    made.between = spread_between(std::move(levels), made.others, rule_.threshold);
    return made;
  }

  const Rows& values_;
  const OutlierRule& rule_;
  std::map<std::pair<size_t, size_t>, Comparison> by_episode_;  // begin and end
};

bool stands_out(const Outlier& outlier, const std::optional<double>& between) {
  return !between || outlier.level - outlier.others >= 4 * *between;
}

bool is_long_enough(const Episode& episode, const std::vector<Block>& blocks, int64_t least_ns) {
  if (episode.length() < params::kLeastEpisode) return false;
  size_t operations = 0;
  for (size_t i = 0; i < episode.end; ++i) operations += blocks[i].operations;
  if (operations <= params::kFirstOperations) return false;
  return blocks[episode.end - 1].end - blocks[episode.begin].begin >= least_ns;
}

// Few values of a row are enough to exceed a threshold where noise is large.
double share_above(const std::vector<double>& own, double threshold) {
  const auto above = std::count_if(own.begin(), own.end(),
                                   [threshold](double value) { return value >= threshold; });
  return static_cast<double>(above) / static_cast<double>(own.size());
}

bool is_steady(double share, double errors, const OutlierRule& rule) {
  if (share >= params::kLeastFirst) return true;
  return rule.sporadic && share >= params::kLeastSporadic && errors >= 2 * rule.least_errors;
}

}  // namespace

std::vector<Outlier> find_outliers(const Rows& values, const std::vector<Block>& blocks,
                                   const OutlierRule& rule) {
  std::vector<Outlier> found;
  if (values.size() < 2 || blocks.size() < params::kLeastBlocks) return found;
  Comparisons comparisons(values, rule);
  for (size_t i = 0; i < values.size(); ++i) {
    const Episode episode = highest_episode(values[i], rule.threshold);
    if (!is_long_enough(episode, blocks, rule.least_ns)) continue;
    const std::vector<double> own = values_in(values[i], episode);
    Outlier outlier{.candidate = i, .episode = episode, .level = median(own)};
    const double share = share_above(own, rule.threshold);
    if (share < params::kLeastSporadic) continue;
    const Comparison& compared = comparisons.in(episode);
    outlier.others = compared.others;
    if (outlier.level - std::max(0.0, outlier.others) < rule.threshold / 2) continue;
    if (!stands_out(outlier, compared.between)) continue;
    const double block_error = comparisons.block_error(episode);
    const double most = std::max(params::kMostNoise * rule.threshold, 2 * outlier.level);
    std::vector<double> means;
    for (const std::vector<double>& row : values) means.push_back(mean_in(row, episode, most));
    const double above = means[i] - std::max(0.0, quantile(means, rule.usual));
    outlier.errors = above * std::sqrt(static_cast<double>(own.size())) / block_error;
    if (outlier.errors < least_errors(rule.least_errors, values.size())) continue;
    if (!is_steady(share, outlier.errors, rule)) continue;
    outlier.from_beginning = episode.begin <= std::max<size_t>(1, blocks.size() / 20);
    outlier.lasts = episode.end + std::max<size_t>(1, blocks.size() / 20) >= blocks.size();
    // What is over and began with the job was its start.
    if (outlier.from_beginning && !outlier.lasts) continue;
    found.push_back(outlier);
  }
  return found;
}

double confidence_of(const Outlier& outlier) {
  const double by_errors = 1 - std::exp(-outlier.errors / params::kLeastErrors);
  return 0.5 + (params::kMostOutlierConfidence - 0.5) * std::clamp(by_errors, 0.0, 1.0);
}

}  // namespace heddle::insight
