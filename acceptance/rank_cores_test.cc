// Cores of ranks: what a rank's program may use, and what a row says of it.
#include "acceptance/rank_cores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace heddle::acceptance {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The cores that the program of a rank may use, as the kernel lists them; empty: it did not run.
std::string cores_of(const char* rank, const std::string& cores) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return "";
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    if (rank != nullptr) setenv("HEDDLE_RANK", rank, 1);
    if (rank == nullptr) unsetenv("HEDDLE_RANK");
    _exit(run_on_core(cores, {"sed", "-n", "s/Cpus_allowed_list:\\t//p", "/proc/self/status"})
              .exit_status);
  }
  close(ends[1]);
  std::string text;
  std::array<char, 256> piece{};
  for (ssize_t got = 0; (got = read(ends[0], piece.data(), piece.size())) > 0;) {
    text.append(piece.data(), static_cast<size_t>(got));
  }
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return text.substr(0, text.find('\n'));
}

TEST(RankCores, EachRankKeepsToItsCoreAndTheNextOnesBeginAgain) {
  const RankCores allowed = rank_cores(true);
  const std::vector<int>& cores = allowed.cores;
  ASSERT_FALSE(cores.empty());
  const std::string text = on_cores(allowed, {"true"})[3];
  for (size_t rank = 0; rank < cores.size() + 1; ++rank) {
    EXPECT_EQ(cores_of(std::to_string(rank).c_str(), text),
              std::to_string(cores[rank % cores.size()]));
  }
}

TEST(RankCores, AProgramThatIsNoRankOrACoreThatIsNotThereIsRefused) {
  EXPECT_EQ(cores_of(nullptr, "0"), "");
  EXPECT_EQ(cores_of("0", "1000000"), "");
  EXPECT_EQ(cores_of("0", ""), "");
}

TEST(RankCores, CommandsAreOfRanksOnCoresOnlyOnAnEmulatedFabric) {
  EXPECT_THAT(on_cores({{0, 3}, ""}, {"python3", "-m", "x"}),
              ElementsAre("heddle", "agent", "on-core", "0,3", "python3", "-m", "x"));
  EXPECT_THAT(on_cores(rank_cores(false), {"python3"}), ElementsAre("python3"));
  EXPECT_FALSE(cores_row("training step, cores", 2, rank_cores(false)));
}

TEST(RankCores, ARowSaysWhetherEachHostHasACoreOfItsOwn) {
  EXPECT_EQ(cores_row("c", 2, {{0, 1}, ""})->measured,
            "the rank of each host keeps to a core of its own");
  EXPECT_EQ(cores_row("c", 4, {{0, 1}, ""})->measured,
            "the rank of each host keeps to one core; 4 hosts share 2 cores");
  const auto refused = cores_row("c", 2, {{}, "Operation not permitted"});
  EXPECT_THAT(refused->measured, HasSubstr("not pinned (Operation not permitted)"));
  EXPECT_TRUE(is_information(*refused));
}

}  // namespace
}  // namespace heddle::acceptance
