// Covers of pairs of hosts: the fewest hosts, and the first ones of those in most pairs.
#include "acceptance/host_cover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace heddle::acceptance {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

// A host in three pairs, each of whose others is in one more: the greedy choice takes four hosts.
const std::vector<HostPair> kSpider = {{0, 1}, {0, 2}, {0, 3}, {1, 4}, {2, 5}, {6, 3}};

bool covers(const std::vector<uint32_t>& hosts, const std::vector<HostPair>& pairs) {
  const auto has = [&hosts](uint32_t host) {
    return std::find(hosts.begin(), hosts.end(), host) != hosts.end();
  };
  return std::all_of(pairs.begin(), pairs.end(),
                     [&](const HostPair& pair) { return has(pair.from) || has(pair.to); });
}

// By looking at every set of hosts.
size_t least(const std::vector<HostPair>& pairs, uint32_t hosts) {
  size_t found = hosts;
  for (uint32_t set = 0; set < (1U << hosts); ++set) {
    std::vector<uint32_t> members;
    for (uint32_t host = 0; host < hosts; ++host) {
      if ((set >> host & 1) != 0) members.push_back(host);
    }
    if (members.size() < found && covers(members, pairs)) found = members.size();
  }
  return found;
}

TEST(HostCover, IsTheLeastWhereTheHostInMostPairsIsNotInIt) {
  const HostCover cover = cover_of(kSpider, 20);
  EXPECT_THAT(cover.hosts, UnorderedElementsAre(1, 2, 3));
  EXPECT_TRUE(cover.least);
}

TEST(HostCover, OfManyHostsIsChosenByMostPairsAndNotSaidToBeTheLeast) {
  const HostCover cover = cover_of(kSpider, 6);
  EXPECT_EQ(cover.hosts.size(), 4U);
  EXPECT_EQ(cover.hosts.front(), 0U);
  EXPECT_TRUE(covers(cover.hosts, kSpider));
  EXPECT_FALSE(cover.least);
}

TEST(HostCover, OfAPairIsTheFirstHostAndOfNoneNothing) {
  EXPECT_THAT(cover_of({{3, 1}, {1, 3}}, 20).hosts, ElementsAre(1));
  EXPECT_THAT(cover_of({}, 20).hosts, IsEmpty());
}

// A report of another's making may have one.
TEST(HostCover, HasTheHostOfAPairWithItself) {
  EXPECT_THAT(cover_of({{0, 0}}, 20).hosts, ElementsAre(0));
  EXPECT_THAT(cover_of({{1, 2}, {2, 2}, {2, 3}, {4, 3}, {3, 4}}, 20).hosts, ElementsAre(2, 3));
  const HostCover many = cover_of({{1, 2}, {2, 2}, {2, 3}, {4, 3}}, 1);
  EXPECT_THAT(many.hosts, ElementsAre(2, 3));
  EXPECT_FALSE(many.least);
}

TEST(HostCover, HasAsManyHostsAsTheLeastOfAllSets) {
  std::mt19937 random(7);
  constexpr uint32_t kHosts = 9;
  for (uint32_t run = 0; run < 200; ++run) {
    std::vector<HostPair> pairs;
    for (uint32_t from = 0; from < kHosts; ++from) {
      for (uint32_t to = from + 1; to < kHosts; ++to) {
        if (random() % 100 < 10 + run % 40) pairs.push_back({from, to});
      }
    }
    const HostCover cover = cover_of(pairs, kHosts);
    EXPECT_TRUE(covers(cover.hosts, pairs)) << run;
    EXPECT_EQ(cover.hosts.size(), least(pairs, kHosts)) << run;
  }
}

}  // namespace
}  // namespace heddle::acceptance
