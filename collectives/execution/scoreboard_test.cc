// Steps wait for what they need and for nothing else.
#include "collectives/execution/scoreboard.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.h"

namespace heddle::collectives {
namespace {

constexpr Range kFirst = {0, 100};
constexpr Range kSecond = {100, 200};

TEST(Scoreboard, ReadersOfTheSameMemoryDoNotWait) {
  Scoreboard board;
  board.admit({.read = kFirst});
  EXPECT_TRUE(board.may_touch(board.admit({.read = kFirst, .written = kSecond})));
}

TEST(Scoreboard, AWriterWaitsForReadersAndReadersForIt) {
  Scoreboard board;
  const uint32_t reader = board.admit({.read = kFirst});
  const uint32_t writer = board.admit({.written = {50, 51}});
  const uint32_t late_reader = board.admit({.read = {50, 60}});
  const uint32_t neighbour = board.admit({.read = {51, 60}});
  EXPECT_FALSE(board.may_touch(writer));
  EXPECT_TRUE(board.may_touch(neighbour));
  board.on_touched(reader);
  EXPECT_TRUE(board.may_touch(writer));
  EXPECT_FALSE(board.may_touch(late_reader));
  board.on_done(writer);
  EXPECT_TRUE(board.may_touch(late_reader));
}

TEST(Scoreboard, AnAnswerDoesNotWaitAndKnowsTheSendsThatReadItsMemory) {
  Scoreboard board;
  const uint32_t sent = board.admit({.read = kFirst});
  board.admit({.read = kSecond});
  const uint32_t answer = board.admit({.written = kFirst, .answers = true});
  const uint32_t reader = board.admit({.read = kFirst});
  EXPECT_TRUE(board.may_touch(answer));
  EXPECT_EQ(board.answered(answer), 1U << sent);
  EXPECT_FALSE(board.may_touch(reader));
  board.on_done(sent);
  EXPECT_EQ(board.answered(answer), 0U);
  board.on_done(answer);
  EXPECT_TRUE(board.may_touch(reader));
}

TEST(Scoreboard, MessagesOfAStreamArePostedInOrder) {
  Scoreboard board;
  const uint32_t first = board.admit({.stream = 7});
  const uint32_t other = board.admit({.stream = 8});
  const uint32_t second = board.admit({.stream = 7});
  const uint32_t third = board.admit({.stream = 7});
  EXPECT_TRUE(board.may_post(first));
  EXPECT_TRUE(board.may_post(other));
  EXPECT_FALSE(board.may_post(second));
  board.on_posted(first);
  EXPECT_TRUE(board.may_post(second));
  EXPECT_FALSE(board.may_post(third));
}

TEST(Scoreboard, EmptyRangesAreInNobodysWay) {
  Scoreboard board;
  board.admit({.written = kFirst});
  EXPECT_TRUE(board.may_touch(board.admit({.read = {50, 50}, .written = {20, 20}})));
}

TEST(Scoreboard, SlotsAreUsedAgainAndForgetTheirPast) {
  Scoreboard board;
  for (uint32_t i = 0; i < Scoreboard::kWindow; ++i) board.admit({.written = kFirst, .stream = 1});
  EXPECT_TRUE(board.full());
  board.on_done(0);
  EXPECT_FALSE(board.full());
  const uint32_t slot = board.admit({.written = kSecond, .stream = 2});
  EXPECT_EQ(slot, 0U);
  EXPECT_TRUE(board.may_touch(slot));
  EXPECT_TRUE(board.may_post(slot));
}

// Whatever order the board allows, memory ends as if one step had been done after the other.
TEST(Scoreboard, AnyAllowedOrderGivesWhatOneAfterTheOtherGives) {
  constexpr uint64_t kCells = 12;
  struct Move {
    uint64_t from, to, length;
  };
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    std::vector<Move> moves;
    for (int i = 0; i < 60; ++i) {
      const uint64_t length = random.between(0, 3);
      moves.push_back({random.below(kCells - length), random.below(kCells - length), length});
    }
    std::vector<uint64_t> cells(kCells);
    for (uint64_t i = 0; i < kCells; ++i) cells[i] = i;
    std::vector<uint64_t> expected = cells;
    const auto make = [](std::vector<uint64_t>& memory, const Move& move) {
      const std::vector<uint64_t> old = memory;
      for (uint64_t i = 0; i < move.length; ++i) memory[move.to + i] = old[move.from + i] * 3 + 1;
    };
    for (const Move& move : moves) make(expected, move);

    Scoreboard board;
    std::vector<Move> at(Scoreboard::kWindow);
    size_t next = 0;
    while (next < moves.size() || !board.empty()) {
      if (next < moves.size() && !board.full() && random.below(3) > 0) {
        const Move& move = moves[next++];
        const uint32_t slot = board.admit({.read = {move.from, move.from + move.length},
                                           .written = {move.to, move.to + move.length}});
        at[slot] = move;
        continue;
      }
      const auto slot = static_cast<uint32_t>(random.below(Scoreboard::kWindow));
      if ((board.live() >> slot & 1) == 0 || !board.may_touch(slot)) continue;
      make(cells, at[slot]);
      board.on_done(slot);
    }
    ASSERT_EQ(cells, expected) << "seed " << seed;
  }
}

}  // namespace
}  // namespace heddle::collectives
