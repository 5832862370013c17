// Which ICMP replies to its probes a connection accepts, and the effect of forged ones. Tests with
// switches are in simulator/discovery_test.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>

#include "events/counting_sink.h"
#include "transport/testing/pair_fixture.h"
#include "transport/wire/packet.h"

namespace heddle::transport::testing {
namespace {

using events::RoutesVerdict;

// Two routers one behind the other on every way; the second has one of two names.
class AnswersTest : public PairFixture {
 protected:
  // `change` is made to each answer.
  void open(std::function<void(NetworkError&)> change = [](NetworkError&) {}) {
    change_ = std::move(change);
    PairOptions options;
    options.sink = &events_;
    options.drop = [this](int side, const TxBurst& burst, uint32_t) {
      return side == 0 && ends_on_its_way(burst);
    };
    ConnectionOptions connection;
    connection.paths = 32;
    start(std::move(options), connection);
  }
  FabricRoutes look(Nanos limit = seconds(60)) {
    EXPECT_TRUE(end(0).post_discovery(pair_->now(), client_));
    FabricRoutes found;
    EXPECT_TRUE(pair_->run_until([&] { return !end(0).routes(client_, found) || !found.under_way; },
                                 limit));
    return found;
  }

  std::set<uint16_t> probed_;  // paths
  events::CountingSink events_;

 private:
  bool ends_on_its_way(const TxBurst& burst) {
    if (burst.hop_limit == 0 || burst.hop_limit > 2) return false;
    probed_.insert(burst.path);
    NetworkError error;
    error.kind = NetworkErrorKind::kTimeExceeded;
    error.to = burst.to;
    error.path = burst.path;
    error.router[0] = burst.hop_limit;
    error.router[1] = burst.hop_limit == 2 ? static_cast<uint8_t>(burst.path % 2) : uint8_t{0};
    error.quoted_bytes = static_cast<uint8_t>(error.quoted.size());
    std::copy_n(burst.headers, error.quoted.size(), error.quoted.begin());
    change_(error);
    end(0).handle_network_error(pair_->now(), error);
    return true;
  }

  std::function<void(NetworkError&)> change_;
};

TEST_F(AnswersTest, AnswersThatQuoteTheirProbeCount) {
  open();
  const FabricRoutes found = look();
  EXPECT_EQ(found.count(), 2u);
  EXPECT_EQ(found.hops, 2);
  EXPECT_EQ(probed_.size(), 32u);
}

TEST_F(AnswersTest, NothingIsKnownBeforeSomebodyAsks) {
  open();
  FabricRoutes found;
  EXPECT_FALSE(end(0).routes(client_, found));
  pair_->run_for(seconds(2));
  EXPECT_TRUE(probed_.empty());
}

// A host that did not see a probe cannot quote its secret with the right connection and path.
TEST_F(AnswersTest, ForgedAnswersAreNotBelieved) {
  const std::pair<const char*, std::function<void(NetworkError&)>> forgeries[] = {
      {"another secret", [](NetworkError& e) { e.quoted[kSentAt + 4] ^= std::byte{1}; }},
      {"another connection", [](NetworkError& e) { e.quoted[kConnectionAt + 1] ^= std::byte{1}; }},
      {"another path in the packet", [](NetworkError& e) { e.quoted[2] ^= std::byte{1}; }},
      {"another path of this host", [](NetworkError& e) { e.path ^= 1; }},
      {"a hop that was not asked", [](NetworkError& e) { e.quoted[kSentAt] = std::byte{7}; }},
      {"no hop", [](NetworkError& e) { e.quoted[kSentAt] = std::byte{0}; }},
      {"too little to tell",
       [](NetworkError& e) { e.quoted_bytes = NetworkError::kMostQuoted - 1; }},
      {"another peer", [](NetworkError& e) { e.to.port ^= 1; }},
  };
  for (const auto& [what, forge] : forgeries) {
    open(forge);
    const FabricRoutes found = look();
    EXPECT_EQ(found.verdict, RoutesVerdict::kSilentRouter) << what;
    EXPECT_EQ(found.hops, 1) << what;
    EXPECT_TRUE(exchange(1)) << what;
  }
}

// One who sees every probe can name what routers he likes: it ends, and payload still moves.
TEST_F(AnswersTest, ARouterThatLiesAboutItsNameHarmsTheCountOnly) {
  uint8_t names = 0;
  open([&names](NetworkError& e) { e.router[2] = names++; });
  const FabricRoutes found = look();
  EXPECT_EQ(found.verdict, RoutesVerdict::kFewPaths);
  EXPECT_EQ(found.seen, 32u);
  EXPECT_TRUE(exchange(1));
}

TEST_F(AnswersTest, TwoRequestsAtATimeMakeOneDiscovery) {
  open();
  ASSERT_TRUE(end(0).post_discovery(pair_->now(), client_));
  EXPECT_EQ(look().count(), 2u);
  EXPECT_EQ(look().count(), 2u) << "and again, later";
}

// Discovery runs every minute, and a recording keeps every reported router.
TEST_F(AnswersTest, RoutersAreToldAgainOnlyWhereTheyChanged) {
  bool renamed = false;
  open([&renamed](NetworkError& error) { error.router[2] = renamed ? 1 : 0; });
  look();
  const uint64_t once = events_.count(events::EventKind::kPathTraced);
  EXPECT_GE(once, 2 * 32u);
  look();
  EXPECT_EQ(events_.count(events::EventKind::kPathTraced), once);
  EXPECT_EQ(events_.count(events::EventKind::kRoutesFound), 2u);
  renamed = true;
  look();
  EXPECT_EQ(events_.count(events::EventKind::kPathTraced), 2 * once);
}

TEST_F(AnswersTest, AnswersToAConnectionThatDoesNotAskAreNothing) {
  open();
  NetworkError error;
  error.kind = NetworkErrorKind::kTimeExceeded;
  error.to = pair_->address(1);
  error.quoted_bytes = NetworkError::kMostQuoted;
  for (int i = 0; i < 1000; ++i) end(0).handle_network_error(pair_->now(), error);
  EXPECT_TRUE(exchange(1));
  FabricRoutes found;
  EXPECT_FALSE(end(0).routes(client_, found));
}

TEST_F(AnswersTest, OnlyAnOpenConnectionLooks) {
  make();
  client_ = connect();
  const Result<void> early = end(0).post_discovery(pair_->now(), client_);
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().code, ErrorCode::kClosed);
}

TEST_F(AnswersTest, AConnectionThatEndsWhileItLooksIsGone) {
  open();
  ASSERT_TRUE(end(0).post_discovery(pair_->now(), client_));
  pair_->run_for(millis(5));
  end(0).post_close(pair_->now(), client_);
  EXPECT_TRUE(run_until_closed(seconds(4)));
  EXPECT_EQ(end(0).records_lent(), 0u);
}

}  // namespace
}  // namespace heddle::transport::testing
