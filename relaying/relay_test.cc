// Relays over loopback: messages through none to several of them, relays that are replaced in the
// middle, destinations that are not allowed, and a receiver that takes nothing.
#include "relaying/relay.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/random.h"
#include "datapath/resolve.h"
#include "relaying/acceptor.h"
#include "relaying/relayed_link.h"

namespace heddle::relaying {
namespace {

std::unique_ptr<engine::Endpoint> open_on_loopback(uint16_t port = 0) {
  engine::NetworkOptions network;
  network.bind = "127.0.0.1";
  network.port = port;
  engine::Options options;
  options.transport.accept = true;
  options.transport.handshake_timeout = seconds(2);
  return std::move(engine::Endpoint::open(network, options)).value();
}

constexpr uint64_t kMemory = 8 << 20;

// A relay of its own endpoint, which can be killed and started again at its address.
struct Station {
  explicit Station(std::string destination) : to(std::move(destination)) { start(); }
  void start() {
    endpoint = open_on_loopback(port);
    far = open_on_loopback();
    port = endpoint->local_address().port;
    relay =
        std::make_unique<Relay>(*endpoint, *far, Destinations::make({to}).value(),
                                RelayOptions{.memory_bytes = kMemory, .most_sessions = 2},
                                [this](const SessionReport& report) { reports.push_back(report); });
  }
  void kill() {
    relay.reset();
    endpoint.reset();
    far.reset();
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(port); }

  const std::string to;
  uint16_t port = 0;
  void turn() {
    if (!relay) return;
    endpoint->progress(Nanos{});
    far->progress(Nanos{});
    relay->step();
  }
  std::unique_ptr<engine::Endpoint> endpoint;
  std::unique_ptr<engine::Endpoint> far;
  std::unique_ptr<Relay> relay;
  std::vector<SessionReport> reports;
};

engine::MessageBytes bytes_of(std::vector<std::byte>& message) {
  return {.start = message.data(), .bytes = message.size()};
}

// A sender, two relays, and a receiver, all driven by the test's thread.
class Relayed : public testing::Test {
 protected:
  Relayed() {
    server_ = open_on_loopback();
    client_ = open_on_loopback();
    acceptor_.emplace(*server_, 8);
    far_.emplace(datapath::to_text(server_->local_address()));
    near_.emplace(far_->address());
  }

  void connect(std::vector<std::string> relays, const LinkOptions& options = {}) {
    sender_ = RelayedLink::connect(*client_, relays, datapath::to_text(server_->local_address()), 1,
                                   options)
                  .value();
  }
  void connect() { connect({near_->address(), far_->address()}); }

  void turn() {
    near_->turn();
    far_->turn();
    server_->progress(Nanos{});
    if (auto link = acceptor_->accept())
      receivers_.push_back(std::exchange(receiver_, std::move(link)));
    for (const auto& each : receivers_) {
      if (each) each->step();
    }
    if (receiver_) receiver_->step();
    client_->progress(micros(200));
    sender_->step();
  }
  template <typename Condition>
  bool turn_until(Condition condition) {
    const Nanos end = client_->now() + seconds(60);
    while (!condition()) {
      if (client_->now() > end) return false;
      turn();
    }
    return true;
  }
  // Until the relays have forwarded nothing for a time, in which this thread was not away.
  void turn_until_still() {
    const auto forwarded = [this] {
      return near_->relay->counts().bytes + far_->relay->counts().bytes;
    };
    constexpr int kStillTurns = 500;
    uint64_t before = forwarded();
    Nanos since = client_->now();
    const Nanos give_up = since + seconds(60);
    for (int turns = 0; turns < kStillTurns || client_->now() - since < millis(300); ++turns) {
      ASSERT_LT(client_->now(), give_up) << "the relays go on";
      turn();
      if (forwarded() == before) continue;
      before = forwarded();
      since = client_->now();
      turns = 0;
    }
  }
  bool both_open() {
    return turn_until([this] {
      return receiver_ && sender_->status().state != engine::ConnectionState::kOpening;
    });
  }

  // Messages of random lengths on two channels, checked at the receiver; `meanwhile` is called
  // after each that arrived.
  template <typename Meanwhile>
  void transfer(int count, uint64_t seed, Meanwhile meanwhile) {
    Random random(seed);
    std::vector<std::vector<std::byte>> messages(count);
    std::vector<std::vector<std::byte>> arrived(count);
    std::vector<engine::Operation> sends;
    std::vector<engine::Operation> receives;
    for (int i = 0; i < count; ++i) {
      messages[i].resize(random.below(4) == 0 ? random.below(100) : random.below(300'000));
      for (std::byte& each : messages[i]) each = std::byte(random.next());
      arrived[i].resize(300'000);
      sends.push_back(sender_->send(i % 2, bytes_of(messages[i])).value());
      receives.push_back(receiver_->receive(i % 2, bytes_of(arrived[i])).value());
    }
    for (int i = 0; i < count; ++i) {
      engine::Outcome outcome;
      ASSERT_TRUE(turn_until([&] { return (outcome = receiver_->peek(receives[i])).done; })) << i;
      ASSERT_TRUE(outcome.ok) << i << " " << receiver_->status().error.message();
      arrived[i].resize(outcome.bytes);
      ASSERT_EQ(arrived[i], messages[i]) << i;
      meanwhile(i);
    }
    for (int i = 0; i < count; ++i) {
      engine::Outcome outcome;
      ASSERT_TRUE(turn_until([&] { return (outcome = sender_->peek(sends[i])).done; })) << i;
      ASSERT_TRUE(outcome.ok) << i << " " << sender_->status().error.message();
    }
  }

  // What a stranger's first frame is answered with at this address, where it is refused.
  Frame refusal_of(engine::Endpoint& stranger, const std::string& address,
                   const std::vector<std::byte>& first) {
    std::vector<std::byte> answer(params::kFrameBytes);
    const engine::Connection connection = stranger.connect(address, 0).value();
    const engine::Operation answered =
        stranger.receive(connection, kFrameChannel, answer.data(), answer.size()).value();
    stranger.forget(stranger.send(connection, kFrameChannel, first.data(), first.size()).value());
    engine::Outcome outcome;
    EXPECT_TRUE(turn_until([&] {
      stranger.progress(Nanos{});
      outcome = stranger.peek(answered);
      return outcome.done;
    })) << address;
    EXPECT_TRUE(outcome.ok) << address;
    const Result<Frame> read = read_frame(std::span(answer).first(outcome.ok ? outcome.bytes : 0));
    EXPECT_TRUE(read) << address;
    stranger.abort(connection);
    if (!read) return {};
    EXPECT_EQ(read->kind, FrameKind::kRefuse) << address;
    return *read;
  }

  std::unique_ptr<engine::Endpoint> server_;
  std::unique_ptr<engine::Endpoint> client_;
  std::optional<Acceptor> acceptor_;
  std::optional<Station> far_;
  std::optional<Station> near_;
  std::unique_ptr<RelayedLink> receiver_;                // the newest
  std::vector<std::unique_ptr<RelayedLink>> receivers_;  // those before
  std::unique_ptr<RelayedLink> sender_;
};

TEST_F(Relayed, MessagesPassOneRelayAndTwo) {
  for (const bool both : {false, true}) {
    connect(both ? std::vector<std::string>{near_->address(), far_->address()}
                 : std::vector<std::string>{far_->address()});
    ASSERT_TRUE(both_open());
    transfer(40, both ? 1 : 2, [](int) {});
    EXPECT_EQ(sender_->retransmitted(), 0U);
    sender_.reset();
    connect({far_->address()});  // so that turn() has one
    ASSERT_TRUE(turn_until(
        [this] { return receiver_->status().state == engine::ConnectionState::kClosed; }));
    receiver_.reset();
  }
}

TEST_F(Relayed, RelaysThatAreKilledLoseAndDoubleNothing) {
  connect();
  ASSERT_TRUE(both_open());
  Random random(7);
  transfer(120, 3, [&](int i) {
    if (i % 10 != 9) return;
    Station& victim = random.below(2) == 0 ? *near_ : *far_;
    victim.kill();
    for (uint64_t turns = random.below(50); turns > 0; --turns) turn();
    victim.start();
  });
  EXPECT_GE(sender_->reconnects(), 5U);
  EXPECT_EQ(receiver_->doubles(), 0U) << "the new connection begins where the receiver is";
}

TEST_F(Relayed, BothDirectionsGoOnAfterAKill) {
  connect();
  ASSERT_TRUE(both_open());
  std::vector<std::byte> there(2'000'000, std::byte{1});
  std::vector<std::byte> back(2'000'000, std::byte{2});
  std::vector<std::byte> there_in(2'000'000);
  std::vector<std::byte> back_in(2'000'000);
  const engine::Operation all[] = {sender_->send(1, bytes_of(there)).value(),
                                   receiver_->send(1, bytes_of(back)).value(),
                                   receiver_->receive(1, bytes_of(there_in)).value(),
                                   sender_->receive(1, bytes_of(back_in)).value()};
  for (int i = 0; i < 10; ++i) turn();
  near_->kill();
  near_->start();
  RelayedLink* const owners[] = {&*sender_, &*receiver_, &*receiver_, &*sender_};
  for (int i = 0; i < 4; ++i) {
    engine::Outcome outcome;
    ASSERT_TRUE(turn_until([&] { return (outcome = owners[i]->peek(all[i])).done; })) << i;
    EXPECT_TRUE(outcome.ok) << i;
  }
  EXPECT_EQ(there, there_in);
  EXPECT_EQ(back, back_in);
  EXPECT_GE(sender_->reconnects(), 1U);
}

TEST_F(Relayed, AFrameThatIsTooLongEndsItsConnection) {
  std::vector<std::byte> large(params::kFrameBytes + 1);
  connect();
  ASSERT_TRUE(both_open());
  ASSERT_TRUE(client_->send(sender_->connection(), kFrameChannel, large.data(), large.size()));
  ASSERT_TRUE(turn_until([this] { return !near_->reports.empty(); }));
  EXPECT_EQ(near_->reports.front().cause.code, ErrorCode::kInvalid);
}

// A reconnect counted as one session more, and was turned away until both ends gave it up.
TEST_F(Relayed, ASessionGoesOnWhereAllLinksAreInUse) {
  acceptor_.emplace(*server_, 1);
  connect();
  ASSERT_TRUE(both_open());
  std::unique_ptr<RelayedLink> second = std::move(sender_);
  connect();
  ASSERT_TRUE(
      turn_until([this] { return sender_->status().state == engine::ConnectionState::kClosed; }));
  EXPECT_EQ(sender_->status().error.code, ErrorCode::kExhausted);
  sender_ = std::move(second);
  near_->kill();
  near_->start();
  std::vector<std::byte> message(20'000, std::byte{1});
  std::vector<std::byte> arrived(20'000);
  const engine::Operation sent = sender_->send(1, bytes_of(message)).value();
  const engine::Operation received = receiver_->receive(1, bytes_of(arrived)).value();
  ASSERT_TRUE(turn_until([&] { return receiver_->peek(received).done; }));
  ASSERT_TRUE(turn_until([&] { return sender_->peek(sent).done; }));
  EXPECT_EQ(message, arrived);
  EXPECT_GE(sender_->reconnects(), 1U);
}

TEST_F(Relayed, ASendIsNotDoneBeforeTheFarEndHasIt) {
  connect();
  ASSERT_TRUE(both_open());
  std::vector<std::byte> message(20'000, std::byte{1});
  const engine::Operation sent = sender_->send(1, bytes_of(message)).value();
  // The relays take it, and the receiver is not driven.
  const Nanos end = client_->now() + millis(300);
  const Nanos give_up = client_->now() + seconds(60);
  const auto has_passed = [this] { return far_->relay->counts().bytes > 20'000U; };
  while (client_->now() < end || (!has_passed() && client_->now() < give_up)) {
    client_->progress(micros(200));
    sender_->step();
    near_->turn();
    far_->turn();
    ASSERT_FALSE(sender_->peek(sent).done);
  }
  EXPECT_TRUE(has_passed());
  engine::Outcome outcome;
  ASSERT_TRUE(turn_until([&] { return (outcome = sender_->peek(sent)).done; }));
  EXPECT_TRUE(outcome.ok);
}

TEST_F(Relayed, AReceiverThatTakesNothingStopsTheSenderAtTheRelaysMemory) {
  connect();
  ASSERT_TRUE(both_open());
  constexpr int kMessages = 64;
  std::vector<std::byte> message(1 << 20, std::byte{9});
  std::vector<engine::Operation> sends;
  for (int i = 0; i < kMessages; ++i) sends.push_back(sender_->send(1, bytes_of(message)).value());
  // The receiver has posted nothing: 4 MiB wait there, and the rest in the relays and the sender.
  turn_until_still();
  const RelayOptions options{.memory_bytes = kMemory, .most_sessions = 2};
  const uint64_t most = options.frames() * params::kFrameBytes;
  EXPECT_LE(near_->relay->counts().most_held_bytes, most);
  EXPECT_GE(near_->relay->counts().most_held_bytes, most / 2);
  EXPECT_FALSE(sender_->peek(sends.back()).done);
  std::vector<std::byte> arrived(1 << 20);
  for (int i = 0; i < kMessages; ++i) {
    const engine::Operation receive = receiver_->receive(1, bytes_of(arrived)).value();
    engine::Outcome outcome;
    ASSERT_TRUE(turn_until([&] { return (outcome = receiver_->peek(receive)).done; })) << i;
    ASSERT_EQ(arrived, message) << i;
  }
}

// They were taken with the next event only, and none followed where the sender had been stopped.
TEST_F(Relayed, AReceiveTakesTheFramesThatWaitedForMemory) {
  connect();
  ASSERT_TRUE(both_open());
  constexpr size_t kMessages = 16;
  std::vector<std::byte> message(1 << 20, std::byte{9});
  for (size_t i = 0; i < kMessages; ++i)
    sender_->forget(sender_->send(1, bytes_of(message)).value());
  turn_until_still();
  std::vector<std::vector<std::byte>> arrived(kMessages, std::vector<std::byte>(message.size()));
  size_t done = 0;
  for (std::vector<std::byte>& each : arrived) {
    done += receiver_->peek(receiver_->receive(1, bytes_of(each)).value()).done ? 1 : 0;
  }
  EXPECT_GT(done, params::kEarlyBytes / message.size());
}

TEST_F(Relayed, OtherDestinationsAreRefusedWithTheReason) {
  connect({near_->address()});  // which forwards to the other relay only
  ASSERT_TRUE(
      turn_until([this] { return sender_->status().state == engine::ConnectionState::kClosed; }));
  const Error error = sender_->status().error;
  EXPECT_EQ(error.code, ErrorCode::kPermission);
  EXPECT_NE(error.why.find("not among the relay's destinations"), std::string::npos) << error.why;
  ASSERT_TRUE(turn_until([this] { return !near_->reports.empty(); }));
  EXPECT_TRUE(near_->reports[0].refused);
}

TEST_F(Relayed, ADestinationThatIsAwayEndsTheFirstAttempt) {
  Station lost("127.0.0.1:9");  // discard: no program
  sender_ = RelayedLink::connect(*client_, {lost.address()}, "127.0.0.1:9", 1).value();
  ASSERT_TRUE(turn_until([&] {
    lost.turn();
    return sender_->status().state == engine::ConnectionState::kClosed;
  }));
  EXPECT_NE(sender_->status().error.what.find("cannot connect to 127.0.0.1:9"), std::string::npos)
      << sender_->status().error.message();
}

TEST_F(Relayed, ABreakThatIsLongerThanTheTimeoutEndsBothEnds) {
  connect({near_->address(), far_->address()}, {.reconnect_timeout = millis(400)});
  acceptor_.emplace(*server_, 8, LinkOptions{.reconnect_timeout = millis(400)});
  ASSERT_TRUE(both_open());
  near_->kill();
  ASSERT_TRUE(turn_until([this] {
    return sender_->status().state == engine::ConnectionState::kClosed &&
           receiver_->status().state == engine::ConnectionState::kClosed;
  }));
  EXPECT_EQ(sender_->status().error.code, ErrorCode::kTimeout);
  EXPECT_EQ(receiver_->status().error.code, ErrorCode::kTimeout);
}

TEST_F(Relayed, AProgramThatWasStartedAnewDoesNotContinueTheSession) {
  connect();
  ASSERT_TRUE(both_open());
  acceptor_.emplace(*server_, 8);  // it knows of no session, as that of a new program
  near_->kill();
  near_->start();
  ASSERT_TRUE(
      turn_until([this] { return sender_->status().state == engine::ConnectionState::kClosed; }));
  EXPECT_NE(sender_->status().error.why.find("no longer knows it"), std::string::npos)
      << sender_->status().error.message();
}

TEST_F(Relayed, AMessageLargerThanItsReceiveFailsThatReceiveOnly) {
  connect();
  ASSERT_TRUE(both_open());
  std::vector<std::byte> large(100'000, std::byte{1});
  std::vector<std::byte> small(50'000, std::byte{2});
  std::vector<std::byte> first(50'000);
  std::vector<std::byte> second(50'000);
  for (auto* each : {&large, &small}) sender_->forget(sender_->send(3, bytes_of(*each)).value());
  const engine::Operation receives[] = {receiver_->receive(3, bytes_of(first)).value(),
                                        receiver_->receive(3, bytes_of(second)).value()};
  engine::Outcome outcome;
  ASSERT_TRUE(turn_until([&] { return (outcome = receiver_->peek(receives[0])).done; }));
  EXPECT_FALSE(outcome.ok);
  EXPECT_EQ(outcome.error, ErrorCode::kTruncated);
  ASSERT_TRUE(turn_until([&] { return (outcome = receiver_->peek(receives[1])).done; }));
  EXPECT_TRUE(outcome.ok);
  EXPECT_EQ(first, std::vector<std::byte>(50'000)) << "nothing was written";
  EXPECT_EQ(second, small);
}

TEST_F(Relayed, PostsBeyondTheLimitsAreRefused) {
  connect();
  std::vector<std::byte> message(10);
  EXPECT_EQ(sender_->send(params::kChannels, bytes_of(message)).error().code, ErrorCode::kInvalid);
  const engine::MessageBytes long_one{.start = message.data(),
                                      .bytes = params::kLongestMessage + 1};
  EXPECT_EQ(sender_->send(1, long_one).error().code, ErrorCode::kInvalid);
  for (size_t i = 0; i < params::kMostPosted; ++i) {
    ASSERT_TRUE(sender_->receive(1, bytes_of(message)));
  }
  EXPECT_EQ(sender_->receive(1, bytes_of(message)).error().code, ErrorCode::kExhausted);
}

// Connections that send no hello, at a relay and at a program's end.
TEST_F(Relayed, StrangersThatSendOtherBytesEndThemselvesOnly) {
  connect();
  ASSERT_TRUE(both_open());
  const std::string addresses[] = {near_->address(), datapath::to_text(server_->local_address())};
  const std::string texts[] = {"GET / HTTP/1.1", std::string(params::kFrameBytes, '\3'), "\5", ""};
  const auto stranger = open_on_loopback();
  std::vector<std::byte> answer(params::kFrameBytes);
  for (const std::string& address : addresses) {
    for (const std::string& text : texts) {
      const engine::Connection connection = stranger->connect(address, 0).value();
      const auto sent = stranger->send(connection, kFrameChannel, text.data(), text.size());
      if (sent) stranger->forget(*sent);
      stranger->forget(
          stranger->receive(connection, kFrameChannel, answer.data(), answer.size()).value());
      ASSERT_TRUE(turn_until([&] {
        stranger->progress(Nanos{});
        return stranger->status(connection).state == engine::ConnectionState::kClosed;
      })) << address
          << " " << text.substr(0, 10);
      stranger->abort(connection);
    }
  }
  transfer(10, 5, [](int) {});
}

// At a relay and at a program's end: a hello of before the first version, and one of the next.
TEST_F(Relayed, AHelloOfAnotherVersionIsRefusedWithTheSideToUpgrade) {
  connect();
  ASSERT_TRUE(both_open());
  const std::vector<std::byte> older{std::byte{1}, std::byte{9}};
  const std::vector<std::byte> newer{static_cast<std::byte>(FrameKind::kHello),
                                     static_cast<std::byte>(params::kVersion + 1), std::byte{0}};
  const auto stranger = open_on_loopback();
  for (const std::string& address :
       {near_->address(), datapath::to_text(server_->local_address())}) {
    const Frame to_older = refusal_of(*stranger, address, older);
    EXPECT_EQ(to_older.error.code, ErrorCode::kVersion);
    EXPECT_EQ(to_older.error.todo, "upgrade heddle on the machine that begins the session");
    const Frame to_newer = refusal_of(*stranger, address, newer);
    EXPECT_EQ(to_newer.error.code, ErrorCode::kVersion);
    EXPECT_EQ(to_newer.error.todo, "upgrade heddle on the machine that refuses it");
    EXPECT_NE(to_newer.error.what.find(address), std::string::npos) << to_newer.error.what;
  }
}

TEST_F(Relayed, SessionsBeyondTheLimitGetTheReason) {
  connect({far_->address()});
  ASSERT_TRUE(both_open());
  const std::string server = datapath::to_text(server_->local_address());
  const auto second = RelayedLink::connect(*client_, {far_->address()}, server, 1).value();
  ASSERT_TRUE(turn_until([&] {
    second->step();
    return second->status().state == engine::ConnectionState::kOpen;
  }));
  const auto third = RelayedLink::connect(*client_, {far_->address()}, server, 1).value();
  ASSERT_TRUE(turn_until([&] {
    second->step();
    third->step();
    return third->status().state == engine::ConnectionState::kClosed;
  }));
  EXPECT_EQ(third->status().error.code, ErrorCode::kExhausted);
  EXPECT_NE(third->status().error.why.find("2 sessions already"), std::string::npos)
      << third->status().error.message();
}

TEST(RelayOptions, TooLittleMemoryNamesWhatSuffices) {
  const auto checked = Relay::check({.memory_bytes = 4 << 20, .most_sessions = 100});
  ASSERT_FALSE(checked);
  EXPECT_NE(checked.error().why.find("at least 101 MiB"), std::string::npos) << checked.error().why;
  EXPECT_TRUE(Relay::check({.memory_bytes = 101 << 20, .most_sessions = 100}));
}

TEST(Destinations, OnlyWhatIsListed) {
  const auto allowed = Destinations::make({"127.0.0.1:18700", "127.0.0.2"}).value();
  EXPECT_TRUE(allowed.find("127.0.0.1:18700"));
  EXPECT_FALSE(allowed.find("127.0.0.1:18701"));
  EXPECT_TRUE(allowed.find("127.0.0.2:1"));
  EXPECT_FALSE(allowed.find("127.0.0.3:18700"));
  EXPECT_FALSE(allowed.find("localhost:18700")) << "a name that was not given is not resolved";
  EXPECT_FALSE(allowed.find("127.0.0.2"));
  EXPECT_FALSE(allowed.find(""));
  // These a resolver would be asked for, while all sessions wait.
  EXPECT_FALSE(allowed.find("999.999.999.999:18700"));
  EXPECT_FALSE(allowed.find("127.0.0.:18700"));
  EXPECT_FALSE(Destinations::make({"host:0"}));
}

}  // namespace
}  // namespace heddle::relaying
