// Load rows: what of a load is a warning, and what only shows.
#include "acceptance/stages/load_rows.h"

#include <gtest/gtest.h>

#include "acceptance/params.h"

namespace heddle::acceptance {
namespace {

TEST(LoadRows, RetransmissionsOfAPermutationAboveTheLimitWarn) {
  const Row few = retransmission_row("permutation", 4, {10'000, 500}, 50'000);
  EXPECT_EQ(few.grade, Grade::kOk);
  EXPECT_EQ(few.measured, "5% of 10,000 segments");
  EXPECT_EQ(few.expected, "at most 5%");
  const Row many = retransmission_row("permutation", 4, {10'000, 501}, 50'000);
  EXPECT_EQ(many.grade, Grade::kWarn);
  EXPECT_FALSE(many.todo.empty());
  EXPECT_EQ(retransmission_row("permutation", 4, {}, 50'000).grade, Grade::kOk);
}

// Three senders into a queue of 33 packets retransmitted 17% on a fabric without a fault.
TEST(LoadRows, RetransmissionsOfAnIncastAreShownAndNotJudged) {
  const Row row = shown_retransmission_row("incast", 3, {10'000, 1'700});
  EXPECT_EQ(row.check, "incast, retransmitted");
  EXPECT_EQ(row.where, "3 flows");
  EXPECT_EQ(row.measured, "17% of 10,000 segments");
  EXPECT_EQ(row.expected, "");
  EXPECT_EQ(row.grade, Grade::kOk);
}

TEST(LoadRows, ABystanderThatWaitsLongerThanTheQueuesOfItsRouteWarns) {
  const LatencyFigures idle{.us_p99 = 100};
  const Row fine = bystander_row("h3 to h1", {.us_p99 = 900}, idle, micros(900));
  EXPECT_EQ(fine.grade, Grade::kOk);
  EXPECT_EQ(fine.measured, "900 us at p99, 9.0 times the 100 us of the idle fabric");
  const Row late = bystander_row("h3 to h1", {.us_p99 = 901}, idle, micros(900));
  EXPECT_EQ(late.grade, Grade::kWarn);
  EXPECT_FALSE(late.todo.empty());
  const Row alone = bystander_row("h3 to h1", {.us_p99 = 5}, {.complaint = "none"}, micros(900));
  EXPECT_EQ(alone.measured, "5.00 us at p99");
  const Row unjudged = bystander_row("h3 to h1", {.us_p99 = 5}, idle, std::nullopt);
  EXPECT_EQ(unjudged.expected, "");
  EXPECT_EQ(unjudged.grade, Grade::kOk);
  const Row silent = bystander_row("h3 to h1", {.complaint = "no answer"}, idle, micros(900));
  EXPECT_EQ(silent.grade, Grade::kFail);
  EXPECT_EQ(silent.measured, "no answer");
}

TEST(LoadRows, MarksThatReceiversSawAreOfEachLoad) {
  LoadSegments all{.sent = 2'000, .retransmitted = 4, .marked = 12};
  all += {.sent = 500, .retransmitted = 1, .marked = 3};
  EXPECT_EQ(shown_retransmission_row("all-to-all", 12, all).measured, "0.2% of 2,500 segments");
  const Row row = received_marks_row(4, {{"permutation", {100, 0, 0}}, {"all-to-all", all}});
  EXPECT_EQ(row.measured, "permutation 0 of 100 segments, all-to-all 15 of 2,500 segments");
  EXPECT_TRUE(is_information(row));
}

TEST(LoadRows, RowsThatAreNotMeasuredHaveTheReason) {
  EXPECT_EQ(too_few_hosts_row("incast", 2).measured,
            "not measured: it takes three hosts, of which two send to one");
  EXPECT_EQ(switch_ports_row(2).measured.rfind("not read: ", 0), 0U);
}

// On machines 10 ms were added that only processors of an emulated fabric need: 9 ms beside an idle
// 20 us passed.
TEST(LoadRows, OnMachinesABystanderMayTakeTheQueuesAndSomeOfItsIdleTimes) {
  const LatencyFigures idle{.us_p99 = 20};
  EXPECT_EQ(most_bystander_latency(micros(160), idle, false), micros(220));
  EXPECT_EQ(most_bystander_latency(micros(160), idle, true), micros(160) + params::kHostTime);
  EXPECT_FALSE(most_bystander_latency(micros(160), {.complaint = "no answer"}, false));
  EXPECT_TRUE(most_bystander_latency(micros(160), {.complaint = "no answer"}, true));
}

}  // namespace
}  // namespace heddle::acceptance
