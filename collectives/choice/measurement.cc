// Measurement: see measurement.h.
#include "collectives/choice/measurement.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "collectives/choice/estimate.h"
#include "collectives/params.h"
#include "collectives/schedule/shape.h"

namespace heddle::collectives {
namespace {

constexpr Nanos kNotMade = nanos(-1);
constexpr size_t kSmallest = 0;  // column
constexpr size_t kFirstLarge = params::kShortRounds[1].first;

constexpr size_t row_of(Collective collective, Algorithm algorithm) {
  const auto* const found = std::find_if(
      CostTable::kRows.begin(), CostTable::kRows.end(), [&](const CostTable::Row& row) {
        return row.collective == collective && row.algorithm == algorithm;
      });
  return static_cast<size_t>(found - CostTable::kRows.begin());
}

std::vector<size_t> rows_of(Collective collective) {
  std::vector<size_t> rows;
  for (size_t row = 0; row < CostTable::kRows.size(); ++row) {
    if (CostTable::kRows[row].collective == collective) rows.push_back(row);
  }
  return rows;
}

constexpr size_t kRingRow = row_of(Collective::kAllReduce, Algorithm::kRing);
constexpr size_t kTwoLevelRow = row_of(Collective::kAllReduce, Algorithm::kTwoLevel);

void add_trials(const std::vector<uint32_t>& groupings, size_t column, MeasurementPlan& plan) {
  for (const uint32_t each : groupings) {
    plan.groups.push_back({column, {kTwoLevelRow}, params::kTrialRounds, each});
  }
}

bool counts_whole(Collective collective) {
  return collective == Collective::kAllReduce || collective == Collective::kBroadcast ||
         collective == Collective::kReduce;
}

// Elements of the call, as Data::count: at least one.
uint64_t count_of(Collective collective, uint64_t bytes, uint32_t ranks) {
  const uint64_t blocks = counts_whole(collective) ? 1 : ranks;
  return std::max<uint64_t>(1, bytes / sizeof(float) / blocks);
}

}  // namespace

std::vector<uint32_t> groupings_of(uint32_t ranks, uint32_t pinned) {
  if (pinned > 0) {
    const bool divides = group_ranks_of(ranks, pinned) != ranks;
    return divides ? std::vector{pinned} : std::vector<uint32_t>();
  }
  std::vector<uint32_t> found;
  for (uint32_t few = 2; few * few <= ranks && found.size() < params::kMostGroupings; ++few) {
    if (ranks % few != 0) continue;
    found.push_back(ranks / few);
    if (ranks / few != few) found.push_back(few);
  }
  return found;
}

MeasurementPlan short_measurement(uint32_t ranks, const std::vector<uint32_t>& groupings) {
  MeasurementPlan plan{.groups = {},
                       .time = params::kShortTime,
                       .sent_bytes = params::kShortBytes,
                       .slow_time = params::kSlowTime};
  std::vector<size_t> rows = rows_of(Collective::kAllReduce);
  std::erase(rows, kTwoLevelRow);  // the trials warm it up
  plan.groups.push_back({kSmallest, rows, params::kWarmUpRounds});
  add_trials(groupings, params::kTrialColumn, plan);
  if (!groupings.empty()) rows.push_back(kTwoLevelRow);
  for (const auto& [column, rounds] : params::kShortRounds) {
    plan.groups.push_back({column, rows, rounds});
  }
  if (ranks > 2 && ranks <= params::kMostExchanging) {
    const std::vector<size_t> exchanges = rows_of(Collective::kAllToAll);
    for (MeasurementPlan::Group& group : plan.groups) {
      if (group.column != kSmallest) continue;
      group.rows.insert(group.rows.end(), exchanges.begin(), exchanges.end());
    }
  }
  return plan;
}

MeasurementPlan full_measurement(uint64_t largest_bytes, Nanos time,
                                 const std::vector<uint32_t>& groupings) {
  MeasurementPlan plan{
      .groups = {}, .time = time, .sent_bytes = UINT64_MAX, .slow_time = Nanos::never()};
  std::vector<size_t> all(CostTable::kRows.size());
  for (size_t row = 0; row < all.size(); ++row) all[row] = row;
  std::erase(all, kTwoLevelRow);
  plan.groups.push_back({kSmallest, all, params::kWarmUpRounds});
  size_t largest = 0;
  while (largest + 1 < CostTable::kSizes.size() &&
         CostTable::kSizes[largest + 1] <= largest_bytes) {
    ++largest;
  }
  add_trials(groupings, std::min(largest, params::kTrialColumn), plan);
  if (!groupings.empty()) all.push_back(kTwoLevelRow);
  for (size_t column = 0; column < CostTable::kSizes.size(); ++column) {
    const uint64_t bytes = CostTable::kSizes[column];
    if (bytes > largest_bytes) break;
    const uint64_t rounds = std::clamp<uint64_t>(params::kFullBytes / bytes, params::kFullRoundsMin,
                                                 params::kFullRoundsMax);
    plan.groups.push_back({column, all, static_cast<uint32_t>(rounds)});
  }
  return plan;
}

Measurement::Measurement(uint32_t ranks, MeasurementPlan plan)
    : ranks_(ranks), plan_(std::move(plan)) {
  for (size_t group = 0; group < plan_.groups.size(); ++group) {
    took_.emplace_back(calls(group), kNotMade);
  }
}

size_t Measurement::calls(size_t group) const {
  return plan_.groups[group].rows.size() * plan_.groups[group].rounds;
}

CostTable::Row Measurement::row(size_t group, size_t call) const {
  const MeasurementPlan::Group& all = plan_.groups[group];
  return CostTable::kRows[all.rows[call / all.rounds]];
}

uint64_t Measurement::bytes(size_t group) const {
  return CostTable::kSizes[plan_.groups[group].column];
}

bool Measurement::begins_row(size_t group, size_t call) const {
  return call % plan_.groups[group].rounds == 0;
}

uint64_t Measurement::buffer_bytes() const {
  uint64_t largest = ranks_ * sizeof(float);
  for (size_t group = 0; group < groups(); ++group) largest = std::max(largest, bytes(group));
  return 2 * largest;
}

Call Measurement::call(size_t group, size_t call, float* buffer) const {
  const CostTable::Row what = row(group, call);
  const uint32_t trial = plan_.groups[group].group_ranks;
  return {.collective = what.collective,
          .type = DataType::kFloat32,
          .count = count_of(what.collective, bytes(group), ranks_),
          .input = buffer,
          .output = buffer + buffer_bytes() / 2 / sizeof(float),
          .exchange = {},
          .algorithm = what.algorithm,
          .group_ranks = trial > 0 ? trial : group_ranks_};
}

void Measurement::note(size_t group, size_t call, Nanos took) { took_[group][call] = took; }

Measurement::Trial Measurement::best_trial() const {
  Trial best;
  for (size_t group = 0; group < plan_.groups.size(); ++group) {
    const uint32_t ranks = plan_.groups[group].group_ranks;
    const std::vector<int64_t> times = times_of(group, 0);
    if (ranks == 0 || times.empty()) continue;
    if (best.ns == 0 || times.front() < best.ns) best = {ranks, bytes(group), times.front()};
  }
  return best;
}

uint64_t Measurement::sent_in(size_t group) const {
  uint64_t sent = 0;
  for (size_t call = 0; call < calls(group); ++call) {
    const CostTable::Row what = row(group, call);
    sent += work_of(what.collective, what.algorithm, ranks_, bytes(group)).sent;
  }
  return sent;
}

bool Measurement::slow() const {
  const std::optional<uint64_t> smallest =
      measured_ns(row_of(Collective::kAllReduce, Algorithm::kRecursiveDoubling), kSmallest);
  return plan_.slow_time != Nanos::never() && smallest &&
         *smallest >= static_cast<uint64_t>(params::kSlowCall.count);
}

// The groups behind the trials have one size each, which grow.
std::optional<size_t> Measurement::after_small(size_t group, uint64_t sent, Nanos elapsed) const {
  const size_t next = group + 1;
  const Trial trial = best_trial();
  if (!slow() || trial.ns == 0 || plan_.groups[next].group_ranks > 0) return next;
  const double byte_ns = static_cast<double>(trial.ns) / static_cast<double>(trial.bytes);
  return last_that_fits(next, sent, elapsed, byte_ns).value_or(next);
}

std::optional<size_t> Measurement::last_that_fits(size_t first, uint64_t sent, Nanos elapsed,
                                                  double byte_ns) const {
  for (size_t group = plan_.groups.size(); group-- > first;) {
    const double ns =
        byte_ns * static_cast<double>(bytes(group)) * static_cast<double>(calls(group));
    const bool in_time = elapsed + nanos(static_cast<int64_t>(ns)) <= plan_.slow_time;
    if (in_time && sent + sent_in(group) <= plan_.sent_bytes) return group;
  }
  return std::nullopt;
}

std::optional<size_t> Measurement::after(size_t group, Nanos group_took, Nanos elapsed) const {
  const size_t next = group + 1;
  if (next == groups()) return std::nullopt;
  uint64_t sent = 0;
  for (size_t each = 0; each <= group; ++each) sent += sent_in(each);
  if (sent + sent_in(next) > plan_.sent_bytes) return std::nullopt;
  // Groups of the smallest size move next to nothing: they are always made, and their time does not
  // scale with the size.
  const MeasurementPlan::Group& ended = plan_.groups[group];
  if (plan_.groups[next].column == kSmallest) return next;
  if (ended.column == kSmallest) return after_small(group, sent, elapsed);
  const double byte_ns = static_cast<double>(group_took.count) / static_cast<double>(bytes(group)) /
                         static_cast<double>(calls(group));
  if (slow() && ended.group_ranks == 0) {
    // A second large size only where there was no trial to find the largest by.
    if (best_trial().ns > 0 || ended.column != kFirstLarge) return std::nullopt;
    return last_that_fits(next, sent, elapsed, byte_ns);
  }
  const double expected_ns =
      byte_ns * static_cast<double>(bytes(next)) * static_cast<double>(calls(next));
  const Nanos time = slow() ? plan_.slow_time : plan_.time;
  if (static_cast<double>(elapsed.count) + expected_ns <= static_cast<double>(time.count)) {
    return next;
  }
  return behind_trials(next);
}

// Trials that are left out do not end a measurement.
std::optional<size_t> Measurement::behind_trials(size_t next) const {
  if (plan_.groups[next].group_ranks == 0) return std::nullopt;
  while (next < groups() && plan_.groups[next].group_ranks > 0) ++next;
  return next < groups() ? std::optional(next) : std::nullopt;
}

// The first call warms up where there are more than two. Calls of one algorithm follow each other,
// as in programs: a rank that is ahead after one algorithm would wait in the next, and pay for it.
std::vector<int64_t> Measurement::times_of(size_t group, size_t place) const {
  const MeasurementPlan::Group& all = plan_.groups[group];
  std::vector<int64_t> times;
  for (uint32_t round = all.rounds > 2 ? 1 : 0; round < all.rounds; ++round) {
    const Nanos took = took_[group][place * all.rounds + round];
    if (took < Nanos{}) return {};
    times.push_back(std::max<int64_t>(took.count, 1));
  }
  std::sort(times.begin(), times.end());
  return times;
}

std::optional<uint64_t> Measurement::measured_ns(size_t row, size_t column) const {
  for (size_t group = plan_.groups.size(); group-- > 0;) {
    const MeasurementPlan::Group& all = plan_.groups[group];
    const auto place = std::find(all.rows.begin(), all.rows.end(), row);
    if (all.column != column || place == all.rows.end() || all.group_ranks > 0) continue;
    const auto times = times_of(group, static_cast<size_t>(place - all.rows.begin()));
    if (times.empty()) continue;  // not made yet: there may be the group that warmed up
    // The median: what a call takes on these hosts as they are, disturbances included.
    return static_cast<uint64_t>(times[(times.size() - 1) / 2]);
  }
  return std::nullopt;
}

std::optional<Measurement::Slope> Measurement::slope_of(size_t row) const {
  std::optional<size_t> large;
  for (size_t column = CostTable::kSizes.size(); column-- > 0;) {
    const std::optional<uint64_t> took = measured_ns(row, column);
    if (!took) continue;
    if (large) {
      const auto more =
          static_cast<int64_t>(*measured_ns(row, *large)) - static_cast<int64_t>(*took);
      return Slope{CostTable::kSizes[column], CostTable::kSizes[*large], static_cast<double>(more)};
    }
    large = column;
  }
  return std::nullopt;
}

double Measurement::byte_ns(const Tuning& network) const {
  const std::optional<Slope> slope = slope_of(kRingRow);
  if (!slope) return 0;
  const auto work = [&](uint64_t bytes) {
    return work_of(Collective::kAllReduce, Algorithm::kRing, ranks_, bytes);
  };
  const auto sent = static_cast<double>(work(slope->to_bytes).sent - work(slope->from_bytes).sent);
  const auto reduced =
      static_cast<double>(work(slope->to_bytes).reduced - work(slope->from_bytes).reduced);
  return std::max(0.0, (slope->ns - reduced * network.reduce_ps_per_byte / 1e3) / sent);
}

double Measurement::two_level_part(const Tuning& network) const {
  const std::optional<Slope> ring = slope_of(kRingRow);
  const std::optional<Slope> both = slope_of(kTwoLevelRow);
  if (!ring || !both || ring->ns <= 0) return 1;
  if (both->to_bytes != ring->to_bytes || both->from_bytes != ring->from_bytes) return 1;
  // Over the border of two groups go 2(G-1)/G times the data of a ring's 2(n-1)/n, and no less.
  const double n = ranks_;
  const double groups = n / network.group_ranks_among(ranks_);
  const double least = (groups - 1) / groups * n / (n - 1);
  const double part = std::max(both->ns / ring->ns, least);
  return part <= params::kTwoLevelPart ? part : 1;
}

bool Measurement::sound() const { return network_bound() && undisturbed(); }

bool Measurement::undisturbed() const {
  size_t made = 0;
  size_t disturbed = 0;
  for (size_t group = 1; group < plan_.groups.size(); ++group) {
    if (plan_.groups[group].group_ranks > 0) continue;  // they open connections
    for (size_t place = 0; place < plan_.groups[group].rows.size(); ++place) {
      const std::vector<int64_t> times = times_of(group, place);
      for (const int64_t each : times) {
        const auto most = params::kDisturbedTimes * static_cast<double>(times.front());
        ++made;
        if (static_cast<double>(each) > most) ++disturbed;
      }
    }
  }
  return static_cast<double>(disturbed) <= params::kDisturbedPart * static_cast<double>(made);
}

bool Measurement::network_bound() const {
  for (size_t column = CostTable::kSizes.size(); column-- > 0;) {
    const std::optional<uint64_t> took = measured_ns(kRingRow, column);
    if (!took) continue;
    const auto sent = static_cast<double>(
        work_of(Collective::kAllReduce, Algorithm::kRing, ranks_, CostTable::kSizes[column]).sent);
    return byte_ns(Tuning()) * sent >= params::kSoundPart * static_cast<double>(*took);
  }
  return false;
}

void Measurement::set_network(Tuning& tuning) const {
  const size_t doubling = row_of(Collective::kAllReduce, Algorithm::kRecursiveDoubling);
  const std::optional<uint64_t> smallest = measured_ns(doubling, kSmallest);
  if (!smallest) return;
  const uint64_t messages =
      work_of(Collective::kAllReduce, Algorithm::kRecursiveDoubling, ranks_, 8).messages;
  const uint64_t latency =
      std::clamp<uint64_t>(*smallest / messages, params::kLatencyNsMin, params::kLatencyNsMax);
  // In the proportions of the default parameters of an unmeasured network.
  const auto scaled = [&](uint64_t part) {
    return static_cast<uint32_t>(latency * part / params::kLatencyNs);
  };
  tuning.latency_ns = static_cast<uint32_t>(latency);
  tuning.large_latency_ns = scaled(params::kLargeLatencyNs);
  tuning.following_ns = std::max(1U, scaled(params::kFollowingNs));
  const size_t pairwise = row_of(Collective::kAllToAll, Algorithm::kPairwise);
  const std::optional<uint64_t> exchange = measured_ns(pairwise, kSmallest);
  if (exchange && ranks_ > 2) {
    // No more than a latency: one after the other they take as long.
    const uint64_t beyond = *exchange - std::min(*exchange, latency);
    tuning.following_ns =
        static_cast<uint32_t>(std::clamp<uint64_t>(beyond / (ranks_ - 2), 1, latency));
  }
  if (!network_bound()) return;
  tuning.send_ps_per_byte = static_cast<uint32_t>(
      std::clamp(byte_ns(tuning) * 1e3, params::kSendPsPerByteMin, params::kSendPsPerByteMax));
}

void Measurement::fill_row(size_t row, const Tuning& network, CostTable& table) const {
  const CostTable::Row what = CostTable::kRows[row];
  const auto estimate = [&](size_t column) {
    return estimated_ns(network, what.collective, what.algorithm, ranks_,
                        CostTable::kSizes[column]);
  };
  const double part = row == kTwoLevelRow ? two_level_part(network) : 1;
  std::optional<size_t> last;
  for (size_t column = 0; column < CostTable::kSizes.size(); ++column) {
    uint64_t& cost = table.ns[row][column];
    const std::optional<uint64_t> took = measured_ns(row, column);
    if (took) {
      cost = *took;
      for (size_t between = last ? *last + 1 : column; between < column; ++between) {
        const double fraction =
            static_cast<double>(CostTable::kSizes[between] - CostTable::kSizes[*last]) /
            static_cast<double>(CostTable::kSizes[column] - CostTable::kSizes[*last]);
        const auto from = static_cast<double>(table.ns[row][*last]);
        table.ns[row][between] =
            static_cast<uint64_t>(from + (static_cast<double>(cost) - from) * fraction);
      }
      last = column;
    } else if (last) {
      const uint64_t grown = std::max(estimate(column), estimate(*last)) - estimate(*last);
      cost = table.ns[row][*last] + static_cast<uint64_t>(static_cast<double>(grown) * part);
    } else {
      cost = estimate(column);
    }
  }
  for (size_t column = CostTable::kSizes.size() - 1; column-- > 0;) {
    table.ns[row][column] = std::min(table.ns[row][column], table.ns[row][column + 1]);
  }
}

Tuning Measurement::result(const Tuning& start) const {
  Tuning tuning = start;
  tuning.to_be_measured = false;
  if (tuning.pinned_group_ranks == 0) tuning.group_ranks = best_groups();
  set_network(tuning);
  tuning.costs.ranks = ranks_;
  for (size_t row = 0; row < CostTable::kRows.size(); ++row) fill_row(row, tuning, tuning.costs);
  return tuning;
}

}  // namespace heddle::collectives
