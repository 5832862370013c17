// Limits of an endpoint that its engines use together.
#include "transport/engine_budget.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "transport/connection/connection_table.h"
#include "transport/connection/shared.h"
#include "transport/credits/credit_source.h"

namespace heddle::transport {
namespace {

TEST(EngineBudget, ConnectionsAndChargesOfAllEnginesCount) {
  EndpointOptions options;
  options.budget = std::make_shared<EngineBudget>();
  options.engine = {.index = 0, .count = 2};
  Shared of_first(options, Seed(1), nullptr);
  ConnectionTable first(of_first, 3);
  options.engine.index = 1;
  Shared of_second(options, Seed(2), nullptr);
  ConnectionTable second(of_second, 3);
  Connection* const one = first.add({});
  ASSERT_NE(one, nullptr);
  EXPECT_NE(first.add({}), nullptr);
  EXPECT_NE(second.add({}), nullptr);
  EXPECT_EQ(first.add({}), nullptr);
  EXPECT_EQ(second.add({}), nullptr);
  first.note_accepted({}, 9, {one->id(), 100});
  EXPECT_EQ(of_second.budget->charged(), 100U);
  first.remove(*one);
  EXPECT_NE(second.add({}), nullptr);
  EXPECT_EQ(first.add({}), nullptr);
}

TEST(EngineBudget, AnEngineWithoutSendersLeavesItsRateToTheOthers) {
  const BitsPerSec all = gigabits_per_s(12);
  EngineBudget budget;
  const CreditOptions options{
      .rate = all, .receive_capacity = mebibytes(1), .datagram_bytes = 1500, .budget = &budget};
  CreditSource first(options);
  CreditSource second(options);
  std::array<CreditAccount, 4> accounts;
  const auto want = [&](CreditSource& at, size_t account) {
    at.join(accounts[account], static_cast<uint32_t>(account + 1), 4096);
    ASSERT_TRUE(at.on_demand(seconds(1), accounts[account],
                             {.serial = 1, .settled = 0, .wanted = 1 << 20}));
  };
  EXPECT_EQ(first.rate(), all);
  want(first, 0);
  EXPECT_EQ(first.rate(), all);
  want(second, 1);
  want(second, 2);
  EXPECT_EQ(first.rate(), gigabits_per_s(4));
  EXPECT_EQ(second.rate(), gigabits_per_s(8));
  first.leave(accounts[0]);
  EXPECT_EQ(second.rate(), all);
  EXPECT_EQ(first.rate(), gigabits_per_s(4)) << "for the first that comes";
}

}  // namespace
}  // namespace heddle::transport
