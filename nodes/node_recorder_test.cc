// The machine's recording: one process a machine, and what is missing is stated.
#include "nodes/node_recorder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/clocks.h"
#include "base/temporary_folder.h"
#include "events/memory_sink.h"
#include "events/recording_reader.h"
#include "nodes/host_lock.h"

namespace heddle::nodes {
namespace {

namespace fs = std::filesystem;

Nanos at_100_seconds() { return seconds(100); }

class NodeRecorderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = TemporaryFolder::make("heddle-node");
    ASSERT_TRUE(made);
    folder_ = std::move(*made);
    fs::create_directory(folder_.path() + "/pressure");
    std::ofstream(folder_.path() + "/pressure/cpu") << "some avg10=0.00 total=500\n";
  }
  NodeRecorderOptions options() const {
    NodeRecorderOptions made;
    made.recording.directory = folder_.path() + "/nodes";
    made.recording.identity = {{"host", "h1"}};
    made.recording.clock = &steady_now;
    made.every = millis(20);
    made.take_over_every = millis(20);
    made.sources = {folder_.path(), folder_.path(), folder_.path() + "/no log"};
    return made;
  }
  std::vector<std::string> recordings() const {
    std::vector<std::string> files;
    std::error_code none;
    for (const auto& each : fs::directory_iterator(folder_.path() + "/nodes", none)) {
      if (each.path().extension() == ".heddle") files.push_back(each.path());
    }
    return files;
  }
  // Waits for the file system, as another process would.
  bool waits_for_recordings(size_t count) const {
    for (int i = 0; i < 6000; ++i) {  // a minute, on a busy machine
      if (recordings().size() == count) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  TemporaryFolder folder_;
};

TEST_F(NodeRecorderTest, TheRecordingSaysWhatIsMissingAndHasTheRest) {
  {
    const auto recorder = NodeRecorder::start(options());
    ASSERT_TRUE(recorder) << recorder.error().message();
    ASSERT_TRUE(waits_for_recordings(1));
  }
  auto reader = events::RecordingReader::open(recordings().front());
  ASSERT_TRUE(reader) << reader.error().message();
  EXPECT_TRUE(reader->facts().closed);
  std::string kind, missing;
  for (const auto& [name, value] : reader->facts().identity) {
    if (name == kKindOfIdentity) kind = value;
    if (name == kNotSampled) missing = value;
  }
  EXPECT_EQ(kind, kNodeKind);
  EXPECT_NE(missing.find("kernel messages are not recorded"), std::string::npos) << missing;
  size_t samples = 0;
  for (events::RecordedEvent recorded; reader->next(recorded);) {
    if (std::holds_alternative<events::NodeSampled>(recorded.event)) ++samples;
  }
  EXPECT_GE(samples, 1u);
}

TEST_F(NodeRecorderTest, OneOfTwoSamplesAndTheOtherTakesOver) {
  auto first = NodeRecorder::start(options());
  ASSERT_TRUE(first && waits_for_recordings(1));
  auto second = NodeRecorder::start(options());
  ASSERT_TRUE(second);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(recordings().size(), 1u);
  first->reset();
  EXPECT_TRUE(waits_for_recordings(2));
  second->reset();
  EXPECT_FALSE(fs::exists(folder_.path() + "/nodes/h1.lock"));
}

TEST_F(NodeRecorderTest, DiscardLeavesNothing) {
  const auto recorder = NodeRecorder::start(options());
  ASSERT_TRUE(recorder && waits_for_recordings(1));
  (*recorder)->discard();
  EXPECT_FALSE(fs::exists(folder_.path() + "/nodes"));
}

// As kill -9 does it.
TEST_F(NodeRecorderTest, ALockGoesWithItsProcess) {
  const std::string path = folder_.path() + "/lock";
  const pid_t child = fork();
  if (child == 0) {
    const auto held = HostLock::take(path);
    _exit(held ? 0 : 1);  // without its destructor
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(HostLock::take(path));
}

TEST_F(NodeRecorderTest, AChildOfForkLeavesTheLock) {
  const std::string path = folder_.path() + "/lock";
  auto held = HostLock::take(path);
  ASSERT_TRUE(held);
  const pid_t child = fork();
  if (child == 0) {
    held.reset();
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(fs::exists(path));
  EXPECT_FALSE(HostLock::take(path));
}

// A rank forks data loaders that outlive it.
TEST_F(NodeRecorderTest, AChildThatOutlivesTheHolderDoesNotKeepTheLock) {
  const std::string path = folder_.path() + "/lock";
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const pid_t holder = fork();
  if (holder == 0) {
    const auto held = HostLock::take(path);
    const pid_t loader = fork();
    if (loader == 0) {  // until the test has looked
      close(ends[1]);
      char ignored = 0;
      static_cast<void>(!read(ends[0], &ignored, 1));
    }
    _exit(held && loader >= 0 ? 0 : 1);
  }
  close(ends[0]);
  int status = 0;
  ASSERT_EQ(waitpid(holder, &status, 0), holder);
  EXPECT_EQ(status, 0);
  // The child may not have run yet.
  bool taken = false;
  for (int i = 0; i < 6000 && !taken; ++i) {
    taken = HostLock::take(path).has_value();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(taken);
  close(ends[1]);
}

// A reading that fails is no zero, from which the next would count all stalls since the boot.
TEST_F(NodeRecorderTest, PressureThatCannotBeReadKeepsItsLastReading) {
  NodeSampler sampler({folder_.path(), folder_.path(), "/dev/null"}, &at_100_seconds);
  const std::string path = folder_.path() + "/pressure/cpu";
  events::MemorySink sink;
  std::ofstream(path) << "";
  sampler.sample(sink);
  std::ofstream(path) << "some avg10=0.00 total=600\n";
  sampler.sample(sink);
  const auto samples = sink.all<events::NodeSampled>();
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_EQ(samples[0].cpu_stall, Nanos{});
  EXPECT_EQ(samples[1].cpu_stall, micros(100));
}

TEST_F(NodeRecorderTest, PressureIsCountedFromTheBeginning) {
  NodeSampler sampler({folder_.path(), folder_.path(), "/dev/null"}, &at_100_seconds);
  std::ofstream(folder_.path() + "/pressure/cpu") << "some avg10=0.00 total=750\nfull total=9\n";
  events::MemorySink sink;
  sampler.sample(sink);
  const auto samples = sink.all<events::NodeSampled>();
  ASSERT_EQ(samples.size(), 1u);
  EXPECT_EQ(samples[0].cpu_stall, micros(250));
  EXPECT_EQ(samples[0].memory_stall, Nanos{});
}

// A kernel without pressure information is no machine without stalls.
TEST_F(NodeRecorderTest, MissingPressureIsAComplaint) {
  const auto says = [this](const fs::path& proc) {
    const NodeSampler sampler({folder_.path(), proc, "/dev/null"}, &at_100_seconds);
    for (const std::string& each : sampler.complaints()) {
      if (each.starts_with("stalls of tasks are not recorded: ")) return true;
    }
    return false;
  };
  EXPECT_FALSE(says(folder_.path()));
  EXPECT_TRUE(says(folder_.path() + "/none"));
}

TEST_F(NodeRecorderTest, AFolderThatCannotBeUsedIsLogged) {
  std::ofstream(folder_.path() + "/nodes") << "a file";
  testing::internal::CaptureStderr();
  { const auto recorder = NodeRecorder::start(options()); }
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("this machine is not sampled: "), std::string::npos) << said;
}

}  // namespace
}  // namespace heddle::nodes
