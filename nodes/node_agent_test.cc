// The agent's folder: only its own old recordings go, its size is bounded within one run and over
// restarts, and folders of others are refused.
#include "nodes/node_agent.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "base/clocks.h"
#include "base/temporary_folder.h"
#include "events/recording_reader.h"
#include "nodes/node_recorder.h"

namespace heddle::nodes {
namespace {

namespace fs = std::filesystem;

class AgentFolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = TemporaryFolder::make("heddle-agent");
    ASSERT_TRUE(made);
    parent_ = std::move(*made);
    state_ = parent_.path() + "/state";
  }
  static events::RecordingOptions options(const std::string& host = "h1",
                                          const char* kind = kNodeKind) {
    events::RecordingOptions made;
    made.most = kibibytes(448);
    made.identity = {{"host", host}, {"kind", kind}};
    made.clock = &steady_now;
    return made;
  }
  // Ended at once.
  static bool begin(AgentFolder& folder, const events::RecordingOptions& options) {
    const auto made = folder.begin(options, mebibytes(4));
    EXPECT_TRUE(made) << made.error().message();
    return static_cast<bool>(made);
  }
  std::set<std::string> names() const {
    std::set<std::string> made;
    for (const auto& each : fs::directory_iterator(state_)) made.insert(each.path().filename());
    return made;
  }
  uint64_t disk_bytes() const {
    uint64_t sum = 0;
    for (const auto& each : fs::directory_iterator(state_)) {
      struct stat about {};
      stat(each.path().c_str(), &about);
      sum += static_cast<uint64_t>(about.st_blocks) * 512;
    }
    return sum;
  }

  TemporaryFolder parent_;
  std::string state_;
};

// Any *.heddle in the folder was deleted as an old recording.
TEST_F(AgentFolderTest, FilesOfOthersStay) {
  auto folder = AgentFolder::open(state_, false);
  ASSERT_TRUE(folder) << folder.error().message();
  std::ofstream(state_ + "/h1.17.0.heddle") << "a job's";
  std::ofstream(state_ + "/agent.h1.1.heddle") << "no recording";
  ASSERT_TRUE(begin(*folder, options("h2")));
  ASSERT_TRUE(begin(*folder, options("h1", "process")));
  const std::set<std::string> before = names();
  ASSERT_EQ(before.size(), 4u);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(begin(*folder, options()));
  const std::set<std::string> after = names();
  for (const std::string& each : before) EXPECT_TRUE(after.contains(each)) << each;
  EXPECT_LE(after.size(), before.size() + params::kMostAgentRecordings);
}

// A container's agent is process 1 at each start, so a name of process and number came again.
TEST_F(AgentFolderTest, NoNameComesTwice) {
  auto folder = AgentFolder::open(state_, false);
  ASSERT_TRUE(folder);
  std::set<std::string> seen;
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(begin(*folder, options()));
    const std::set<std::string> there = names();
    ASSERT_EQ(there.size(), 1u);
    EXPECT_TRUE(seen.insert(*there.begin()).second) << *there.begin();
    fs::remove(state_ + "/" + *there.begin());
    usleep(2000);  // the time in a name is one of milliseconds
  }
}

// Eight restarts left nothing of the time before them.
TEST_F(AgentFolderTest, RestartsKeepOldRecordingsThatFit) {
  auto folder = AgentFolder::open(state_, false);
  ASSERT_TRUE(folder);
  events::RecordingOptions small = options();
  small.most = kibibytes(128);
  for (int i = 0; i < 16; ++i) ASSERT_TRUE(begin(*folder, small));
  EXPECT_EQ(names().size(), 16u);
  EXPECT_LE(disk_bytes(), mebibytes(4).count);
}

TEST_F(AgentFolderTest, ALinkAndAFolderForAllAreRefused) {
  fs::create_directory(parent_.path() + "/target");
  fs::create_directory_symlink(parent_.path() + "/target", state_);
  auto link = AgentFolder::open(state_, false);
  ASSERT_FALSE(link);
  EXPECT_EQ(link.error().code, ErrorCode::kInvalid);
  const std::string open_to_all = parent_.path() + "/open";
  fs::create_directory(open_to_all);
  chmod(open_to_all.c_str(), 0777);
  EXPECT_FALSE(AgentFolder::open(open_to_all, false));
  EXPECT_TRUE(fs::is_empty(parent_.path() + "/target"));
}

TEST_F(AgentFolderTest, AFolderOfAnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "a folder is given to another user by root";
  fs::create_directory(state_);
  ASSERT_EQ(chown(state_.c_str(), 65534, 65534), 0);
  const auto folder = AgentFolder::open(state_, false);
  ASSERT_FALSE(folder);
  EXPECT_NE(folder.error().message().find("belongs to another user"), std::string::npos);
}

TEST_F(AgentFolderTest, ParentsAreMadeWhereTheyMayBe) {
  const std::string deep = parent_.path() + "/lib/heddle/node";
  EXPECT_FALSE(AgentFolder::open(deep, false));
  EXPECT_TRUE(AgentFolder::open(deep, true));
}

TEST_F(AgentFolderTest, MembersOfTheGroupReadARecordingAndOthersDoNot) {
  auto folder = AgentFolder::open(state_, false);
  ASSERT_TRUE(folder && begin(*folder, options()));
  struct stat about {};
  ASSERT_EQ(stat((state_ + "/" + *names().begin()).c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0640u);
}

// A running agent used an eighth of its disk space.
TEST_F(AgentFolderTest, OneRunFillsSeveralRecordings) {
  NodeAgentOptions agent_options;
  agent_options.recording = options();
  agent_options.recording.directory = state_;
  agent_options.recording.most = kibibytes(1280);
  agent_options.recording.identity = {{"host", "h1"}};
  agent_options.every = micros(1);
  agent_options.sources = {parent_.path(), parent_.path(), parent_.path() + "/no log"};
  const Descriptor stop(eventfd(0, EFD_CLOEXEC));
  auto agent = NodeAgent::start(agent_options, nullptr);
  ASSERT_TRUE(agent) << agent.error().message();
  std::thread ender([&] {
    for (int i = 0; i < 12'000 && names().size() < 5; ++i) usleep(10'000);
    const uint64_t one = 1;
    EXPECT_EQ(write(stop.number(), &one, sizeof one), ssize_t{sizeof one});
  });
  const Result<void> ran = (*agent)->run(stop.number(), [] {});
  ender.join();
  ASSERT_TRUE(ran) << ran.error().message();
  size_t recordings = 0;
  for (const std::string& each : names()) {
    if (!each.ends_with(".heddle")) continue;
    ++recordings;
    const auto facts = events::RecordingReader::facts_of(state_ + "/" + each);
    ASSERT_TRUE(facts) << facts.error().message();
    EXPECT_EQ(facts->dropped_events, 0u) << each;
  }
  EXPECT_GE(recordings, 3u);
  EXPECT_LE(disk_bytes(), kibibytes(1280 + 64).count);
}

}  // namespace
}  // namespace heddle::nodes
