// Timelines of pipelined training: what is read of Chrome trace events, and what is refused.
#include "recordings/pipeline_timeline.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "recordings/import/bounded_json.h"

namespace heddle::recordings {
namespace {

using insight::PipelineOperation;

constexpr const char* kThread =
    R"({"name": "thread_name", "ph": "M", "pid": 1, "tid": 7,
        "args": {"name": "PP rank 3, TP rank 0, compute"}})";

std::string operation(const std::string& changes = "") {
  ForeignJson event = ForeignJson::parse(
      R"({"name": "backward-compute", "ph": "X", "pid": 1, "tid": 7, "ts": 1500000, "dur": 2500,
          "args": {"step": 12, "model_chunk": 0, "mb_id": 4, "seq_id": 5}})");
  if (!changes.empty()) event.merge_patch(ForeignJson::parse(changes));
  return event.dump();
}

Result<PipelineTimeline> read(const std::string& events) {
  return read_pipeline_timeline("[" + events + "]", "job.json");
}

void expect_refused(const std::string& events, const std::string& why) {
  const Result<PipelineTimeline> timeline = read(events);
  ASSERT_FALSE(timeline) << events;
  EXPECT_NE(timeline.error().message().find(why), std::string::npos) << timeline.error().message();
}

TEST(PipelineTimeline, AnOperationHasItsPlaceAndTimes) {
  // Threads are named behind their events, too.
  for (const std::string& events :
       {std::string(kThread) + "," + operation(), operation() + "," + kThread}) {
    const Result<PipelineTimeline> timeline = read(events);
    ASSERT_TRUE(timeline) << timeline.error().message();
    ASSERT_EQ(timeline->events.size(), 1U);
    const insight::PipelineEvent& event = timeline->events.front();
    EXPECT_EQ(event.operation, PipelineOperation::kBackward);
    EXPECT_EQ(event.step, 12U);
    EXPECT_EQ(event.data_rank, 1U);
    EXPECT_EQ(event.stage, 3U);
    EXPECT_EQ(event.number, 5U);
    EXPECT_DOUBLE_EQ(event.start_s, 1.5);
    EXPECT_DOUBLE_EQ(event.took_s, 0.0025);
  }
}

TEST(PipelineTimeline, EventsMayStandInAnObject) {
  const auto timeline = read_pipeline_timeline(
      fmt::format(R"({{"traceEvents": [{}, {}]}})", kThread, operation()), "job.json");
  ASSERT_TRUE(timeline) << timeline.error().message();
  EXPECT_EQ(timeline->events.size(), 1U);
}

TEST(PipelineTimeline, OtherTensorRanksAndUnknownOperationsAreLeftOut) {
  const std::string other = R"({"name": "thread_name", "ph": "M", "pid": 1, "tid": 8,
                                "args": {"name": "PP rank 3, TP rank 1, compute"}})";
  const auto timeline =
      read(fmt::format("{},{},{},{},{}", kThread, other, operation(), operation(R"({"tid": 8})"),
                       operation(R"({"name": "data-load"})")));
  ASSERT_TRUE(timeline) << timeline.error().message();
  EXPECT_EQ(timeline->events.size(), 1U);
  EXPECT_EQ(timeline->left_out, (std::map<std::string, uint64_t>{{"data-load", 1}}));
}

TEST(PipelineTimeline, AStageIsAWordOfItsOwn) {
  const std::string other = R"({"name": "thread_name", "ph": "M", "pid": 1, "tid": 7,
                                "args": {"name": "VPP rank 9"}})";
  expect_refused(other + "," + operation(), "has no \"PP rank N\"");
}

TEST(PipelineTimeline, MistakesAreNamedWithTheirEvent) {
  const std::string thread = std::string(kThread) + ",";
  expect_refused(operation(), "event 1: the name of its thread has no \"PP rank N\"");
  expect_refused(thread + operation(R"({"args": {"model_chunk": 1}})"),
                 "event 2: it is of a second model chunk: interleaved stages are not supported");
  expect_refused(thread + operation(R"({"args": {"step": null}})"),
                 "event 2: 'step' is missing, or no number");
  expect_refused(thread + operation(R"({"args": null})"), "event 2: 'args' is missing");
  expect_refused(thread + operation(R"({"pid": "first"})"),
                 "event 2: 'pid' is missing, or no number");
  expect_refused(thread + operation(R"({"args": {"seq_id": -1}})"),
                 "event 2: 'seq_id' is not from 0 to 100000000");
  expect_refused(thread + operation(R"({"args": {"seq_id": 1.5}})"),
                 "event 2: 'seq_id' is no whole number");
  expect_refused(thread + operation(R"({"pid": 1e300})"), "event 2: 'pid' is not from 0");
  expect_refused(thread + operation(R"({"dur": "long"})"), "event 2: 'dur' is missing");
  expect_refused(thread + operation(R"({"dur": 9e15})"), "event 2: 'dur' is not from");
  expect_refused(thread + operation(R"({"ts": 1e200})"), "event 2: 'ts' is not from");
  expect_refused(thread + "7", "it has no operation of a pipeline");
  expect_refused(kThread, "it has no operation of a pipeline");
  expect_refused("", "it has no operation of a pipeline");
  EXPECT_FALSE(read_pipeline_timeline("7", "job.json"));
  EXPECT_FALSE(read_pipeline_timeline("{", "job.json"));
  const auto packed = read_pipeline_timeline("\x1f\x8b", "job.json.gz");
  ASSERT_FALSE(packed);
  EXPECT_NE(packed.error().message().find("gunzip"), std::string::npos);
}

}  // namespace
}  // namespace heddle::recordings
