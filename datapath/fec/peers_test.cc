// Who is sent announcements and parity, and what a peer more than there are places costs.
#include "datapath/fec/peers.h"

#include <gtest/gtest.h>

namespace heddle::datapath {
namespace {

using transport::Address;

Address peer(size_t number, uint16_t port = 4791) {
  Address address;
  address.host[14] = static_cast<uint8_t>(number >> 8);
  address.host[15] = static_cast<uint8_t>(number);
  address.port = port;
  return address;
}

class FecPeersTest : public testing::Test {
 protected:
  // Sends once to each of the first `count`; returns the number of announcements.
  size_t send_to(size_t count) {
    size_t made = 0;
    for (size_t i = 0; i < count; ++i) {
      if (!peers_.on_send(now_, peer(i)).announce) continue;
      peers_.on_announced(now_, peer(i));
      ++made;
    }
    return made;
  }

  FecPeers peers_;
  Nanos now_ = seconds(100);
};

TEST_F(FecPeersTest, AnnouncementsAreFrequentAtFirstOnly) {
  size_t made = 0;
  for (int i = 0; i < 1'000; ++i, now_ += millis(10)) made += send_to(1);
  EXPECT_GE(made, fec_params::kFirstAnnouncements);
  EXPECT_LE(made, fec_params::kFirstAnnouncements + 10);
  peers_.on_announcement(now_, peer(0), 4791);
  made = 0;
  for (int i = 0; i < 500; ++i, now_ += millis(10)) made += send_to(1);
  EXPECT_LE(made, 6u);
}

TEST_F(FecPeersTest, AskingAgainBeforeTheAnnouncementLeavesChangesNothing) {
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(peers_.on_send(now_, peer(1)).announce);
  peers_.on_announced(now_, peer(1));
  EXPECT_FALSE(peers_.on_send(now_, peer(1)).announce);
}

// Once each peer beyond the table pushed out another one, which was announced to anew.
TEST_F(FecPeersTest, MorePeersThanPlacesPushNoPeerInUseOut) {
  constexpr size_t kMany = fec_params::kMostPeers + 200;
  size_t made = 0;
  for (int i = 0; i < 500; ++i, now_ += millis(20)) {
    made += send_to(kMany);
    if (i != 0) continue;
    EXPECT_EQ(made, fec_params::kMostPeers);
    for (size_t each = 0; each < fec_params::kMostPeers; ++each) {
      ASSERT_TRUE(peers_.on_announcement(now_, peer(each), 4791)) << each;
    }
  }
  EXPECT_LE(made, 12 * fec_params::kMostPeers);
  for (size_t each = 0; each < fec_params::kMostPeers; ++each) {
    ASSERT_TRUE(peers_.on_send(now_, peer(each)).reads_parity) << each;
    ASSERT_TRUE(peers_.takes_part(now_, peer(each, 9))) << each;
  }
  const FecPeers::Sending further = peers_.on_send(now_, peer(kMany - 1));
  EXPECT_FALSE(further.announce || further.reads_parity);
  EXPECT_FALSE(peers_.on_announcement(now_, peer(kMany - 1), 4791));
  EXPECT_FALSE(peers_.takes_part(now_, peer(kMany - 1)));
}

TEST_F(FecPeersTest, APeerThatNothingIsSentToMakesPlace) {
  send_to(fec_params::kMostPeers);
  const Address further = peer(5'000);
  EXPECT_FALSE(peers_.on_send(now_, further).announce);
  now_ += fec_params::kInUse - nanos(1);
  send_to(fec_params::kMostPeers - 1);
  EXPECT_FALSE(peers_.on_send(now_, further).announce);
  now_ += nanos(1);
  EXPECT_TRUE(peers_.on_send(now_, further).announce);
  EXPECT_FALSE(peers_.on_announcement(now_, peer(fec_params::kMostPeers - 1), 4791));
  EXPECT_TRUE(peers_.on_announcement(now_, peer(0), 4791));
}

TEST_F(FecPeersTest, AHostTakesPartWithOneOfItsPorts) {
  for (const uint16_t port : {1, 2, 3}) peers_.on_send(now_, peer(7, port));
  EXPECT_FALSE(peers_.takes_part(now_, peer(7)));
  EXPECT_FALSE(peers_.on_announcement(now_, peer(7), 4));
  EXPECT_TRUE(peers_.on_announcement(now_, peer(7), 3));
  EXPECT_TRUE(peers_.takes_part(now_, peer(7)));
  EXPECT_TRUE(peers_.takes_part(now_, peer(7, 65'535)));
  EXPECT_FALSE(peers_.takes_part(now_, peer(6)) || peers_.takes_part(now_, peer(8)));
  EXPECT_FALSE(peers_.on_send(now_, peer(7, 1)).reads_parity);
  EXPECT_TRUE(peers_.on_send(now_, peer(7, 3)).reads_parity);
  now_ += fec_params::kAnnouncedFor;
  EXPECT_FALSE(peers_.takes_part(now_, peer(7)));
}

}  // namespace
}  // namespace heddle::datapath
