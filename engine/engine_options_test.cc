// The share of an endpoint's limits that one of its engines has.
#include "engine/engine_options.h"

#include <gtest/gtest.h>

namespace heddle::engine {
namespace {

TEST(EngineOptions, ASingleEngineHasTheEndpointsOptions) {
  Options options;
  options.seed = 9;
  const Options own = engine_options(options, {});
  EXPECT_EQ(own.drive, options.drive);
  EXPECT_EQ(own.seed, 9U);
  EXPECT_EQ(own.eager_bytes.count, options.eager_bytes.count);
  EXPECT_EQ(own.transport.max_connections, options.transport.max_connections);
  EXPECT_EQ(own.transport.engine.count, 1);
}

TEST(EngineOptions, SeveralSplitTheirPoolsAndDrawDifferentNumbers) {
  Options options;
  options.seed = 9;
  options.transport.max_connections = 10;
  options.transport.receive_rate = megabits_per_s(300);
  const Options first = engine_options(options, {.index = 0, .count = 3});
  const Options last = engine_options(options, {.index = 2, .count = 3});
  EXPECT_EQ(last.drive, Drive::kThread);
  EXPECT_EQ(last.transport.engine.index, 2);
  EXPECT_EQ(last.transport.engine.count, 3);
  EXPECT_EQ(last.transport.max_connections, 10U);
  EXPECT_EQ(last.transport.receive_rate.count, megabits_per_s(300).count);
  EXPECT_LE(3 * last.eager_bytes.count, options.eager_bytes.count);
  EXPECT_EQ(last.transport.stranger_bytes.count, options.transport.stranger_bytes.count);
  EXPECT_LE(3 * last.transport.max_sent_runs, options.transport.max_sent_runs);
  EXPECT_NE(first.seed, last.seed);
}

}  // namespace
}  // namespace heddle::engine
