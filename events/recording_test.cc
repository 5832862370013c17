// A recording can be read back, however its process or its file ended.
#include "events/recording.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/random.h"
#include "events/recording/layout.h"
#include "events/recording_reader.h"

namespace heddle::events {
namespace {

namespace fs = std::filesystem;

class RecordingTest : public ::testing::Test {
 protected:
  RecordingTest() {
    std::string name = (fs::temp_directory_path() / "heddle-recording-XXXXXX").string();
    folder_ = mkdtemp(name.data()) == nullptr ? "" : name;
  }
  ~RecordingTest() override { fs::remove_all(folder_); }

  std::shared_ptr<Recording> record(Bytes most = mebibytes(4),
                                    RecordLevel level = RecordLevel::kSegments,
                                    Nanos (*clock)() = nullptr) {
    auto made = Recording::create({.directory = folder_ + "/it",
                                   .most = most,
                                   .level = level,
                                   .identity = {{"rank", "3"}, {"command", "train --a=b"}},
                                   .clock = clock});
    EXPECT_TRUE(made) << made.error().message();
    return *made;
  }

  static std::vector<std::string> read(RecordingReader& reader) {
    std::vector<std::string> lines;
    RecordedEvent event;
    while (reader.next(event)) {
      lines.push_back(std::visit([](const auto& each) { return to_text(each); }, event.event));
    }
    return lines;
  }
  static std::vector<std::string> read(const std::string& path) {
    auto reader = RecordingReader::open(path);
    EXPECT_TRUE(reader) << reader.error().message();
    return reader ? read(*reader) : std::vector<std::string>();
  }
  static std::string bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static std::vector<std::string> read_bytes(const std::string& bytes, RecordingFacts& facts) {
    auto reader =
        RecordingReader::over(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size(), "x");
    EXPECT_TRUE(reader) << reader.error().message();
    if (!reader) return {};
    facts = reader->facts();
    return read(*reader);
  }

  std::string folder_;
};

MessageCompleted message(Nanos time, uint32_t sequence) {
  return {time, 7, 1, sequence, 65'536, Direction::kSent};
}

// An event of each kind with random fields.
template <size_t... kIndices>
std::vector<AnyEvent> one_of_each(Random& random, Nanos time, std::index_sequence<kIndices...>) {
  const auto fill = [&](auto event) {
    event.time = time;
    time += nanos(1);  // lasting events are stored apart, so distinct times define the order
    fill_fields(event, [&random](auto& value) {
      using Value = std::remove_reference_t<decltype(value)>;
      if constexpr (std::is_same_v<Value, bool>) {
        value = random.below(2) == 1;
      } else if constexpr (std::is_same_v<Value, Nanos>) {
        value = {static_cast<int64_t>(random.next() >> 1)};
      } else if constexpr (std::is_enum_v<Value>) {
        value = static_cast<Value>(random.below(3));
      } else if constexpr (std::is_same_v<Value, Text>) {
        value = Text("step " + std::to_string(random.next()));
      } else {
        value = static_cast<Value>(random.next());
      }
    });
    return AnyEvent(event);
  };
  return {fill(std::variant_alternative_t<kIndices, AnyEvent>{})...};
}

TEST_F(RecordingTest, EveryKindIsReadBackUnchanged) {
  Random random(5);
  std::vector<std::string> written;
  const auto recording = record();
  {
    const auto recorder = recording->add_writer();
    for (int round = 0; round < 50; ++round) {
      const Nanos time = seconds(round) + micros(random.below(1000));
      for (const AnyEvent& any :
           one_of_each(random, time, std::make_index_sequence<kEventKindCount>())) {
        std::visit(
            [&](const auto& event) {
              static_cast<Sink&>(*recorder).on(event);
              written.push_back(to_text(event));
            },
            any);
      }
    }
  }
  EXPECT_EQ(read(recording->path()), written);
}

TEST_F(RecordingTest, ContainsItsIdentityAndWhetherItWasClosed) {
  auto recording = record();
  const std::string path = recording->path();
  auto reader = RecordingReader::open(path);
  ASSERT_TRUE(reader);
  EXPECT_FALSE(reader->facts().closed);
  EXPECT_EQ(reader->facts().events, 0u);
  recording.reset();
  reader = RecordingReader::open(path);
  ASSERT_TRUE(reader);
  EXPECT_TRUE(reader->facts().closed);
  ASSERT_EQ(reader->facts().identity.size(), 2u);
  EXPECT_EQ(reader->facts().identity[1].second, "train --a=b");
}

TEST_F(RecordingTest, IsReadableByItsOwnerOnly) {
  const auto recording = record();
  struct stat status {};
  ASSERT_EQ(stat((folder_ + "/it").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  ASSERT_EQ(stat(recording->path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(RecordingTest, TheNewestEventsAreKeptAndTheOthersCounted) {
  const auto recording = record({4 * recording::kBlockBytes});
  const auto recorder = recording->add_writer();
  constexpr uint32_t kMessages = 50'000;
  for (uint32_t i = 0; i < kMessages; ++i) recorder->on_any(message(micros(i), i));
  auto reader = RecordingReader::open(recording->path());
  ASSERT_TRUE(reader);
  const std::vector<std::string> lines = read(*reader);
  ASSERT_GT(lines.size(), 3u * recording::kBlockBytes / Recorder::bytes_of<MessageCompleted>());
  EXPECT_EQ(lines.size() + reader->facts().dropped_events, kMessages);
  for (size_t i = 0; i < lines.size(); ++i) {
    const auto sequence = static_cast<uint32_t>(kMessages - lines.size() + i);
    ASSERT_EQ(lines[i], to_text(message(micros(sequence), sequence)));
  }
}

// These events come first, so a plain ring would overwrite them first.
TEST_F(RecordingTest, ConnectionOpenedIsKeptHoweverManyEventsFollow) {
  const auto recording = record({8 * recording::kBlockBytes});
  const auto recorder = recording->add_writer();
  const ConnectionOpened opened{micros(1), 7, 8, 0, 9, 18'700, 32};
  recorder->on_any(EndpointOpened{micros(0), 0, 9, 18'701});
  recorder->on_any(opened);
  for (uint32_t i = 0; i < 100'000; ++i) recorder->on_any(message(micros(2 + i), i));
  const std::vector<std::string> lines = read(recording->path());
  ASSERT_GT(recording->dropped_events(), 0u);
  EXPECT_EQ(lines.size() + recording->dropped_events(), 100'002u);
  ASSERT_GT(lines.size(), 2u);
  EXPECT_EQ(lines[1], to_text(opened));
  EXPECT_EQ(lines.back(), to_text(message(micros(100'001), 99'999)));
}

TEST_F(RecordingTest, WritersShareAFileAndAreReadInTimeOrder) {
  const auto recording = record({16 * recording::kBlockBytes});
  const auto first = recording->add_writer();
  const auto second = recording->add_writer();
  for (uint32_t i = 0; i < 5'000; ++i) {
    first->on_any(message(micros(2 * i), i));
    second->on_any(message(micros(2 * i + 1), i));
  }
  auto reader = RecordingReader::open(recording->path());
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->facts().writers, 2u);
  RecordedEvent event;
  for (uint32_t i = 0; i < 10'000; ++i) {
    ASSERT_TRUE(reader->next(event));
    EXPECT_EQ(event.writer, i % 2);
    EXPECT_EQ(std::get<MessageCompleted>(event.event).time, micros(i));
  }
  EXPECT_FALSE(reader->next(event));
}

TEST_F(RecordingTest, MoreWritersThanBlocksDropOnlyTheirOwnEvents) {
  const auto recording = record({2 * recording::kBlockBytes});
  const auto first = recording->add_writer();
  const auto second = recording->add_writer();
  const auto third = recording->add_writer();
  first->on_any(message(micros(1), 1));
  second->on_any(message(micros(2), 2));
  third->on_any(message(micros(3), 3));  // no block is free
  EXPECT_EQ(read(recording->path()).size(), 2u);
  EXPECT_EQ(recording->dropped_events(), 1u);
}

TEST_F(RecordingTest, EventsOfAKilledProcessAreReadable) {
  const pid_t child = fork();
  if (child == 0) {
    const auto recorder = record()->add_writer();
    for (uint32_t i = 0; i < 10'000; ++i) recorder->on_any(message(micros(i), i));
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  std::vector<std::string> paths;
  for (const auto& entry : fs::directory_iterator(folder_ + "/it")) paths.push_back(entry.path());
  ASSERT_EQ(paths.size(), 1u);
  auto reader = RecordingReader::open(paths[0]);
  ASSERT_TRUE(reader);
  EXPECT_FALSE(reader->facts().closed);
  EXPECT_EQ(read(*reader).size(), 10'000u);
}

// Simulates a full disk: the file cannot grow.
TEST_F(RecordingTest, OnAFullDiskTheNewestEventsAreKeptInLessSpace) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const auto recording = record({64 * recording::kBlockBytes});
    const rlimit limit{recording::kHeaderBytes + 3 * recording::kBlockBytes, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &limit);
    const auto recorder = recording->add_writer();
    for (uint32_t i = 0; i < 50'000; ++i) recorder->on_any(message(micros(i), i));
    const std::vector<std::string> lines = read(recording->path());
    const bool newest = !lines.empty() && lines.back() == to_text(message(micros(49'999), 49'999));
    _exit(newest && lines.size() + recording->dropped_events() == 50'000 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// Beyond the limit the system would kill the process.
TEST_F(RecordingTest, TheFileSizeLimitIsRespected) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{recording::kHeaderBytes + 3 * recording::kBlockBytes, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &limit);
    const auto recording = record({64 * recording::kBlockBytes});
    const auto recorder = recording->add_writer();
    for (uint32_t i = 0; i < 50'000; ++i) recorder->on_any(message(micros(i), i));
    _exit(read(recording->path()).empty() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// The next block's space is allocated before it is written.
TEST_F(RecordingTest, ARecordingOfRealTimeAllocatesAhead) {
  const auto simulated = record({64 * recording::kBlockBytes});
  const auto real = record(
      {64 * recording::kBlockBytes}, RecordLevel::kSegments, +[] { return micros(5); });
  const auto room = [](const Recording& recording) {
    struct stat status {};
    stat(recording.path().c_str(), &status);
    return static_cast<uint64_t>(status.st_blocks) * 512;
  };
  for (int i = 0; i < 2000 && room(*real) < 8 * recording::kBlockBytes; ++i) usleep(10'000);
  EXPECT_GE(room(*real), 8 * recording::kBlockBytes);
  EXPECT_LT(room(*simulated), 8 * recording::kBlockBytes);
}

TEST_F(RecordingTest, AnUnusableDirectoryIsReported) {
  std::ofstream(folder_ + "/file") << "x";
  for (const std::string& directory : {std::string(), folder_ + "/file", folder_ + "/no/such"}) {
    EXPECT_FALSE(Recording::create({.directory = directory})) << directory;
  }
}

// KiB of a file's mapping in this process that are not yet on disk.
uint64_t dirty_kib(const std::string& path) {
  std::ifstream maps("/proc/self/smaps");
  uint64_t dirty = 0;
  bool here = false;
  for (std::string line; std::getline(maps, line);) {
    const bool begins = line.find('-') != std::string::npos && line.find("kB") == std::string::npos;
    if (begins) here = line.find(path) != std::string::npos;
    if (!here || line.find("_Dirty:") == std::string::npos) continue;
    dirty += std::stoull(line.substr(line.find(':') + 1));
  }
  return dirty;
}

TEST_F(RecordingTest, ADurableRecordingIsWrittenToDiskPeriodically) {
  RecordingOptions options{.directory = folder_ + "/it", .most = mebibytes(4), .identity = {}};
  options.durable = millis(20);
  const auto made = Recording::create(options);
  if (!made && made.error().code == ErrorCode::kInvalid) GTEST_SKIP() << made.error().message();
  ASSERT_TRUE(made) << made.error().message();
  const auto recorder = (*made)->add_writer();
  for (uint32_t i = 0; i < 10'000; ++i) recorder->on_any(message(micros(i), i));
  // Two more: one may have started before the last event.
  const uint64_t before = (*made)->syncs();
  for (int i = 0; i < 20'000 && (*made)->syncs() < before + 2; ++i) usleep(1000);
  ASSERT_GE((*made)->syncs(), before + 2);
  EXPECT_EQ(dirty_kib((*made)->path()), 0u);
}

TEST_F(RecordingTest, WithoutDurabilityTheKernelDecidesWhenToWrite) {
  const auto recording = record();
  const auto recorder = recording->add_writer();
  recorder->on_any(message(micros(1), 1));
  EXPECT_EQ(recording->syncs(), 0u);
}

TEST_F(RecordingTest, DurableRecordingInMemoryIsAnError) {
  std::string name = "/dev/shm/heddle-recording-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) GTEST_SKIP() << "there is no /dev/shm to write to";
  RecordingOptions options{.directory = name, .identity = {}};
  options.durable = seconds(1);
  const auto made = Recording::create(options);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kInvalid);
  EXPECT_TRUE(fs::is_empty(name));
  fs::remove_all(name);
}

TEST_F(RecordingTest, EachLevelIncludesTheOnesBefore) {
  const auto kinds = [](RecordLevel level) {
    size_t kept = 0;
    for (size_t kind = 0; kind < kEventKindCount; ++kind) {
      kept += recorded_at(level, static_cast<EventKind>(kind)) ? 1 : 0;
    }
    return kept;
  };
  EXPECT_LT(kinds(RecordLevel::kCounters), kinds(RecordLevel::kBins));
  EXPECT_LT(kinds(RecordLevel::kBins), kinds(RecordLevel::kMessages));
  EXPECT_EQ(kinds(RecordLevel::kSegments), kEventKindCount);
  EXPECT_FALSE(recorded_at(RecordLevel::kCounters, EventKind::kCallMade));
  EXPECT_TRUE(recorded_at(RecordLevel::kCounters, EventKind::kWireBin));
  EXPECT_EQ(record_level("bins"), RecordLevel::kBins);
}

TEST_F(RecordingTest, ACoarserLevelOmitsBursts) {
  const auto recording = record(mebibytes(1), RecordLevel::kMessages);
  const auto recorder = recording->add_writer();
  recorder->on_any(BurstSent{micros(1), 7, 1, 5, 2, 3000, false});
  recorder->on_any(message(micros(2), 1));
  EXPECT_EQ(read(recording->path()).size(), 1u);
}

TEST_F(RecordingTest, UndamagedBlocksOfATruncatedOrDamagedFileAreRead) {
  const auto recording = record({8 * recording::kBlockBytes});
  {
    const auto recorder = recording->add_writer();
    for (uint32_t i = 0; i < 8'000; ++i) recorder->on_any(message(micros(i), i));
  }
  const std::string whole = bytes_of(recording->path());
  RecordingFacts facts;
  const size_t all = read_bytes(whole, facts).size();
  EXPECT_EQ(all, 8'000u);
  const size_t two = recording::kHeaderBytes + 2 * recording::kBlockBytes;
  const size_t kept = read_bytes(whole.substr(0, two + 1000), facts).size();
  EXPECT_TRUE(facts.cut_short);
  EXPECT_GT(kept, 4'000u);
  std::string damaged = whole;
  damaged[recording::kHeaderBytes] ^= 1;  // the first block's magic
  EXPECT_LT(read_bytes(damaged, facts).size(), all);
  EXPECT_EQ(facts.blocks_damaged, 1u);
}

TEST_F(RecordingTest, KnownKindsAndFieldsOfAnotherVersionAreRead) {
  const auto recording = record();
  {
    const auto recorder = recording->add_writer();
    recorder->on_any(message(micros(1), 9));
    recorder->on_any(ConnectionClosed{micros(2), 7, CloseCause::kRefused});
  }
  std::string bytes = bytes_of(recording->path());
  bytes.replace(bytes.find("connection_closed "), 17, "connection_woven_");
  auto reader =
      RecordingReader::over(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size(), "x");
  ASSERT_TRUE(reader) << reader.error().message();
  EXPECT_EQ(read(*reader).size(), 1u);
  EXPECT_EQ(reader->unknown_events(), 1u);
}

// A reader holds one block of each writer: a sparse file of 64 KiB once took 265 MB.
TEST_F(RecordingTest, AFileCannotNameBlocksThatNoWriterMakes) {
  const auto recording = record({4 * recording::kBlockBytes});
  recording->add_writer()->on_any(message(micros(1), 9));
  std::string bytes = bytes_of(recording->path());
  recording::FileHeader header;
  std::memcpy(static_cast<void*>(&header), bytes.data(), sizeof header);
  header.block_bytes = 16 << 20;
  std::memcpy(bytes.data(), static_cast<const void*>(&header), sizeof header);
  EXPECT_FALSE(
      RecordingReader::over(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size(), "x"));
}

TEST_F(RecordingTest, AFileThatIsNoRecordingIsRejected) {
  for (const std::string& bytes : {std::string("x"), std::string(100'000, '\0')}) {
    EXPECT_FALSE(
        RecordingReader::over(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size(), "x"));
  }
  EXPECT_FALSE(RecordingReader::open(folder_ + "/none"));
}

}  // namespace
}  // namespace heddle::events
