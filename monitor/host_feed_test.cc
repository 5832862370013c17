// What is said of a machine whose agent does not send.
#include "monitor/host_feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "base/temporary_folder.h"
#include "monitor/params.h"

namespace heddle::monitor {
namespace {

// An agent that writes `said` to standard error and then waits.
FeedOptions silent_agent(const std::string& said, const std::string& copy) {
  const std::string script = "echo 'heddle: " + said + "' >&2; exec sleep 60; : {host} {command}";
  return {.shell = {.words = {"sh", "-c", script}},
          .host = "127.0.0.1",
          .folder = "/nonexistent",
          .copy = copy,
          .node_records = {}};
}

// The complaint once the machine counts as not heard and `said` has come; time passes on this clock
// alone.
std::string complaint_of(const std::string& said) {
  const Result<TemporaryFolder> copy = TemporaryFolder::make("heddle-feed-test");
  EXPECT_TRUE(copy);
  HostFeed feed(silent_agent(said, copy->path()));
  feed.poll(seconds(1), {});
  while (feed.complaint().empty() || feed.complaint().find("nothing for") != std::string::npos) {
    feed.poll(seconds(1) + params::kUnheard, {});
    usleep(5'000);
  }
  return feed.complaint();
}

// The process of a refusing agent may end much later than its message comes, on a busy machine.
TEST(HostFeedTest, AnOlderHeddleThatHasNotEndedYetIsCalledOlder) {
  EXPECT_THAT(complaint_of("cannot read the command line: it has no option --nodes"),
              testing::StartsWith("its heddle is older"));
}

}  // namespace
}  // namespace heddle::monitor
