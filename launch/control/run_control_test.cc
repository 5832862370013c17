// The socket by which a run is seen and changed by other processes.
#include "launch/run_control.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <thread>

#include "base/temporary_folder.h"

namespace heddle::launch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A run that answers in a thread.
class FakeRun {
 public:
  explicit FakeRun(pid_t process)
      : folder_(std::move(*TemporaryFolder::make("heddle-run"))), process_(process) {
    listens_ = control_.listen(folder_.path()).has_value();
    thread_ = std::thread([this] {
      while (!ended_) {
        control_.answer([this](uint32_t wanted) { return answer(wanted); });
        usleep(1'000);
      }
    });
  }
  ~FakeRun() {
    ended_ = true;
    thread_.join();
  }

  const std::string& folder() const { return folder_.path(); }
  bool listens() const { return listens_; }

 private:
  Result<RunState> answer(uint32_t wanted) {
    if (wanted > 6) return fail(ErrorCode::kInvalid, "cannot", "too many", "give fewer");
    if (wanted > 0) wanted_ = wanted;
    return RunState{"", process_, 4, wanted_, {2, 6}, "python3 train.py\n--steps 3"};
  }

  TemporaryFolder folder_;
  RunControl control_;
  bool listens_ = false;
  pid_t process_;
  uint32_t wanted_ = 4;
  std::atomic<bool> ended_ = false;
  std::thread thread_;
};

class RunControlTest : public testing::Test {
 protected:
  void SetUp() override {
    place_ = std::move(*TemporaryFolder::make("heddle-run-control-test"));
    setenv("TMPDIR", place_.path().c_str(), 1);
    unsetenv("HEDDLE_RUN");
    unsetenv("HEDDLE_STORE");
  }
  void TearDown() override {
    unsetenv("TMPDIR");
    unsetenv("HEDDLE_RUN");
    unsetenv("HEDDLE_STORE");
  }

  static std::vector<pid_t> processes() {
    std::vector<pid_t> found;
    const auto runs = running_runs();
    EXPECT_TRUE(runs);
    for (const RunState& run : *runs) found.push_back(run.process);
    return found;
  }

  // Of the run of this process, which is there.
  static RunState state_of(pid_t process) {
    const auto runs = running_runs();
    for (const RunState& run : *runs) {
      if (run.process == process) return run;
    }
    ADD_FAILURE() << process << " is not listed";
    return {};
  }

  TemporaryFolder place_;
};

TEST_F(RunControlTest, RunsAreFoundAndChanged) {
  EXPECT_THAT(processes(), IsEmpty());
  const FakeRun one(17);
  const FakeRun other(9);
  ASSERT_TRUE(one.listens() && other.listens());
  EXPECT_THAT(processes(), ElementsAre(9, 17));
  const Result<RunState> changed = resize_run(state_of(17), 5);
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->wanted, 5U);
  EXPECT_EQ(changed->elastic, (Elastic{2, 6}));
  EXPECT_EQ(changed->command, "python3 train.py\n--steps 3");
  EXPECT_EQ(running_runs()->front().wanted, 4U) << "the other is as it was";
}

TEST_F(RunControlTest, ARefusalOfTheRunIsReported) {
  const FakeRun run(17);
  const Result<RunState> changed = resize_run(state_of(17), 7);
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().message(), "cannot: too many (give fewer)");
}

TEST_F(RunControlTest, ARunThatHasEndedDoesNotAnswer) {
  RunState state;
  {
    const FakeRun run(17);
    state = state_of(17);
  }
  const Result<RunState> changed = resize_run(state, 5);
  ASSERT_FALSE(changed);
  EXPECT_THAT(changed.error().message(), HasSubstr("the run of process 17 does not answer"));
}

TEST_F(RunControlTest, ARankSeesItsOwnRunAlone) {
  const FakeRun one(17);
  const FakeRun other(9);
  setenv("HEDDLE_RUN", "1f", 1);
  setenv("HEDDLE_STORE", ("file://" + one.folder() + "/store").c_str(), 1);
  EXPECT_THAT(processes(), ElementsAre(17));
}

TEST_F(RunControlTest, FoldersThatRunsLeftBehindAreNoRuns) {
  auto left = std::make_unique<RunControl>();
  const TemporaryFolder folder = std::move(*TemporaryFolder::make("heddle-run"));
  ASSERT_TRUE(left->listen(folder.path()));
  left.reset();  // the socket's file is there, and no process listens
  const TemporaryFolder empty = std::move(*TemporaryFolder::make("heddle-run"));
  const TemporaryFolder other = std::move(*TemporaryFolder::make("heddle-run"));
  std::ofstream(other.path() + "/control") << "no socket";
  EXPECT_THAT(processes(), IsEmpty());
}

TEST_F(RunControlTest, FoldersOfOtherUsersAndLinksAreNoRuns) {
  const FakeRun run(17);
  const std::string link = place_.path() + "/heddle-run-link";
  ASSERT_EQ(symlink(run.folder().c_str(), link.c_str()), 0);
  EXPECT_THAT(processes(), ElementsAre(17));
  if (chown(run.folder().c_str(), 65'534, 65'534) != 0) GTEST_SKIP() << "not root";
  EXPECT_THAT(processes(), IsEmpty());
}

TEST_F(RunControlTest, ARunOfAnotherVersionIsNamed) {
  const TemporaryFolder folder = std::move(*TemporaryFolder::make("heddle-run"));
  const int server = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = folder.path() + "/control";
  std::memcpy(address.sun_path, path.data(), path.size());
  ASSERT_EQ(bind(server, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(listen(server, 8), 0);
  std::thread answers([server] {
    const int each = accept(server, nullptr, nullptr);
    char request[16];
    EXPECT_GT(recv(each, request, sizeof request, 0), 0);
    EXPECT_EQ(send(each, "17 and more", 11, MSG_NOSIGNAL), 11);
    close(each);
  });
  const auto runs = running_runs();
  answers.join();
  close(server);
  ASSERT_FALSE(runs);
  EXPECT_EQ(runs.error().code, ErrorCode::kVersion);
}

TEST_F(RunControlTest, EmptyAndMalformedRequestsBlockNoOther) {
  const FakeRun run(17);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = run.folder() + "/control";
  std::memcpy(address.sun_path, path.data(), path.size());
  std::vector<int> sockets;
  for (const std::string_view text : {"", "x", "-1", "99999999999", "5 "}) {
    const int each = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    ASSERT_EQ(connect(each, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    if (!text.empty()) send(each, text.data(), text.size(), 0);
    sockets.push_back(each);
  }
  EXPECT_THAT(processes(), ElementsAre(17));
  EXPECT_EQ(running_runs()->front().wanted, 4U);
  for (const int each : sockets) close(each);
}

TEST_F(RunControlTest, AFolderWithALongPathIsRefused) {
  RunControl control;
  const Result<void> listens = control.listen("/tmp/" + std::string(200, 'x'));
  ASSERT_FALSE(listens);
  EXPECT_THAT(listens.error().message(), HasSubstr("TMPDIR"));
}

}  // namespace
}  // namespace heddle::launch
