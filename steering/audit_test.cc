// The audit log: what a restart reads, damaged lines, full disks, several monitors.
#include "steering/audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/temporary_folder.h"

namespace heddle::steering {
namespace {

using testing::HasSubstr;

Decision decision(const std::string& target) {
  Decision made;
  made.at_ns = 1'764'208'320'123'456'789;
  made.job = "job";
  made.alarm = 7;
  made.fault = "mismatch";
  made.place_text = "rank 3 on \"h1\"\n";
  made.target = target;
  made.confidence = 0.5;
  made.lasted_ns = 31'000'000'000;
  made.rule = "r1";
  made.action = "command";
  made.effect = "command r1";
  made.outcome = Outcome::kStarted;
  made.why = "why";
  made.command = {"./drain", target};
  return made;
}

class AuditTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Result<TemporaryFolder> made = TemporaryFolder::make("heddle-audit-test");
    ASSERT_TRUE(made);
    folder_ = std::move(*made);
    path_ = folder_.path() + "/log.jsonl";
  }

  Audit open(int64_t since_ns = 0) {
    Result<Audit> audit = Audit::open(path_, since_ns);
    EXPECT_TRUE(audit) << audit.error().message();
    return std::move(*audit);
  }

  static Result<void> add(Audit& audit, const std::string& target) {
    if (const auto begun = audit.begin([](const Decision&) {}); !begun) return begun;
    const Result<void> added = audit.append(decision(target));
    audit.end();
    return added;
  }

  static std::vector<std::string> targets(Audit& audit) {
    std::vector<std::string> found;
    EXPECT_TRUE(audit.begin([&](const Decision& each) { found.push_back(each.target); }));
    audit.end();
    return found;
  }

  void write(const std::string& text) { std::ofstream(path_, std::ios::app) << text; }
  std::string text() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  TemporaryFolder folder_;
  std::string path_;
};

TEST_F(AuditTest, ALineIsReadAsItWasWritten) {
  const Decision before = decision("h1");
  const auto after = decision_of(line_of(before));
  ASSERT_TRUE(after);
  EXPECT_EQ(json_of(*after), json_of(before));
  EXPECT_EQ(json_of(before)["time"], "2025-11-27T01:52:00Z");
}

TEST_F(AuditTest, ANewMonitorReadsWhatThoseBeforeWrote) {
  {
    Audit first = open();
    ASSERT_TRUE(add(first, "h1"));
    ASSERT_TRUE(add(first, "h2"));
    EXPECT_THAT(targets(first), testing::IsEmpty());  // its own
  }
  Audit second = open();
  EXPECT_THAT(targets(second), testing::ElementsAre("h1", "h2"));
  EXPECT_EQ(second.damaged(), 0u);
}

TEST_F(AuditTest, MonitorsBesideEachOtherReadEachOthersLines) {
  Audit first = open();
  Audit second = open();
  ASSERT_TRUE(add(first, "h1"));
  ASSERT_TRUE(add(second, "h2"));
  EXPECT_THAT(targets(first), testing::ElementsAre("h2"));
  ASSERT_TRUE(add(second, "h3"));
  EXPECT_THAT(targets(first), testing::ElementsAre("h3"));
}

TEST_F(AuditTest, AHalfWrittenLastLineIsLeftOutAndStaysAlone) {
  const std::string line = line_of(decision("h1"));
  write(line + line.substr(0, line.size() / 2));
  Audit audit = open();
  EXPECT_THAT(targets(audit), testing::ElementsAre("h1"));
  EXPECT_EQ(audit.damaged(), 1u);
  ASSERT_TRUE(add(audit, "h2"));
  Audit again = open();
  EXPECT_THAT(targets(again), testing::ElementsAre("h1", "h2"));
  EXPECT_EQ(again.damaged(), 1u);
}

TEST_F(AuditTest, LinesOfOtherProgramsAreLeftOut) {
  write("\n# comment\n{}\n[1]\n{\"event\":\"decision\"}\n\xff\xfe\n" + line_of(decision("h1")) +
        "{\"event\":\"decision\",\"outcome\":\"done\",\"realtime_ns\":\"x\"}\n");
  Audit audit = open();
  EXPECT_THAT(targets(audit), testing::ElementsAre("h1"));
  EXPECT_EQ(audit.damaged(), 6u);
}

TEST_F(AuditTest, AFullDiskLeavesNothingOfALine) {
  Audit audit = open();
  ASSERT_TRUE(add(audit, "h1"));
  const std::string before = text();
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit full{before.size() + 20, limit.rlim_max};
  void (*const handler)(int) = signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &full);
  const Result<void> added = add(audit, "h2");
  setrlimit(RLIMIT_FSIZE, &limit);
  signal(SIGXFSZ, handler);
  ASSERT_FALSE(added);
  EXPECT_THAT(added.error().message(), HasSubstr("cannot write the audit log"));
  EXPECT_EQ(text(), before);
  ASSERT_TRUE(add(audit, "h3"));
  Audit again = open();
  EXPECT_THAT(targets(again), testing::ElementsAre("h1", "h3"));
}

TEST_F(AuditTest, AFileThatWasTruncatedIsReadAnew) {
  Audit audit = open();
  ASSERT_TRUE(add(audit, "h1"));
  std::filesystem::resize_file(path_, 0);
  ASSERT_TRUE(add(audit, "h2"));
  EXPECT_EQ(text(), line_of(decision("h2")));
}

TEST_F(AuditTest, OfALongFileTheEndIsRead) {
  const Decision old = decision("old");
  const std::string line = line_of(old);
  std::string lines;
  while (lines.size() < (size_t{5} << 20)) lines += line;
  Decision recent = decision("h1");
  recent.at_ns += 1'000;
  write(lines + line_of(recent));
  Audit audit = open(recent.at_ns);
  const std::vector<std::string> found = targets(audit);
  EXPECT_LE(found.size(), (size_t{2} << 20) / line.size() + 1);
  EXPECT_EQ(found.back(), "h1");
  EXPECT_EQ(audit.damaged(), 0u);
}

TEST_F(AuditTest, NoAmountOfLaterLinesHidesADecisionThatCounts) {
  std::string lines = line_of(decision("h1"));
  Decision refused = decision("h2");
  refused.outcome = Outcome::kRefused;
  while (lines.size() < (size_t{9} << 20)) lines += line_of(refused);
  lines += std::string(size_t{3} << 20, 'x') + "\n";  // of another program
  Decision older = decision("h0");                    // a clock that was set back for a while
  older.at_ns = 1;
  write(lines + line_of(older) + line_of(decision("h3")));
  Audit audit = open(refused.at_ns - 1);
  const std::vector<std::string> found = targets(audit);
  EXPECT_EQ(found.front(), "h1");
  EXPECT_EQ(found.back(), "h3");
  EXPECT_EQ(audit.damaged(), 1u);
  ASSERT_TRUE(add(audit, "h4"));
  EXPECT_EQ(targets(audit).size(), 0u);
}

TEST_F(AuditTest, ALineIsShortWhateverARecordingHolds) {
  Decision made = decision("h1");
  std::string text;
  while (text.size() < (size_t{4} << 20)) text += "\xc3\xa9";
  made.place_text = made.why = text;
  made.command = {"act", "x" + text};
  const std::string line = line_of(made);
  EXPECT_LT(line.size(), 5'000u);
  const auto read = decision_of(line);
  ASSERT_TRUE(read);
  const auto expect_begin = [](const std::string& clipped, const std::string& whole) {
    ASSERT_TRUE(clipped.ends_with("..."));
    const std::string kept = clipped.substr(0, clipped.size() - 3);
    EXPECT_TRUE(whole.starts_with(kept));
    EXPECT_GE(kept.size(), 200u) << "a sentence fits";
    const bool within_character = (static_cast<unsigned char>(whole[kept.size()]) & 0xc0) == 0x80;
    EXPECT_FALSE(within_character);
  };
  expect_begin(read->place_text, text);
  expect_begin(read->why, text);
  expect_begin(read->command[1], made.command[1]);
}

TEST_F(AuditTest, AFileThatWasRenamedOrRemovedIsBegunAnew) {
  Audit audit = open();
  ASSERT_TRUE(add(audit, "h1"));
  std::filesystem::rename(path_, path_ + ".1");
  ASSERT_TRUE(add(audit, "h2"));
  EXPECT_EQ(text(), line_of(decision("h2")));
  std::filesystem::remove(path_);
  write(line_of(decision("h3")));
  EXPECT_THAT(targets(audit), testing::ElementsAre("h3"));
  ASSERT_TRUE(add(audit, "h4"));
  EXPECT_EQ(text(), line_of(decision("h3")) + line_of(decision("h4")));
}

TEST_F(AuditTest, ALogThatAnotherProgramHoldsIsAnError) {
  Audit audit = open();
  Audit other = open();
  ASSERT_TRUE(other.begin([](const Decision&) {}));
  EXPECT_EQ(add(audit, "h1").error().code, ErrorCode::kInUse);
  other.end();
  EXPECT_TRUE(add(audit, "h1"));
}

TEST_F(AuditTest, AFolderADeviceAndAMissingPathAreRefused) {
  EXPECT_THAT(Audit::open(folder_.path()).error().message(),
              HasSubstr("audit log " + folder_.path() + ": it is a folder"));
  EXPECT_THAT(Audit::open("/dev/null").error().message(), HasSubstr("no regular file"));
  EXPECT_FALSE(Audit::open(folder_.path() + "/none/log"));
}

}  // namespace
}  // namespace heddle::steering
