// The kernel's log: lines of programs are left out, a flood of one class hides no other, and a log
// that ends is left.
#include "nodes/kernel_log.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <string>

#include "nodes/params.h"

namespace heddle::nodes {
namespace {

using events::KernelMessageClass;

constexpr const char* kXid = "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.";
constexpr const char* kPcie = "pcieport 0000:00:01.0: AER: Corrected error received: 0000:01:00.0";

class KernelLogTest : public ::testing::Test {
 protected:
  // As /dev/kmsg gives them: records, then errno.
  KernelLog log() {
    return {Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC)), [this](std::span<char> record) {
              if (records_.empty()) {
                errno = end_;
                return ssize_t{end_ == 0 ? 0 : -1};
              }
              const std::string text = records_.front();
              records_.pop_front();
              if (text.empty()) {
                errno = EPIPE;
                return ssize_t{-1};
              }
              text.copy(record.data(), record.size());
              return static_cast<ssize_t>(text.size());
            }};
  }
  void add(const std::string& text, int priority = 3, int64_t stamp_us = 1'000'000) {
    records_.push_back(fmt::format("{},1,{},-;{}\n", priority, stamp_us, text));
  }

  std::deque<std::string> records_;  // an empty one: some were overwritten
  int end_ = EAGAIN;
};

// A line that a user writes to /dev/kmsg has a facility: "<0>NVRM: ..." becomes one of facility 1.
TEST_F(KernelLogTest, LinesThatProgramsWriteGiveNothing) {
  add(kXid, (1 << 3) | 3);
  add(kXid, (3 << 3) | 3);
  add(kXid, 3);
  KernelLog read = log();
  const auto messages = read.take(seconds(100));
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].what, KernelMessageClass::kGpuXid);
  EXPECT_EQ(messages[0].severity, 3);
  EXPECT_EQ(read.take_lost(), 0u);
}

TEST_F(KernelLogTest, AFloodOfOneClassHidesNoOther) {
  const uint32_t most = params::kMostMessagesASecond;
  for (uint32_t i = 0; i < 3 * most; ++i) add(kPcie);
  add(kXid);
  KernelLog read = log();
  const auto messages = read.take(seconds(100));
  EXPECT_EQ(messages.size(), most + 1);
  EXPECT_EQ(messages.back().what, KernelMessageClass::kGpuXid);
  EXPECT_EQ(read.take_lost(), 2 * most);
  add(kPcie);
  EXPECT_TRUE(read.take(seconds(100) + millis(500)).empty());
  add(kPcie);
  EXPECT_EQ(read.take(seconds(101)).size(), 1u);
}

TEST_F(KernelLogTest, OverwrittenMessagesAreCountedAndTheRestIsRead) {
  records_.emplace_back();
  add(kXid);
  KernelLog read = log();
  EXPECT_EQ(read.take(seconds(100)).size(), 1u);
  EXPECT_EQ(read.take_lost(), 1u);
  EXPECT_EQ(read.take_lost(), 0u);
}

// The least distance of the clocks places a message that was read late.
TEST_F(KernelLogTest, AMessageThatIsReadLateHasItsOwnTime) {
  KernelLog read = log();
  add(kXid, 3, 1'000'000);
  EXPECT_EQ(read.take(seconds(101))[0].time, seconds(101));
  add(kXid, 3, 2'000'000);
  const auto late = read.take(seconds(105));
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(late[0].time, seconds(102));
}

// A file or socket that has ended is readable for ever.
TEST_F(KernelLogTest, ALogThatEndsOrFailsIsLeft) {
  for (const int error : {0, EIO}) {
    end_ = error;
    KernelLog read = log();
    EXPECT_TRUE(read.complaint().empty());
    EXPECT_TRUE(read.take(seconds(100)).empty());
    EXPECT_EQ(read.descriptor(), -1);
    EXPECT_TRUE(read.complaint().starts_with("kernel messages are not recorded: "))
        << read.complaint();
  }
}

TEST_F(KernelLogTest, AnotherFileIsNotTheKernelsLog) {
  for (const char* path : {"/dev/null", "/dev/zero", "/proc/self/status", "/proc"}) {
    const KernelLog read{std::string(path)};
    EXPECT_EQ(read.descriptor(), -1) << path;
    EXPECT_NE(read.complaint().find("not the kernel's log"), std::string::npos) << read.complaint();
  }
}

}  // namespace
}  // namespace heddle::nodes
