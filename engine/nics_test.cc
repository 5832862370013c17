// Two endpoints over UDP with several NICs each: a connection uses all of them.
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/endpoint.h"

namespace heddle::engine {
namespace {

constexpr Nanos kPatience = seconds(60);

std::unique_ptr<Endpoint> open(const std::string& bind, bool keyed) {
  Options options;
  options.transport.accept = true;
  if (keyed) options.transport.keys.resize(1);
  auto made = Endpoint::open({.bind = bind}, options);
  EXPECT_TRUE(made.has_value()) << made.error().message();
  return made ? std::move(*made) : nullptr;
}

// The NIC pairs that carried payload of a message; the payload is checked.
std::set<std::pair<int, int>> pairs_used(const std::string& here, const std::string& there,
                                         bool keyed = false) {
  auto client = open(here, keyed);
  auto server = open(there, keyed);
  std::set<std::pair<int, int>> used;
  if (!client || !server) return used;
  const Connection to = client->connect(server->local_address()).value();
  std::optional<Connection> from;
  const Nanos end = client->now() + kPatience;
  while (!from && client->now() < end) {
    client->progress(millis(1));
    from = server->accept(millis(1));
  }
  if (!from) return used;
  std::vector<std::byte> sent(2u << 20);
  for (size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<std::byte>(i * 7 + i / 4099);
  // Repeats until all pairs were used: a probe may arrive one round late.
  for (int round = 0; round < 10 && used.size() < 2; ++round) {
    std::vector<std::byte> got(sent.size());
    const Operation receive = server->receive(*from, 0, got.data(), got.size()).value();
    const Operation send = client->send(to, 0, sent.data(), sent.size()).value();
    bool sent_all = false;
    bool got_all = false;
    while (!sent_all || !got_all) {
      sent_all = client->test(send).done;
      got_all = server->test(receive).done;
      if (client->now() > end) return used;
    }
    EXPECT_TRUE(sent == got);
    for (const auto& path : client->path_statistics(to)) {
      if (path.payload_bytes_sent > 0) used.insert({path.nic, path.peer_nic});
    }
  }
  return used;
}

using Pairs = std::set<std::pair<int, int>>;

TEST(EngineNicsTest, TwoNicsOnEachSideFormTwoPairs) {
  EXPECT_EQ(pairs_used("127.0.0.1,127.0.0.2", "127.0.0.3,127.0.0.4"), (Pairs{{0, 0}, {1, 1}}));
}

TEST(EngineNicsTest, TwoNicsOnEachSideFormTwoPairsWithKeys) {
  EXPECT_EQ(pairs_used("127.0.0.1,127.0.0.2", "127.0.0.3,127.0.0.4", true),
            (Pairs{{0, 0}, {1, 1}}));
}

TEST(EngineNicsTest, OneIPv4AndOneIPv6NicFormTwoPairs) {
  if (!Endpoint::open({.bind = "::1"}, {})) GTEST_SKIP() << "this host has no IPv6";
  EXPECT_EQ(pairs_used("127.0.0.1,::1", "127.0.0.2,::1"), (Pairs{{0, 0}, {1, 1}}));
}

TEST(EngineNicsTest, TwoNicsOnOneSideFormTwoPairs) {
  EXPECT_EQ(pairs_used("127.0.0.1,127.0.0.2", "127.0.0.3"), (Pairs{{0, 0}, {1, 0}}));
  EXPECT_EQ(pairs_used("127.0.0.1", "127.0.0.3,127.0.0.4"), (Pairs{{0, 0}, {0, 1}}));
}

}  // namespace
}  // namespace heddle::engine
