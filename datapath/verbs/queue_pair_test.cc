// Queue pairs that the kernel calls busy.
#include "datapath/verbs/queue_pair.h"

#include <gtest/gtest.h>

#include "datapath/verbs/testing/fake_verbs.h"

namespace heddle::datapath {
namespace {

TEST(QueuePairTest, OneThatIsBusyIsConnectedAndEnded) {
  FakeVerbs fake;
  const std::unique_ptr<VerbsDevice> device = fake.open();
  fake.be_busy(3);
  auto pair = QueuePair::create(*device, {.id = 2});
  ASSERT_TRUE(pair) << pair.error().message();
  fake.be_busy(3);
  EXPECT_TRUE((*pair)->connect({.queue_pair = 1}, 0));
  fake.be_busy(3);
  pair->reset();
  EXPECT_EQ(fake.alive(), 0u);
}

TEST(QueuePairTest, OneThatStaysBusyIsAnErrorInTheEnd) {
  FakeVerbs fake;
  const std::unique_ptr<VerbsDevice> device = fake.open();
  fake.be_busy(1'000'000);
  EXPECT_FALSE(QueuePair::create(*device, {.id = 2}));
}

}  // namespace
}  // namespace heddle::datapath
