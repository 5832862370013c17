// The packets of the attacker: see hostile.h.
#include "tests/vopr/hostile.h"

#include <algorithm>
#include <array>

#include "tests/vopr/machine.h"
#include "transport/recovery/received_numbers.h"
#include "transport/wire/control.h"
#include "transport/wire/handshake.h"
#include "transport/wire/packet.h"

namespace heddle::vopr {

using transport::DataHeader;
using transport::PacketType;

namespace {

// Packet numbers that no path reaches, so that a forged packet cannot be mistaken for a real one,
// but within the distance that a sender may be ahead, so that packets are dropped for their other
// invalid field.
constexpr uint64_t kFarNumber = transport::ReceivedNumbers::kMostAhead / 2;

}  // namespace

Hostile::Hostile(simulator::Network& network, const Ledger& ledger, const Options& options)
    : network_(network),
      ledger_(ledger),
      options_(options),
      random_(options.seed ^ 0x686f7374),
      agent_(network.add_agent(*this)),
      left_(options.faults.hostile_packets),
      every_(options.faults_for / (int64_t{left_} + 1)) {
  if (left_ > 0) network.schedule(agent_, network.now() + every_);
}

Hostile::~Hostile() { network_.remove_agent(agent_); }

void Hostile::run(Nanos now) {
  send_one();
  if (--left_ > 0) network_.schedule(agent_, now + every_);
}

const Side* Hostile::any_side() {
  const auto& sides = ledger_.sides();
  return sides.empty() ? nullptr : sides[random_.below(sides.size())].get();
}

void Hostile::send_one() {
  const auto hosts = options_.hosts.size();
  const auto from = static_cast<uint32_t>(random_.below(hosts));
  const auto to = static_cast<uint32_t>(random_.below(hosts));
  const Side* side = any_side();
  const transport::WireId stranger = random_.next();
  switch (random_.below(6)) {
    case 0:
      return send_garbage(from, to);
    case 1:
      return send_handshake(from, to);
    case 2:
      return send_answer(from, to, side != nullptr ? side->id : static_cast<uint32_t>(stranger));
    case 3:
      if (side != nullptr) send_data(*side, stranger);
      return;
    default:
      if (side == nullptr) return;
      return random_.below(2) == 0 ? send_data(*side, side->wire_id)
                                   : send_control(*side, side->wire_id);
  }
}

void Hostile::send(uint32_t from, uint32_t to, std::span<const std::byte> packet) {
  // Sometimes to a port that only sends, or to an unused one.
  const uint64_t dice = random_.below(20);
  const uint16_t port = dice == 0 ? 32'770 : dice == 1 ? 9 : Machine::kPort;
  network_.inject(simulator::address_of(from, port_of_peer()), simulator::address_of(to, port),
                  packet);
}

uint16_t Hostile::port_of_peer() { return static_cast<uint16_t>(40'000 + random_.below(20'000)); }

void Hostile::send_garbage(uint32_t from, uint32_t to) {
  std::array<std::byte, 600> packet;
  for (std::byte& byte : packet) byte = static_cast<std::byte>(random_.next());
  // Often with a valid first byte, which passes the first check.
  if (random_.below(3) != 0) {
    const auto type = static_cast<PacketType>(random_.below(16));
    const auto version = static_cast<uint8_t>(random_.below(4) == 0 ? random_.below(16) : 1);
    packet[0] = std::byte{transport::first_byte(type, version)};
  }
  const size_t bytes = random_.below(3) == 0 ? random_.below(45) : random_.below(packet.size());
  send(from, to, std::span(packet).first(std::max<size_t>(bytes, 1)));
}

// Inits that are too short, of another version, with a wrong cookie, or without a cookie and from
// an unused address.
void Hostile::send_handshake(uint32_t from, uint32_t to) {
  transport::InitPacket init;
  init.reply_port = Machine::kPort;
  init.connection = static_cast<uint32_t>(random_.next());
  init.wire_id = random_.next();
  init.nonce = random_.next();
  init.has_cookie = random_.below(2) == 0;
  for (std::byte& byte : init.cookie) byte = static_cast<std::byte>(random_.next());
  init.parameters.max_datagram_bytes = 1472;
  init.parameters.max_paths = init.parameters.max_channels = init.parameters.max_posted = 1;
  std::array<std::byte, transport::kInitBytes> packet;
  size_t bytes = transport::write_init(init, packet);
  if (random_.below(4) == 0) bytes = random_.between(8, bytes);
  if (random_.below(4) == 0) packet[0] = std::byte{transport::first_byte(PacketType::kInit, 2)};
  send(from, to, std::span(packet).first(bytes));
}

// Guessed replies to handshakes in progress, from a host that does not see them; and resets from
// unknown hosts.
void Hostile::send_answer(uint32_t from, uint32_t to, uint32_t id) {
  std::array<std::byte, transport::kInitBytes> packet;
  size_t bytes = 0;
  switch (random_.below(4)) {
    case 0:
      bytes = transport::write_refuse({id, random_.next(), transport::RefuseReason::kFull}, packet);
      break;
    case 1:
      bytes = transport::write_retry({id, random_.next(), {}}, packet);
      break;
    case 2:
      bytes = transport::write_version({id, random_.next()}, packet);
      break;
    default:
      bytes = transport::write_reset({random_.next()}, packet);
      break;
  }
  send(from, to, std::span(packet).first(bytes));
}

// Data in the peer's name, with one invalid field.
void Hostile::send_data(const Side& side, transport::WireId id) {
  DataHeader header;
  header.base.type = PacketType::kData;
  header.base.connection = id;
  header.base.number = kFarNumber + random_.below(1000);
  header.base.reply_port = Machine::kPort;
  header.message_bytes = 4;
  uint32_t payload = 4;
  const transport::EndpointOptions& own = options_.hosts[side.host].endpoint;
  switch (random_.below(9)) {
    case 8:
      header.base.number = random_.between(2 * transport::ReceivedNumbers::kMostAhead, INT64_MAX);
      break;
    case 7:  // on an unused channel, too large for an eager message
      if (options_.workload.channels >= own.max_channels) return;
      header.channel = static_cast<uint16_t>(own.max_channels - 1);
      header.sequence = transport::kFirstSequence;
      header.message_bytes = own.eager_block_bytes + 1;
      break;
    case 0:
      header.base.path = own.max_paths;
      break;
    case 1:
      header.base.number = 0;
      break;
    case 2:
      header.channel = static_cast<uint16_t>(own.max_channels);
      break;
    case 3:
      header.message_bytes = 2;
      break;
    case 4:
      header.message_bytes = UINT32_MAX;
      break;
    case 5:
      header.sequence = static_cast<uint32_t>(random_.between(1u << 20, 1u << 30));
      break;
    default:
      payload = 0;
      break;
  }
  std::array<std::byte, transport::kDataHeaderBytes + 4> packet{};
  transport::write_data_header(header, packet.data());
  if (side.peer_host >= options_.hosts.size()) return;
  send(side.peer_host, side.host, std::span(packet).first(transport::kDataHeaderBytes + payload));
}

// Control packets in the peer's name with invalid frames.
void Hostile::send_control(const Side& side, transport::WireId id) {
  transport::ConnectionHeader header;
  header.connection = id;
  header.reply_port = Machine::kPort;
  std::array<std::byte, 200> packet{};
  transport::Writer writer{std::span(packet).subspan(transport::kConnectionHeaderBytes)};
  switch (random_.below(3)) {
    case 0:
      header.flags = 0x80;
      break;
    case 1:
      writer.put(static_cast<uint8_t>(0xee));
      break;
    default: {
      const uint16_t channel =
          static_cast<uint16_t>(options_.hosts[side.host].endpoint.max_channels);
      transport::write_cancel(transport::FrameType::kCancelSend, {channel, 0}, writer);
      break;
    }
  }
  transport::write_connection_header(header, packet.data());
  if (side.peer_host >= options_.hosts.size()) return;
  send(side.peer_host, side.host, std::span(packet).first(packet.size() - writer.left()));
}

Foreign::Foreign(simulator::Network& network, simulator::NicId nic) : network_(network), nic_(nic) {
  network.attach(nic, kPort, *this);
}

Foreign::~Foreign() { network_.detach(nic_, kPort); }

void Foreign::handle_packet(simulator::PacketId id) {
  simulator::PacketStore& packets = network_.packets();
  const simulator::Packet& packet = packets[id];
  const std::span<const std::byte> bytes{packets.bytes(packet), packet.header_bytes};
  transport::InitPacket init;
  if (packet.kind == simulator::PacketKind::kDatagram && transport::read_init(bytes, init)) {
    std::array<std::byte, transport::kInitBytes> answer;
    const size_t length = transport::write_version(
        {init.connection, init.nonce, transport::kWireVersion + 1, transport::kWireVersion + 2},
        answer);
    const transport::Address to = simulator::address_of(packet.from_nic, init.reply_port);
    network_.inject(address(), to, std::span(answer).first(length));
  }
  packets.give_back(id);
}

}  // namespace heddle::vopr
