// Host lists: Slurm's notation, and text that only looks like it.
#include "collectives/rendezvous/host_list.h"

#include <gmock/gmock.h>

namespace heddle::collectives {
namespace {

using testing::ElementsAre;

TEST(HostListTest, NamesWithoutBracketsStandForThemselves) {
  EXPECT_THAT(*expand_host_list("login"), ElementsAre("login"));
  EXPECT_THAT(*expand_host_list("a,b-1,c.example"), ElementsAre("a", "b-1", "c.example"));
}

TEST(HostListTest, BracketsHoldNumbersAndRanges) {
  EXPECT_THAT(*expand_host_list("n[0-3,7],login"),
              ElementsAre("n0", "n1", "n2", "n3", "n7", "login"));
  EXPECT_THAT(*expand_host_list("[1-2]"), ElementsAre("1", "2"));
}

TEST(HostListTest, ZerosBeforeANumberAreKept) {
  EXPECT_THAT(*expand_host_list("gpu[08-11]-ib"),
              ElementsAre("gpu08-ib", "gpu09-ib", "gpu10-ib", "gpu11-ib"));
  EXPECT_THAT(*expand_host_list("n[098-100]"), ElementsAre("n098", "n099", "n100"));
}

TEST(HostListTest, TheLastOfSeveralBracketsCountsFastest) {
  EXPECT_THAT(*expand_host_list("r[1-2]n[3,5]"), ElementsAre("r1n3", "r1n5", "r2n3", "r2n5"));
}

TEST(HostListTest, NonsenseIsRefusedAndNamed) {
  for (const char* text :
       {"", ",", "a,", "n[", "n]", "n[]", "n[1", "n[3-1]", "n[a]", "n[1-]", "n[-1]", "n[1,]",
        "n[[1]]", "n[1-2-3]", "n[0-4294967295]", "n[0-999][0-999]", "n[99999999999]"}) {
    const Result<std::vector<std::string>> names = expand_host_list(text);
    ASSERT_FALSE(names) << text;
    EXPECT_EQ(names.error().code, ErrorCode::kInvalid);
    EXPECT_NE(names.error().what.find(text), std::string::npos);
  }
}

}  // namespace
}  // namespace heddle::collectives
