// Socket tests: both ends on loopback, one in a child process.
#include "lab/socket_tests.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "lab/sockets/endpoint.h"
#include "lab/worker.h"

namespace heddle::lab {
namespace {

constexpr uint16_t kPort = 18'733;
// Long enough for threads that wait for a core beside other tests.
constexpr SocketPlan kPlan{seconds(1), seconds(1), seconds(1), megabits_per_s(100)};

void expect_figures(const std::string& address, uint16_t port) {
  Workers server(1);
  server.start([&]() -> Result<std::string> {
    const Result<void> served = serve_socket_tests(address, port, seconds(20));
    if (!served) return fail(served.error());
    return std::string("served");
  });
  const Result<SocketFigures> figures = run_socket_tests(address, port, kPlan);
  ASSERT_TRUE(figures) << figures.error().message();
  EXPECT_GT(figures->tcp_bits_per_s, 0);
  EXPECT_GT(figures->tcp_us, 0);
  EXPECT_GE(figures->tcp_us_p99, figures->tcp_us);
  EXPECT_GT(figures->udp_us, 0);
  EXPECT_GT(figures->udp_sent_bits_per_s, 0);
  EXPECT_LE(figures->udp_sent_bits_per_s, 100e6 + 32'768 * 8 / to_seconds(kPlan.datagrams))
      << "above the offered rate";
  EXPECT_GT(figures->udp_received_bits_per_s, 0);
  EXPECT_LE(figures->udp_received_bits_per_s, figures->udp_sent_bits_per_s);
  EXPECT_TRUE(server.finish());
}

TEST(SocketTests, HaveAllFigures) { expect_figures("127.0.0.1", kPort); }

TEST(SocketTests, HaveAllFiguresOverIpv6) {
  if (access("/proc/net/if_inet6", R_OK) != 0) GTEST_SKIP() << "this kernel has no IPv6";
  expect_figures("::1", kPort + 2);
}

TEST(SocketTests, LeaveOutWhatHasNoTime) {
  Workers server(1);
  server.start([&]() -> Result<std::string> {
    const Result<void> served = serve_socket_tests("127.0.0.1", kPort + 5, seconds(20));
    return served ? Result<std::string>("served") : fail(served.error());
  });
  const auto figures = run_socket_tests("127.0.0.1", kPort + 5, {seconds(1), {}, {}, {}});
  ASSERT_TRUE(figures) << figures.error().message();
  EXPECT_GT(figures->tcp_us_p99, 0);
  EXPECT_EQ(figures->tcp_bits_per_s, 0);
  EXPECT_EQ(figures->udp_us, 0);
  EXPECT_EQ(figures->udp_sent_bits_per_s, 0);
  EXPECT_TRUE(server.finish());
}

TEST(SocketTests, ReportThatNoClientConnects) {
  // A port of its own: the test above may run beside this one.
  const Result<void> served = serve_socket_tests("127.0.0.1", kPort + 1, millis(1));
  ASSERT_FALSE(served);
  EXPECT_EQ(served.error().code, ErrorCode::kTimeout);
}

TEST(SocketTests, RefuseWhatIsNoAddress) {
  EXPECT_EQ(run_socket_tests("h3", kPort, kPlan).error().code, ErrorCode::kInvalid);
}

// A server that ends while its client measures does not leave the client waiting.
TEST(SocketTests, ReportAServerThatLeaves) {
  Workers server(1);
  server.start([&]() -> Result<std::string> {
    const Result<void> served = serve_socket_tests("127.0.0.1", kPort + 3, seconds(1));
    return served ? std::string() : std::string("silent");
  });
  const Result<SocketFigures> figures =
      run_socket_tests("127.0.0.1", kPort + 3, {seconds(3), millis(10), millis(10), {}});
  ASSERT_FALSE(figures);
  EXPECT_EQ(figures.error().code, ErrorCode::kTimeout);
  EXPECT_TRUE(server.finish());
}

// Datagrams of others are no figures: the server takes those of its client alone.
TEST(SocketTests, CountNoDatagramsOfOthers) {
  constexpr uint16_t kOwn = kPort + 4;
  Workers server(1);
  server.start([&]() -> Result<std::string> {
    static_cast<void>(serve_socket_tests("127.0.0.1", kOwn, seconds(20)));
    return std::string();
  });
  const Result<SocketAddress> address = address_of("127.0.0.1", kOwn);
  ASSERT_TRUE(address);
  Workers stranger(1);
  stranger.start([&]() -> Result<std::string> {
    const Descriptor socket = new_socket(*address, SOCK_DGRAM);
    const std::string message(20'000, 'x');
    for (int i = 0; i < 200; ++i) {
      sendto(socket.number(), message.data(), message.size(), MSG_DONTWAIT, &address->any,
             address->bytes);
      usleep(1'000);
    }
    return std::string();
  });
  const Result<SocketFigures> figures = run_socket_tests("127.0.0.1", kOwn, kPlan);
  ASSERT_TRUE(figures) << figures.error().message();
  EXPECT_LE(figures->udp_received_bits_per_s, figures->udp_sent_bits_per_s);
  EXPECT_TRUE(stranger.finish());
  EXPECT_TRUE(server.finish());
}

}  // namespace
}  // namespace heddle::lab
