// Server and client of ping and perf over loopback: what clients ask is served or refused with a
// reason, and no client can harm another or the server.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "datapath/resolve.h"
#include "measure/client.h"
#include "measure/measurement.h"
#include "measure/server.h"

namespace heddle::measure {
namespace {

std::unique_ptr<engine::Endpoint> open_on_loopback(bool accept) {
  engine::NetworkOptions network;
  network.bind = "127.0.0.1";
  engine::Options options;
  options.transport.accept = accept;
  return std::move(engine::Endpoint::open(network, options)).value();
}

constexpr Bytes kTestBytes = mebibytes(256);

// A server in a thread of its own that ends with its last client.
class Service : public testing::Test {
 protected:
  void SetUp() override {
    server_end_ = open_on_loopback(true);
    address_ = datapath::to_text(server_end_->local_address());
    client_end_ = open_on_loopback(false);
    thread_ = std::thread([this] {
      Server server(
          *server_end_, [](const std::string&, const std::string&, const Json&) {}, kTestBytes);
      all_well_ = server.run(/*once=*/true, [] {});
    });
  }
  void TearDown() override { thread_.join(); }

  std::unique_ptr<Client> connect() {
    return std::move(Client::connect(*client_end_, address_, 0, "heddle perf")).value();
  }

  static Json request() {
    return to_json(
        TestOptions{.test = "bw", .message_bytes = 1000, .window = 4, .duration = millis(20)});
  }

  std::unique_ptr<engine::Endpoint> server_end_;
  std::unique_ptr<engine::Endpoint> client_end_;
  std::string address_;
  std::thread thread_;
  std::atomic<bool> all_well_{false};
};

TEST_F(Service, RunsTestsOneAfterAnother) {
  const auto client = connect();
  for (const char* test : {"bw", "lat", "bw"}) {
    Measurement measurement;
    measurement.options = {.test = test,
                           .message_bytes = 5000,
                           .window = 3,
                           .duration = millis(200),  // a thread may wait for a core
                           .bidirectional = std::string_view(test) == "bw",
                           .check = true};
    const Result<void> ran = run_test(*client, measurement, [](const std::string&) {});
    ASSERT_TRUE(ran) << ran.error().message();
    EXPECT_TRUE(measurement.complete);
    EXPECT_EQ(measurement.wrong_messages(), 0U);
    EXPECT_GT(measurement.sent.messages + measurement.round_trips.count(), 0U);
  }
}

TEST_F(Service, RefusesImpossibleRequestsAndGoesOn) {
  const auto client = connect();
  const auto refused = [&](const char* field, const Json& value) {
    Json wrong = request();
    wrong[field] = value;
    const Result<Json> answer = client->ask(wrong, "ready");
    ASSERT_FALSE(answer) << wrong.dump();
    EXPECT_EQ(answer.error().code, ErrorCode::kInvalid) << wrong.dump();
  };
  for (const Json& size : {Json(0), Json(-1), Json(uint64_t{1} << 31), Json(UINT64_MAX), Json("x"),
                           Json(1.5), Json()}) {
    refused("message_bytes", size);
  }
  for (const Json& window : {Json(0), Json(-5), Json(1 << 20), Json::array()}) {
    refused("window", window);
  }
  refused("duration_ns", Json(0));
  refused("run", Json("quantum"));
  refused("run", Json(7));
  // It still serves.
  Measurement measurement;
  measurement.options = {.test = "bw", .message_bytes = 1000, .window = 2, .duration = millis(10)};
  EXPECT_TRUE(run_test(*client, measurement, [](const std::string&) {}));
}

TEST_F(Service, RefusesWhoDoesNotIntroduceItself) {
  const engine::Connection connection = client_end_->connect(address_, 0).value();
  ASSERT_TRUE(client_end_->wait_open(connection, seconds(60)));
  {
    engine::DirectLink link(*client_end_, connection);
    ControlChannel control(link);
    const auto ask = [&](const Json& message) {
      EXPECT_TRUE(control.send(message));
      while (true) {
        const auto answer = control.poll().value();
        if (answer) return error_from(*answer);
        client_end_->progress(seconds(60));
      }
    };
    EXPECT_NE(ask(request()).why.find("introduce"), std::string::npos);
    const Error older = ask({{"hello", kControlVersion - 1}});
    EXPECT_EQ(older.code, ErrorCode::kVersion);
    EXPECT_EQ(older.todo, "upgrade heddle on the client's machine");
    for (const uint64_t version : {uint64_t{kControlVersion} + 1, uint64_t{1} << 63}) {
      const Error newer = ask({{"hello", version}});
      EXPECT_EQ(newer.code, ErrorCode::kVersion);
      EXPECT_EQ(newer.todo, "upgrade heddle on the server's machine");
    }
    EXPECT_EQ(ask({{"hello", "me"}}).code, ErrorCode::kVersion);
    client_end_->abort(connection);
  }
}

TEST_F(Service, GivesAllClientsTogetherNoMoreMemoryThanTheirShare) {
  const auto client = connect();
  const auto ask = [](Client& who, TestOptions options) {
    options.duration = millis(10);
    return who.ask(to_json(options), "ready");
  };
  const uint64_t largest = uint64_t{1} << 30;
  for (const TestOptions& options :
       {TestOptions{.test = "bw", .message_bytes = largest, .window = 1024, .duration = {}},
        TestOptions{.test = "bw", .message_bytes = largest, .window = 1, .duration = {}},
        TestOptions{.test = "lat", .message_bytes = 64 << 20, .window = 1, .duration = {}},
        TestOptions{.test = "bw",
        .message_bytes = 64 << 20,
        .window = 2,
        .duration = {},
        .bidirectional = true}}) {
    const Result<Json> refused = ask(*client, options);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kExhausted);
    EXPECT_NE(refused.error().why.find("may have 256 MiB"), std::string::npos)
        << refused.error().why;
    EXPECT_NE(refused.error().todo.find("stranger_bytes"), std::string::npos);
  }
  // What gaps a client may leave counts as well: small messages in a wide window.
  const TestOptions gaps{.test = "bw",
                         .message_bytes = 32 << 10,
                         .window = 1024,
                         .duration = {},
                         .bidirectional = true};
  EXPECT_FALSE(ask(*client, gaps));
  // One takes most; another gets none while it lasts, and all once it has gone.
  const TestOptions most{.test = "bw", .message_bytes = 200 << 20, .window = 1, .duration = {}};
  {
    const auto greedy = connect();
    ASSERT_TRUE(ask(*greedy, most));
    const Result<Json> refused = ask(*client, most);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().why.find("is left"), std::string::npos) << refused.error().why;
    client_end_->abort(greedy->connection());
  }
  Result<Json> given = fail(ErrorCode::kSystem, "");
  for (int tries = 0; !given && tries < 2000; ++tries) given = ask(*client, most);
  EXPECT_TRUE(given);
}

// The largest test is made ready bit by bit: others are answered meanwhile.
TEST(ServiceMemory, OneClientsMemoryIsNotFoundAtOnce) {
  const auto server = open_on_loopback(true);
  MessageSlots slots = MessageSlots::make(*server, 40 << 20, 1, SlotContent::kZerosLater).value();
  EXPECT_FALSE(slots.find_memory(16 << 20));
  EXPECT_FALSE(slots.find_memory(16 << 20));
  EXPECT_TRUE(slots.find_memory(16 << 20));
  EXPECT_EQ(slots.slot(0).back(), std::byte{0});
}

TEST_F(Service, ClientThatAsksAndTakesNoAnswersIsEnded) {
  const auto other = connect();
  const engine::Connection connection = client_end_->connect(address_, 0).value();
  const std::string question = R"({"run": "quantum"})";
  std::vector<engine::Operation> asked;
  for (int i = 0; i < 100; ++i) {
    const auto sent =
        client_end_->send(connection, kControlChannel, question.data(), question.size());
    if (sent) asked.push_back(*sent);
  }
  while (client_end_->status(connection).state != engine::ConnectionState::kClosed) {
    ASSERT_TRUE(client_end_->progress(seconds(60)));
  }
  for (const engine::Operation each : asked) client_end_->wait(each, Nanos::never());
  client_end_->abort(connection);
  Measurement measurement;
  measurement.options = {.test = "bw", .message_bytes = 1000, .window = 2, .duration = millis(10)};
  EXPECT_TRUE(run_test(*other, measurement, [](const std::string&) {}));
}

TEST_F(Service, ControlMessageThatIsNoJsonEndsItsSessionOnly) {
  const auto other = connect();
  const engine::Connection connection = client_end_->connect(address_, 0).value();
  const std::string nonsense = "\xff\x00{]";
  const auto sent =
      client_end_->send(connection, kControlChannel, nonsense.data(), nonsense.size()).value();
  client_end_->forget(sent);
  while (client_end_->status(connection).state != engine::ConnectionState::kClosed) {
    ASSERT_TRUE(client_end_->progress(seconds(60)));
  }
  client_end_->abort(connection);
  Measurement measurement;
  measurement.options = {.test = "bw", .message_bytes = 1000, .window = 2, .duration = millis(10)};
  EXPECT_TRUE(run_test(*other, measurement, [](const std::string&) {}));
}

TEST_F(Service, ClientThatGoesInMidTestIsMissedByNobody) {
  const auto staying = connect();
  {
    const auto going = connect();
    ASSERT_TRUE(going->ask(request(), "ready"));
    client_end_->abort(going->connection());
  }
  Measurement measurement;
  measurement.options = {.test = "lat", .message_bytes = 64, .window = 1, .duration = millis(10)};
  EXPECT_TRUE(run_test(*staying, measurement, [](const std::string&) {}));
}

TEST(ErrorText, SurvivesTheWire) {
  const Error error{ErrorCode::kExhausted, "a", "b", "c"};
  const Error back = error_from(to_json(error));
  EXPECT_EQ(back.code, error.code);
  EXPECT_EQ(back.message(), error.message());
  EXPECT_FALSE(error_from(Json::parse(R"({"error": 5})")).what.empty());
  EXPECT_FALSE(error_from(Json::parse(R"({"error": {"code": 999, "what": 3}})")).what.empty());
}

TEST(Windows, KeepEnoughUnderWayWithinReason) {
  uint32_t before = window_for(1);
  EXPECT_GE(before, 16U);
  EXPECT_LE(before, 1'024U);
  for (uint64_t bytes = 2; bytes <= uint64_t{1} << 30; bytes *= 2) {
    const uint32_t window = window_for(bytes);
    EXPECT_LE(window, before) << bytes;
    if (bytes >= (uint64_t{1} << 20)) {
      EXPECT_GE(window * bytes, 7'500'000U) << bytes << ": 100 Gb/s over 0.6 ms";
    }
    if (window > 2) {
      EXPECT_LE(window * bytes, 64U << 20) << bytes;
    }
    before = window;
  }
  EXPECT_EQ(window_for(64 << 20), 2U);
  EXPECT_EQ(window_for(1 << 30), 1U);
}

}  // namespace
}  // namespace heddle::measure
