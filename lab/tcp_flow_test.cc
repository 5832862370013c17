// TCP flow: both ends on loopback, one in a child process.
#include "lab/tcp_flow.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "lab/worker.h"

namespace heddle::lab {
namespace {

constexpr uint16_t kPort = 18'733;

void expect_received(const std::string& address, uint16_t port) {
  Workers sender(1);
  sender.start([&]() -> Result<std::string> {
    const Result<void> sent = send_tcp(address, port, millis(30));
    if (!sent) return fail(sent.error());
    return std::string("sent");
  });
  const Result<TcpFigures> figures = receive_tcp(address, port, seconds(20));
  ASSERT_TRUE(figures) << figures.error().message();
  EXPECT_GT(figures->received.count, 0u);
  EXPECT_GT(figures->span.count, 0);
  EXPECT_TRUE(sender.finish());
}

TEST(TcpFlow, ReceivesWhatIsSent) { expect_received("127.0.0.1", kPort); }

TEST(TcpFlow, ReceivesWhatIsSentOverIpv6) {
  if (access("/proc/net/if_inet6", R_OK) != 0) GTEST_SKIP() << "this kernel has no IPv6";
  expect_received("::1", kPort + 2);
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
