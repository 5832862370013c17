// A server that says that it speaks TLS, and then nothing: neither a publisher nor a subscription
// waits for it when it ends.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "messaging/nats/library.h"
#include "messaging/publisher.h"
#include "messaging/subscription.h"

namespace heddle::messaging {
namespace {

// Takes one connection.
class MuteServer {
 public:
  MuteServer() : listening_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(listening_.number(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listening_.number(), 1), 0);
    getsockname(listening_.number(), reinterpret_cast<sockaddr*>(&address), &size);
    port_ = std::to_string(ntohs(address.sin_port));
  }

  NatsAddress address() const {
    return {.servers = {{"127.0.0.1", port_}}, .subject = "site", .tls = true};
  }

  // Returns when the client has begun the handshake.
  void take_client() {
    client_ = Descriptor(accept(listening_.number(), nullptr, nullptr));
    constexpr std::string_view kInfo =
        "INFO {\"server_id\":\"mute\",\"version\":\"2.9.10\",\"tls_required\":true,"
        "\"max_payload\":1048576}\r\n";
    EXPECT_EQ(write(client_.number(), kInfo.data(), kInfo.size()),
              static_cast<ssize_t>(kInfo.size()));
    std::array<char, 1> hello{};
    EXPECT_EQ(read(client_.number(), hello.data(), hello.size()), 1);
  }

 private:
  Descriptor listening_;
  Descriptor client_;
  std::string port_;
};

TEST(MuteServerTest, APublisherInAHandshakeThatLastsForEverEnds) {
  if (!nats_library().why_not.empty()) GTEST_SKIP() << nats_library().why_not;
  MuteServer server;
  auto publisher = Publisher::start({.address = server.address(), .access = {}, .name = "test"});
  ASSERT_TRUE(publisher) << publisher.error().message();
  (*publisher)->post({.subject = "site.a", .text = "text"});
  server.take_client();
  EXPECT_EQ((*publisher)->state().waiting, 1U);
  publisher->reset();
}

TEST(MuteServerTest, ASubscriptionInAHandshakeThatLastsForEverEnds) {
  if (!nats_library().why_not.empty()) GTEST_SKIP() << nats_library().why_not;
  MuteServer server;
  auto subscription = Subscription::start(
      {.address = server.address(), .access = {}, .name = "test", .pattern = "site.>"});
  ASSERT_TRUE(subscription) << subscription.error().message();
  server.take_client();
  EXPECT_FALSE((*subscription)->state().connected);
  subscription->reset();
}

}  // namespace
}  // namespace heddle::messaging
