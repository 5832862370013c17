// RDMA pairs: which are named, and which only show.
#include "acceptance/stages/rdma_pairs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "acceptance/params.h"
#include "topology/generators.h"

namespace heddle::acceptance {
namespace {

Grade grade(double reached, double expected) {
  if (reached >= expected) return Grade::kOk;
  return reached >= expected * params::kWarnShare ? Grade::kWarn : Grade::kFail;
}

std::vector<Row> rows_of(const std::vector<PairRdma>& pairs) {
  const RdmaJudge judge{
      [](const HostPair& pair) { return fmt::format("h{} to h{}", pair.from, pair.to); },
      [](uint32_t host) { return fmt::format("h{}", host); }, grade, 0.7};
  return rdma_rows(judge, pairs);
}

// Without the row of payload, which all have alike.
std::vector<Row> rates_of(const std::vector<PairRdma>& pairs) {
  std::vector<Row> rows = rows_of(pairs);
  std::erase_if(rows, [](const Row& row) { return row.check == "RC payload"; });
  return rows;
}

PairRdma pair(uint32_t from, uint32_t to, double gbits) {
  return {.pair = {from, to},
          .bits_per_s = gbits * 1e9,
          .us = 2 + gbits / 100,
          .allowed_bits_per_s = 97e9,
          .heddle_bits_per_s = 48e9,
          .heddle_us = 5 * (2 + gbits / 100)};
}

// All ordered pairs of four hosts at 96 Gb/s, changed by `change`.
std::vector<PairRdma> all_pairs(const std::function<void(PairRdma&)>& change) {
  std::vector<PairRdma> pairs;
  for (uint32_t from = 0; from < 4; ++from) {
    for (uint32_t to = 0; to < 4; ++to) {
      if (from == to) continue;
      pairs.push_back(pair(from, to, 96));
      change(pairs.back());
    }
  }
  return pairs;
}

TEST(RdmaPairs, WithoutRdmaThereAreNoRows) { EXPECT_TRUE(rows_of({}).empty()); }

TEST(RdmaPairs, FastOnesHaveOneRowEachOfBandwidthAndLatency) {
  const auto rows = rates_of(all_pairs([](PairRdma&) {}));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].check + " " + rows[0].where, "rc_bw 12 of 12 pairs");
  EXPECT_EQ(rows[0].measured, "96.0 Gb/s (median), least 96.0 Gb/s (h0 to h1); heddle 0.50x");
  EXPECT_EQ(rows[0].expected, "at least 67.9 Gb/s");
  EXPECT_EQ(rows[0].grade, Grade::kOk);
  EXPECT_EQ(rows[1].check + ": " + rows[1].measured,
            "rc_lat: 2.96 us (median), most 2.96 us (h0 to h1); heddle 5.00x");
}

TEST(RdmaPairs, ASlowPairIsNamedWithItsShareOfTheLinks) {
  const auto rows = rates_of(all_pairs([](PairRdma& each) {
    if (each.pair == HostPair{2, 0}) each.bits_per_s = 24.25e9;
  }));
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].where, "h2 to h0");
  EXPECT_EQ(rows[0].measured, "24.2 Gb/s, 25% of what the links carry");
  EXPECT_EQ(rows[0].grade, Grade::kFail);
  EXPECT_EQ(rows[1].where, "11 of 12 pairs");
}

TEST(RdmaPairs, AHostOfWhichAllPairsAreSlowIsNamedFirst) {
  const auto rows = rates_of(all_pairs([](PairRdma& each) {
    if (each.pair.from == 1 || each.pair.to == 1) each.bits_per_s = 60e9;
  }));
  EXPECT_EQ(rows[0].where, "h1");
  EXPECT_EQ(rows[0].grade, Grade::kWarn);
  EXPECT_EQ(rows.size(), 1 + params::kMostPairRows + 3);
  EXPECT_EQ(rows[rows.size() - 2].where, "6 of 12 pairs");
}

TEST(RdmaPairs, InSoftwareIsShownAndNotJudged) {
  const auto rows = rates_of(all_pairs([](PairRdma& each) {
    each.bits_per_s = 1e9;
    each.software = true;
  }));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].grade, Grade::kOk);
  EXPECT_EQ(rows[0].where, "12 pairs in software");
  EXPECT_EQ(rows[0].expected, "");
  EXPECT_NE(rows[0].todo.find("in software"), std::string::npos);
}

// Two queue pairs of a fabric without a fault that one spine carried failed it.
TEST(RdmaPairs, QueuePairsThatMayShareOneOfSeveralRoutesAreShownAndNotJudged) {
  const auto rows = rates_of(all_pairs([](PairRdma& each) {
    each.one_route = each.pair.from / 2 == each.pair.to / 2;
    if (!each.one_route) each.bits_per_s = 24e9;
  }));
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].where, "4 of 12 pairs");
  EXPECT_EQ(rows[0].expected, "at least 67.9 Gb/s");
  EXPECT_EQ(rows[1].where, "8 pairs with several routes");
  EXPECT_EQ(rows[1].grade, Grade::kOk);
  EXPECT_EQ(rows[1].expected, "");
  EXPECT_NE(rows[1].todo.find("keeps to one route"), std::string::npos);
}

TEST(RdmaPairs, AQueuePairIsBoundByOneRouteThatAllOthersMayTake) {
  topology::LeafSpineShape shape{.leaves = 2, .spines = 2, .hosts_per_leaf = 2};
  shape.host_link.rate = shape.spine_link.rate = gigabits_per_s(100);
  shape.host_link.mtu_bytes = shape.spine_link.mtu_bytes = 9000;
  const topology::Topology fabric = topology::leaf_spine(shape);
  std::vector<PairRdma> far = {{.pair = {0, 2}}, {.pair = {1, 3}}};
  std::vector<PairRdma> near = {{.pair = {0, 1}}, {.pair = {2, 3}}};
  const auto version = [](uint32_t /*host*/) { return IpVersion::k4; };
  set_rdma_bounds(fabric, version, far);
  set_rdma_bounds(fabric, version, near);
  const double payload = roce_payload_share(9000, IpVersion::k4);
  for (const PairRdma& each : far) {
    EXPECT_FALSE(each.one_route);
    EXPECT_NEAR(each.allowed_bits_per_s, 50e9 * payload, 1);
  }
  for (const PairRdma& each : near) {
    EXPECT_TRUE(each.one_route);
    EXPECT_NEAR(each.allowed_bits_per_s, 100e9 * payload, 1);
  }
}

TEST(RdmaPairs, ARepeatWithoutAnAnswerLeavesTheFigureOfTheFirst) {
  const CommandEnd good{
      .exit_status = 0, .output = R"({"rc_bits_per_s": 5e9, "rc_us": 3.5})", .errors = ""};
  const CommandEnd silent{
      .exit_status = 2, .output = "", .errors = "heddle: the other end fell silent\n"};
  PairRdma pair;
  take_rdma_figures(silent, {}, pair);
  EXPECT_EQ(pair.complaint, "the other end fell silent");
  take_rdma_figures(good, {}, pair);
  EXPECT_EQ(pair.complaint, "");
  take_rdma_figures(silent, {}, pair);
  EXPECT_EQ(pair.complaint, "");
  EXPECT_EQ(pair.bits_per_s, 5e9);
  EXPECT_EQ(pair.us, 3.5);
}

// Slow ones beyond the first few had no row.
TEST(RdmaPairs, SlowPairsWithoutARowOfTheirOwnHaveOneTogether) {
  const auto rows = rates_of(all_pairs([](PairRdma& each) {
    if (each.pair.from < 2) each.bits_per_s = (20 + each.pair.from + each.pair.to) * 1e9;
  }));
  ASSERT_EQ(rows.size(), params::kMostPairRows + 3);
  const Row& more = rows[params::kMostPairRows];
  EXPECT_EQ(more.where, "2 more pairs");
  EXPECT_EQ(more.measured, "24% to 25% of what the links carry");
  EXPECT_EQ(more.grade, Grade::kFail);
  EXPECT_EQ(rows[params::kMostPairRows + 1].where, "6 of 12 pairs");
}

PairRdma without_figures(const HostPair& pair) {
  return {.pair = pair, .complaint = "no answer in time"};
}

// They only warned.
TEST(RdmaPairs, PairsWithoutFiguresBesideOthersThatHaveThemFail) {
  const auto rows = rows_of(all_pairs([](PairRdma& each) {
    if (each.pair.from == 3) each = without_figures(each.pair);
  }));
  ASSERT_EQ(rows.size(), 6U);
  EXPECT_EQ(rows[0].where + ": " + rows[0].measured, "h3 to h0: no answer in time");
  EXPECT_EQ(rows[2].where, "h3 to h2");
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(rows[i].grade, Grade::kFail);
  EXPECT_NE(rows[0].todo.find("3 of 12 pairs"), std::string::npos);
  EXPECT_EQ(rows[3].check + " " + rows[3].where, "RC payload 9 of 9 pairs");
  EXPECT_EQ(rows[4].where, "9 of 12 pairs");
}

TEST(RdmaPairs, AHostWithoutAnyFigureIsNamedFirst) {
  const auto rows = rows_of(all_pairs([](PairRdma& each) {
    if (each.pair.from == 2 || each.pair.to == 2) each = without_figures(each.pair);
  }));
  EXPECT_EQ(rows[0].where + ": " + rows[0].measured, "h2: no figure to and from any host");
  EXPECT_EQ(rows[0].grade, Grade::kFail);
}

// RC may not be meant to work there.
TEST(RdmaPairs, WithoutAnyFigureOrInSoftwareTheFirstPairWarns) {
  for (const bool software : {false, true}) {
    const auto rows = rows_of(all_pairs([&](PairRdma& each) {
      if (software && each.pair.from != 3) return;
      each = without_figures(each.pair);
      each.software = software;
    }));
    EXPECT_EQ(rows[0].grade, Grade::kWarn) << software;
    EXPECT_EQ(rows[0].where, software ? "h3 to h0" : "h0 to h1");
    EXPECT_EQ(rows.size(), software ? 4U : 1U);
  }
}

TEST(RdmaPairs, PayloadThatChangedFailsThePair) {
  const auto rows = rows_of(all_pairs([](PairRdma& each) {
    if (each.pair == HostPair{1, 3}) each.changed_bytes = 512;
  }));
  EXPECT_EQ(rows[0].check + " " + rows[0].where, "RC payload h1 to h3");
  EXPECT_EQ(rows[0].measured, "512 bytes arrived changed");
  EXPECT_EQ(rows[0].grade, Grade::kFail);
  EXPECT_EQ(rows[1].where, "11 of 12 pairs");
}

}  // namespace
}  // namespace heddle::acceptance
