// ExtensionSet: which extensions a connection keeps, and who takes which frame.
#include "transport/extensions/extension_set.h"

#include <gtest/gtest.h>

#include <vector>

#include "transport/connection/parts.h"
#include "transport/extensions/credits.h"
#include "transport/extensions/nic_selection.h"
#include "transport/extensions/path_discovery.h"
#include "transport/extensions/remote_writes.h"
#include "transport/extensions/trimming.h"
#include "transport/testing/send_fixture.h"

namespace heddle::transport {
namespace {

constexpr Nanos kNow = seconds(100);

class ExtensionSetTest : public ::testing::Test {
 protected:
  static EndpointOptions options() {
    EndpointOptions options;
    options.reply_port = 5;
    return options;
  }
  // Opens with a peer that offers these features.
  void open(uint64_t features) {
    HandshakeParameters own;
    std::string congestion = "credits";
    extensions_.propose(nullptr, own, congestion);
    HandshakeParameters peer;
    peer.features = features;
    OpenPlan plan;
    plan.send.paths = 2;
    plan.send.largest_datagram = 1472;
    plan.send.controller = std::make_unique<FixedController>();
    plan.send.selector = make_selector("round_robin");
    extensions_.prepare(peer, plan);
    parts_.acks.open(4);
    parts_.sender.open(kNow, std::move(plan.send));
    extensions_.on_open(kNow, {own, peer, {}});
  }
  FrameResult receive(FrameType type, std::vector<std::byte> body) {
    Reader reader(body);
    return extensions_.on_frame(kNow, type, reader, {RxRun{}});
  }

  Shared shared_{options(), 1, nullptr};
  Keeper listener_;
  ConnectionParts parts_{shared_, ConnectionIdentity(1, 2, Address{}), listener_};
  ExtensionSet extensions_{parts_};
};

TEST_F(ExtensionSetTest, AnOpenConnectionKeepsOnlyTheExtensionsItNeeds) {
  open(kFeatureTrims);
  EXPECT_NE(extensions_.find<Trimming>(), nullptr);
  EXPECT_EQ(extensions_.find<PathDiscovery>(), nullptr);
  EXPECT_EQ(extensions_.find<Credits>(), nullptr);
  EXPECT_EQ(extensions_.find<NicSelection>(), nullptr);
  EXPECT_EQ(extensions_.find<RemoteWrites>(), nullptr);
  EXPECT_EQ(parts_.flow_control, nullptr);
  EXPECT_EQ(parts_.router, nullptr);
  EXPECT_EQ(parts_.payload, &parts_.datagrams);
}

TEST_F(ExtensionSetTest, AnExtensionThatWasNotNeededIsMadeWhenItIs) {
  open(0);
  PathDiscovery& made = extensions_.obtain<PathDiscovery>(parts_);
  EXPECT_EQ(extensions_.find<PathDiscovery>(), &made);
  EXPECT_EQ(&extensions_.obtain<PathDiscovery>(parts_), &made);
}

TEST_F(ExtensionSetTest, CreditsAreKeptWhereBothSidesAgree) {
  open(kFeatureCredits);
  EXPECT_NE(extensions_.find<Credits>(), nullptr);
  EXPECT_NE(parts_.flow_control, nullptr);
  extensions_.on_close();
  EXPECT_EQ(parts_.flow_control, nullptr);
}

TEST_F(ExtensionSetTest, AFrameOfAnExtensionThatIsNotNeededIsMalformed) {
  open(0);
  const std::vector<std::byte> body(64);
  EXPECT_FALSE(receive(FrameType::kCredit, body).readable);
  EXPECT_FALSE(receive(FrameType::kNicProbe, body).readable);
  EXPECT_FALSE(receive(FrameType::kFenced, body).readable);
}

TEST_F(ExtensionSetTest, AFrameOfNoExtensionIsMalformed) {
  open(0);
  EXPECT_FALSE(receive(static_cast<FrameType>(200), std::vector<std::byte>(64)).readable);
}

TEST_F(ExtensionSetTest, AReportOfAPacketThatWasNeverSentViolatesTheProtocol) {
  open(0);
  std::vector<std::byte> body(kTrimBytes);
  Writer writer(body);
  write_trim({0, 77}, writer);
  body.erase(body.begin());  // the type
  const FrameResult result = receive(FrameType::kTrimmed, body);
  EXPECT_TRUE(result.readable);
  EXPECT_NE(result.violation, nullptr);
}

TEST_F(ExtensionSetTest, ATrimmedPacketIsReportedOnceToAPeerThatReadsReports) {
  open(kFeatureTrims);
  EXPECT_FALSE(parts_.reports_due);
  ConnectionHeader header;
  header.number = 5;
  extensions_.on_truncated_packet(header);
  EXPECT_TRUE(parts_.reports_due);
  std::vector<std::byte> space(100);
  Writer writer(space);
  parts_.reports_due = false;
  extensions_.write_frames(kNow, writer);
  EXPECT_EQ(writer.left(), space.size() - kTrimBytes);
  EXPECT_FALSE(parts_.reports_due);
}

TEST_F(ExtensionSetTest, ATrimmedPacketIsNotReportedToAPeerThatReadsNone) {
  open(0);
  ConnectionHeader header;
  header.number = 5;
  extensions_.on_truncated_packet(header);
  EXPECT_FALSE(parts_.reports_due);
  EXPECT_EQ(parts_.statistics.segments_trimmed, 1u);
}

TEST_F(ExtensionSetTest, MemoryOfExtensionsThatWereDestroyedDoesNotCount) {
  const size_t before = extensions_.bytes_held();
  open(0);
  EXPECT_LT(extensions_.bytes_held(), before);
}

}  // namespace
}  // namespace heddle::transport
