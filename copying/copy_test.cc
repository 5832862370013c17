// Source and Store together, without a network: trees, going on after an interruption, and what
// neither may do.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "base/descriptor.h"
#include "base/temporary_folder.h"
#include "copying/part_file.h"
#include "copying/source.h"
#include "copying/store.h"

namespace heddle::copying {
namespace {

namespace fs = std::filesystem;

std::string content_of(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

void write_file(const std::string& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

class CopyTest : public testing::Test {
 protected:
  CopyTest() : place_(*TemporaryFolder::make("heddle-copying")) {
    from_ = place_.path() + "/from";
    to_ = place_.path() + "/to";
    fs::create_directories(from_);
    fs::create_directories(to_);
    root_.folder = to_;
  }

  // Messages of `bytes` until the end, or until `most` were passed on.
  void copy(size_t bytes = 4096, size_t most = SIZE_MAX, bool dry = false) {
    failures_.clear();
    source_.emplace(SourceOptions{
        .sources = {from_ + "/"},
        .folder = folder_,
        .dry = dry,
        .failed = [this](const Error& error) { failures_.push_back(error.message()); }});
    Store store(root_);
    std::vector<std::byte> message(bytes);
    std::vector<std::byte> back(1 << 20);
    for (size_t i = 0; i < most && !source_->finished(); ++i) {
      RecordWriter writer(message);
      source_->fill(writer);
      ASSERT_GT(writer.bytes(), 0u);
      if (during_) during_(i);
      std::vector<Record> answers;
      const Result<void> taken = store.take(std::span(message).first(writer.bytes()), answers);
      ASSERT_TRUE(taken) << taken.error().message();
      RecordWriter answer(back);
      for (const Record& each : answers) ASSERT_TRUE(answer.add(each));
      ASSERT_TRUE(source_->take(std::span(back).first(answer.bytes())));
    }
  }

  const CopyCounts& counts() const { return source_->counts(); }

  TemporaryFolder place_;
  std::string from_;
  std::string to_;
  Destination root_;
  std::string folder_;
  std::optional<Source> source_;
  std::vector<std::string> failures_;
  std::function<void(size_t)> during_;
};

TEST_F(CopyTest, ATreeArrivesWithItsModesTimesAndLinks) {
  fs::create_directories(from_ + "/a/b");
  write_file(from_ + "/a/empty", "");
  write_file(from_ + "/a/b/large", std::string(100'000, 'x'));
  write_file(from_ + "/new\nline\xff", "odd");
  fs::create_symlink("b/large", from_ + "/a/link");
  chmod((from_ + "/a/empty").c_str(), 0640);
  chmod((from_ + "/a/b").c_str(), 0550);
  const fs::file_time_type past = fs::file_time_type::clock::now() - std::chrono::hours(1000);
  fs::last_write_time(from_ + "/a/b", past);
  fs::last_write_time(from_ + "/a/b/large", past);
  copy();
  EXPECT_THAT(failures_, testing::IsEmpty());
  EXPECT_EQ(counts().files, 3u);
  EXPECT_EQ(content_of(to_ + "/a/b/large"), std::string(100'000, 'x'));
  EXPECT_EQ(content_of(to_ + "/new\nline\xff"), "odd");
  EXPECT_EQ(fs::read_symlink(to_ + "/a/link"), "b/large");
  EXPECT_EQ(fs::last_write_time(to_ + "/a/b"), past);
  EXPECT_EQ(fs::last_write_time(to_ + "/a/b/large"), past);
  EXPECT_EQ(fs::status(to_ + "/a/b").permissions(), fs::perms{0550});
  EXPECT_EQ(fs::status(to_ + "/a/empty").permissions(), fs::perms{0640});
  copy();
  EXPECT_EQ(counts().files, 0u);
  EXPECT_EQ(counts().skipped, 3u);
  chmod((from_ + "/a/b").c_str(), 0755);
  chmod((to_ + "/a/b").c_str(), 0755);
}

TEST_F(CopyTest, AnInterruptedFileGoesOnWhereItStopped) {
  std::string text(200'000, 'x');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 7 / 3);
  write_file(from_ + "/file", text);
  copy(4096, 20);
  EXPECT_FALSE(fs::exists(to_ + "/file"));
  const uint64_t there = fs::file_size(to_ + "/.file.heddle-part");
  ASSERT_GT(there, 10'000u);
  copy();
  EXPECT_EQ(counts().resumed, there);
  EXPECT_EQ(counts().bytes, text.size() - there);
  EXPECT_EQ(content_of(to_ + "/file"), text);
  EXPECT_FALSE(fs::exists(to_ + "/.file.heddle-part"));
}

TEST_F(CopyTest, AChangedSourceIsStartedAnew) {
  write_file(from_ + "/file", std::string(200'000, 'x'));
  copy(4096, 20);
  write_file(from_ + "/file", "y" + std::string(199'999, 'x'));
  copy();
  EXPECT_EQ(counts().resumed, 0u);
  EXPECT_EQ(content_of(to_ + "/file"), "y" + std::string(199'999, 'x'));
}

TEST_F(CopyTest, AFileThatChangesWhileItIsCopiedIsNotStored) {
  write_file(from_ + "/file", std::string(200'000, 'x'));
  write_file(to_ + "/file", "older");
  during_ = [this](size_t message) {
    if (message == 10) write_file(from_ + "/file", std::string(250'000, 'y'));
  };
  copy();
  ASSERT_THAT(failures_, testing::ElementsAre(testing::HasSubstr("changed while it was copied")));
  EXPECT_EQ(content_of(to_ + "/file"), "older");
  EXPECT_FALSE(fs::exists(to_ + "/.file.heddle-part"));
}

TEST_F(CopyTest, EntriesThatCannotBeStoredAreReportedAndTheRestIsCopied) {
  write_file(from_ + "/a", "a");
  write_file(from_ + "/b", "b");
  ASSERT_EQ(mkfifo((from_ + "/pipe").c_str(), 0600), 0);
  fs::create_directories(to_ + "/a");
  copy();
  EXPECT_THAT(failures_,
              testing::UnorderedElementsAre(testing::HasSubstr("a folder has this name"),
                                            testing::HasSubstr("a device, a socket or a pipe")));
  EXPECT_EQ(content_of(to_ + "/b"), "b");
}

TEST_F(CopyTest, AFileThatAnotherCopyWritesIsRefused) {
  write_file(from_ + "/file", "text");
  auto folder = SafeFolder::open(to_, false);
  const auto other = PartFile::open(*folder->place_of("file"), "file");
  ASSERT_TRUE(other);
  copy();
  EXPECT_THAT(failures_, testing::ElementsAre(testing::HasSubstr("another copy writes it")));
}

// It was removed as no file of this user's alone, and the other copy then gave its name to the new
// one, which was not whole.
TEST_F(CopyTest, APartThatAnotherCopyWritesIsNotMadeAnewWhateverItIs) {
  auto folder = SafeFolder::open(to_, false);
  const std::string name = to_ + "/.file.heddle-part";
  const auto other = PartFile::open(*folder->place_of("file"), "file");
  ASSERT_TRUE(other);
  struct stat before {};
  ASSERT_EQ(stat(name.c_str(), &before), 0);
  for (const bool linked : {false, true}) {
    ASSERT_EQ(chmod(name.c_str(), linked ? 0600 : 0400), 0);
    if (linked) fs::create_hard_link(name, to_ + "/other");
    const auto mine = PartFile::open(*folder->place_of("file"), "file");
    ASSERT_FALSE(mine);
    EXPECT_EQ(mine.error().code, ErrorCode::kInUse);
    struct stat after {};
    ASSERT_EQ(stat(name.c_str(), &after), 0);
    EXPECT_EQ(before.st_ino, after.st_ino);
  }
}

TEST_F(CopyTest, AFileThatTookThePartsNameIsNeitherStoredNorRemoved) {
  auto folder = SafeFolder::open(to_, false);
  const std::string name = to_ + "/.file.heddle-part";
  auto part = PartFile::open(*folder->place_of("file"), "file");
  ASSERT_TRUE(part);
  ASSERT_TRUE(part->append(std::as_bytes(std::span(std::string_view("whole")))));
  fs::remove(name);
  write_file(name, "hal");
  EXPECT_FALSE(part->finish(0644, 0));
  EXPECT_FALSE(fs::exists(to_ + "/file"));
  part->remove();
  EXPECT_EQ(content_of(name), "hal");
}

// Then a copy that opens the part next finds one that it may not write.
TEST_F(CopyTest, AReadOnlyFileIsStoredReadOnly) {
  auto folder = SafeFolder::open(to_, false);
  for (const uint32_t mode : {0444u, 0u, 0200u, 0755u}) {
    auto part = PartFile::open(*folder->place_of("file"), "file");
    ASSERT_TRUE(part);
    ASSERT_TRUE(part->finish(mode, 5'000'000'007));
    struct stat found {};
    ASSERT_EQ(stat((to_ + "/file").c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 07777, mode);
    EXPECT_EQ(nanoseconds_of(found.st_mtim), 5'000'000'007);
  }
}

// As on network file systems that give files to another user.
TEST_F(CopyTest, AFileSystemMayGiveNewFilesToAnotherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to make files of another user";
  ASSERT_EQ(chmod(place_.path().c_str(), 0755), 0);
  ASSERT_EQ(chmod(to_.c_str(), 0777), 0);
  auto folder = SafeFolder::open(to_, false);
  setfsuid(65534);
  const auto part = PartFile::open(*folder->place_of("file"), "file");
  setfsuid(0);
  EXPECT_TRUE(part) << part.error().message();
}

TEST_F(CopyTest, ADryRunWritesNothing) {
  fs::create_directories(from_ + "/a");
  write_file(from_ + "/a/file", "text");
  copy(4096, SIZE_MAX, true);
  EXPECT_EQ(counts().files, 1u);
  EXPECT_EQ(counts().bytes, 4u);
  EXPECT_TRUE(fs::is_empty(to_));
}

TEST_F(CopyTest, AFolderThatBecomesALinkLeadsToNoOtherFile) {
  fs::create_directories(from_ + "/a");
  fs::create_directories(place_.path() + "/elsewhere");
  write_file(from_ + "/a/file", "text");
  write_file(place_.path() + "/elsewhere/file", "secret");
  during_ = [this](size_t message) {
    if (message > 0) return;
    fs::rename(from_ + "/a", from_ + "/b");
    fs::create_directory_symlink(place_.path() + "/elsewhere", from_ + "/a");
  };
  copy();
  EXPECT_THAT(failures_, testing::Contains(testing::HasSubstr("another file has its name")));
  EXPECT_FALSE(fs::exists(to_ + "/a/file"));
}

TEST_F(CopyTest, ADryRunIntoAMissingFolderComparesWithNothingAndMakesNothing) {
  write_file(from_ + "/file", "text");
  fs::copy_file(from_ + "/file", to_ + "/file");
  fs::last_write_time(to_ + "/file", fs::last_write_time(from_ + "/file"));
  root_ = {to_ + "/missing", true};
  copy(4096, SIZE_MAX, true);
  EXPECT_EQ(counts().files, 1u);
  EXPECT_FALSE(fs::exists(to_ + "/missing"));
  root_ = {to_, false};
  folder_ = "missing";
  copy(4096, SIZE_MAX, true);
  EXPECT_EQ(counts().files, 1u);
  EXPECT_FALSE(fs::exists(to_ + "/missing"));
}

TEST_F(CopyTest, TheRestOfAFileThatFailedIsNotSent) {
  write_file(from_ + "/file", std::string(1'000'000, 'x'));
  std::vector<std::byte> bytes(4096);
  Source source({.sources = {from_ + "/"}, .folder = "", .failed = [](const Error&) {}});
  const auto fill = [&] {
    RecordWriter writer(bytes);
    source.fill(writer);
    return std::span(bytes).first(writer.bytes());
  };
  const auto answer = [&](const Record& record) {
    std::vector<std::byte> back(4096);
    RecordWriter writer(back);
    ASSERT_TRUE(writer.add(record));
    ASSERT_TRUE(source.take(std::span(back).first(writer.bytes())));
  };
  fill();
  answer({.kind = RecordKind::kWanted, .id = 1});
  ASSERT_EQ((*RecordReader(fill()).next())->kind, RecordKind::kStart);
  ASSERT_EQ((*RecordReader(fill()).next())->kind, RecordKind::kData);
  answer({.kind = RecordKind::kFailed, .id = 1, .error = {ErrorCode::kSystem, "a", "b", "c"}});
  RecordReader last(fill());
  EXPECT_EQ((*last.next())->kind, RecordKind::kWithdraw);
  EXPECT_EQ((*last.next())->kind, RecordKind::kDone);
}

TEST_F(CopyTest, AStoppedReceiverTakesNoMore) {
  std::vector<std::byte> message(4096);
  RecordWriter writer(message);
  ASSERT_TRUE(writer.add({.kind = RecordKind::kHello, .version = 1}));
  Store store({to_}, [] { return true; });
  std::vector<Record> answers;
  const Result<void> taken = store.take(std::span(message).first(writer.bytes()), answers);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::kCancelled);
}

TEST(TimesOfFiles, BeyondSixtyFourBitsOfNanosecondsAreTheLastOnes) {
  EXPECT_GT(nanoseconds_of({.tv_sec = INT64_MAX, .tv_nsec = 999'999'999}), INT64_MAX / 2);
  EXPECT_LT(nanoseconds_of({.tv_sec = INT64_MIN, .tv_nsec = 0}), INT64_MIN / 2);
  EXPECT_EQ(nanoseconds_of({.tv_sec = -1, .tv_nsec = 5}), -999'999'995);
}

// A sender that is not heddle's.
class HostileTest : public CopyTest {
 protected:
  std::vector<Record> take(const std::vector<Record>& records) {
    std::vector<Record> all = {{.kind = RecordKind::kHello, .version = 1}};
    all.insert(all.end(), records.begin(), records.end());
    Store store({to_});
    return take(store, all);
  }
  static std::vector<Record> take(Store& store, const std::vector<Record>& records) {
    std::vector<std::byte> message(1 << 16);
    RecordWriter writer(message);
    for (const Record& each : records) EXPECT_TRUE(writer.add(each));
    std::vector<Record> answers;
    EXPECT_TRUE(store.take(std::span(message).first(writer.bytes()), answers));
    return answers;
  }
  // The records of a file with this content.
  static std::vector<Record> file(const std::string& path, const std::string& content) {
    Digest digest;
    digest.add(std::as_bytes(std::span(content)));
    return {{.kind = RecordKind::kStart, .id = 9, .path = path, .size = content.size()},
            {.kind = RecordKind::kData, .data = std::as_bytes(std::span(content))},
            {.kind = RecordKind::kEnd,
             .id = 9,
             .mode = 0644,
             .size = content.size(),
             .digest = digest.value()}};
  }
};

// Its checksum was that of the part as it was offered.
TEST_F(HostileTest, APartThatAnotherCopyHasRewrittenIsNotTakenForWhole) {
  const std::string old = "0123456789";
  write_file(to_ + "/.x.heddle-part", old);
  Store store({to_});
  take(store, {{.kind = RecordKind::kHello, .version = 1},
               {.kind = RecordKind::kOffer, .id = 1, .path = "x", .size = 10}});
  write_file(to_ + "/.x.heddle-part", "9876543210");
  Digest digest;
  digest.add(std::as_bytes(std::span(old)));
  const auto answers =
      take(store, {{.kind = RecordKind::kStart, .id = 1, .path = "x", .size = 10, .from = 10},
                   {.kind = RecordKind::kEnd, .id = 1, .size = 10, .digest = digest.value()}});
  ASSERT_EQ(answers.back().kind, RecordKind::kFailed);
  EXPECT_FALSE(fs::exists(to_ + "/x"));
}

// Where a file system's times are coarse, a part that is rewritten at once has the same time again;
// a mapped file shows that on each file system.
TEST_F(HostileTest, APartThatWasRewrittenWithoutANewTimeIsNotTakenForWhole) {
  const std::string old(4096, 'a');
  const std::string part = to_ + "/.x.heddle-part";
  write_file(part, old);
  const Descriptor file(open(part.c_str(), O_RDWR | O_CLOEXEC));
  void* const mapped =
      mmap(nullptr, old.size(), PROT_READ | PROT_WRITE, MAP_SHARED, file.number(), 0);
  ASSERT_NE(mapped, MAP_FAILED);
  auto* const first = static_cast<volatile char*>(mapped);
  *first = 'a';  // sets the time, which the next write then leaves
  Store store({to_});
  take(store, {{.kind = RecordKind::kHello, .version = 1},
               {.kind = RecordKind::kOffer, .id = 1, .path = "x", .size = old.size()}});
  *first = 'b';
  Digest digest;
  digest.add(std::as_bytes(std::span(old)));
  const auto answers = take(
      store,
      {{.kind = RecordKind::kStart, .id = 1, .path = "x", .size = old.size(), .from = old.size()},
       {.kind = RecordKind::kEnd, .id = 1, .size = old.size(), .digest = digest.value()}});
  munmap(mapped, old.size());
  EXPECT_EQ(answers.back().kind, RecordKind::kFailed);
  EXPECT_FALSE(fs::exists(to_ + "/x"));
}

TEST_F(HostileTest, APartWithAnotherNameIsNotWrittenThrough) {
  write_file(to_ + "/precious", "precious");
  for (const bool hard : {true, false}) {
    const std::string part = to_ + "/.x.heddle-part";
    if (hard) {
      fs::create_hard_link(to_ + "/precious", part);
    } else {
      fs::create_symlink("precious", part);
    }
    EXPECT_EQ(take(file("x", "evil")).back().kind, RecordKind::kStored);
    EXPECT_EQ(content_of(to_ + "/precious"), "precious");
    EXPECT_EQ(content_of(to_ + "/x"), "evil");
  }
}

// A copy was killed between the file's permissions and its name.
TEST_F(HostileTest, APartThatIsReadOnlyIsMadeAnew) {
  write_file(to_ + "/.x.heddle-part", "old and longer");
  chmod((to_ + "/.x.heddle-part").c_str(), 0444);
  EXPECT_EQ(take(file("x", "new")).back().kind, RecordKind::kStored);
  EXPECT_EQ(content_of(to_ + "/x"), "new");
}

TEST_F(HostileTest, AFileIsLeftAsNoFolder) {
  write_file(to_ + "/x", "text");
  chmod((to_ + "/x").c_str(), 0644);
  const auto answers = take({{.kind = RecordKind::kLeave, .id = 1, .path = "x", .mode = 0}});
  EXPECT_EQ(answers.back().kind, RecordKind::kFailed);
  EXPECT_EQ(fs::status(to_ + "/x").permissions(), fs::perms{0644});
}

TEST_F(HostileTest, AReadOnlyFolderIsCompletedAndReadOnlyAgain) {
  fs::create_directories(to_ + "/a");
  chmod((to_ + "/a").c_str(), 0555);
  take({{.kind = RecordKind::kFolder, .id = 1, .path = "a", .mode = 0555}});
  EXPECT_EQ(fs::status(to_ + "/a").permissions(), fs::perms{0755});
  take({{.kind = RecordKind::kLeave, .id = 1, .path = "a", .mode = 0555}});
  EXPECT_EQ(fs::status(to_ + "/a").permissions(), fs::perms{0555});
  chmod((to_ + "/a").c_str(), 0755);
}

TEST_F(HostileTest, ALinkLeavesAFilesPartAlone) {
  const std::string name(250, 'n');
  for (const std::string& each : {std::string("x"), name}) {
    write_file(to_ + "/" + part_name(each), "part");
    EXPECT_EQ(take({{.kind = RecordKind::kLink, .id = 1, .path = each, .target = "y"}}).size(), 1u);
    EXPECT_EQ(fs::read_symlink(to_ + "/" + each), "y");
    EXPECT_EQ(content_of(to_ + "/" + part_name(each)), "part");
  }
  EXPECT_TRUE(is_part_name(fresh_link_name(name)));
}

TEST_F(HostileTest, WhatFollowsTheEndIsIgnored) {
  const std::vector<Record> ends(1000, {.kind = RecordKind::kDone});
  EXPECT_EQ(take(ends).size(), 2u);  // a welcome and one end
}

TEST_F(HostileTest, NothingIsWrittenOutsideTheDestination) {
  fs::create_symlink(from_, to_ + "/link");
  for (const std::string& path :
       {std::string("../from/x"), from_ + "/x", std::string("link/x"), std::string("a/../../x")}) {
    const auto answers = take({{.kind = RecordKind::kFolder, .id = 1, .path = path, .mode = 0777},
                               {.kind = RecordKind::kLink, .id = 2, .path = path, .target = "/etc"},
                               {.kind = RecordKind::kOffer, .id = 3, .path = path, .size = 0},
                               {.kind = RecordKind::kStart, .id = 4, .path = path},
                               {.kind = RecordKind::kEnd, .id = 4, .digest = Digest().value()},
                               {.kind = RecordKind::kLeave, .id = 5, .path = path, .mode = 0}});
    ASSERT_EQ(answers.size(), 6u) << path;
    for (size_t i = 1; i < answers.size(); ++i) EXPECT_EQ(answers[i].kind, RecordKind::kFailed);
  }
  EXPECT_TRUE(fs::is_empty(from_));
}

TEST_F(HostileTest, ContentOfAnotherChecksumIsNotStored) {
  const auto answers = take({{.kind = RecordKind::kStart, .id = 1, .path = "x", .size = 0},
                             {.kind = RecordKind::kEnd, .id = 1}});
  ASSERT_EQ(answers.back().kind, RecordKind::kFailed);
  EXPECT_THAT(answers.back().error.message(), testing::HasSubstr("differs from the source"));
  EXPECT_TRUE(fs::is_empty(to_));
}

TEST_F(HostileTest, NoModeGivesTheOwnersRightsAway) {
  take({{.kind = RecordKind::kStart, .id = 1, .path = "x"},
        {.kind = RecordKind::kEnd, .id = 1, .mode = 06755, .digest = Digest().value()}});
  struct stat found {};
  ASSERT_EQ(stat((to_ + "/x").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777, 0755u);
}

}  // namespace
}  // namespace heddle::copying
