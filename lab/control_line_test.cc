// Control lines: both ends send lines, and what cannot be is said.
#include "lab/control_line.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clocks.h"
#include "base/descriptor.h"
#include "lab/sockets/endpoint.h"

namespace heddle::lab {
namespace {

// Of this process, since tests run beside each other, and none that the system gives to clients.
const auto kPort = static_cast<uint16_t>(20'000 + getpid() % 4'000 * 3);

TEST(ControlLine, BothEndsSendLinesUntilOneIsGone) {
  for (const char* const address : {"127.0.0.1", "::1"}) {
    std::thread server([&] {
      const auto line = ControlLine::accept(address, kPort, address, steady_now() + seconds(60));
      ASSERT_TRUE(line) << line.error().message();
      std::string text;
      ASSERT_TRUE(line->read(text, steady_now() + seconds(60)));
      EXPECT_TRUE(line->send("heard " + text, steady_now() + seconds(60)));
    });
    const auto line = ControlLine::connect(address, address, kPort, steady_now() + seconds(60));
    ASSERT_TRUE(line) << line.error().message();
    EXPECT_TRUE(line->send("one", steady_now() + seconds(60)));
    std::string text;
    EXPECT_TRUE(line->read(text, steady_now() + seconds(60)));
    EXPECT_EQ(text, "heard one");
    EXPECT_FALSE(line->read(text, steady_now() + seconds(60)));
    server.join();
  }
}

TEST(ControlLine, WithoutAnotherEndThereIsAnError) {
  const auto none =
      ControlLine::accept("127.0.0.1", kPort + 1, "127.0.0.1", steady_now() + millis(1));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kTimeout);
  EXPECT_FALSE(ControlLine::connect("127.0.0.1", "127.0.0.1", kPort + 2, steady_now()));
  EXPECT_FALSE(ControlLine::connect("127.0.0.1", "nowhere", kPort, steady_now()));
}

// A scanner that connected first had the test's only connection.
TEST(ControlLine, AnotherAddressThanTheClientsIsClosedAndTheClientStillServed) {
  std::thread server([&] {
    const auto line =
        ControlLine::accept("127.0.0.1", kPort + 1, "127.0.0.2", steady_now() + seconds(60));
    ASSERT_TRUE(line) << line.error().message();
    std::string text;
    ASSERT_TRUE(line->read(text, steady_now() + seconds(60)));
    EXPECT_EQ(text, "from the client");
  });
  const auto stranger =
      ControlLine::connect("127.0.0.1", "127.0.0.1", kPort + 1, steady_now() + seconds(60));
  ASSERT_TRUE(stranger) << stranger.error().message();
  std::string text;
  EXPECT_FALSE(stranger->read(text, steady_now() + seconds(60)));
  const auto client =
      ControlLine::connect("127.0.0.2", "127.0.0.1", kPort + 1, steady_now() + seconds(60));
  ASSERT_TRUE(client) << client.error().message();
  EXPECT_TRUE(client->send("from the client", steady_now() + seconds(60)));
  server.join();
}

// A host whose firewall drops packets held the client for the kernel's two minutes. Here the
// listener's queue is full.
TEST(ControlLine, AConnectionThatIsNotAnsweredEndsInTime) {
  const Result<SocketAddress> at = address_of("127.0.0.1", kPort + 2);
  ASSERT_TRUE(at);
  const Descriptor listener = new_socket(*at, SOCK_STREAM);
  ASSERT_EQ(bind(listener.number(), &at->any, at->bytes), 0);
  ASSERT_EQ(listen(listener.number(), 0), 0);
  std::vector<ControlLine> filling;
  for (int i = 0; i < 8; ++i) {
    auto line =
        ControlLine::connect("127.0.0.1", "127.0.0.1", kPort + 2, steady_now() + millis(200));
    if (line) {
      filling.push_back(std::move(*line));
      continue;
    }
    EXPECT_EQ(line.error().code, ErrorCode::kTimeout) << line.error().message();
    return;
  }
  FAIL() << "the queue did not fill";
}

}  // namespace
}  // namespace heddle::lab
