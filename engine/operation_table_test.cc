// Each outcome is returned exactly once, and a stale id never refers to a new operation.
#include "engine/operation_table.h"

#include <gtest/gtest.h>

#include <thread>

namespace heddle::engine {
namespace {

TEST(OperationTable, TakesAnOutcomeOnce) {
  OperationTable table;
  const Operation operation = table.open({.connection = 7, .channel = 3});
  EXPECT_FALSE(table.take(operation).done);
  EXPECT_FALSE(table.is_done(operation));
  const OperationPlace place = table.finish(operation.id, {.done = true, .ok = true, .bytes = 12});
  EXPECT_EQ(place.connection, 7U);
  EXPECT_TRUE(table.is_done(operation));
  const Outcome outcome = table.take(operation);
  EXPECT_TRUE(outcome.done && outcome.ok);
  EXPECT_EQ(outcome.bytes, 12U);
  const Outcome again = table.take(operation);
  EXPECT_TRUE(again.done && !again.ok);
  EXPECT_EQ(again.error, ErrorCode::kInvalid);
}

TEST(OperationTable, StaleIdDoesNotReferToTheNextOperationOfItsSlot) {
  OperationTable table;
  const Operation first = table.open({});
  table.finish(first.id, {.done = true, .ok = true});
  static_cast<void>(table.take(first));
  const Operation second = table.open({});
  EXPECT_EQ(static_cast<uint32_t>(first.id), static_cast<uint32_t>(second.id));
  EXPECT_NE(first.id, second.id);
  OperationPlace place;
  EXPECT_FALSE(table.find(first, place));
  EXPECT_TRUE(table.find(second, place));
  EXPECT_FALSE(table.take(first).ok);
  EXPECT_FALSE(table.take(second).done);
}

TEST(OperationTable, ForgottenOperationFreesItsSlotWhenItEnds) {
  OperationTable table;
  const Operation operation = table.open({});
  table.forget(operation);
  table.finish(operation.id, {.done = true, .ok = true});
  const Operation next = table.open({});
  EXPECT_EQ(static_cast<uint32_t>(operation.id), static_cast<uint32_t>(next.id));

  table.finish(next.id, {.done = true, .ok = true});
  table.forget(next);  // forgotten after its end
  EXPECT_EQ(static_cast<uint32_t>(table.open({}).id), static_cast<uint32_t>(next.id));
}

TEST(OperationTable, UnknownIdsAreInvalid) {
  OperationTable table;
  EXPECT_TRUE(table.take({}).done);
  EXPECT_EQ(table.take({0x1'0000'0005}).error, ErrorCode::kInvalid);
  EXPECT_EQ(table.take({UINT64_MAX}).error, ErrorCode::kInvalid);
}

TEST(OperationTable, OpenFailsBeyondItsBound) {
  OperationTable table;
  for (uint32_t i = 0; i < OperationTable::kMaxOperations; ++i) ASSERT_TRUE(table.open({}));
  EXPECT_FALSE(table.open({}));
}

TEST(OperationTable, PostersAndDriverMayBeDifferentThreads) {
  OperationTable table;
  constexpr int kRounds = 20'000;
  std::atomic<uint64_t> handed{0};
  std::thread driver([&] {
    for (int i = 0; i < kRounds; ++i) {
      uint64_t id = 0;
      while ((id = handed.exchange(0)) == 0) std::this_thread::yield();
      table.finish(id, {.done = true, .ok = true, .bytes = id});
    }
  });
  for (int i = 0; i < kRounds; ++i) {
    const Operation operation = table.open({});
    handed.store(operation.id);
    Outcome outcome;
    while (!(outcome = table.take(operation)).done) std::this_thread::yield();
    ASSERT_TRUE(outcome.ok);
    ASSERT_EQ(outcome.bytes, operation.id);
  }
  driver.join();
}

}  // namespace
}  // namespace heddle::engine
