// Launch: the variables of each launcher as it sets them, and what is missing named.
#include "collectives/launch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace heddle::collectives {
namespace {

using Environment = std::vector<std::string>;

// As Slurm 22.05 sets them for `srun -N2 -n4`.
Environment slurm() {
  return {"SLURM_PROCID=2",
          "SLURM_NTASKS=4",
          "SLURM_STEP_NUM_TASKS=4",
          "SLURM_LOCALID=0",
          "SLURM_JOB_ID=1251",
          "SLURM_STEP_ID=3",
          "SLURM_STEP_NUM_NODES=2",
          "SLURM_STEP_NODELIST=n[08-09]",
          "SLURM_LAUNCH_NODE_IPADDR=127.0.0.1"};
}

// As Open MPI 4.1 sets them.
Environment open_mpi(const std::string& local_size) {
  return {"OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_LOCAL_RANK=1",
          "OMPI_COMM_WORLD_LOCAL_SIZE=" + local_size, "PMIX_NAMESPACE=2766733313"};
}

TEST(LaunchTest, HeddleSaysEverythingItself) {
  const Environment environment = {"HEDDLE_RANK=1", "HEDDLE_SIZE=3", "HEDDLE_LOCAL_RANK=1",
                                   "HEDDLE_RUN=abc"};
  const Result<Launch> launch = read_launch(environment, "file:///tmp/x");
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->launcher, "heddle");
  EXPECT_EQ(launch->rank, 1U);
  EXPECT_EQ(launch->size, 3U);
  EXPECT_EQ(launch->local_rank, 1U);
  EXPECT_EQ(launch->run, "abc");
  EXPECT_EQ(launch->store, "file:///tmp/x");
}

TEST(LaunchTest, TorchrunsMasterIsTheStore) {
  Environment environment = {"RANK=3",
                             "WORLD_SIZE=4",
                             "LOCAL_RANK=1",
                             "MASTER_ADDR=fd00::1",
                             "MASTER_PORT=29500",
                             "TORCHELASTIC_RUN_ID=none",
                             "TORCHELASTIC_RESTART_COUNT=2"};
  const Result<Launch> launch = read_launch(environment, "");
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->launcher, "torchrun");
  EXPECT_EQ(launch->rank, 3U);
  EXPECT_EQ(launch->local_rank, 1U);
  EXPECT_EQ(launch->store, "udp://[fd00::1]:29500");
  EXPECT_EQ(launch->run, "none.2") << "a restart is another run";
  EXPECT_EQ(read_launch(environment, "udp://h:1")->store, "udp://h:1");
}

TEST(LaunchTest, SlurmsFirstNodeIsTheStoreAtAPortOfJobAndStep) {
  const Result<Launch> launch = read_launch(slurm(), "");
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->launcher, "Slurm");
  EXPECT_EQ(launch->rank, 2U);
  EXPECT_EQ(launch->size, 4U);
  EXPECT_EQ(launch->store, "udp://n08:20019");  // job 1251 is 1 beyond 2 * 625
  Environment next_step = slurm();
  next_step[5] = "SLURM_STEP_ID=4";
  EXPECT_EQ(read_launch(next_step, "")->store, "udp://n08:20020");
  EXPECT_NE(read_launch(next_step, "")->run, launch->run);
}

TEST(LaunchTest, SlurmOnOneHostUsesLoopback) {
  Environment environment = slurm();
  environment[6] = "SLURM_STEP_NUM_NODES=1";
  EXPECT_EQ(read_launch(environment, "")->store, "udp://127.0.0.1:20019");
}

TEST(LaunchTest, AStepMayHaveFewerTasksThanItsJob) {
  Environment environment = slurm();
  environment[1] = "SLURM_NTASKS=64";
  EXPECT_EQ(read_launch(environment, "")->size, 4U);
}

TEST(LaunchTest, OpenMpiOnOneHostUsesAFileOfItsRun) {
  const Result<Launch> launch = read_launch(open_mpi("4"), "");
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->launcher, "Open MPI");
  EXPECT_EQ(launch->rank, 1U);
  EXPECT_EQ(launch->size, 4U);
  EXPECT_EQ(launch->run, "2766733313");
  const std::string folder = "/tmp/heddle-" + std::to_string(geteuid());
  EXPECT_EQ(launch->private_folder, folder);
  EXPECT_EQ(launch->store, "file://" + folder + "/mpi-2766733313");
}

TEST(LaunchTest, OpenMpisFileIsInTheUsersRuntimeFolderWhereThereIsOne) {
  Environment environment = open_mpi("4");
  environment.insert(environment.end(), {"XDG_RUNTIME_DIR=/run/user/7", "TMPDIR=/var/tmp"});
  EXPECT_EQ(read_launch(environment, "")->store, "file:///run/user/7/heddle/mpi-2766733313");
  EXPECT_EQ(read_launch(environment, "file:///x/y")->private_folder, "") << "the user's own choice";
}

TEST(LaunchTest, TheTokenIsWhatIsSetOrWhatOpenMpiDraws) {
  Environment environment = open_mpi("4");
  EXPECT_EQ(read_launch(environment, "")->token, "");
  environment.emplace_back(
      "OMPI_MCA_orte_precondition_transports=13938516fc5531e6-5c90a312544085c5");
  EXPECT_EQ(read_launch(environment, "")->token, "13938516fc5531e6-5c90a312544085c5");
  environment.emplace_back("HEDDLE_TOKEN=mine");
  EXPECT_EQ(read_launch(environment, "")->token, "mine");
  environment = slurm();
  environment.emplace_back("HEDDLE_TOKEN=ours");
  EXPECT_EQ(read_launch(environment, "")->token, "ours");
}

TEST(LaunchTest, OpenMpiOnSeveralHostsIsToldWhatToSet) {
  const Result<Launch> launch = read_launch(open_mpi("2"), "");
  ASSERT_FALSE(launch);
  EXPECT_NE(launch.error().why.find("Open MPI"), std::string::npos);
  EXPECT_NE(launch.error().todo.find("HEDDLE_STORE=udp://"), std::string::npos);
  EXPECT_EQ(read_launch(open_mpi("2"), "udp://h0:18701")->store, "udp://h0:18701");
}

TEST(LaunchTest, VariablesOfEachLauncherAreRecognized) {
  EXPECT_FALSE(is_launched(Environment{}));
  EXPECT_FALSE(is_launched(Environment{"RANK=0", "HEDDLE_SIZE=2"}));
  EXPECT_TRUE(is_launched(Environment{"HEDDLE_RANK=0"}));
  EXPECT_TRUE(is_launched(Environment{"RANK=0", "WORLD_SIZE=2"}));
  EXPECT_TRUE(is_launched(open_mpi("4")));
  EXPECT_TRUE(is_launched(slurm()));
}

TEST(LaunchTest, TheInnermostLauncherCounts) {
  Environment environment = slurm();
  for (const std::string& pair : open_mpi("4")) environment.push_back(pair);
  EXPECT_EQ(read_launch(environment, "udp://h:1")->launcher, "Open MPI");
  environment.insert(environment.end(), {"RANK=0", "WORLD_SIZE=2"});
  EXPECT_EQ(read_launch(environment, "udp://h:1")->launcher, "torchrun");
  environment.insert(environment.end(), {"HEDDLE_RANK=0", "HEDDLE_SIZE=2"});
  EXPECT_EQ(read_launch(environment, "udp://h:1")->launcher, "heddle");
}

TEST(LaunchTest, MissingAndWrongVariablesAreNamed) {
  const auto why = [](const Environment& environment) {
    const Result<Launch> launch = read_launch(environment, "");
    return launch ? std::string("accepted") : launch.error().message();
  };
  EXPECT_NE(why({}).find("heddle run"), std::string::npos);
  EXPECT_NE(why({"HEDDLE_RANK=0"}).find("HEDDLE_SIZE is not set"), std::string::npos);
  EXPECT_NE(why({"HEDDLE_RANK=2", "HEDDLE_SIZE=2"}).find("HEDDLE_RANK is '2'"), std::string::npos);
  EXPECT_NE(why({"HEDDLE_RANK=-1", "HEDDLE_SIZE=2"}).find("from 0 to 1"), std::string::npos);
  EXPECT_NE(why({"HEDDLE_RANK=0", "HEDDLE_SIZE=0"}).find("HEDDLE_SIZE is '0'"), std::string::npos);
  EXPECT_NE(why({"HEDDLE_RANK=0", "HEDDLE_SIZE=2"}).find("HEDDLE_STORE is not"), std::string::npos);
  EXPECT_NE(why({"RANK=0", "WORLD_SIZE=2"}).find("MASTER_ADDR"), std::string::npos);
  Environment environment = slurm();
  environment[7] = "SLURM_STEP_NODELIST=n[";
  EXPECT_NE(why(environment).find("HEDDLE_STORE"), std::string::npos);
}

TEST(LaunchTest, ANewcomerHasNoRankYet) {
  const Result<Launch> launch = read_launch(
      Environment{"HEDDLE_RANK=4", "HEDDLE_SIZE=4", "HEDDLE_STORE=file:///s", "HEDDLE_JOIN=1"}, "");
  ASSERT_FALSE(launch);
  EXPECT_NE(launch.error().message().find("started to join a running job"), std::string::npos);
}

TEST(LaunchTest, ALauncherThatAsksKnowsTheCommunicatorOfEachRank) {
  const std::string path = testing::TempDir() + "member." + std::to_string(getpid());
  Members members{.communicator = 0x1f, .rank = 1, .addresses = {}};
  members.addresses.resize(12);
  report_members(members);  // no launcher asks
  setenv("HEDDLE_MEMBER_FILE", path.c_str(), 1);
  report_members(members);
  std::string text;
  std::getline(std::ifstream(path), text);
  EXPECT_EQ(text, "1f 12");
  setenv("HEDDLE_MEMBER_FILE", "/nonexistent/member", 1);
  report_members(members);  // the run has ended
  unsetenv("HEDDLE_MEMBER_FILE");
  unlink(path.c_str());
}

TEST(LaunchTest, OneRankNeedsNoStore) {
  EXPECT_TRUE(read_launch(Environment{"HEDDLE_RANK=0", "HEDDLE_SIZE=1"}, ""));
  EXPECT_TRUE(read_launch(Environment{"RANK=0", "WORLD_SIZE=1"}, ""));
}

}  // namespace
}  // namespace heddle::collectives
