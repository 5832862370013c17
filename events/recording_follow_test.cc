// A reader follows a recording that is still written.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/temporary_folder.h"
#include "events/recording.h"
#include "events/recording/source.h"
#include "events/recording_changes.h"
#include "events/recording_reader.h"

namespace heddle::events {
namespace {

MessageCompleted message(Nanos time, uint32_t sequence) {
  MessageCompleted made;
  made.time = time;
  made.sequence = sequence;
  return made;
}

class RecordingFollowTest : public ::testing::Test {
 protected:
  RecordingFollowTest() : folder_(*TemporaryFolder::make("heddle-follow")) {}

  std::shared_ptr<Recording> record(Bytes most) {
    auto made = Recording::create(
        {.directory = folder_.path() + "/it", .most = most, .level = RecordLevel::kSegments});
    EXPECT_TRUE(made) << made.error().message();
    return *made;
  }

  static std::vector<uint32_t> read(RecordingReader& reader) {
    std::vector<uint32_t> sequences;
    RecordedEvent event;
    while (reader.next(event)) {
      sequences.push_back(std::get<MessageCompleted>(event.event).sequence);
    }
    return sequences;
  }

  TemporaryFolder folder_;
};

TEST_F(RecordingFollowTest, GoesOnWithWhatIsWrittenAfterItsEndInOrderOfTime) {
  const auto recording = record(mebibytes(4));
  const auto first = recording->add_writer();
  first->on_any(message(nanos(10), 1));
  auto reader = RecordingReader::open(recording->path());
  ASSERT_TRUE(reader);
  EXPECT_EQ(read(*reader), std::vector<uint32_t>{1});
  reader->refresh();
  EXPECT_EQ(read(*reader), std::vector<uint32_t>{});
  const auto second = recording->add_writer();
  uint32_t sequence = 2;
  for (const Nanos time : {nanos(20), nanos(30), seconds(9)}) {  // the last one needs a jump
    first->on_any(message(time, sequence++));
    second->on_any(message(time + nanos(1), sequence++));
  }
  reader->refresh();
  EXPECT_EQ(read(*reader), (std::vector<uint32_t>{2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(reader->missed_events(), 0u);
  EXPECT_FALSE(reader->facts().closed);
  recording->mark_closed();
  reader->refresh();
  EXPECT_TRUE(reader->facts().closed);
}

TEST_F(RecordingFollowTest, MissesNothingOfARingThatIsOverwrittenManyTimesIfItKeepsUp) {
  const auto recording = record(mebibytes(1));
  const auto recorder = recording->add_writer();
  auto reader = RecordingReader::open(recording->path());
  ASSERT_TRUE(reader);
  uint32_t written = 0;
  uint32_t taken = 0;
  for (int round = 0; round < 500; ++round) {
    for (int i = 0; i < 997; ++i, ++written) recorder->on_any(message(micros(written), written));
    reader->refresh();
    for (const uint32_t sequence : read(*reader)) ASSERT_EQ(sequence, taken++);
  }
  EXPECT_EQ(taken, written);
  EXPECT_GT(reader->facts().dropped_events, written / 2);
  EXPECT_EQ(reader->missed_events(), 0u);
}

// Writes the changes of a recording into another file.
class Copy {
 public:
  explicit Copy(std::string path)
      : path_(std::move(path)), file_(std::fopen(path_.c_str(), "w+")) {}
  ~Copy() { std::fclose(file_); }
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;

  const std::string& path() const { return path_; }
  size_t take(RecordingChanges& changes) {
    size_t bytes = 0;
    changes.look([&](uint64_t at, std::span<const std::byte> range) {
      std::fseek(file_, static_cast<long>(at), SEEK_SET);
      std::fwrite(range.data(), 1, range.size(), file_);
      bytes += range.size();
    });
    std::fflush(file_);
    return bytes;
  }

 private:
  std::string path_;
  std::FILE* file_;
};

TEST_F(RecordingFollowTest, ACopyOfItsChangesReadsAsTheRecordingDoes) {
  const auto recording = record(mebibytes(1));
  const auto recorder = recording->add_writer();
  auto changes = RecordingChanges::open(recording->path());
  ASSERT_TRUE(changes) << changes.error().message();
  Copy copy(folder_.path() + "/copy.heddle");
  std::filesystem::resize_file(copy.path(), changes->bytes());
  EXPECT_GE(copy.take(*changes), 64u);  // the header
  EXPECT_EQ(copy.take(*changes), 0u);
  auto reader = RecordingReader::open(copy.path());
  ASSERT_TRUE(reader) << reader.error().message();
  uint32_t written = 0;
  uint32_t taken = 0;
  size_t bytes = 0;
  for (int round = 0; round < 200; ++round) {
    for (int i = 0; i < 997; ++i, ++written) recorder->on_any(message(micros(written), written));
    bytes += copy.take(*changes);
    reader->refresh();
    for (const uint32_t sequence : read(*reader)) ASSERT_EQ(sequence, taken++);
  }
  EXPECT_EQ(taken, written);
  EXPECT_EQ(reader->missed_events(), 0u);
  EXPECT_LT(bytes, written * (Recorder::bytes_of<MessageCompleted>() + 1));
  recording->mark_closed();
  copy.take(*changes);
  reader->refresh();
  EXPECT_TRUE(reader->facts().closed);
}

// Counts how often it is asked where data is.
class CountedSource final : public recording::Source {
 public:
  explicit CountedSource(std::shared_ptr<recording::Source> file) : file_(std::move(file)) {}

  uint64_t size() const override { return file_->size(); }
  size_t read(uint64_t at, std::byte* to, size_t bytes) const override {
    return file_->read(at, to, bytes);
  }
  uint64_t next_data(uint64_t at) const override {
    ++asked_;
    return file_->next_data(at);
  }
  size_t asked() const { return asked_; }

 private:
  const std::shared_ptr<recording::Source> file_;
  mutable size_t asked_ = 0;
};

TEST_F(RecordingFollowTest, ItsChangesAskNotAgainWhetherABlockIsAHole) {
  const auto ring = record(mebibytes(1));
  const auto recorder = ring->add_writer();
  for (uint32_t i = 0; i < 100'000; ++i) recorder->on_any(message(micros(i), i));
  ASSERT_GT(ring->dropped_events(), 0u);
  auto file = recording::open_file(ring->path());
  ASSERT_TRUE(file) << file.error().message();
  const auto counted = std::make_shared<CountedSource>(std::move(*file));
  RecordingChanges changes = RecordingChanges::over(counted);
  Copy copy(folder_.path() + "/copy.heddle");
  EXPECT_GT(copy.take(changes), 0u);
  const size_t asked = counted->asked();
  EXPECT_GT(asked, 0u);
  recorder->on_any(message(micros(100'000), 100'000));
  EXPECT_GT(copy.take(changes), 0u);
  EXPECT_EQ(counted->asked(), asked) << "the ring is full";
}

// A reader that follows does not read the headers of blocks that cannot have changed.
TEST_F(RecordingFollowTest, SeesTheBlocksOfManyWritersThatHoldThemForLong) {
  const auto recording = record(mebibytes(2));
  std::vector<std::unique_ptr<Recorder>> writers;
  for (int i = 0; i < 5; ++i) writers.push_back(recording->add_writer());
  auto reader = RecordingReader::open(recording->path());
  ASSERT_TRUE(reader);
  uint32_t sequence = 0;
  const auto write = [&](size_t writer) {
    ++sequence;
    writers[writer]->on_any(message(nanos(sequence), sequence));
  };
  uint32_t seen = 0;
  for (int round = 0; round < 400; ++round) {
    // One writes much, another now and then, others hold their blocks for many turns of the ring.
    for (int i = 0; i < 2'000; ++i) write(0);
    write(1);
    if (round % 50 == 0) write(2);
    if (round == 7) write(3);
    if (round == 200) writers[3].reset();
    if (round == 300) write(4);
    reader->refresh();
    for (const uint32_t each : read(*reader)) ASSERT_EQ(each, ++seen);
    ASSERT_EQ(seen, sequence);
  }
  EXPECT_GT(recording->dropped_events(), 100'000u);
  EXPECT_EQ(reader->missed_events(), 0u);
}

TEST_F(RecordingFollowTest, CountsWhatItMissedWhereItFallsBehind) {
  const auto recording = record(mebibytes(1));
  const auto recorder = recording->add_writer();
  uint32_t written = 0;
  const auto write = [&](uint32_t events) {
    for (uint32_t i = 0; i < events; ++i, ++written) {
      recorder->on_any(message(micros(written), written));
    }
  };
  write(1'000);
  auto reader = RecordingReader::open(recording->path());
  ASSERT_TRUE(reader);
  size_t taken = read(*reader).size();
  EXPECT_EQ(taken, 1'000u);
  write(200'000);
  reader->refresh();
  taken += read(*reader).size();
  EXPECT_LT(taken, written);
  EXPECT_EQ(taken + reader->missed_events(), written);
}

}  // namespace
}  // namespace heddle::events
