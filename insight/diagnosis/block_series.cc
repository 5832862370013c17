// See block_series.h.
#include "insight/diagnosis/block_series.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "insight/diagnosis/params.h"

namespace heddle::insight {
namespace {

using Operations = std::vector<const Operation*>;

// With its own clock, so that clocks of hosts need not agree; nothing: it is the first call.
std::optional<double> computed(const JobFacts& facts, const Part& part) {
  const bool waits = facts.processes()[part.process].has_waits;
  const int64_t ns = waits ? part.computed_ns : part.idle_ns;
  if (ns < 0) return std::nullopt;
  return static_cast<double>(ns);
}

// How long each took beside the median of the others. Of many the median of all is the same, and
// less work.
std::vector<double> surplus(const std::vector<double>& values) {
  constexpr size_t kFew = 4;
  const double middle = median(values);
  std::vector<double> found(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    double usual = middle;
    if (values.size() <= kFew) {
      std::vector<double> others = values;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
      usual = median(std::move(others));
    }
    found[i] = values[i] - usual;
  }
  return found;
}

// Mean arrival at the receiver less mean arrival at the sender: how far data is held up on a ring's
// link. All links of a ring carry as many messages, each behind an earlier one of the link before.
bool ring_delays(const Operation& operation, std::map<Link, double>& delays) {
  const auto mean = [&operation](const Inflow& inflow) {
    return operation.mean_arrival_ns(inflow);
  };
  for (const Part& part : operation.parts) {
    if (part.inflows.size() != 1 || part.inflows[0].messages == 0) return false;
    const uint32_t from = part.inflows[0].from;
    if (from >= operation.parts.size() || operation.parts[from].inflows.size() != 1) return false;
    if (part.inflows[0].messages != operation.parts[from].inflows[0].messages) return false;
  }
  for (uint32_t to = 0; to < operation.parts.size(); ++to) {
    const Inflow& inflow = operation.parts[to].inflows[0];
    delays[{inflow.from, to}] = mean(inflow) - mean(operation.parts[inflow.from].inflows[0]);
  }
  return true;
}

// Last arrival after both had started: of exchanges in which each rank sends to each other.
bool exchange_delays(const Operation& operation, std::map<Link, double>& delays) {
  const bool direct = operation.algorithm == events::Algorithm::kPairwise ||
                      operation.algorithm == events::Algorithm::kLinear;
  if (!direct || operation.parts.size() < 3) return false;
  for (const Part& part : operation.parts) {
    if (part.inflows.size() + 1 < operation.parts.size() || part.started == kNever) return false;
  }
  for (uint32_t to = 0; to < operation.parts.size(); ++to) {
    for (const Inflow& inflow : operation.parts[to].inflows) {
      if (inflow.from >= operation.parts.size()) return false;
      const int64_t ready =
          std::max(operation.parts[to].started, operation.parts[inflow.from].started);
      delays[{inflow.from, to}] = static_cast<double>(inflow.last_ns - ready);
    }
  }
  return true;
}

// A transfer's time as NCCL's proxy measured it, over all of an operation's transfer: half of the
// surplus, so that a link of half the rate counts as in a ring.
bool proxy_delays(const Operation& operation, int64_t transfer_ns, std::map<Link, double>& delays) {
  std::vector<double> waits;
  for (const Part& part : operation.parts) {
    for (const Inflow& inflow : part.inflows) {
      if (inflow.network_wait_ns >= 0) waits.push_back(inflow.network_wait_ns);
    }
  }
  if (waits.size() < 3) return false;
  const double middle = median(waits);
  for (uint32_t to = 0; to < operation.parts.size(); ++to) {
    for (const Inflow& inflow : operation.parts[to].inflows) {
      if (inflow.network_wait_ns <= 0) continue;
      const double share = (1 - middle / inflow.network_wait_ns) / 2;
      delays[{inflow.from, to}] = share * static_cast<double>(transfer_ns);
    }
  }
  return true;
}

// None if the operations together are shorter than one block.
size_t blocks_of(const Operations& operations) {
  int64_t ended = operations.front()->ended;
  for (const Operation* each : operations) ended = std::max(ended, each->ended);
  const int64_t began = std::min(ended, operations.front()->began);
  const uint64_t span = static_cast<uint64_t>(ended) - static_cast<uint64_t>(began);
  return std::min<uint64_t>(
      {operations.size(), params::kBlocks, span / uint64_t{params::kLeastBlockNs}});
}

class SeriesMaker {
 public:
  SeriesMaker(const JobFacts& facts, uint64_t communicator, const Operations& operations)
      : facts_(facts), operations_(operations) {
    series_.communicator = communicator;
    const size_t ranks = operations.front()->parts.size();
    const size_t blocks = blocks_of(operations);
    series_.blocks.resize(blocks);
    series_.late.assign(ranks, std::vector<double>(blocks));
    series_.computed_ns = series_.load = series_.late;
    series_.operations = operations.size();
  }

  BlockSeries make() {
    if (series_.blocks.empty()) return std::move(series_);
    int64_t before = operations_.front()->began;
    const size_t blocks = series_.blocks.size();
    for (size_t block = 0; block < blocks; ++block) {
      const size_t from = operations_.size() * block / blocks;
      const size_t to = operations_.size() * (block + 1) / blocks;
      series_.blocks[block].begin = before;
      for (size_t i = from; i < to; ++i) add(block, *operations_[i]);
      before = series_.blocks[block].end = std::max(before, operations_[to - 1]->ended);
      finish(block);
    }
    return std::move(series_);
  }

 private:
  void add(size_t block, const Operation& operation) {
    const int64_t transfer = std::max<int64_t>(0, operation.ended - operation.due);
    series_.blocks[block].transfer_ns += static_cast<double>(transfer);
    ++series_.blocks[block].operations;
    add_computation(block, operation);
    add_delays(block, operation, transfer);
  }

  void add_computation(size_t block, const Operation& operation) {
    std::vector<double> values;
    for (size_t rank = 0; rank < operation.parts.size(); ++rank) {
      const Part& part = operation.parts[rank];
      if (operation.what == events::Operation::kAlltoallv) {
        series_.load[rank][block] += static_cast<double>(part.count);
      }
      const std::optional<double> value = computed(facts_, part);
      if (!value) return;
      values.push_back(*value);
    }
    const std::vector<double> late = surplus(values);
    for (size_t rank = 0; rank < values.size(); ++rank) {
      series_.late[rank][block] += late[rank];
      series_.computed_ns[rank][block] += values[rank];
    }
  }

  void add_delays(size_t block, const Operation& operation, int64_t transfer) {
    std::map<Link, double> delays;
    if (ring_delays(operation, delays) || exchange_delays(operation, delays)) {
      compares_clocks_ = true;
    } else {
      delays.clear();
      if (!proxy_delays(operation, transfer, delays)) return;
    }
    std::vector<double> values;
    for (const auto& [link, delay] : delays) values.push_back(delay);
    const double middle = median(std::move(values));
    for (const auto& [link, delay] : delays) {
      std::vector<double>& row = series_.delayed[link];
      row.resize(series_.blocks.size());
      row[block] += delay - middle;
    }
  }

  // Sums become shares.
  void finish(size_t block) {
    const Block& facts = series_.blocks[block];
    const auto length = static_cast<double>(std::max<int64_t>(1, facts.end - facts.begin));
    for (std::vector<double>& row : series_.late) row[block] /= length;
    const auto least =
        static_cast<double>(params::kLeastDelayNs * static_cast<int64_t>(facts.operations));
    const bool matters = facts.transfer_ns >= params::kLeastTransfer * length;
    for (auto& [link, row] : series_.delayed) {
      if (block >= row.size()) row.resize(series_.blocks.size());
      const double error = clock_error_ns(link) * static_cast<double>(facts.operations);
      const double sure = std::max(0.0, std::abs(row[block]) - error);
      const bool counts = matters && sure >= least;
      row[block] = counts ? std::copysign(sure, row[block]) / facts.transfer_ns : 0;
    }
  }

  // Of a delay between two ranks, as far as it is a difference of times of two clocks; infinite
  // where it is unknown.
  double clock_error_ns(const Link& link) const {
    if (!compares_clocks_) return 0;
    double sum = 0;
    for (const uint32_t rank : {link.first, link.second}) {
      const uint32_t process = facts_.process_of(series_.communicator, rank);
      if (process == kNobody) continue;
      const int64_t error = facts_.processes()[process].end.clock_error_ns;
      if (error < 0) return std::numeric_limits<double>::infinity();
      sum += static_cast<double>(error);
    }
    return sum;
  }

  const JobFacts& facts_;
  const Operations& operations_;
  BlockSeries series_;
  bool compares_clocks_ = false;
};

std::vector<double> part_of(const std::vector<double>& values, const Episode& episode) {
  return {values.begin() + static_cast<std::ptrdiff_t>(episode.begin),
          values.begin() + static_cast<std::ptrdiff_t>(episode.end)};
}

// Values of all candidates less their own medians, in the episode and outside of it: how much a
// candidate's value varies beside what the episode changes.
double noise_of(const std::vector<std::vector<double>>& values, const Episode& episode) {
  std::vector<double> residuals;
  for (const std::vector<double>& row : values) {
    std::vector<double> outside = part_of(row, {0, episode.begin});
    outside.insert(outside.end(), row.begin() + static_cast<std::ptrdiff_t>(episode.end),
                   row.end());
    for (const std::vector<double>& part : {part_of(row, episode), outside}) {
      const double middle = median(part);
      for (const double value : part) residuals.push_back(value - middle);
    }
  }
  return spread(residuals, 0);
}

}  // namespace

std::vector<BlockSeries> make_series(const JobFacts& facts, int64_t since_ns) {
  std::map<uint64_t, Operations> by_communicator;
  for (const auto& [key, operation] : facts.operations()) {
    if (operation.between_two() || operation.ended == kNever || operation.differs) continue;
    if (operation.parts.size() < 2 || operation.ended < since_ns) continue;
    Operations& alike = by_communicator[key.communicator];
    // Of a damaged recording the ranks may be more later.
    if (!alike.empty() && alike.front()->parts.size() != operation.parts.size()) continue;
    alike.push_back(&operation);
  }
  std::vector<BlockSeries> series;
  for (const auto& [communicator, operations] : by_communicator) {
    series.push_back(SeriesMaker(facts, communicator, operations).make());
  }
  return series;
}

std::vector<Outlier> find_outliers(const std::vector<std::vector<double>>& values,
                                   double threshold) {
  std::vector<Outlier> found;
  if (values.size() < 2 || values.front().size() < params::kLeastBlocks) return found;
  const size_t blocks = values.front().size();
  for (size_t i = 0; i < values.size(); ++i) {
    const Episode episode = highest_episode(values[i], threshold);
    if (episode.length() < params::kLeastEpisode) continue;
    const std::vector<double> own = part_of(values[i], episode);
    Outlier outlier{.candidate = i, .episode = episode, .level = median(own)};
    const auto above = std::count_if(own.begin(), own.end(),
                                     [threshold](double value) { return value >= threshold; });
    if (static_cast<double>(above) < params::kLeastFirst * static_cast<double>(own.size())) {
      continue;
    }
    const double noise = std::max(noise_of(values, episode), threshold / 20);
    std::vector<double> levels;
    for (const std::vector<double>& row : values) levels.push_back(median(part_of(row, episode)));
    outlier.others = median(levels);
    // A median of n values varies by 1.25 / sqrt(n) of their deviation.
    outlier.errors = (outlier.level - std::max(0.0, outlier.others)) /
                     (1.25 * noise / std::sqrt(static_cast<double>(own.size())));
    const double between = std::max(spread(levels, outlier.others), threshold / 8);
    const bool stands_out = values.size() < 4 || outlier.level - outlier.others >= 4 * between;
    if (outlier.errors < params::kLeastErrors || !stands_out) continue;
    outlier.from_beginning = episode.begin <= blocks / 20;
    outlier.lasts = episode.end + std::max<size_t>(1, blocks / 20) >= blocks;
    found.push_back(outlier);
  }
  return found;
}

double confidence_of(const Outlier& outlier) {
  const double by_errors = 1 - std::exp(-outlier.errors / params::kLeastErrors);
  return std::clamp(0.5 + 0.49 * by_errors, 0.5, 0.99);
}

}  // namespace heddle::insight
