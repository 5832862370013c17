// TCP flow: both ends on loopback, one in a child process.
#include "lab/tcp_flow.h"

#include <gtest/gtest.h>

#include <string>

#include "lab/worker.h"

namespace heddle::lab {
namespace {

constexpr uint16_t kPort = 18'733;

TEST(TcpFlow, ReceivesWhatIsSent) {
  Workers sender(1);
  sender.start([]() -> Result<std::string> {
    const Result<void> sent = send_tcp("127.0.0.1", kPort, millis(30));
    if (!sent) return fail(sent.error());
    return std::string("sent");
  });
  const Result<TcpFigures> figures = receive_tcp("127.0.0.1", kPort, seconds(20));
  ASSERT_TRUE(figures) << figures.error().message();
  EXPECT_GT(figures->received.count, 0u);
  EXPECT_GT(figures->span.count, 0);
  EXPECT_TRUE(sender.finish());
}

TEST(TcpFlow, ReportsThatNobodyConnects) {
  // A port of its own: the test above may run beside this one.
  const Result<TcpFigures> figures = receive_tcp("127.0.0.1", kPort + 1, millis(1));
  ASSERT_FALSE(figures);
  EXPECT_EQ(figures.error().code, ErrorCode::kTimeout);
}

TEST(TcpFlow, RefusesWhatIsNoAddress) {
  EXPECT_EQ(send_tcp("h3", kPort, millis(1)).error().code, ErrorCode::kInvalid);
}

}  // namespace
}  // namespace heddle::lab
