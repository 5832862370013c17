// What one side makes the other one hold and do is bounded: memory, work that is asked for again,
// work after a stop, and times that no calendar has.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/stat.h>

#include <cstdint>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "base/temporary_folder.h"
#include "copying/part_file.h"
#include "copying/source.h"
#include "copying/store.h"

namespace heddle::copying {
namespace {

void write_file(const std::string& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

class BoundsTest : public testing::Test {
 protected:
  BoundsTest() : place_(*TemporaryFolder::make("heddle-copying")), folder_(place_.path()) {}

  static std::vector<Record> take(Store& store, const std::vector<Record>& records) {
    std::vector<std::byte> message(1 << 16);
    RecordWriter writer(message);
    for (const Record& each : records) EXPECT_TRUE(writer.add(each));
    std::vector<Record> answers;
    EXPECT_TRUE(store.take(std::span(message).first(writer.bytes()), answers));
    return answers;
  }
  // The answers to an empty file of this time.
  std::vector<Record> take_file(int64_t mtime_ns) const {
    Store store({folder_});
    return take(store, {{.kind = RecordKind::kHello, .version = 1},
                        {.kind = RecordKind::kStart, .id = 1, .path = "x"},
                        {.kind = RecordKind::kEnd,
                         .id = 1,
                         .mode = 0644,
                         .mtime_ns = mtime_ns,
                         .digest = Digest().value()}});
  }

  TemporaryFolder place_;
  const std::string folder_;
};

TEST_F(BoundsTest, AStoppedSenderWalksNoFurther) {
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(mkfifo((folder_ + "/" + std::to_string(i)).c_str(), 0600), 0);
  }
  int failures = 0;
  Source source({.sources = {folder_ + "/"},
                 .stopped = [&failures] { return failures == 3; },
                 .failed = [&failures](const Error&) { ++failures; }});
  std::vector<std::byte> message(4096);
  RecordWriter writer(message);
  source.fill(writer);
  EXPECT_EQ(failures, 3);
}

// What a receiver says of a file is not kept until the file's turn. With the address sanitizer,
// mallinfo2() counts nothing.
TEST_F(BoundsTest, ASendersMemoryDoesNotGrowWithItsReceiversWords) {
  const int files = 6000;
  for (int i = 0; i < files; ++i) write_file(fmt::format("{}/{:0200}", folder_, i), "");
  std::vector<std::byte> bytes(1 << 16);
  Source source({.sources = {folder_ + "/"}, .failed = [](const Error&) {}});
  const size_t before = mallinfo2().uordblks;
  uint64_t offers = 0;
  while (true) {
    RecordWriter writer(bytes);
    source.fill(writer);
    const std::span<const std::byte> written(bytes.data(), writer.bytes());
    RecordReader reader(written);
    const uint64_t earlier = offers;
    while (const auto record = *reader.next()) offers += record->kind == RecordKind::kOffer;
    if (offers == earlier) break;
  }
  EXPECT_LE(offers, 4096u);
  EXPECT_GT(offers, 1000u);
  const std::string words(3000, 'x');
  for (uint64_t id = 2; id <= offers; ++id) {
    RecordWriter writer(bytes);
    ASSERT_TRUE(writer.add({.kind = RecordKind::kFailed,
                            .id = id,
                            .error = {ErrorCode::kSystem, words, words, words}}));
    ASSERT_TRUE(source.take(std::span(bytes).first(writer.bytes())));
  }
  EXPECT_LT(mallinfo2().uordblks, before + (16 << 20));
}

// A message of the shortest records that all fail: each has an answer with its reason. Beside the
// 64 messages of 1 MiB it stays below the 100 MiB that a copy may hold.
TEST_F(BoundsTest, AReceiversMemoryDoesNotGrowWithFailures) {
  std::vector<std::byte> message(1 << 20);
  RecordWriter writer(message);
  ASSERT_TRUE(writer.add({.kind = RecordKind::kHello, .version = 1}));
  size_t records = 0;
  while (writer.add({.kind = RecordKind::kFolder, .path = ""})) ++records;
  EXPECT_GT(records, 30'000u);
  Store store({folder_});
  std::vector<Record> answers;
  const auto in_use = [] { return mallinfo2().uordblks + mallinfo2().hblkhd; };
  const size_t before = in_use();
  ASSERT_TRUE(store.take(std::span(message).first(writer.bytes()), answers));
  EXPECT_EQ(answers.size(), records + 1);
  EXPECT_LT(in_use(), before + (30 << 20));
}

TEST_F(BoundsTest, APartThatIsOfferedOftenIsReadOnce) {
  write_file(folder_ + "/.x.heddle-part", std::string(8 << 20, 'x'));
  int asked = 0;
  Store store({folder_}, [&asked] { return ++asked < 0; });
  std::vector<Record> records = {{.kind = RecordKind::kHello, .version = 1}};
  for (uint64_t id = 1; id <= 10; ++id) {
    records.push_back({.kind = RecordKind::kOffer, .id = id, .path = "x", .size = 9 << 20});
  }
  const auto answers = take(store, records);
  ASSERT_EQ(answers.size(), 11u);
  for (size_t i = 2; i < answers.size(); ++i) {
    EXPECT_EQ(answers[i].id, i);
    EXPECT_EQ(answers[i].from, 8u << 20);
    EXPECT_EQ(answers[i].digest, answers[1].digest);
  }
  EXPECT_EQ(asked, 12 + 8);  // each record and the message's end, each MiB of the part
}

TEST_F(BoundsTest, EveryTimeThatANumberHoldsIsSet) {
  for (const int64_t mtime_ns : {INT64_MIN, INT64_MAX, int64_t{0}, int64_t{-1}}) {
    EXPECT_EQ(take_file(mtime_ns).back().kind, RecordKind::kStored) << mtime_ns;
  }
  struct stat found {};
  ASSERT_EQ(stat((folder_ + "/x").c_str(), &found), 0);
  EXPECT_EQ(nanoseconds_of(found.st_mtim), -1);
}

TEST_F(BoundsTest, AMessageWithoutAHelloIsNoIntroduction) {
  Store store({folder_});
  EXPECT_TRUE(take(store, {}).empty());
  EXPECT_FALSE(store.greeted());
  take(store, {{.kind = RecordKind::kHello, .version = 1}});
  EXPECT_TRUE(store.greeted());
}

}  // namespace
}  // namespace heddle::copying
