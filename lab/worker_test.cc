// Workers: results in the order of the starts, the first error, and children that are stopped from
// outside.
#include "lab/worker.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>

#include "lab/tool.h"

namespace heddle::lab {
namespace {

TEST(Workers, TextsComeInTheOrderOfTheStarts) {
  Workers workers(2);
  for (int i = 0; i < 5; ++i) {
    workers.start([i]() -> Result<std::string> {
      usleep(i == 0 ? 20'000 : 0);
      return std::to_string(i);
    });
  }
  const auto texts = workers.finish();
  ASSERT_TRUE(texts.has_value());
  EXPECT_EQ(*texts, (std::vector<std::string>{"0", "1", "2", "3", "4"}));
}

// `heddle verify` of a lab whose host was paused meanwhile waited for ever for the host's counters:
// a pause stops every process of the host's namespace, and the worker had entered it.
TEST(Workers, WorkThatIsStoppedWithItsProgramsGoesOn) {
  const auto text = run_apart([]() -> Result<std::string> {
    // The shell stops its group, this process too.
    const int status = std::system("kill -STOP 0; exit 7");
    return WIFEXITED(status) && WEXITSTATUS(status) == 7 ? std::string("went on") : "did not";
  });
  ASSERT_TRUE(text.has_value());
  EXPECT_EQ(*text, "went on");
}

TEST(Workers, AWorkersOwnWorkersGoOn) {
  const auto text = run_apart([] {
    return run_apart([]() -> Result<std::string> {
      kill(getppid(), SIGSTOP);
      kill(getpid(), SIGSTOP);
      return std::string("went on");
    });
  });
  ASSERT_TRUE(text.has_value());
  EXPECT_EQ(*text, "went on");
}

// It waited for ever for `tc`, which is a session of its own and so was not continued with its
// worker.
TEST(Workers, AToolThatIsStoppedGoesOn) {
  const auto text = run_tool({"sh", "-c", "kill -STOP $$; echo went on"});
  ASSERT_TRUE(text.has_value());
  EXPECT_EQ(*text, "went on\n");
}

TEST(Workers, TheFirstErrorIsReturned) {
  Workers workers;
  workers.start([]() -> Result<std::string> {
    return fail(ErrorCode::kUnavailable, "cannot do it", "there is none", "make one");
  });
  workers.start([]() -> Result<std::string> { return std::string("well"); });
  const auto texts = workers.finish();
  ASSERT_FALSE(texts.has_value());
  EXPECT_EQ(texts.error().why, "there is none");
}

}  // namespace
}  // namespace heddle::lab
