// RDMA tests: the lines between server and client, over ends that move no bytes.
#include "acceptance/rdma_tests.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "base/clocks.h"
#include "datapath/rdma_stream.h"
#include "lab/control_line.h"

namespace heddle::acceptance {
namespace {

constexpr const char* kHost = "127.0.0.1";
// Of this process, since tests run beside each other, and none that the system gives to clients.
const auto kPort = static_cast<uint16_t>(20'000 + getpid() % 4'000 * 3);

class FakeStream final : public datapath::RdmaStream {
 public:
  FakeStream(std::string end, std::string refused) : end_(std::move(end)), refused_(refused) {}

  std::string own_end() const override { return end_; }
  Result<void> connect(const std::string& peer_end) override {
    if (peer_end != refused_) return {};
    return fail(ErrorCode::kInvalid, "cannot test RC", "the other end says '" + peer_end + "'");
  }
  Result<void> send_until(Nanos /*end*/) override { return {}; }
  Result<std::vector<Nanos>> ping_until(Nanos /*end*/, size_t /*most*/) override {
    return std::vector<Nanos>{micros(40), micros(4), micros(6)};
  }
  Result<bool> serve() override { return false; }
  void wait(int descriptor, Nanos /*end*/) override {
    pollfd waits{descriptor, POLLIN, 0};
    poll(&waits, 1, 1'000);
  }
  datapath::RdmaArrived take_arrived() override { return {1'000'000, micros(10), micros(90), 3}; }

 private:
  std::string end_;
  std::string refused_;
};

OpenRdmaStream opens(const std::string& end, const std::string& refused = "") {
  return [=]() -> Result<std::unique_ptr<datapath::RdmaStream>> {
    return std::unique_ptr<datapath::RdmaStream>(new FakeStream(end, refused));
  };
}

// A test of both ends; the server's is made by `server`.
Result<RdmaResult> run(const OpenRdmaStream& server, Nanos latency = millis(1)) {
  const Nanos end = steady_now() + seconds(60);
  std::thread serving([&] {
    const auto line = lab::ControlLine::accept(kHost, kPort, kHost, end);
    ASSERT_TRUE(line) << line.error().message();
    EXPECT_TRUE(serve_rdma_line(*line, server, end));
  });
  Result<RdmaResult> result = [&]() -> Result<RdmaResult> {
    const auto line = lab::ControlLine::connect(kHost, kHost, kPort, end);
    if (!line) return fail(line.error());
    return run_rdma_line("cannot test RC with h1", *line, opens("client"), {latency, millis(1)});
  }();
  serving.join();
  return result;
}

TEST(RdmaTests, TheFiguresAreThePeersCountAndHalfOfTheMedianRoundTrip) {
  const Result<RdmaResult> result = run(opens("server"));
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_DOUBLE_EQ(result->bits_per_s, 1'000'000 * 8 / 80e-6);
  EXPECT_NEAR(result->us, 3, 0.02);  // LatencyHistogram's 0.4%
  EXPECT_EQ(result->changed_bytes, 3U);
}

// A real one's was over after 100,000 round trips, however long it should take.
TEST(RdmaTests, TheTestOfLatencyTakesItsWholeTime) {
  const Nanos start = steady_now();
  ASSERT_TRUE(run(opens("server"), millis(200)));
  EXPECT_GE(steady_now() - start, millis(200));
}

TEST(RdmaTests, TheClientReportsWhyTheServerRefuses) {
  const Result<RdmaResult> cannot = run([]() -> Result<std::unique_ptr<datapath::RdmaStream>> {
    return fail(ErrorCode::kUnavailable, "cannot open RDMA verbs", "no port has it");
  });
  ASSERT_FALSE(cannot);
  EXPECT_NE(cannot.error().message().find("no port has it"), std::string::npos)
      << cannot.error().message();
  const Result<RdmaResult> refused = run(opens("server", "client"));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("the other end says 'client'"), std::string::npos);
}

TEST(RdmaTests, AServerOfAnotherVersionIsNamed) {
  for (const std::string count : {"", "many bytes", "-5", "99999999999999999999999 1", "1000 50"}) {
    const Nanos end = steady_now() + seconds(60);
    std::thread serving([&] {
      const auto line = lab::ControlLine::accept(kHost, kPort, kHost, end);
      ASSERT_TRUE(line) << line.error().message();
      std::string text;
      for (const std::string& answer : {std::string("server"), std::string("ready"), count}) {
        ASSERT_TRUE(line->read(text, end));
        ASSERT_TRUE(line->send(answer, end));
      }
      EXPECT_EQ(text, "count");
    });
    const auto line = lab::ControlLine::connect(kHost, kHost, kPort, end);
    ASSERT_TRUE(line) << line.error().message();
    const Result<RdmaResult> result =
        run_rdma_line("cannot test RC with h1", *line, opens("client"), {millis(1), millis(1)});
    serving.join();
    ASSERT_FALSE(result) << count;
    EXPECT_EQ(result.error().code, ErrorCode::kVersion) << count;
  }
}

}  // namespace
}  // namespace heddle::acceptance
