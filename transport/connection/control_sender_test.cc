// ControlSender: what a probe that the payload's strategy sends leaves for other control packets.
#include "transport/connection/control_sender.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "transport/connection/parts.h"
#include "transport/testing/send_fixture.h"

namespace heddle::transport {
namespace {

// Sends the probes of all paths itself, and has no record left for any.
class WithoutRecords final : public PayloadStrategy {
 public:
  using PayloadStrategy::PayloadStrategy;
  bool claims_probe(uint16_t) override { return true; }
  void send_probe(Nanos, TxBatch&, uint16_t) override { ++probes; }

  int probes = 0;
};

class ControlSenderTest : public ::testing::Test {
 protected:
  ControlSenderTest() {
    SendOptions options;
    options.paths = 2;
    options.largest_datagram = SendController::kBaseDatagram;
    options.controller = std::make_unique<FixedController>();
    options.selector = make_selector("round_robin");
    options.peer_window_bytes = 1'000'000;
    options.first_rtt = micros(100);
    parts_.acks.open(2);
    parts_.sender.open(now_, std::move(options));
    parts_.payload = &payload_;
  }
  static EndpointOptions options() {
    EndpointOptions options;
    options.reply_port = 5;
    return options;
  }
  // Sends what is never acknowledged, until a path is to be probed.
  void await_probe() {
    for (const uint16_t path : {0, 1}) {
      SentBurst* burst = parts_.sender.record(path, 1);
      ASSERT_NE(burst, nullptr);
      parts_.sender.sent(now_, path);
    }
    while (!parts_.sender.wants_probe()) {
      ASSERT_NE(parts_.sender.next_timeout(), Nanos::never());
      now_ = parts_.sender.next_timeout();
      parts_.sender.handle_timeout(now_);
    }
  }

  Nanos now_ = seconds(100);
  Shared shared_{options(), 1, nullptr};
  Keeper listener_;
  ConnectionParts parts_{shared_, ConnectionIdentity(1, 2, Address{}), listener_};
  ExtensionSet extensions_{parts_};
  ControlSender control_{parts_, extensions_};
  WithoutRecords payload_{parts_.sender, shared_.random};
};

// VOPR, seed 746389: the probe of a NIC's path for which no record was left held back the
// acknowledgements, and the host turned for nothing.
TEST_F(ControlSenderTest, AProbeForWhichNoRecordIsLeftHoldsNothingBack) {
  await_probe();
  parts_.reports_due = true;
  TxBatch batch;
  EXPECT_EQ(control_.send(now_, batch), SendResult::kSent);
  EXPECT_GT(payload_.probes, 0);
  EXPECT_FALSE(parts_.reports_due);
  EXPECT_FALSE(control_.due(now_));
}

}  // namespace
}  // namespace heddle::transport
