// The actions of the byzantine peer: see byzantine.h.
#include "tests/vopr/byzantine.h"

#include <algorithm>
#include <array>
#include <string>

#include "tests/vopr/machine.h"

namespace heddle::vopr {

using transport::AcceptPacket;
using transport::InitPacket;
using transport::PacketType;
using transport::testing::ByzantineWords;

namespace {

// Packet numbers that no path reaches and no window allows.
constexpr uint64_t kNumbersTooFar[] = {uint64_t{1} << 31, uint64_t{1} << 32, uint64_t{1} << 62,
                                       INT64_MAX};
// Packets in one action.
constexpr uint64_t kMostAtOnce = 8;

}  // namespace

Byzantine::Byzantine(simulator::Network& network, const Ledger& ledger, const Options& options,
                     Reached& reached)
    : network_(network),
      ledger_(ledger),
      options_(options),
      reached_(reached),
      dice_(options.seed ^ 0x62797a616e74),
      words_(dice_),
      agent_(network.add_agent(*this)),
      nic_(static_cast<simulator::NicId>(dice_.below(options.hosts.size()))),
      left_(options.faults.byzantine.steps),
      every_(options.faults_for / (int64_t{left_} + 1)) {
  if (left_ == 0) return;
  network.attach(nic_, kByzantinePort, *this);
  listens_ = true;
  network.schedule(agent_, network.now() + every_);
}

Byzantine::~Byzantine() {
  left_ = 0;
  if (listens_) network_.detach(nic_, kByzantinePort);
  network_.remove_agent(agent_);
}

void Byzantine::fall_silent() {
  left_ = 0;
  if (listens_ && options_.faults.byzantine.vanishes) {
    network_.detach(nic_, kByzantinePort);
    listens_ = false;
  }
}

void Byzantine::run(Nanos now) {
  if (left_ == 0) return;
  act();
  if (--left_ > 0) network_.schedule(agent_, now + every_);
}

void Byzantine::act() {
  const ByzantineOptions& habits = options_.faults.byzantine;
  const uint64_t dice = dice_.below(100);
  const auto host = static_cast<uint32_t>(dice_.below(options_.hosts.size()));
  if (talks_.empty() || (dice < 10 && talks_.size() < habits.connections)) return ask(host);
  if (dice < 15 && habits.half_open) return ask_half();
  if (dice < 20 && habits.guesses) return guess();
  if (dice < 25 && habits.forges) return forge();
  Talk& talk = talks_[dice_.below(talks_.size())];
  if (!talk.open) {
    if (dice < 60) send_init(talk);
    return;
  }
  if (talk.abandoned) return;
  if (habits.abandons && dice < 27) {
    talk.abandoned = true;
    return count("abandoned");
  }
  speak(talk);
}

// Requests a connection. The first init has no cookie; handle_bytes() handles the reply.
void Byzantine::ask(uint32_t host) {
  Talk& talk = talks_.emplace_back();
  talk.host = host;
  talk.init.reply_port = kByzantinePort;
  talk.init.connection = static_cast<Id>(talks_.size());
  talk.init.wire_id = talks_.size();
  talk.init.nonce = dice_.below(UINT64_MAX);
  talk.init.sent_at = network_.now();
  talk.init.parameters = words_.draw_parameters(options_.faults.byzantine.posted);
  send_init(talk);
}

void Byzantine::send_init(const Talk& talk) {
  std::array<std::byte, transport::kInitBytes> packet{};
  const size_t bytes = transport::write_init(talk.init, packet);
  send(talk.host, std::span(packet).first(bytes));
}

// Requests a connection, with or without another one's cookie, and never answers the reply.
void Byzantine::ask_half() {
  Talk half;
  half.host = static_cast<uint32_t>(dice_.below(options_.hosts.size()));
  if (!talks_.empty()) half.init = talks_[dice_.below(talks_.size())].init;
  half.init.reply_port = kByzantinePort;
  half.init.connection = static_cast<Id>(1'000'000 + dice_.below(UINT32_MAX / 2));
  half.init.wire_id = half.init.connection;
  half.init.nonce = dice_.below(UINT64_MAX);
  half.init.parameters = words_.draw_parameters(options_.faults.byzantine.posted);
  count("half open");
  send_init(half);
}

void Byzantine::speak(Talk& talk) {
  std::array<std::byte, ByzantineWords::kMostBytes> packet;
  for (uint64_t more = 1 + dice_.below(kMostAtOnce); more > 0; --more) {
    const size_t bytes = words_.write_packet(network_.now(), talk.victim, packet);
    count(transport::testing::name_of(words_.latest()));
    send(talk.host, std::span(packet).first(bytes));
  }
}

// Guesses ids from a known one: those of connections of other peers that were made since.
void Byzantine::guess() {
  const Talk& known = talks_[dice_.below(talks_.size())];
  if (!known.open) return;
  transport::testing::Acquaintance other = known.victim;
  const uint64_t step = uint64_t{1 + dice_.below(3)} << (16 * dice_.below(2));
  other.id = dice_.below(2) == 0 ? other.id + step : other.id - step;
  other.habits = UINT32_MAX;
  other.sent = {};
  std::array<std::byte, ByzantineWords::kMostBytes> packet;
  size_t bytes = words_.write_packet(network_.now(), other, packet);
  if (dice_.below(4) == 0) {
    bytes = transport::write_reset(
        {other.id, static_cast<uint16_t>(dice_.below(4)), 1 + dice_.below(64)}, packet);
  }
  const auto host = static_cast<uint32_t>(dice_.below(options_.hosts.size()));
  count("guess");
  // From its own host, or with another host's address, as a process on a peer's host could send.
  const auto claimed = static_cast<uint32_t>(dice_.below(options_.hosts.size()));
  const transport::Address from =
      dice_.below(3) == 0 ? address() : simulator::address_of(claimed, Machine::kPort);
  network_.inject(from,
                  simulator::address_of(dice_.below(2) == 0 ? known.host : host, Machine::kPort),
                  std::span(packet).first(bytes));
}

// A packet in a peer's name, or with the right id from another host, that must not be accepted.
void Byzantine::forge() {
  const auto& sides = ledger_.sides();
  if (sides.empty()) return;
  const Side& side = *sides[dice_.below(sides.size())];
  const auto hosts = static_cast<uint32_t>(options_.hosts.size());
  if (side.ended() || !side.open || side.peer_host >= hosts) return;
  std::array<std::byte, ByzantineWords::kMostBytes> packet;
  const Side* peer = ledger_.peer_of(side);
  auto from = side.peer_host;
  size_t bytes = 0;
  transport::testing::Acquaintance victim;
  victim.id = side.wire_id;
  victim.reply_port = Machine::kPort;
  victim.victim.max_paths = victim.victim.max_channels = 1;
  switch (dice_.below(3)) {
    case 0:  // a reset that matches no handshake in progress
      if (peer == nullptr || peer->wire_id == 0) return;
      bytes = transport::write_reset({peer->wire_id, 0, kNumbersTooFar[dice_.below(4)]}, packet);
      count("forged reset");
      break;
    case 1: {  // from a host that is not the peer's
      from = static_cast<uint32_t>(dice_.below(hosts));
      if (from == side.peer_host) return;
      victim.habits = UINT32_MAX;
      bytes = words_.write_packet(network_.now(), victim, packet);
      count("forged host");
      break;
    }
    default: {
      transport::ConnectionHeader header;
      header.flags = transport::kFlagNumbered;
      header.connection = side.wire_id;
      header.number = kNumbersTooFar[dice_.below(4)];
      header.sent_at = network_.now();
      header.reply_port = Machine::kPort;
      transport::write_connection_header(header, packet.data());
      packet[transport::kConnectionHeaderBytes] = std::byte{7};  // a ping
      bytes = transport::kConnectionHeaderBytes + 1;
      count("forged number");
      break;
    }
  }
  network_.inject(simulator::address_of(from, Machine::kPort),
                  simulator::address_of(side.host, Machine::kPort), std::span(packet).first(bytes));
}

void Byzantine::send(uint32_t host, std::span<const std::byte> bytes) {
  network_.inject(address(), simulator::address_of(host, Machine::kPort), bytes);
}

Byzantine::Talk* Byzantine::talk_of(Id id) {
  return id >= 1 && id <= talks_.size() ? &talks_[static_cast<size_t>(id - 1)] : nullptr;
}

void Byzantine::handle_packet(simulator::PacketId id) {
  simulator::PacketStore& packets = network_.packets();
  const simulator::Packet& packet = packets[id];
  if (packet.kind == simulator::PacketKind::kDatagram && left_ > 0) {
    const std::vector<std::byte> bytes(packets.bytes(packet),
                                       packets.bytes(packet) + packet.header_bytes);
    handle_bytes(packet.from_nic, bytes);
  }
  packets.give_back(id);
}

void Byzantine::handle_bytes(uint32_t nic, std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  transport::RetryPacket retry;
  AcceptPacket accept;
  InitPacket init;
  switch (transport::type_of(bytes[0])) {
    case PacketType::kInit:
      if (transport::read_init(bytes, init)) answer(nic, init);
      return;
    case PacketType::kRetry:
      if (!transport::read_retry(bytes, retry)) return;
      if (Talk* talk = talk_of(retry.connection); talk != nullptr && !talk->open) {
        talk->init.has_cookie = true;
        talk->init.cookie = retry.cookie;
        if (dice_.below(8) != 0) send_init(*talk);
      }
      return;
    case PacketType::kAccept:
      if (!transport::read_accept(bytes, accept)) return;
      if (Talk* talk = talk_of(accept.connection); talk != nullptr && !talk->open) {
        talk->open = true;
        talk->victim.id = accept.wire_id;
        talk->victim.reply_port = kByzantinePort;
        talk->victim.victim = accept.parameters;
        talk->victim.victim.nics = {};
        talk->victim.habits = words_.draw_habits();
        count("opened");
      }
      return;
    case PacketType::kData:
    case PacketType::kRetransmission:
    case PacketType::kControl: {
      if (bytes.size() < transport::kConnectionHeaderBytes) return;
      const transport::ConnectionHeader header = transport::read_connection_header(bytes.data());
      if (Talk* talk = talk_of(static_cast<Id>(header.connection)); talk != nullptr) {
        talk->victim.note(header);
      }
      return;
    }
    default:
      return;
  }
}

// Replies to a request for a connection: accepts it, or sends any other reply.
void Byzantine::answer(uint32_t nic, const InitPacket& init) {
  if (nic >= options_.hosts.size()) return;
  std::array<std::byte, transport::kInitBytes> packet{};
  size_t bytes = 0;
  const uint64_t dice = dice_.below(10);
  if (dice == 0) return;
  if (dice == 1) {
    transport::RetryPacket retry{init.connection, init.nonce, {}, false};
    for (std::byte& byte : retry.cookie) byte = static_cast<std::byte>(dice_.below(256));
    bytes = transport::write_retry(retry, packet);
    count("retries without end");
  } else if (dice == 2) {
    const auto reason = static_cast<transport::RefuseReason>(dice_.below(5));
    bytes = transport::write_refuse({init.connection, init.nonce, reason}, packet);
  } else {
    Talk& talk = talks_.emplace_back();
    talk.host = nic;
    talk.open = true;
    talk.victim.id = init.wire_id;
    talk.victim.reply_port = kByzantinePort;
    talk.victim.victim = init.parameters;
    talk.victim.victim.nics = {};
    talk.victim.habits = words_.draw_habits();
    AcceptPacket accept;
    accept.reply_port = kByzantinePort;
    accept.connection = init.connection;
    accept.accepted_as = static_cast<Id>(talks_.size());
    accept.wire_id = talks_.size();
    accept.nonce = init.nonce;
    accept.echoed_sent_at = init.sent_at;
    accept.parameters = words_.draw_parameters(options_.faults.byzantine.posted);
    bytes = transport::write_accept(accept, packet);
    count("accepted");
  }
  send(nic, std::span(packet).first(bytes));
}

}  // namespace heddle::vopr
