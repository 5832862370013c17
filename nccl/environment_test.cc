// Tests of the variables for a machine, and of their shell form.

#include "nccl/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

namespace heddle::nccl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

EnvironmentFacts two_nics() {
  EnvironmentFacts facts;
  facts.library = "/opt/heddle/lib/libnccl-net-heddle.so";
  facts.chosen.resize(2);
  facts.chosen[0].name = "eth0";
  facts.chosen[1].name = "eth1";
  return facts;
}

std::vector<std::string> lines_of(const EnvironmentFacts& facts) {
  std::vector<std::string> lines;
  for (const Variable& each : nccl_variables(facts)) lines.push_back(each.name + "=" + each.value);
  return lines;
}

TEST(EnvironmentTest, NamesLibraryAndInterfaces) {
  EXPECT_THAT(lines_of(two_nics()),
              ElementsAre("NCCL_NET_PLUGIN=heddle", "NCCL_NET=heddle",
                          "LD_LIBRARY_PATH=/opt/heddle/lib", "HEDDLE_IFNAME==eth0,eth1"));
}

TEST(EnvironmentTest, FastNicsGetThreadsWhereAProcessHasCoresForThem) {
  EnvironmentFacts facts = two_nics();
  for (Nic& nic : facts.chosen) nic.speed_mbits = 100'000;
  for (const auto& [cores, gpus, threads] :
       {std::tuple(64, 8, 4), {128, 8, 4}, {16, 4, 2}, {16, 8, 0}, {2, 0, 0}, {4, 0, 2}}) {
    facts.usable_cores = cores;
    facts.gpus = gpus;
    EXPECT_EQ(threads_for(facts), threads) << cores << " cores, " << gpus << " GPUs";
  }
  facts.usable_cores = 64;
  EXPECT_THAT(lines_of(facts), testing::Contains("HEDDLE_NCCL_THREADS=4"));
  for (Nic& nic : facts.chosen) nic.speed_mbits = 10'000;
  EXPECT_EQ(threads_for(facts), 0);
  facts.threads = 7;
  EXPECT_EQ(threads_for(facts), 7);
}

TEST(EnvironmentTest, KeepsWhatTheUserChose) {
  EnvironmentFacts facts = two_nics();
  facts.selection = "^eth1";
  facts.nics_file = "/etc/heddle/nics.toml";
  facts.search_path = "/usr/local/cuda/lib64";
  EXPECT_THAT(lines_of(facts),
              ElementsAre("NCCL_NET_PLUGIN=heddle", "NCCL_NET=heddle",
                          "LD_LIBRARY_PATH=/opt/heddle/lib:/usr/local/cuda/lib64",
                          "HEDDLE_IFNAME=^eth1", "HEDDLE_NCCL_NICS=/etc/heddle/nics.toml"));
}

TEST(EnvironmentTest, AFolderIsNamedOnceAndAStandardOneNotAtAll) {
  EnvironmentFacts facts = two_nics();
  facts.search_path = "/a:/opt/heddle/lib";
  EXPECT_THAT(lines_of(facts), testing::Contains("LD_LIBRARY_PATH=/a:/opt/heddle/lib"));
  facts.library = "/usr/lib/x86_64-linux-gnu/libnccl-net-heddle.so";
  EXPECT_THAT(shell_text(facts), Not(HasSubstr("LD_LIBRARY_PATH=")));
}

TEST(EnvironmentTest, NotesWhatTakesASlot) {
  EnvironmentFacts facts = two_nics();
  EXPECT_EQ(nccl_notes(facts).size(), 1u);
  facts.profiler = "inspector";
  facts.tuner = "heddle";
  ASSERT_EQ(nccl_notes(facts).size(), 2u);
  EXPECT_THAT(nccl_notes(facts)[1], HasSubstr("NCCL_PROFILER_PLUGIN=inspector"));
}

TEST(EnvironmentTest, ShellLinesAreQuoted) {
  EnvironmentFacts facts = two_nics();
  facts.nics_file = "/a b'c";
  const std::string text = shell_text(facts);
  EXPECT_THAT(text, HasSubstr("export HEDDLE_IFNAME='=eth0,eth1'\n"));
  EXPECT_THAT(text, HasSubstr("export HEDDLE_NCCL_NICS='/a b'\\''c'\n"));
  EXPECT_THAT(text, HasSubstr("export LD_LIBRARY_PATH='/opt/heddle/lib'"
                              "\"${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}\"\n"));
}

}  // namespace
}  // namespace heddle::nccl
