// Slow ranks: see rules.h.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "insight/diagnosis/outliers.h"
#include "insight/diagnosis/params.h"
#include "insight/diagnosis/rules.h"

namespace heddle::insight {
namespace {

double sum_in(const std::vector<double>& values, const Episode& episode) {
  const auto begin = values.begin();
  return std::accumulate(begin + static_cast<std::ptrdiff_t>(episode.begin),
                         begin + static_cast<std::ptrdiff_t>(episode.end), 0.0);
}

double over_median(const std::vector<std::vector<double>>& rows, size_t row, const Episode& in) {
  std::vector<double> sums;
  for (const std::vector<double>& each : rows) sums.push_back(sum_in(each, in));
  const double middle = median(sums);
  return middle > 0 ? sums[row] / middle : 1;
}

Verdict slow_rank(const JobFacts& facts, const BlockSeries& series, const Outlier& outlier) {
  const auto rank = static_cast<uint32_t>(outlier.candidate);
  const uint32_t process = facts.process_of(series.communicator, rank);
  const Party& party = facts.processes()[process].party;
  const bool gradual = rises_gradually(series.late[rank], outlier.episode);
  Verdict verdict;
  verdict.what = gradual ? VerdictClass::kDegradation : VerdictClass::kNonCommunicationSlow;
  verdict.place = {PlaceKind::kRank, {process}, party.host};
  verdict.cost = outlier.level;
  verdict.summary = fmt::format("the others wait for {}: {:.0f}% of the time", full_name(party),
                                100 * outlier.level);
  verdict.evidence.push_back(
      fmt::format("between its calls it computes {:.2f} times as long as the median rank",
                  over_median(series.computed_ns, rank, outlier.episode)));
  verdict.evidence.push_back(
      fmt::format("in {} of {} blocks of operations; the median rank is late by {:.1f}%",
                  outlier.episode.length(), series.blocks.size(), 100 * outlier.others));
  if (gradual) verdict.evidence.push_back("it became late bit by bit, not at once");
  verdict.action = fmt::format(
      "on {} look for other programs, throttled clocks (CPU, GPU), and a slow data loader; if it "
      "stays, replace the host",
      party.host);
  take_times(series, outlier, verdict);
  return verdict;
}

// By how much a rank's work exceeds the median rank's, by rank and block.
std::vector<std::vector<double>> surplus_of(const std::vector<std::vector<double>>& load) {
  std::vector<std::vector<double>> surplus = load;
  for (size_t block = 0; block < load.front().size(); ++block) {
    std::vector<double> loads;
    for (const std::vector<double>& row : load) loads.push_back(row[block]);
    const double usual = median(std::move(loads));
    for (std::vector<double>& row : surplus) {
      // Without an all-to-all the work is that of the one before.
      const double before = block > 0 ? row[block - 1] : 0;
      row[block] = usual > 0 ? row[block] / usual - 1 : before;
    }
  }
  return surplus;
}

// The usual share of the time that is computation.
double computing_share(const BlockSeries& series) {
  std::vector<double> shares;
  for (size_t block = 0; block < series.blocks.size(); ++block) {
    const Block& facts = series.blocks[block];
    const auto length = static_cast<double>(std::max<int64_t>(1, facts.end - facts.begin));
    for (const std::vector<double>& row : series.computed_ns) shares.push_back(row[block] / length);
  }
  return std::clamp(median(std::move(shares)), 0.0, 1.0);
}

// Whether all-to-alls of stated sizes say how much work each rank has.
bool has_load(const BlockSeries& series) {
  return std::any_of(series.load.begin(), series.load.end(), [](const std::vector<double>& row) {
    return std::any_of(row.begin(), row.end(), [](double elements) { return elements != 0; });
  });
}

// Delay that the ranks' work does not explain: all-to-alls of unequal sizes mean unequal work
// between them. How much time a surplus of work costs is a line through zero, fitted over all ranks
// and blocks; what is far from it counts as if it were nearer (Huber), round by round. A tenth more
// work costs a tenth more computation at most.
std::vector<std::vector<double>> without_load(const BlockSeries& series) {
  if (!has_load(series)) return series.late;
  constexpr double kMost = params::kLeastLate;
  const std::vector<std::vector<double>> surplus = surplus_of(series.load);
  const double steepest = computing_share(series);
  std::vector<std::vector<double>> late = series.late;
  double slope = 0;
  for (int round = 0; round < params::kFitRounds; ++round) {
    double products = 0;
    double squares = 0;
    for (size_t rank = 0; rank < late.size(); ++rank) {
      for (size_t block = 0; block < late[rank].size(); ++block) {
        const double value = surplus[rank][block];
        products += value * std::clamp(late[rank][block], -kMost, kMost);
        squares += value * value;
      }
    }
    if (squares <= 0) return late;
    slope = std::clamp(slope + products / squares, 0.0, steepest);
    for (size_t rank = 0; rank < late.size(); ++rank) {
      for (size_t block = 0; block < late[rank].size(); ++block) {
        late[rank][block] = series.late[rank][block] - slope * surplus[rank][block];
      }
    }
  }
  return late;
}

bool is_among(const std::vector<Outlier>& outliers, size_t candidate) {
  return std::any_of(outliers.begin(), outliers.end(),
                     [candidate](const Outlier& each) { return each.candidate == candidate; });
}

void add_note(Verdict verdict, const std::string& evidence, Diagnosis& diagnosis) {
  verdict.what = VerdictClass::kLoadImbalance;
  verdict.evidence.push_back(evidence);
  verdict.action = "divide the work more evenly: experts, stages of the pipeline, or data";
  diagnosis.notes.push_back(std::move(verdict));
}

}  // namespace

void take_times(const BlockSeries& series, const Outlier& outlier, Verdict& verdict) {
  verdict.since_ns = series.blocks[outlier.episode.begin].begin;
  if (!outlier.lasts) verdict.until_ns = series.blocks[outlier.episode.end - 1].end;
  verdict.confidence = confidence_of(outlier);
  if (outlier.from_beginning) {
    verdict.evidence.push_back(
        "it was so from the beginning: there is no baseline of this job without it");
  }
}

void find_slow_ranks(const JobFacts& facts, const BlockSeries& series, Diagnosis& diagnosis) {
  const OutlierRule rule = {.threshold = params::kLeastLate,
                            .least_ns = params::kLeastRankEpisodeNs,
                            .least_errors = series.least_errors};
  const std::vector<Outlier> slow = find_outliers(without_load(series), series.blocks, rule);
  const auto ranks = static_cast<double>(series.late.size());
  const bool many =
      slow.size() > 1 && static_cast<double>(slow.size()) >= params::kDesignShare * ranks;
  for (const Outlier& outlier : slow) {
    Verdict verdict = slow_rank(facts, series, outlier);
    if (!many || !outlier.from_beginning) {
      diagnosis.verdicts.push_back(std::move(verdict));
      continue;
    }
    add_note(
        std::move(verdict),
        fmt::format("{} of {} ranks are late from the beginning", slow.size(), series.late.size()),
        diagnosis);
  }
  if (!has_load(series)) return;  // these are all
  for (const Outlier& outlier : find_outliers(series.late, series.blocks, rule)) {
    if (is_among(slow, outlier.candidate)) continue;
    add_note(slow_rank(facts, series, outlier),
             fmt::format("its all-to-alls move {:.2f} times what the median rank's do",
                         over_median(series.load, outlier.candidate, outlier.episode)),
             diagnosis);
  }
}

}  // namespace heddle::insight
