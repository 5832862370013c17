// Trace without NCCL: what is recorded where. The wrappers are tested in trace_test.py.
#include "plugins/nccl/trace/trace.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/units.h"
#include "engine/process_recording.h"
#include "events/recording_reader.h"
#include "plugins/nccl/trace/thread_group.h"

namespace heddle::nccl::trace {
namespace {

void* handle_of(uintptr_t number) { return reinterpret_cast<void*>(number << 4); }

class TraceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"HEDDLE_RANK", "RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"}) {
      unsetenv(name);
    }
    std::string name = (std::filesystem::temp_directory_path() / "heddle-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    Settings settings;
    settings.recording.directory = folder_;
    settings.recording.most = mebibytes(1);
    settings.recording.clock = engine::recording_clock;
    trace_ = std::make_unique<Trace>(settings);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void make(void* const* handle, uint64_t number, uint32_t rank, int device) {
    const Birth birth = {handle, number, rank, 4, device};
    trace_->made({&birth, 1});
  }

  // By the rank in the identity, of all files.
  template <typename Event>
  std::map<std::string, std::vector<Event>> all() const {
    std::map<std::string, std::vector<Event>> found;
    for (const auto& file : std::filesystem::directory_iterator(folder_)) {
      auto reader = events::RecordingReader::open(file.path());
      EXPECT_TRUE(reader.has_value());
      std::string rank = "none";
      for (const auto& [name, value] : reader->facts().identity) {
        if (name == "rank") rank = value;
      }
      events::RecordedEvent event;
      while (reader->next(event)) {
        if (const auto* one = std::get_if<Event>(&event.event)) found[rank].push_back(*one);
      }
    }
    return found;
  }

  std::string folder_;
  std::unique_ptr<Trace> trace_;
};

TEST_F(TraceTest, RanksOfACommunicatorInOneProcessAreInRecordingsOfTheirOwn) {
  void* handles[] = {handle_of(1), handle_of(2)};
  const std::vector<Birth> births = {{&handles[0], 5, 2, 4, kUnknownDevice},
                                     {&handles[1], 5, 3, 4, kUnknownDevice}};
  trace_->made(births);
  const auto made = all<events::CommunicatorMade>();
  ASSERT_EQ(made.size(), 2u);
  EXPECT_EQ(made.at("2").at(0).rank, 2u);
  EXPECT_EQ(made.at("3").at(0).rank, 3u);
}

TEST_F(TraceTest, CommunicatorsOfADeviceShareItsRecording) {
  void* handles[] = {handle_of(1), handle_of(2), handle_of(3), handle_of(4)};
  make(&handles[0], 5, 0, 0);
  make(&handles[1], 5, 1, 1);
  make(&handles[2], 6, 3, 1);
  const auto made = all<events::CommunicatorMade>();
  ASSERT_EQ(made.size(), 2u);
  EXPECT_EQ(made.at("0").size(), 1u);
  ASSERT_EQ(made.at("1").size(), 2u);
  EXPECT_EQ(made.at("1").at(1).rank, 3u);
}

TEST_F(TraceTest, TheLaunchersRankIsThatOfAProcessWithOne) {
  setenv("RANK", "17", 1);
  void* const handle = handle_of(1);
  make(&handle, 5, 2, 0);
  unsetenv("RANK");
  EXPECT_EQ(all<events::CommunicatorMade>().begin()->first, "17");
}

TEST_F(TraceTest, ACallOfAnUnknownCommunicatorIsNotRecorded) {
  const CallRecord record = trace_->begin({.comm = handle_of(9), .count = 1}, 0);
  EXPECT_EQ(record.device, nullptr);
  trace_->end(record, true);
  EXPECT_TRUE(all<events::CallMade>().empty());
}

TEST_F(TraceTest, OtherCallsBeforeTheFirstCommunicatorAreInItsRecording) {
  trace_->called({.function = "ncclGetUniqueId", .began = engine::recording_clock()});
  EXPECT_TRUE(all<events::LibraryCall>().empty());
  void* const handle = handle_of(1);
  make(&handle, 5, 2, 0);
  const auto calls = all<events::LibraryCall>();
  ASSERT_EQ(calls.at("2").size(), 1u);
  EXPECT_EQ(calls.at("2").at(0).function.view(), "ncclGetUniqueId");
}

TEST_F(TraceTest, AFailureIsRecordedAtOnce) {
  trace_->called({.function = "ncclCommInitRank", .status = 2, .began = engine::recording_clock()});
  EXPECT_EQ(all<events::LibraryCall>().at("none").at(0).status, 2u);
}

TEST_F(TraceTest, ACopyIsASendBetweenDevices) {
  const CallRecord record = trace_->begin(Copy{1, 3, 1000});
  trace_->end(record, true);
  EXPECT_EQ(trace_->begin(Copy{2, 2, 1000}).device, nullptr);
  EXPECT_EQ(trace_->begin(Copy{-1, 2, 1000}).device, nullptr);
  EXPECT_EQ(trace_->begin(Copy{0, static_cast<int>(kMostDevices), 1000}).device, nullptr);
  const auto made = all<events::CommunicatorMade>();
  EXPECT_EQ(made.at("1").at(0).rank, 1u);
  EXPECT_EQ(made.at("1").at(0).size, 4u);
  const auto calls = all<events::CallMade>();
  ASSERT_EQ(calls.at("1").size(), 1u);
  EXPECT_EQ(calls.at("1").at(0).operation, events::Operation::kSend);
  EXPECT_EQ(calls.at("1").at(0).root, 3u);
  EXPECT_EQ(calls.at("1").at(0).count, 1000u);
}

TEST_F(TraceTest, DevicesThatAreRecordedTakePartInCopies) {
  void* const handle = handle_of(1);
  make(&handle, 5, 0, 0);
  trace_->end(trace_->begin(Copy{1, 0, 10}), true);
  const auto made = all<events::CommunicatorMade>();
  ASSERT_EQ(made.at("0").size(), 2u);
  EXPECT_EQ(made.at("0").at(1).communicator, made.at("1").at(0).communicator);
}

TEST_F(TraceTest, AClosedRecordingMayBeWrittenTo) {
  void* const handle = handle_of(1);
  make(&handle, 5, 2, 0);
  trace_->close();
  trace_->end(trace_->begin({.comm = handle, .count = 1}, 0), true);
  const std::string path = std::filesystem::directory_iterator(folder_)->path();
  EXPECT_TRUE(events::RecordingReader::open(path)->facts().closed);
  EXPECT_EQ(all<events::CallMade>().at("2").size(), 1u);
}

TEST_F(TraceTest, AGroupOfMoreCallsThanAreRememberedEndsEach) {
  void* const handle = handle_of(1);
  make(&handle, 5, 2, 0);
  ThreadGroup group;
  group.start();
  size_t kept = 0;
  const CallRecord record = trace_->begin({.comm = handle, .count = 1}, group.number());
  while (group.keep(record)) ++kept;
  EXPECT_EQ(kept, ThreadGroup::kMost);
  group.end(trace_.get(), kSuccess, true);
  EXPECT_EQ(group.number(), 0u);
  EXPECT_FALSE(group.keep(record));
}

TEST(Numbers, OfChildrenDifferByParentOrderAndColor) {
  EXPECT_EQ(number_of_child(7, 1, 0), number_of_child(7, 1, 0));
  EXPECT_NE(number_of_child(7, 1, 0), number_of_child(7, 2, 0));
  EXPECT_NE(number_of_child(7, 1, 0), number_of_child(7, 1, 1));
  EXPECT_NE(number_of_child(7, 1, 0), number_of_child(8, 1, 0));
}

}  // namespace
}  // namespace heddle::nccl::trace
