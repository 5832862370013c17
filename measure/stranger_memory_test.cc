// What all strangers together make a listener hold stays within the stated number, as the system
// counts it: a server in a process of its own, thousands of connections from this one that ask for
// all they can get, and one client that was there before and is not harmed.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>

#include "base/testing/sanitized.h"
#include "datapath/resolve.h"
#include "measure/client.h"
#include "measure/measurement.h"
#include "measure/server.h"

namespace heddle::measure {
namespace {

constexpr Bytes kEndpointBytes = mebibytes(104);
constexpr Bytes kTestBytes = mebibytes(256);
// Growth of an idle server's memory with its first client: threads, the system's buffers, the
// allocator's rounding.
constexpr int64_t kSlackBytes = 16 << 20;
constexpr size_t kStrangers = 2000;
constexpr size_t kGreedy = 60;  // that make everything grow which a peer can

int64_t resident_bytes(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/statm");
  int64_t pages = 0;
  file >> pages >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

engine::Options options_of(bool accept) {
  engine::Options options;
  options.transport.accept = accept;
  options.transport.default_paths = 1;
  options.transport.max_paths = 16;
  options.transport.stranger_bytes = kEndpointBytes;
  options.eager_bytes = mebibytes(8);
  return options;
}

// The server's process: sends its address to the parent, and serves until it is killed.
[[noreturn]] void serve(int report) {
  auto endpoint = engine::Endpoint::open({.bind = "127.0.0.1"}, options_of(true)).value();
  const std::string address = datapath::to_text(endpoint->local_address());
  if (write(report, address.data(), address.size()) < 0) _exit(1);
  close(report);
  Server server(
      *endpoint, [](const std::string&, const std::string&, const Json&) {}, kTestBytes);
  server.run(/*once=*/false, [] {});
  _exit(0);
}

class StrangerMemory : public testing::Test {
 protected:
  void SetUp() override {
    std::array<int, 2> report{};
    ASSERT_EQ(pipe2(report.data(), O_CLOEXEC), 0);
    server_ = fork();
    ASSERT_GE(server_, 0);
    if (server_ == 0) serve(report[1]);
    close(report[1]);
    std::array<char, 64> text{};
    const ssize_t got = read(report[0], text.data(), text.size());
    close(report[0]);
    ASSERT_GT(got, 0);
    address_.assign(text.data(), static_cast<size_t>(got));
  }
  void TearDown() override {
    kill(server_, SIGKILL);
    waitpid(server_, nullptr, 0);
  }

  std::string address_;
  pid_t server_ = -1;
};

void expect_served(Client& client) {
  Measurement measurement;
  measurement.options = {
      .test = "bw", .message_bytes = 1000, .window = 2, .duration = millis(20), .check = true};
  const Result<void> ran = run_test(client, measurement, [](const std::string&) {});
  ASSERT_TRUE(ran) << ran.error().message();
  EXPECT_EQ(measurement.wrong_messages(), 0U);
}

// Posts receives on all channels, for which the peer keeps state, and sends messages without
// receives there.
void be_greedy(engine::Endpoint& endpoint, engine::Connection connection,
               std::vector<std::byte>& memory) {
  constexpr uint32_t kMost = 4000;
  for (uint32_t i = 0; i < kMost; ++i) {
    const auto channel = static_cast<engine::Channel>(3 + i % 61);
    const auto posted = endpoint.receive(connection, channel, memory.data(), 64 + i % 7);
    if (!posted) break;
    endpoint.forget(*posted);
  }
  for (uint32_t i = 0; i < 16; ++i) {
    const auto sent =
        endpoint.send(connection, static_cast<engine::Channel>(3 + i), memory.data(), 32'000);
    if (sent) endpoint.forget(*sent);
  }
}

TEST_F(StrangerMemory, OfThousandsOfConnectionsStaysWithinTheStatedNumber) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's own memory is counted too";
  const auto good_end = engine::Endpoint::open({.bind = "127.0.0.1"}, options_of(false)).value();
  const auto good = Client::connect(*good_end, address_, 0, "heddle perf").value();
  expect_served(*good);
  const int64_t before = resident_bytes(server_);

  const auto strangers = engine::Endpoint::open({.bind = "127.0.0.1"}, options_of(false)).value();
  const std::string hello = Json{{"hello", kControlVersion}}.dump();
  const std::string request =
      to_json(TestOptions{
                  .test = "bw", .message_bytes = 128 << 10, .window = 8, .duration = seconds(60)})
          .dump();
  std::vector<std::byte> memory(32'000);
  std::vector<engine::Connection> held;
  size_t open = 0;
  size_t full = 0;
  int64_t most = 0;
  for (size_t i = 0; i < kStrangers; ++i) {
    const auto connection = strangers->connect(address_, 0);
    ASSERT_TRUE(connection) << connection.error().message();
    const Result<void> opened = strangers->wait_open(*connection, seconds(20));
    if (!opened) {
      full += opened.error().message().find("as many connections as it may") != std::string::npos
                  ? 1
                  : 0;
      strangers->abort(*connection);
      continue;
    }
    held.push_back(*connection);
    for (const std::string* text : {&hello, &request}) {
      const auto sent = strangers->send(*connection, kControlChannel, text->data(), text->size());
      if (sent) strangers->forget(*sent);
    }
    if (open++ < kGreedy) be_greedy(*strangers, *connection, memory);
    if (i % 50 == 0) most = std::max(most, resident_bytes(server_));
  }
  for (int i = 0; i < 20; ++i) {
    strangers->progress(millis(20));
    most = std::max(most, resident_bytes(server_));
  }
  for (const engine::Connection each : held) {  // accepted, and closed for want of memory
    full += strangers->status(each).state == engine::ConnectionState::kClosed ? 1 : 0;
  }
  const int64_t grown = most - before;
  std::printf(
      "[ MEASURED ] %zu of at most %zu strangers accepted, %zu refused or closed: %.1f MiB of "
      "%.0f\n",
      open, kStrangers, full, static_cast<double>(grown) / (1 << 20),
      static_cast<double>(kEndpointBytes.count + kTestBytes.count) / (1 << 20));
  EXPECT_GT(open, 100U);
  EXPECT_GT(full, 0U) << "the bound was not reached: the test shows nothing";
  EXPECT_LE(grown, static_cast<int64_t>(kEndpointBytes.count + kTestBytes.count) + kSlackBytes);
  // Who was there is not harmed: its connection lives, and it gets an answer. A test it may get
  // only once the strangers have gone: they have taken what there is for tests.
  EXPECT_TRUE(good->alive());
  const Result<Json> answer = good->ask(
      to_json(TestOptions{.test = "lat", .message_bytes = 1, .window = 1, .duration = millis(1)}),
      "ready");
  EXPECT_TRUE(answer || answer.error().code == ErrorCode::kExhausted) << answer.error().message();
}

}  // namespace
}  // namespace heddle::measure
