// A peer that advertises several NICs: what is sent to an unvalidated address, and what is sent to
// a peer without this feature.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "transport/testing/pair_fixture.h"
#include "transport/wire/control.h"
#include "transport/wire/handshake.h"

namespace heddle::transport::testing {
namespace {

// An address of a host that takes no part in the connection.
Address victim() {
  Address address;
  address.host[0] = 0x20;
  address.host[15] = 9;
  address.port = 101;
  return address;
}

class NicsEndpointTest : public PairFixture {
 protected:
  // Each side names `further` beside its own address; both count what leaves to it.
  PairOptions naming(std::vector<Address> further) {
    PairOptions options;
    options.adjust = [further](int side, EndpointOptions& endpoint) {
      Address own;
      own.host[15] = static_cast<uint8_t>(1 + side);
      endpoint.nics = {own};
      endpoint.nics.insert(endpoint.nics.end(), further.begin(), further.end());
    };
    options.watch_burst = [this](int side, const TxBurst& burst) {
      if (burst.nic != 0 && burst.to.host == pair_->address(1 - side).host) ++other_nic_;
      if (burst.to.host == pair_->address(1 - side).host) return;
      ++probes_[side];
      EXPECT_EQ(burst.segments, 1u);
      EXPECT_EQ(burst.last_payload_bytes, 0u);
      EXPECT_LE(burst.header_bytes, 64u);
      EXPECT_EQ(burst.key == nullptr, !keyed_);
    };
    return options;
  }

  uint32_t probes_[2] = {0, 0};
  uint32_t other_nic_ = 0;
  bool keyed_ = false;
};

TEST_F(NicsEndpointTest, AnAddressThatHasNotAnsweredGetsProbesOnly) {
  start(naming({victim()}));
  pair_->run_for(seconds(60));
  for (OperationId i = 1; i <= 20; ++i) {
    ASSERT_TRUE(exchange(i));
    pair_->run_for(seconds(1));
  }
  for (const uint32_t probes : probes_) {
    EXPECT_GE(probes, 8u) << "it is looked for";
    EXPECT_LE(probes, 18u) << "in 80 seconds";
  }
}

TEST_F(NicsEndpointTest, WithKeysAsWell) {
  keyed_ = true;
  PairOptions options = naming({victim()});
  options.endpoint.keys.resize(1);
  start(options);
  pair_->run_for(seconds(20));
  ASSERT_TRUE(exchange(1));
  EXPECT_GE(probes_[0], 5u);
  EXPECT_LE(probes_[0], 12u);
}

// In the first second, before anything that could be called an answer: less than an init.
TEST_F(NicsEndpointTest, ManyAddressesOfOthersGetLessThanTheInitThatNamedThem) {
  std::vector<Address> many;
  for (uint8_t i = 0; i < 7; ++i) {
    many.push_back(victim());
    many.back().host[14] = i;
  }
  uint64_t bytes = 0;
  PairOptions options = naming(many);
  const auto count = options.watch_burst;
  options.watch_burst = [&](int side, const TxBurst& burst) {
    count(side, burst);
    if (side == 1 && burst.to.host != pair_->address(0).host) bytes += burst.header_bytes;
  };
  start(options, {.paths = 8});
  EXPECT_LE(bytes, kInitBytes);
  pair_->run_for(seconds(1));
  EXPECT_LE(bytes, 6 * kInitBytes);
}

// What a version 1 without several NICs sends and understands: no such parameter, no such feature.
TEST_F(NicsEndpointTest, APeerThatKnowsNothingOfItIsTalkedToAsBefore) {
  PairOptions options = naming({victim()});
  options.tamper = [](int, std::span<std::byte> frame) {
    const auto type = type_of(frame[0]);
    if (type != PacketType::kInit && type != PacketType::kAccept) return;
    const std::byte features[] = {std::byte{8}, std::byte{0}, std::byte{8}, std::byte{0}};
    const auto at =
        std::search(frame.begin(), frame.end(), std::begin(features), std::end(features));
    ASSERT_NE(at, frame.end());
    at[4] &= ~std::byte{static_cast<uint8_t>(kFeatureNics)};
    const std::byte nics[] = {std::byte{21}, std::byte{0}, std::byte{32}, std::byte{0}};
    const auto list = std::search(frame.begin(), frame.end(), std::begin(nics), std::end(nics));
    ASSERT_NE(list, frame.end());
    list[0] = std::byte{99};  // an unknown parameter
  };
  start(options);
  for (OperationId i = 1; i <= 5; ++i) ASSERT_TRUE(exchange(i));
  pair_->run_for(seconds(5));
  EXPECT_EQ(probes_[0] + probes_[1] + other_nic_, 0u);
  EXPECT_EQ(end(0).statistics().datagrams_dropped, 0u);
  EXPECT_EQ(end(1).statistics().datagrams_dropped, 0u);
}

// A connection ends 200 ms after its peer's port was refused, if nothing is heard meanwhile.
TEST_F(NicsEndpointTest, ARefusedPortAtAnAdvertisedAddressDoesNotEndTheConnection) {
  start(naming({victim()}));
  pair_->run_for(millis(50));
  pair_->pause(1, true);
  NetworkError error;
  error.kind = NetworkErrorKind::kRefused;
  error.to = victim();
  ConnectionHeader sent;
  sent.connection = end(1).wire_id(server_);
  std::array<std::byte, kConnectionHeaderBytes> header{};
  write_connection_header(sent, header.data());
  error.quoted_bytes = NetworkError::kMostQuoted;
  std::copy_n(header.begin(), error.quoted.size(), error.quoted.begin());
  end(0).handle_network_error(pair_->now(), error);
  pair_->run_for(seconds(1));
  EXPECT_EQ(end(0).connections(), 1u);
  error.to = pair_->address(1);
  NetworkError forged = error;
  for (const size_t byte : {size_t{0}, size_t{7}}) {
    forged.quoted = error.quoted;
    forged.quoted[kConnectionAt + byte] ^= std::byte{1};
    end(0).handle_network_error(pair_->now(), forged);
  }
  forged.quoted = error.quoted;
  forged.quoted_bytes = NetworkError::kMostQuoted - 1;
  end(0).handle_network_error(pair_->now(), forged);
  pair_->run_for(seconds(1));
  EXPECT_EQ(end(0).connections(), 1u) << "who sent it has not seen a packet of the connection";
  end(0).handle_network_error(pair_->now(), error);
  pair_->run_for(seconds(1));
  EXPECT_EQ(end(0).connections(), 0u) << "the one that it was met at does";
}

// A packet from an address that the peer did not advertise belongs to no connection.
TEST_F(NicsEndpointTest, PacketsFromAddressesThatWereNotAdvertisedAreDropped) {
  start(naming({victim()}));
  Address stranger = victim();
  stranger.host[3] = 1;
  std::array<std::byte, 40> packet{};
  packet[0] = std::byte{first_byte(PacketType::kControl)};
  const uint64_t id = end(1).wire_id(server_);
  std::memcpy(packet.data() + kConnectionAt, &id, sizeof id);
  const auto unknown = [this] {
    return end(1)
        .statistics()
        .drops_by_reason[static_cast<size_t>(events::DropReason::kUnknownConnection)];
  };
  const uint64_t before = unknown();
  pair_->inject(1, stranger, packet, 1, packet.size());
  EXPECT_EQ(unknown(), before + 1);
  pair_->inject(1, victim(), packet, 1, packet.size());
  EXPECT_EQ(unknown(), before + 1) << "from one that was told it is the peer's";
}

}  // namespace
}  // namespace heddle::transport::testing
