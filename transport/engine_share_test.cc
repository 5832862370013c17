// Which engine a datagram names, and that the ids an endpoint draws name its own.
#include "transport/engine_share.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <vector>

#include "transport/connection/connection_table.h"
#include "transport/wire/handshake.h"

namespace heddle::transport {
namespace {

constexpr EngineShare kThree{.index = 1, .count = 3};

std::vector<std::byte> of_connection(PacketType type, WireId id) {
  std::vector<std::byte> packet(kDataHeaderBytes);
  write_connection_header({.type = type, .connection = id}, packet.data());
  packet[0] = std::byte{first_byte(type)};
  return packet;
}

uint8_t of_init(uint32_t connection, uint16_t port, const EngineShare& share) {
  std::array<std::byte, kInitBytes> packet{};
  InitPacket init;
  init.connection = connection;
  init.reply_port = port;
  init.wire_id = 5;
  init.nonce = 0x1122334455667788;
  write_init(init, packet);
  return engine_of(packet, share);
}

TEST(EngineShare, PacketsOfAConnectionNameTheEngineByTheirId) {
  for (const PacketType type :
       {PacketType::kData, PacketType::kControl, PacketType::kRetransmission}) {
    for (const uint8_t engine : {uint8_t{0}, uint8_t{1}, uint8_t{2}}) {
      EXPECT_EQ(engine_of(of_connection(type, 0xfedcba9876543210 | engine), kThree), engine);
    }
    EXPECT_EQ(engine_of(of_connection(type, 3), kThree), kAnyEngine) << "there are three";
  }
}

TEST(EngineShare, AnswersInAHandshakeNameTheEngineByTheInitiatorsId) {
  std::array<std::byte, kInitBytes> space{};
  const auto of = [&space](size_t bytes) {
    return engine_of(std::span(space).first(bytes), kThree);
  };
  EXPECT_EQ(of(write_retry({.connection = 0x70002}, space)), 2);
  EXPECT_EQ(of(write_accept({.connection = 0x70001}, space)), 1);
  EXPECT_EQ(of(write_refuse({.connection = 0x70000}, space)), 0);
  EXPECT_EQ(of(write_version({.connection = 0x70006}, space)), 2);
}

TEST(EngineShare, AnInitKeepsItsEngineAndAPeersSuccessiveOnesTakeTurns) {
  for (uint32_t id = 0x10000; id < 0x10009; ++id) {
    EXPECT_EQ(of_init(id, 4000, kThree), of_init(id, 4000, kThree));
    EXPECT_EQ((of_init(id, 4000, kThree) + 1) % 3, of_init(id + 1, 4000, kThree));
  }
  std::set<uint8_t> of_peers;
  for (uint16_t port = 4000; port < 4003; ++port) of_peers.insert(of_init(0x10000, port, kThree));
  EXPECT_EQ(of_peers.size(), 3U);
}

TEST(EngineShare, ResetsConcernEveryEngineSinceThePeerChoseTheirId) {
  std::array<std::byte, kInitBytes> space{};
  const size_t bytes = write_reset({.connection = 1, .path = 2, .number = 3}, space);
  EXPECT_EQ(engine_of(std::span(space).first(bytes), kThree), kEveryEngine);
}

TEST(EngineShare, ParityNamesTheEngineAndItsAnnouncementConcernsEvery) {
  std::array<std::byte, 24> parity{std::byte{0x2b}, std::byte{1}, std::byte{1}};
  parity[kEngineParityIdAt] = std::byte{2};
  EXPECT_EQ(engine_of(parity, kThree), 2);
  parity[kEngineParityKindAt] = std::byte{0};
  EXPECT_EQ(engine_of(std::span(parity).first(8), kThree), kEveryEngine);
}

TEST(EngineShare, EveryShortOrUnknownDatagramNamesNoEngine) {
  const std::array<std::byte, 64> zeros{};
  for (size_t bytes = 0; bytes < zeros.size(); ++bytes) {
    EXPECT_EQ(engine_of(std::span(zeros).first(bytes), kThree), kAnyEngine);
  }
  std::vector<std::byte> init(24);
  init[0] = std::byte{first_byte(PacketType::kInit)};
  EXPECT_EQ(engine_of(init, kThree), kAnyEngine);
}

TEST(EngineShare, IdsOfAnEngineNameItAndAreDistinctAmongEngines) {
  std::set<ConnectionId> ids;
  for (uint8_t index = 0; index < 3; ++index) {
    EndpointOptions options;
    options.reply_port = 5;
    options.engine = {.index = index, .count = 3};
    Shared shared(options, Seed(7), nullptr);
    ConnectionTable table(shared, 100);
    for (int i = 0; i < 50; ++i) {
      Connection* const made = table.add({});
      ASSERT_NE(made, nullptr);
      EXPECT_EQ(made->id() & options.engine.mask(), index);
      EXPECT_EQ(made->wire_id() & options.engine.mask(), index);
      EXPECT_EQ(table.find(made->id()), made);
      EXPECT_EQ(table.find_named(made->wire_id()), made);
      EXPECT_TRUE(ids.insert(made->id()).second);
      if (i % 3 == 0) table.remove(*made);
    }
  }
}

TEST(EngineShare, SlotsAndEngineShareSixteenBits) {
  EndpointOptions options;
  options.reply_port = 5;
  options.engine = {.index = 15, .count = 16};
  Shared shared(options, Seed(7), nullptr);
  ConnectionTable table(shared, UINT32_MAX);
  uint32_t added = 0;
  Connection* last = nullptr;
  while (Connection* const made = table.add({})) {
    last = made;
    ++added;
  }
  EXPECT_EQ(added, 4095U);
  EXPECT_EQ(table.find(last->id()), last);
  EXPECT_EQ(table.find(last->id() - 1), nullptr) << "of engine 14";
}

}  // namespace
}  // namespace heddle::transport
