// A measurement finds the numbers of a network that keeps to the closed forms, chooses what was
// fastest where one does not, and ends within its limits.
#include "collectives/choice/measurement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "collectives/choice/estimate.h"
#include "collectives/params.h"

namespace heddle::collectives {
namespace {

MeasurementPlan shortly(uint32_t ranks) { return short_measurement(ranks, groupings_of(ranks, 0)); }

using Took = std::function<uint64_t(const CostTable::Row&, uint64_t bytes, size_t round)>;

// Makes the calls of all groups; the elapsed time does not count.
Measurement measured(uint32_t ranks, const MeasurementPlan& plan, const Took& took) {
  Measurement made(ranks, plan);
  for (size_t group = 0; group < made.groups(); ++group) {
    const size_t rounds = plan.groups[group].rounds;
    for (size_t call = 0; call < made.calls(group); ++call) {
      const uint64_t ns = took(made.row(group, call), made.bytes(group), call % rounds);
      made.note(group, call, nanos(static_cast<int64_t>(ns)));
    }
  }
  return made;
}

Took keeps_to(const Tuning& network, uint32_t ranks) {
  return [=](const CostTable::Row& row, uint64_t bytes, size_t) {
    return estimated_ns(network, row.collective, row.algorithm, ranks, bytes);
  };
}

Tuning network_of(uint32_t latency_ns, uint32_t send_ps_per_byte) {
  Tuning network;
  network.latency_ns = latency_ns;
  network.large_latency_ns = latency_ns * 3 / 2;
  network.following_ns = latency_ns / 2;
  network.send_ps_per_byte = send_ps_per_byte;
  return network;
}

TEST(Measurement, FindsTheNumbersOfANetworkThatKeepsToTheClosedForms) {
  for (const uint32_t ranks : {2U, 3U, 4U, 8U, 13U}) {
    for (const uint32_t latency : {3'000U, 40'000U}) {
      for (const uint32_t byte : {500U, 8'000U}) {
        const Tuning network = network_of(latency, byte);
        const Measurement made = measured(ranks, shortly(ranks), keeps_to(network, ranks));
        const Tuning found = made.result(Tuning());
        EXPECT_TRUE(made.sound()) << ranks << " " << latency << " " << byte;
        EXPECT_NEAR(found.latency_ns, latency, 0.03 * latency) << ranks;
        EXPECT_NEAR(found.send_ps_per_byte, byte, 0.05 * byte) << ranks;
        if (ranks > 2) {
          EXPECT_NEAR(found.following_ns, latency / 2, 0.05 * latency);
        }
      }
    }
  }
}

TEST(Measurement, OfANetworkThatKeepsToTheClosedFormsChoosesAsThose) {
  for (const uint32_t ranks : {2U, 4U, 8U, 13U}) {
    const Tuning network = network_of(20'000, 400);
    const Tuning found = measured(ranks, shortly(ranks), keeps_to(network, ranks)).result(Tuning());
    for (const uint64_t bytes : CostTable::kSizes) {
      const auto cost = [&](const Tuning& by) {
        return network.cost_ns(Collective::kAllReduce,
                               by.choose(Collective::kAllReduce, ranks, bytes), ranks, bytes);
      };
      EXPECT_LE(static_cast<double>(cost(found)), 1.05 * static_cast<double>(cost(network)))
          << ranks << " " << bytes;
    }
  }
}

TEST(Measurement, TheFastestAlgorithmAtASizeIsChosenThere) {
  for (const CostTable::Row& fastest : CostTable::kRows) {
    const MeasurementPlan plan = full_measurement(64 << 20, seconds(1), groupings_of(4, 0));
    const Tuning found = measured(4, plan, [&](const CostTable::Row& row, uint64_t bytes, size_t) {
                           const bool wins = row.collective == fastest.collective &&
                                             row.algorithm == fastest.algorithm;
                           return (wins ? 3 : 4) * (10'000 + bytes);
                         }).result(Tuning());
    for (const uint64_t bytes : CostTable::kSizes) {
      EXPECT_EQ(found.choose(fastest.collective, 4, bytes), fastest.algorithm) << bytes;
    }
  }
}

TEST(Measurement, ADisturbanceOfSomeCallsDoesNotCount) {
  const Tuning network = network_of(5'000, 400);
  const auto quiet = measured(4, shortly(4), keeps_to(network, 4)).result(Tuning());
  const auto disturbed =
      measured(4, shortly(4), [&](const CostTable::Row& row, uint64_t bytes, size_t at) {
        return keeps_to(network, 4)(row, bytes, at) * (at == 0 ? 50 : 1);
      }).result(Tuning());
  EXPECT_EQ(disturbed, quiet);
}

// Four ranks on two cores measured while their programs still computed: each call took slices of
// the scheduler, a byte nothing, and 25 MB went by recursive doubling, twice as slowly as by a
// ring.
TEST(Measurement, WhereCallsWaitForCoresMuchDataTakesLittleTrafficAndNothingIsKept) {
  for (const int64_t slices : {1, 4, 10, 30}) {
    for (const int64_t beside : {-3, -1, 0, 1, 3}) {
      const auto made = measured(4, shortly(4), [&](const CostTable::Row&, uint64_t bytes, size_t) {
        const Nanos more = micros(bytes > 64 << 10 ? 30 * beside : 0);
        return static_cast<uint64_t>((millis(slices) + more).count);
      });
      if (beside <= 1) {
        EXPECT_FALSE(made.sound()) << slices << " " << beside;
      }
      const Tuning found = made.result(Tuning());
      for (const uint64_t bytes : {uint64_t{16} << 20, uint64_t{25} << 20, uint64_t{64} << 20}) {
        const Algorithm chosen = found.choose(Collective::kAllReduce, 4, bytes);
        EXPECT_TRUE(chosen == Algorithm::kRing || chosen == Algorithm::kHalvingDoubling)
            << slices << " " << beside << " " << bytes << " " << name_of(chosen);
      }
    }
  }
}

TEST(Measurement, OnABusyHostIsNotKept) {
  const Took quiet = keeps_to(network_of(20'000, 400), 4);
  for (const size_t disturbed : {size_t{1}, size_t{2}}) {
    const auto made =
        measured(4, shortly(4), [&](const CostTable::Row& row, uint64_t bytes, size_t at) {
          return quiet(row, bytes, at) * (at >= 1 && at % 4 < disturbed ? 20 + at : 1);
        });
    EXPECT_EQ(made.sound(), disturbed == 1) << disturbed;
  }
}

TEST(Measurement, LessDataNeverCostsMore) {
  const Took quiet = keeps_to(network_of(20'000, 400), 4);
  const Tuning found =
      measured(4, shortly(4), [&](const CostTable::Row& row, uint64_t bytes, size_t at) {
        return quiet(row, bytes, at) + (bytes == 16 << 10 ? 50'000'000 : 0);
      }).result(Tuning());
  EXPECT_EQ(found.choose(Collective::kAllReduce, 4, 8), Algorithm::kRecursiveDoubling);
  for (const auto& row : found.costs.ns) {
    EXPECT_TRUE(std::is_sorted(row.begin(), row.end()));
    EXPECT_LT(row[3], 10'000'000U);
  }
}

TEST(Measurement, GivesSoundNumbersWhereNothingFits) {
  for (const uint32_t ranks : {2U, 5U, 4096U}) {
    for (const uint64_t ns : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 60}) {
      const Tuning found =
          measured(ranks, shortly(ranks), [&](const CostTable::Row&, uint64_t, size_t at) {
            return at % 3 == 0 ? ns : 7;
          }).result(Tuning());
      EXPECT_GT(found.latency_ns, 0U);
      EXPECT_GE(found.large_latency_ns, found.latency_ns);
      EXPECT_GT(found.following_ns, 0U);
      EXPECT_LE(found.following_ns, found.latency_ns);
      EXPECT_GT(found.send_ps_per_byte, 0U);
      EXPECT_EQ(found.costs.ranks, ranks);
    }
  }
}

TEST(Measurement, SizesThatWereLeftOutLieBetweenTheirNeighbours) {
  const Tuning found =
      measured(4, shortly(4), keeps_to(network_of(20'000, 400), 4)).result(Tuning());
  for (const auto& row : found.costs.ns) {
    for (size_t column = 1; column < row.size(); ++column) EXPECT_GE(row[column], row[column - 1]);
  }
}

TEST(Measurement, NoGroupBeginsThatWouldNotEndInTime) {
  const MeasurementPlan plan = shortly(5);  // a prime number: no trials of groups
  const Measurement made(5, plan);
  // The time of the smallest size says nothing about the next.
  EXPECT_EQ(made.after(0, 10 * plan.time, 10 * plan.time), 1U);
  EXPECT_EQ(made.after(1, 10 * plan.time, 10 * plan.time), 2U);
  EXPECT_EQ(made.after(2, millis(1), millis(2)), 3U);
  EXPECT_EQ(made.after(2, plan.time, plan.time), std::nullopt);
  EXPECT_EQ(made.after(2, plan.time / 2, plan.time / 2), std::nullopt);
  EXPECT_EQ(made.after(plan.groups.size() - 1, millis(1), millis(1)), std::nullopt);
}

TEST(Measurement, TrialsThatAreLeftOutDoNotEndIt) {
  const MeasurementPlan plan = shortly(12);
  const Measurement made(12, plan);
  EXPECT_EQ(groupings_of(12, 0), (std::vector<uint32_t>{6, 2, 4, 3}));
  EXPECT_EQ(made.after(1, millis(1), millis(2)), 2U);
  const std::optional<size_t> next = made.after(1, plan.time, plan.time);
  ASSERT_EQ(next, 5U);
  EXPECT_EQ(made.bytes(5), CostTable::kSizes[0]);
  EXPECT_EQ(made.after(4, 10 * plan.time, 10 * plan.time), 5U);
}

TEST(Measurement, GroupsAreDivisorsOfTheRanksOrThoseThatArePinned) {
  EXPECT_TRUE(groupings_of(2, 0).empty());
  EXPECT_TRUE(groupings_of(13, 0).empty());
  EXPECT_EQ(groupings_of(4, 0), (std::vector<uint32_t>{2}));
  EXPECT_EQ(groupings_of(12, 4), (std::vector<uint32_t>{4}));
  EXPECT_TRUE(groupings_of(12, 5).empty());
  EXPECT_TRUE(groupings_of(12, 12).empty());
  // Two sites of any size are tried, and hosts of eight.
  const std::vector<uint32_t> many = groupings_of(1024, 0);
  EXPECT_EQ(many.size(), params::kMostGroupings);
  EXPECT_EQ(many.front(), 512U);
  EXPECT_NE(std::find(many.begin(), many.end(), 8U), many.end());
}

TEST(Measurement, NoGroupBeginsThatSendsMoreThanAllowed) {
  for (const uint32_t ranks : {2U, 4U, 64U, 1024U, 65'536U}) {
    const Measurement made(ranks, shortly(ranks));
    uint64_t sent = 0;
    for (std::optional<size_t> group = 0; group; group = made.after(*group, Nanos{}, Nanos{})) {
      for (size_t call = 0; call < made.calls(*group); ++call) {
        const CostTable::Row row = made.row(*group, call);
        sent += work_of(row.collective, row.algorithm, ranks, made.bytes(*group)).sent;
      }
    }
    EXPECT_LE(sent, params::kShortBytes) << ranks;
  }
}

// Trials of 64 KiB were made where 16 KiB was the largest, in buffers of that.
TEST(Measurement, NoCallIsLargerThanAsked) {
  for (const uint64_t largest : {uint64_t{1}, uint64_t{8}, uint64_t{16} << 10, uint64_t{1} << 20}) {
    const Measurement made(4, full_measurement(largest, seconds(1), groupings_of(4, 0)));
    for (size_t group = 0; group < made.groups(); ++group) {
      EXPECT_LE(made.bytes(group), std::max<uint64_t>(largest, 8));
      EXPECT_LE(2 * made.bytes(group), made.buffer_bytes());
    }
    // Where no time is left for the trials, what is behind them is made, if there is something.
    const std::optional<size_t> next = made.after(1, seconds(9), seconds(9));
    if (next) {
      EXPECT_LT(*next, made.groups());
    }
  }
}

// The largest size that a measurement of `ranks` reaches if no call takes time.
uint64_t largest_of(uint32_t ranks, const MeasurementPlan& plan) {
  const Measurement made(ranks, plan);
  uint64_t largest = 0;
  for (std::optional<size_t> group = 0; group; group = made.after(*group, Nanos{}, Nanos{})) {
    if (plan.groups[*group].group_ranks == 0) largest = made.bytes(*group);
  }
  return largest;
}

// Under the old bound of 16 MiB a rank, trials would have cost 24 to 28 ranks and others the calls
// of 256 KiB, by which large calls are chosen.
TEST(Measurement, TrialsOfGroupsCostNoSize) {
  for (uint32_t ranks = 2; ranks <= 300; ++ranks) {
    MeasurementPlan without = short_measurement(ranks, {});
    without.sent_bytes = uint64_t{16} << 20;
    EXPECT_GE(largest_of(ranks, shortly(ranks)), largest_of(ranks, without)) << ranks;
  }
}

// All calls take their bytes over a link of 20 Mb/s behind 20 ms.
TEST(Measurement, OnASlowNetworkIsOfTheLargestSizeThatFits) {
  for (const uint32_t ranks : {2U, 3U, 5U, 6U, 12U, 13U}) {
    const MeasurementPlan plan = shortly(ranks);
    Measurement made(ranks, plan);
    Nanos elapsed;
    std::vector<uint64_t> sizes;
    for (std::optional<size_t> group = 0; group;) {
      const Nanos each = millis(60) + nanos(static_cast<int64_t>(made.bytes(*group)) * 600);
      for (size_t call = 0; call < made.calls(*group); ++call) made.note(*group, call, each);
      const Nanos took = each * static_cast<int64_t>(made.calls(*group));
      elapsed += took;
      if (plan.groups[*group].group_ranks == 0) sizes.push_back(made.bytes(*group));
      group = made.after(*group, took, elapsed);
    }
    EXPECT_LT(elapsed, params::kSlowTime * 3 / 2) << ranks;
    EXPECT_GE(sizes.back(), 64U << 10) << ranks;
    EXPECT_LE(sizes.size(), 4U) << ranks;
  }
}

// A disturbance that makes two levels look free must not decide about large calls.
TEST(Measurement, TwoLevelsAreNeverTakenToBeFasterThanTheBorderAllows) {
  const Took quiet = keeps_to(network_of(20'000, 400), 4);
  const Tuning found =
      measured(4, shortly(4), [&](const CostTable::Row& row, uint64_t bytes, size_t at) {
        if (row.algorithm != Algorithm::kTwoLevel) return quiet(row, bytes, at);
        return uint64_t{500'000};
      }).result(Tuning());
  const auto cost = [&](Algorithm algorithm, uint64_t bytes) {
    return static_cast<double>(found.cost_ns(Collective::kAllReduce, algorithm, 4, bytes));
  };
  const uint64_t large = CostTable::kSizes.back();
  EXPECT_GT(cost(Algorithm::kTwoLevel, large), 0.6 * cost(Algorithm::kRing, large));
}

TEST(Measurement, CallsFitIntoTheBuffer) {
  for (const uint32_t ranks : {2U, 5U, 1000U}) {
    const Measurement made(ranks, full_measurement(1 << 20, seconds(1), groupings_of(ranks, 0)));
    std::vector<float> buffer(made.buffer_bytes() / sizeof(float));
    for (size_t group = 0; group < made.groups(); ++group) {
      for (size_t call = 0; call < made.calls(group); ++call) {
        const Call each = made.call(group, call, buffer.data());
        const bool blocks = each.collective != Collective::kAllReduce &&
                            each.collective != Collective::kBroadcast &&
                            each.collective != Collective::kReduce;
        const uint64_t elements = each.count * (blocks ? ranks : 1);
        EXPECT_GT(each.count, 0U);
        const auto* const input = static_cast<const float*>(each.input);
        const auto* const output = static_cast<const float*>(each.output);
        EXPECT_LE(input + elements, output);
        EXPECT_LE(output + elements, buffer.data() + buffer.size());
      }
    }
  }
}

}  // namespace
}  // namespace heddle::collectives
