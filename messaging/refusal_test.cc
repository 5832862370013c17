// Which subject was refused, and how long to wait until a server is tried again.
#include "messaging/refusal.h"

#include <gtest/gtest.h>

#include <string>

#include "messaging/backoff.h"

namespace heddle::messaging {
namespace {

TEST(Refusal, OneSubjectIsRefusedAndNoOther) {
  const std::string why = "Permissions Violation for Publish to \"site.a.1.series.0\"";
  EXPECT_TRUE(refuses(why, "site.a.1.series.0"));
  EXPECT_FALSE(refuses(why, "site.a.1.series.00"));
  EXPECT_FALSE(refuses(why, "site.a.1.series."));
  EXPECT_FALSE(refuses("Stale Connection", "site.a.1.series.0"));
  EXPECT_FALSE(refuses("", ""));
}

TEST(Refusal, ALongSubjectIsKnownByItsBeginning) {
  const std::string subject = "site." + std::string(300, 'x') + ".1.state";
  const std::string why = ("Permissions Violation for Publish to \"" + subject).substr(0, 255);
  EXPECT_TRUE(refuses(why, subject));
  EXPECT_FALSE(refuses(why, "site.y"));
  EXPECT_FALSE(refuses("Permissions Violation for Publish to \"", subject));
}

TEST(Backoff, ItGrowsUpToABoundAndMonitorsDoNotComeAtOnce) {
  Backoff one(1);
  Backoff other(2);
  bool apart = false;
  Nanos middle = params::kFirstRetry;
  for (int i = 0; i < 20; ++i) {
    const Nanos wait = one.next();
    EXPECT_GE(wait.count, middle.count * 3 / 4);
    EXPECT_LE(wait.count, middle.count * 5 / 4);
    apart = apart || wait != other.next();
    middle = std::min(middle * 2, params::kLongestRetry);
  }
  EXPECT_TRUE(apart);
  one.reset();
  EXPECT_LE(one.next().count, params::kFirstRetry.count * 5 / 4);
}

}  // namespace
}  // namespace heddle::messaging
