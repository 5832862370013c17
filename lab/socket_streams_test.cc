// Socket streams: both ends on loopback, the senders in child processes.
#include "lab/socket_streams.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "lab/worker.h"

namespace heddle::lab {
namespace {

constexpr uint16_t kPort = 18'743;

void start_sender(Workers& senders, const std::vector<std::string>& addresses, uint16_t port) {
  senders.start([=]() -> Result<std::string> {
    const Result<void> sent = send_streams(addresses, port, millis(200), seconds(10));
    if (!sent) return fail(sent.error());
    return std::string("sent");
  });
}

TEST(SocketStreams, AReceiverHasTheRateOfEachOfItsSenders) {
  Workers senders(2);
  start_sender(senders, {"127.0.0.1"}, kPort);
  start_sender(senders, {"127.0.0.1", "127.0.0.1"}, kPort);
  const auto rates = receive_streams("127.0.0.1", kPort, 3, seconds(20));
  ASSERT_TRUE(rates) << rates.error().message();
  ASSERT_EQ(rates->size(), 3U);
  for (const double each : *rates) EXPECT_GT(each, 0);
  EXPECT_TRUE(senders.finish());
}

TEST(SocketStreams, PassOverIpv6) {
  if (access("/proc/net/if_inet6", R_OK) != 0) GTEST_SKIP() << "this kernel has no IPv6";
  Workers senders(1);
  start_sender(senders, {"::1"}, kPort + 1);
  const auto rates = receive_streams("::1", kPort + 1, 1, seconds(20));
  ASSERT_TRUE(rates) << rates.error().message();
  EXPECT_GT(rates->front(), 0);
  EXPECT_TRUE(senders.finish());
}

// None begins before all are there: the rates are of a load whose connections share the links.
TEST(SocketStreams, ASenderDoesNotBeginBeforeAllOthersAreThere) {
  Workers receiver(1);
  receiver.start([&]() -> Result<std::string> {
    const auto rates = receive_streams("127.0.0.1", kPort + 2, 2, seconds(5));
    return rates ? std::string("received") : rates.error().why;
  });
  const Result<void> sent = send_streams({"127.0.0.1"}, kPort + 2, millis(10), seconds(3));
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, ErrorCode::kTimeout);
  const auto text = receiver.finish();
  ASSERT_TRUE(text) << text.error().message();
  EXPECT_EQ(text->front(), "1 of 2 connections came");
}

TEST(SocketStreams, RefuseWhatIsNoAddressAndReportThatNothingListens) {
  EXPECT_EQ(receive_streams("h3", kPort, 1, millis(1)).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(send_streams({"h3"}, kPort, millis(1), millis(1)).error().code, ErrorCode::kInvalid);
  EXPECT_FALSE(send_streams({"127.0.0.1"}, kPort + 3, millis(1), millis(1)));
}

}  // namespace
}  // namespace heddle::lab
