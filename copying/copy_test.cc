// Source and Store together, without a network: trees, going on after an interruption, and what
// neither may do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

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
  }

  // Messages of `bytes` until the end, or until `most` were passed on.
  void copy(size_t bytes = 4096, size_t most = SIZE_MAX, bool dry = false) {
    failures_.clear();
    source_.emplace(SourceOptions{
        .sources = {from_ + "/"}, .folder = "", .dry = dry, .failed = [this](const Error& error) {
          failures_.push_back(error.message());
        }});
    Store store(to_);
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

TEST_F(CopyTest, ADryRunWritesNothing) {
  fs::create_directories(from_ + "/a");
  write_file(from_ + "/a/file", "text");
  copy(4096, SIZE_MAX, true);
  EXPECT_EQ(counts().files, 1u);
  EXPECT_EQ(counts().bytes, 4u);
  EXPECT_TRUE(fs::is_empty(to_));
}

// A sender that is not heddle's.
class HostileTest : public CopyTest {
 protected:
  std::vector<Record> take(const std::vector<Record>& records) {
    std::vector<std::byte> message(1 << 16);
    RecordWriter writer(message);
    EXPECT_TRUE(writer.add({.kind = RecordKind::kHello, .version = 1}));
    for (const Record& each : records) EXPECT_TRUE(writer.add(each));
    Store store(to_);
    std::vector<Record> answers;
    EXPECT_TRUE(store.take(std::span(message).first(writer.bytes()), answers));
    return answers;
  }
};

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
