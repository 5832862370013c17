// A member of a communicator that does not keep to the rules: a rank played by hand over a real
// endpoint, and what it can make another rank do.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <utility>

#include "collectives/communicator.h"
#include "collectives/execution/control.h"
#include "collectives/execution/control_outbox.h"
#include "collectives/params.h"
#include "collectives/testing/local_ranks.h"

namespace heddle::collectives {
namespace {

// Rank 0 of two, to which the other connects.
class PlayedRank {
 public:
  PlayedRank(engine::Endpoint& endpoint, const std::function<bool()>& other)
      : endpoint_(endpoint), other_(other) {
    EXPECT_TRUE(until([this] {
      const auto accepted = endpoint_.take_accepted();
      if (accepted) connection_ = *accepted;
      return accepted.has_value();
    }));
  }

  using Write = std::function<size_t(std::byte*)>;
  bool say(const Write& write) {
    std::array<std::byte, kControlBytes> bytes{};
    const size_t length = write(bytes.data());
    const auto sent = endpoint_.send(connection_, kControlChannel, bytes.data(), length);
    if (!sent) return false;
    return until([&] { return endpoint_.peek(*sent).done; });
  }
  // The next control message; nothing: the connection ended.
  std::optional<ControlKind> hear() {
    std::array<std::byte, kControlBytes> bytes{};
    const auto received =
        endpoint_.receive(connection_, kControlChannel, bytes.data(), bytes.size());
    if (!received) return std::nullopt;
    engine::Outcome outcome;
    EXPECT_TRUE(until([&] {
      outcome = endpoint_.peek(*received);
      return outcome.done;
    }));
    if (!outcome.ok) return std::nullopt;
    heard_.assign(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(outcome.bytes));
    return control_kind(heard_);
  }
  std::span<const std::byte> heard() const { return heard_; }
  bool until(const std::function<bool()>& done) {
    const Nanos end = endpoint_.now() + kPatience;
    while (!done()) {
      if (endpoint_.now() > end) return false;
      endpoint_.progress(millis(1));
      other_();
    }
    return true;
  }
  engine::ConnectionState state() const { return endpoint_.status(connection_).state; }
  engine::Connection connection() const { return connection_; }

 private:
  engine::Endpoint& endpoint_;
  const std::function<bool()> other_;
  engine::Connection connection_ = 0;
  std::vector<std::byte> heard_;
};

// Of two ranks the higher connects. A hello of the lower one on a kept connection would make the
// other take every later message for another communicator's, and wait for ever.
TEST(HostileMember, TheLowerRankThatSaysHelloOnAKeptConnectionLosesIt) {
  LocalRanks ranks({.ranks = 2});
  auto links = std::make_shared<Links>(ranks.endpoint(1));
  auto communicator =
      std::move(Communicator::create(links, ranks.members(1), CommunicatorOptions{})).value();
  const auto barrier = communicator->barrier();
  ASSERT_TRUE(barrier);
  PlayedRank zero(ranks.endpoint(0), [&] { return communicator->advance(); });
  ASSERT_EQ(zero.hear(), ControlKind::kHello);
  ASSERT_TRUE(zero.say([](std::byte* bytes) {
    return write_failure({ErrorCode::kCancelled, 0, "rank 0 revoked the communicator"}, bytes);
  }));
  std::optional<ControlKind> kind;
  do {
    kind = zero.hear();
  } while (kind && *kind != ControlKind::kKept);
  ASSERT_EQ(kind, ControlKind::kKept);
  const auto counts = read_kept(zero.heard());
  ASSERT_TRUE(counts);
  // As many as the other posted: both sides are aligned.
  ASSERT_TRUE(zero.say([&](std::byte* bytes) {
    return write_kept({.sends = counts->receives, .receives = counts->sends}, bytes);
  }));
  communicator->begin_shrink();
  zero.say([](std::byte* bytes) { return write_hello({77, 0, 2, std::nullopt}, bytes); });
  EXPECT_TRUE(zero.until([&] { return zero.state() == engine::ConnectionState::kClosed; }));
}

// It takes in none of what it is sent.
TEST(HostileMember, ARankThatReadsNothingIsSentABoundedNumberOfReports) {
  LocalRanks ranks({.ranks = 2});
  Links links(ranks.endpoint(1));
  const auto connection = ranks.endpoint(1).connect(ranks.members(1).addresses[0]);
  ASSERT_TRUE(connection);
  ControlOutbox outbox(links);
  const auto report = [](std::byte* bytes) { return write_late({1, 2, false}, bytes); };
  size_t sent = 0;
  for (int i = 0; i < 10'000; ++i) {
    sent += outbox.send_again(*connection, 0, report) ? 1 : 0;
    outbox.all_acknowledged();
  }
  EXPECT_EQ(sent, params::kUnacknowledgedControl);
  EXPECT_TRUE(outbox.send(*connection, 0, report)) << "what it must know is sent all the same";
  ranks.endpoint(1).abort(*connection);
  outbox.abandon();
}

}  // namespace
}  // namespace heddle::collectives
