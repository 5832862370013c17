// The copy of a folder of recordings is as the folder, and no sender can make more of it.
#include "recordings/folder_stream.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/temporary_folder.h"
#include "events/recording.h"
#include "recordings/live_recording.h"

namespace heddle::recordings {
namespace {

class FolderStreamTest : public ::testing::Test {
 protected:
  FolderStreamTest()
      : here_(*TemporaryFolder::make("heddle-stream")),
        there_(*TemporaryFolder::make("heddle-stream")),
        sender_(here_.path()) {}

  std::shared_ptr<events::Recording> record(const std::string& host) {
    auto made = events::Recording::create({.directory = here_.path(),
                                           .most = mebibytes(1),
                                           .level = events::RecordLevel::kMessages,
                                           .identity = {{"host", host}}});
    EXPECT_TRUE(made) << made.error().message();
    return *made;
  }
  std::string sent() {
    std::string bytes;
    EXPECT_TRUE(sender_.send_changes([&bytes](std::string_view piece) {
      bytes += piece;
      return true;
    }));
    return bytes;
  }
  static std::string frame(char kind, const std::string& name, uint64_t offset,
                           const std::string& data) {
    std::string made(1, kind);
    const auto append = [&made](uint64_t value, int bytes) {
      for (int i = 0; i < bytes; ++i) made += static_cast<char>(value >> (8 * i));
    };
    append(name.size(), 2);
    append(offset, 8);
    append(data.size(), 4);
    return made + name + data;
  }
  static ErrorCode refusal(const std::string& frames, const FolderLimits& limits = {}) {
    const auto folder = TemporaryFolder::make("heddle-stream");
    FolderReceiver receiver(folder->path(), limits);
    const Result<void> taken = receiver.take(std::string(kStreamGreeting) + frames);
    EXPECT_FALSE(taken);
    return taken ? ErrorCode::kSystem : taken.error().code;
  }

  TemporaryFolder here_;
  TemporaryFolder there_;
  FolderSender sender_;
};

TEST_F(FolderStreamTest, ACopyHasAllEventsInWhicheverPiecesItsStreamComes) {
  const auto recording = record("h0");
  const auto recorder = recording->add_writer();
  FolderReceiver receiver(there_.path());
  LiveRecording copy({there_.path()});
  uint32_t written = 0;
  uint32_t taken = 0;
  ASSERT_TRUE(receiver.take("Welcome to h0!\n"));
  EXPECT_FALSE(receiver.greeted());
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 500; ++i) {
      events::MessageCompleted message;
      message.time = micros(written);
      message.sequence = written++;
      recorder->on_any(message);
    }
    const std::string bytes = sent();
    for (size_t at = 0; at < bytes.size(); at += 777) {
      ASSERT_TRUE(receiver.take(std::string_view(bytes).substr(at, 777)));
    }
    copy.poll(seconds(round), [&](size_t /*file*/, const events::RecordedEvent& recorded, int64_t) {
      ASSERT_EQ(std::get<events::MessageCompleted>(recorded.event).sequence, taken++);
    });
  }
  EXPECT_TRUE(receiver.greeted());
  EXPECT_EQ(receiver.signs_of_life(), 20u);
  EXPECT_EQ(taken, written);
  EXPECT_EQ(copy.missed_events(0), 0u);
}

TEST_F(FolderStreamTest, ASecondStreamOfTheFolderBeginsAgainWithoutLoss) {
  const auto recording = record("h0");
  recording->add_writer()->on_any(events::MessageCompleted{});
  FolderReceiver receiver(there_.path());
  const std::string whole = sent();
  ASSERT_TRUE(receiver.take(std::string_view(whole).substr(0, whole.size() - 20)));
  receiver.restart();
  sender_ = FolderSender(here_.path());
  ASSERT_TRUE(receiver.take(sent()));
  LiveRecording copy({there_.path()});
  size_t taken = 0;
  copy.poll(seconds(1), [&taken](size_t, const events::RecordedEvent&, int64_t) { ++taken; });
  EXPECT_EQ(taken, 1u);
}

std::set<std::string> names_in(const std::string& folder) {
  std::set<std::string> names;
  std::error_code none;
  for (const auto& each : std::filesystem::directory_iterator(folder, none)) {
    names.insert(each.path().filename());
  }
  return names;
}

// A receiver of before it had a folder of machines refuses their names, and with them the host.
TEST_F(FolderStreamTest, RecordingsOfMachinesAreSentOnlyIfAskedFor) {
  const auto recording = record("h0");
  const auto agents = TemporaryFolder::make("heddle-stream");
  for (const std::string& folder : {here_.path() + "/nodes", agents->path()}) {
    const auto machine = events::Recording::create(
        {.directory = folder, .most = mebibytes(1), .identity = {{"host", "node-of-the-job"}}});
    ASSERT_TRUE(machine) << machine.error().message();
  }
  std::filesystem::rename(*std::filesystem::directory_iterator(agents->path()),
                          agents->path() + "/agent.h0.1.heddle");
  EXPECT_EQ(sent().find("nodes/"), std::string::npos);
  sender_ = FolderSender(here_.path());
  sender_.add_nodes(agents->path());
  FolderReceiver receiver(there_.path());
  ASSERT_TRUE(receiver.take(sent()));
  EXPECT_EQ(names_in(there_.path()).size(), 2u);
  const std::set<std::string> copied = names_in(there_.path() + "/nodes");
  EXPECT_EQ(copied.size(), 2u);
  EXPECT_TRUE(copied.contains("agent.h0.1.heddle"));
}

TEST_F(FolderStreamTest, AFolderOfAnAgentThatIsNotThereIsNamedWithItsOwnAdvice) {
  sender_.add_nodes(here_.path() + "/typo");
  sent();
  const std::vector<Error> errors = sender_.take_errors();
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_NE(errors[0].message().find("--node-records"), std::string::npos) << errors[0].message();
  sent();
  EXPECT_TRUE(sender_.take_errors().empty());
}

TEST_F(FolderStreamTest, NamesOfMachinesLeadNowhereElse) {
  for (const std::string name : {"nodes/../a.heddle", "nodes//a.heddle", "nodes/.heddle",
                                 "nodes/nodes/a.heddle", "nodes/", "other/a.heddle"}) {
    EXPECT_EQ(refusal(frame('F', name, 100, "")), ErrorCode::kInvalid) << name;
  }
}

TEST_F(FolderStreamTest, NamesThatLeadOutOfTheFolderAreRefused) {
  for (const std::string name : {"../a.heddle", "/tmp/a.heddle", ".heddle", "a", "..", ""}) {
    EXPECT_EQ(refusal(frame('F', name, 100, "")), ErrorCode::kInvalid) << name;
  }
  EXPECT_EQ(refusal(frame('F', std::string(300, 'a') + ".heddle", 1, "")), ErrorCode::kInvalid);
}

TEST_F(FolderStreamTest, ALinkInTheFolderIsNotFollowed) {
  const std::string target = here_.path() + "/target";
  std::filesystem::create_symlink(target, there_.path() + "/a.heddle");
  FolderReceiver receiver(there_.path());
  EXPECT_FALSE(receiver.take(std::string(kStreamGreeting) + frame('F', "a.heddle", 100, "")));
  EXPECT_FALSE(std::filesystem::exists(target));
}

TEST_F(FolderStreamTest, MoreThanTheLimitsIsRefused) {
  const FolderLimits limits{.files = 2, .file_bytes = 1 << 20, .disk_bytes = 128 << 10};
  EXPECT_EQ(refusal(frame('F', "a.heddle", (1 << 20) + 1, ""), limits), ErrorCode::kExhausted);
  std::string files;
  for (const std::string name : {"a.heddle", "b.heddle", "c.heddle"}) {
    files += frame('F', name, 1000, "");
  }
  EXPECT_EQ(refusal(files, limits), ErrorCode::kExhausted);
  std::string data = frame('F', "a.heddle", 1 << 20, "");
  for (uint64_t at = 0; at < 3; ++at) data += frame('D', "a.heddle", at * 70'000, "x");
  EXPECT_EQ(refusal(data, limits), ErrorCode::kExhausted);
}

TEST_F(FolderStreamTest, DataOfNoFileOrBehindItsEndIsRefused) {
  EXPECT_EQ(refusal(frame('D', "a.heddle", 0, "x")), ErrorCode::kInvalid);
  const std::string file = frame('F', "a.heddle", 10, "");
  EXPECT_EQ(refusal(file + frame('D', "a.heddle", 10, "x")), ErrorCode::kInvalid);
  EXPECT_EQ(refusal(file + frame('D', "a.heddle", UINT64_MAX, "xy")), ErrorCode::kInvalid);
  EXPECT_EQ(refusal("what is this?????????????"), ErrorCode::kInvalid);
}

TEST_F(FolderStreamTest, AStreamWithoutGreetingIsRefused) {
  FolderReceiver receiver(there_.path());
  const Result<void> taken = receiver.take(std::string(100'000, 'x'));
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::kInvalid);
}

}  // namespace
}  // namespace heddle::recordings
