// A folder of leases: two at once, holders that are gone or late, half-written and foreign files.
// Times are set on files, so that nothing waits.
#include "leases/files/file_store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/clocks.h"
#include "base/document.h"
#include "base/temporary_folder.h"
#include "leases/testing/small_lease.h"

namespace heddle::leases {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class FileStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    Result<TemporaryFolder> made = TemporaryFolder::make("heddle-leases");
    ASSERT_TRUE(made.has_value());
    folder_ = std::move(*made);
    store_ = open();
  }

  std::unique_ptr<Store> open() const {
    Result<std::unique_ptr<Store>> store = FileStore::open(folder_.path(), true);
    CHECK(store.has_value());
    return std::move(*store);
  }
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
  }
  // Its last renewal is this old by the file server's clock.
  void age(const std::string& name, Nanos by) const {
    const Nanos then = wall_now() - by;
    const timespec time{then / seconds(1), 0};
    const std::array<timespec, 2> times = {time, time};
    ASSERT_EQ(utimensat(AT_FDCWD, path(name).c_str(), times.data(), 0), 0);
  }
  Snapshot seen() const {
    const Result<Snapshot> snapshot = store_->read();
    CHECK(snapshot.has_value());
    return *snapshot;
  }
  std::vector<std::string> jobs() const {
    std::vector<std::string> jobs;
    for (const StoredLease& each : seen().live) jobs.push_back(each.lease.job);
    return jobs;
  }
  void publish(const Lease& lease) const {
    const Result<Published> published = store_->publish(seen(), lease, Claim::kFirst);
    ASSERT_TRUE(published.has_value()) << published.error().message();
    ASSERT_EQ(*published, Published::kDone);
  }

  TemporaryFolder folder_;
  std::unique_ptr<Store> store_;
};

TEST_F(FileStoreTest, ALeaseIsThereUntilItIsReleased) {
  const Lease a = small_lease("a");
  publish(a);
  publish(small_lease("b"));
  ASSERT_THAT(jobs(), ElementsAre("a", "b"));
  EXPECT_EQ(seen().live[0].lease, a);
  EXPECT_GT(seen().live[0].left, seconds(50));
  ASSERT_TRUE(store_->release(a).has_value());
  EXPECT_THAT(jobs(), ElementsAre("b"));
}

TEST_F(FileStoreTest, OfTwoAtOnceOneReadsAgain) {
  const Snapshot before = seen();
  publish(small_lease("a"));
  Result<Published> late = open()->publish(before, small_lease("b"), Claim::kFirst);
  ASSERT_TRUE(late.has_value());
  EXPECT_EQ(*late, Published::kChanged);
  EXPECT_THAT(jobs(), ElementsAre("a"));
  late = open()->publish(seen(), small_lease("b"), Claim::kFirst);
  ASSERT_TRUE(late.has_value());
  EXPECT_EQ(*late, Published::kDone);
}

// Each that publishes has seen all that published before it.
TEST_F(FileStoreTest, ManyAtOncePublishOneAfterAnother) {
  constexpr size_t kJobs = 4;
  std::vector<size_t> beside(kJobs);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kJobs; ++i) {
    threads.emplace_back([&, i] {
      const std::unique_ptr<Store> store = open();
      const Lease own = small_lease("job" + std::to_string(i));
      Result<Published> published = Published::kChanged;
      while (published.has_value() && *published == Published::kChanged) {
        const Result<Snapshot> snapshot = store->read();
        if (!snapshot) {
          ADD_FAILURE() << snapshot.error().message();
          return;
        }
        beside[i] = snapshot->live.size();
        published = store->publish(*snapshot, own, Claim::kFirst);
      }
      EXPECT_TRUE(published.has_value() && *published == Published::kDone);
    });
  }
  for (std::thread& each : threads) each.join();
  std::sort(beside.begin(), beside.end());
  for (size_t i = 0; i < kJobs; ++i) EXPECT_EQ(beside[i], i);
  EXPECT_THAT(jobs(), SizeIs(kJobs));
}

TEST_F(FileStoreTest, ANameHasOneHolder) {
  publish(small_lease("a"));
  const Result<Published> second = store_->publish(seen(), small_lease("a"), Claim::kFirst);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, ErrorCode::kInUse);
  EXPECT_THAT(second.error().why, HasSubstr("on here"));
}

TEST_F(FileStoreTest, AHolderThatIsGoneExpires) {
  publish(small_lease("a"));
  age("a.lease", seconds(45));  // of 60 s; this test may wait for a core
  EXPECT_THAT(jobs(), ElementsAre("a"));
  age("a.lease", seconds(61));
  EXPECT_THAT(jobs(), ElementsAre());
  publish(small_lease("b"));
  EXPECT_FALSE(std::filesystem::exists(path("a.lease")));
}

TEST_F(FileStoreTest, ALateHolderNoticesAndLeavesItsSuccessorAlone) {
  Lease late = small_lease("a");
  publish(late);
  age("a.lease", seconds(61));
  Result<bool> renewed = store_->renew(late);
  ASSERT_TRUE(renewed.has_value());
  EXPECT_FALSE(*renewed);
  const Lease successor = small_lease("a");
  publish(successor);
  renewed = store_->renew(late);
  ASSERT_TRUE(renewed.has_value());
  EXPECT_FALSE(*renewed);
  late.plans = 2;
  const Result<Published> moved = store_->publish(seen(), late, Claim::kNext);
  ASSERT_TRUE(moved.has_value());
  EXPECT_EQ(*moved, Published::kLost);
  ASSERT_TRUE(store_->release(late).has_value());
  ASSERT_THAT(jobs(), ElementsAre("a"));
  EXPECT_EQ(seen().live[0].lease.holder, successor.holder);
}

TEST_F(FileStoreTest, ARenewalBeginsTheTimeToLiveAnew) {
  const Lease a = small_lease("a");
  publish(a);
  age("a.lease", seconds(50));
  const Result<bool> renewed = store_->renew(a);
  ASSERT_TRUE(renewed.has_value());
  EXPECT_TRUE(*renewed);
  EXPECT_GT(seen().live[0].left, seconds(50));
}

// As a job that was stopped in the middle of a publication does.
TEST_F(FileStoreTest, ARenewalNeedsNoLock) {
  const Lease a = small_lease("a");
  publish(a);
  age("a.lease", seconds(50));
  const Descriptor held(::open(path("lock").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(flock(held.number(), LOCK_EX), 0);
  const Result<bool> renewed = store_->renew(a);
  EXPECT_TRUE(renewed.has_value() && *renewed);
  EXPECT_GT(seen().live[0].left, seconds(50));
}

TEST_F(FileStoreTest, AClockThatWasSetBackMakesNoLeaseOlder) {
  publish(small_lease("a"));
  age("a.lease", seconds(-7'200));
  EXPECT_THAT(jobs(), ElementsAre("a"));
}

TEST_F(FileStoreTest, ForeignFilesAreIgnoredWithTheReason) {
  publish(small_lease("good"));
  write("a b.lease", "");
  write(".lease", "");
  write("half.lease", text_of(small_lease("half")).substr(0, 40));
  write("other.lease", text_of(small_lease("good")));
  ASSERT_EQ(symlink("/etc/passwd", path("link.lease").c_str()), 0);
  ASSERT_EQ(mkfifo(path("pipe.lease").c_str(), 0600), 0);
  ASSERT_EQ(mkdir(path("folder.lease").c_str(), 0700), 0);
  write("\x1b[31m.lease", "");
  write("\xff.lease", "");
  write("notes.txt", "");
  EXPECT_THAT(jobs(), ElementsAre("good"));
  const std::vector<std::string> ignored = seen().ignored;
  EXPECT_THAT(ignored, SizeIs(9));
  EXPECT_THAT(ignored, testing::Contains(HasSubstr("symbolic link")));
  EXPECT_THAT(ignored, testing::Contains(HasSubstr("it is the lease of 'good'")));
  EXPECT_THAT(ignored, testing::Contains(HasSubstr("cut off")));
  for (const std::string& each : ignored) {
    EXPECT_EQ(each.find('\x1b'), std::string::npos);
    EXPECT_EQ(each.find('\xff'), std::string::npos);
  }
}

TEST_F(FileStoreTest, HalfALeaseKeepsItsNameForATimeToLive) {
  write("a.lease", text_of(small_lease("a")).substr(0, 40));
  const Result<Published> published = store_->publish(seen(), small_lease("a"), Claim::kFirst);
  ASSERT_FALSE(published.has_value());
  EXPECT_EQ(published.error().code, ErrorCode::kInUse);
  age("a.lease", seconds(61));
  publish(small_lease("a"));
  EXPECT_THAT(jobs(), ElementsAre("a"));
}

TEST_F(FileStoreTest, DraftsOfKilledJobsAreRemoved) {
  const std::string draft = "." + std::string("a.b") + "." + new_holder() + ".draft";
  write(draft, "half");
  publish(small_lease("b"));
  EXPECT_FALSE(std::filesystem::exists(path(draft)));
}

// The folder may be a user's own, with files of that name.
TEST_F(FileStoreTest, OtherDraftsStay) {
  const std::string holder = new_holder();
  const std::vector<std::string> others = {"chapter.draft",
                                           ".draft",
                                           ".a.draft",
                                           ".a.0123.draft",
                                           "a." + holder + ".draft",
                                           ".draft.draft",
                                           "..draft",
                                           "." + holder + ".draft",
                                           ".a b." + holder + ".draft"};
  for (const std::string& each : others) write(each, "text");
  const std::string folder = ".a." + new_holder() + ".draft";
  const std::string link = ".b." + new_holder() + ".draft";
  ASSERT_EQ(mkdir(path(folder).c_str(), 0700), 0);
  ASSERT_EQ(symlink("chapter.draft", path(link).c_str()), 0);
  publish(small_lease("b"));
  for (const std::string& each : others) EXPECT_TRUE(std::filesystem::exists(path(each))) << each;
  EXPECT_TRUE(std::filesystem::exists(path(folder)));
  EXPECT_TRUE(std::filesystem::is_symlink(path(link)));
}

// Whatever the first user's umask.
TEST_F(FileStoreTest, AllUsersCanLockAndRead) {
  const mode_t before = umask(0077);
  publish(small_lease("a"));
  umask(before);
  EXPECT_EQ(std::filesystem::status(path("lock")).permissions(), std::filesystem::perms{0666});
  EXPECT_EQ(std::filesystem::status(path("a.lease")).permissions(), std::filesystem::perms{0644});
}

TEST_F(FileStoreTest, ReadersMakeNothing) {
  ASSERT_TRUE(FileStore::open(folder_.path(), false).value()->read().has_value());
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

// A file size limit stands for a full disk: both fail in the middle of a write.
TEST_F(FileStoreTest, AFailedWriteLeavesTheStoreUnchanged) {
  publish(small_lease("a"));
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{100, 100};
    setrlimit(RLIMIT_FSIZE, &limit);
    const Result<Published> published = store_->publish(seen(), small_lease("b"), Claim::kFirst);
    _exit(!published && published.error().code == ErrorCode::kSystem ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_THAT(jobs(), ElementsAre("a"));
  size_t files = 0;
  for (const auto& each : std::filesystem::directory_iterator(folder_.path())) {
    EXPECT_NE(each.path().extension(), ".draft");
    ++files;
  }
  EXPECT_EQ(files, 2U);  // the lease and the lock
}

TEST_F(FileStoreTest, PlacesThatAreNoFolderAreRefused) {
  write("file", "");
  EXPECT_EQ(FileStore::open(path("file"), true).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(FileStore::open(path("missing"), false).error().code, ErrorCode::kUnavailable);
  EXPECT_FALSE(std::filesystem::exists(path("missing")));
  EXPECT_EQ(FileStore::open(path("missing/deeper"), true).error().code, ErrorCode::kSystem);
}

}  // namespace
}  // namespace heddle::leases
