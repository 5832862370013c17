// GpuReader with programs that behave as nvidia-smi does, and as it does when a GPU has failed.
#include "monitor/gpu_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <string>
#include <vector>

#include "base/temporary_folder.h"

namespace heddle::monitor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kRow = "0, GPU-0, A100, 50, 1024, 2048, 100, 40, 1000, 0x8";

class GpuReaderTest : public ::testing::Test {
 protected:
  GpuReaderTest() : folder_(*TemporaryFolder::make("heddle-gpu-test")) {}

  // Makes the program; `text` is of a shell.
  GpuReader reader(const std::string& text) {
    const std::string path = folder_.path() + "/nvidia-smi";
    std::ofstream(path) << "#!/bin/sh\n" << text << "\n";
    chmod(path.c_str(), 0755);
    return of_program(path);
  }

  GpuReader of_program(const std::string& path) {
    return GpuReader({.program = path, .every = seconds(5), .limit = seconds(10)},
                     [this](const std::string& warning) { warnings_.push_back(warning); });
  }

  // At `now`, until one more reading has ended.
  static const GpuState& read(GpuReader& reader, Nanos now = seconds(100)) {
    while (!reader.poll(now)) usleep(1'000);
    return reader.state();
  }

  std::string file(const std::string& name) const { return folder_.path() + "/" + name; }

  // Of a file that a program writes; empty while there is none.
  std::string text_of(const std::string& name) const {
    std::ifstream stream(file(name));
    std::string text;
    std::getline(stream, text);
    return text;
  }

  TemporaryFolder folder_;
  std::vector<std::string> warnings_;
};

TEST_F(GpuReaderTest, ItReadsAtIntervals) {
  GpuReader gpus = reader(std::string("echo '") + kRow + "'");
  EXPECT_EQ(read(gpus).gpus.size(), 1U);
  EXPECT_EQ(gpus.state().gpus[0].clock_limits, 8U);
  EXPECT_FALSE(gpus.poll(seconds(104)));
  EXPECT_EQ(gpus.state().readings_ok, 1U);
  EXPECT_EQ(read(gpus, seconds(105)).readings_ok, 2U);
  EXPECT_EQ(gpus.state().readings_failed, 0U);
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(GpuReaderTest, ItQueriesNamedFieldsAsCsv) {
  GpuReader gpus = reader("echo \"$@\" >" + file("words") + "; echo '" + kRow + "'");
  read(gpus);
  EXPECT_EQ(text_of("words"),
            "--query-gpu=index,uuid,name,utilization.gpu,memory.used,memory.total,power.draw,"
            "temperature.gpu,clocks.sm,clocks_event_reasons.active --format=csv,noheader,nounits");
}

TEST_F(GpuReaderTest, OlderDriversAreAskedByTheirNames) {
  GpuReader gpus = reader(
      "case \"$1\" in\n"
      "*event_reasons*) echo 'Field \"clocks_event_reasons.active\" is not a valid field to "
      "query.'; exit 2;;\n"
      "*throttle_reasons*) echo 0, GPU-0, A100, 50, 1024, 2048, 100, 40, 1000, 0x40;;\n"
      "esac");
  EXPECT_EQ(read(gpus).gpus.at(0).clock_limits, 0x40U);
  EXPECT_EQ(gpus.state().readings_failed, 0U);
  EXPECT_EQ(read(gpus, seconds(105)).readings_ok, 2U);
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(GpuReaderTest, TheOldestDriversHaveNoSuchField) {
  GpuReader gpus = reader(
      "case \"$1\" in\n"
      "*reasons*) echo 'Field \"x\" is not a valid field to query.'; exit 2;;\n"
      "*) echo 0, GPU-0, A100, 50, 1024, 2048, 100, 40, 1000;;\n"
      "esac");
  EXPECT_FALSE(read(gpus).gpus.at(0).clock_limits);
  EXPECT_EQ(gpus.state().complaint, "");
}

TEST_F(GpuReaderTest, AProgramThatIsNotThereIsNamed) {
  GpuReader gpus = of_program(file("none"));
  EXPECT_THAT(read(gpus).complaint, HasSubstr("/none: there is no such program"));
  EXPECT_EQ(gpus.state().readings_failed, 1U);
}

TEST_F(GpuReaderTest, OneThatHangsIsEndedWithItsProcessGroup) {
  GpuReader gpus = reader("sleep 1000 & echo $! >" + file("child") + "; wait");
  EXPECT_FALSE(gpus.poll(seconds(100)));
  while (text_of("child").empty()) usleep(1'000);
  EXPECT_FALSE(gpus.poll(seconds(109)));
  EXPECT_TRUE(gpus.poll(seconds(110)));
  EXPECT_THAT(gpus.state().complaint, HasSubstr("it ran for longer than 10.0 s, and was ended"));
  const pid_t child = std::stoi(text_of("child"));
  while (kill(child, 0) == 0) usleep(1'000);
  EXPECT_EQ(errno, ESRCH);
}

TEST_F(GpuReaderTest, OneThatIsKilledIsReported) {
  GpuReader gpus = reader("kill -9 $$");
  EXPECT_THAT(read(gpus).complaint, HasSubstr("signal 9 ended it"));
}

TEST_F(GpuReaderTest, WhyItFailedIsPassedOn) {
  GpuReader gpus = reader(
      "echo 'NVIDIA-SMI has failed because it could not communicate with the driver.'; echo; "
      "exit 9");
  EXPECT_THAT(read(gpus).complaint,
              HasSubstr("it ended with 9: NVIDIA-SMI has failed because it could not"));
  GpuReader silent = reader("echo 'no rights' >&2; exit 4");
  EXPECT_THAT(read(silent).complaint, HasSubstr("it ended with 4: no rights"));
}

TEST_F(GpuReaderTest, OtherTextIsNoFigure) {
  GpuReader gpus = reader("echo Welcome");
  EXPECT_THAT(read(gpus).complaint, HasSubstr("it printed 'Welcome', which is no row of figures"));
  EXPECT_THAT(gpus.state().gpus, IsEmpty());
  GpuReader none = reader("true");
  EXPECT_THAT(read(none).complaint, HasSubstr("it lists none"));
}

TEST_F(GpuReaderTest, AGpuThatFailedLeavesTheOthers) {
  GpuReader gpus = reader(std::string("echo 'Unable to determine the device handle for GPU1'\n") +
                          "echo '" + kRow + "'; exit 15");
  EXPECT_EQ(read(gpus).gpus.size(), 1U);
  EXPECT_THAT(gpus.state().complaint, HasSubstr("it ended with 15: Unable to determine"));
  EXPECT_EQ(gpus.state().readings_failed, 1U);
}

TEST_F(GpuReaderTest, AFailureIsReportedOnceWhileItLasts) {
  GpuReader gpus = reader("[ -e " + file("well") + " ] && exec echo '" + kRow + "'; exit 9");
  read(gpus, seconds(100));
  read(gpus, seconds(105));
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("it ended with 9")));
  EXPECT_THAT(gpus.state().gpus, IsEmpty());
  std::ofstream(file("well")) << "";
  EXPECT_EQ(read(gpus, seconds(110)).complaint, "");
  EXPECT_EQ(gpus.state().gpus.size(), 1U);
  unlink(file("well").c_str());
  EXPECT_THAT(read(gpus, seconds(115)).gpus, IsEmpty());
  EXPECT_EQ(warnings_.size(), 2U);
}

}  // namespace
}  // namespace heddle::monitor
