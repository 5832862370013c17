// Endpoint::Body: what an endpoint is made of. Packets find their connection here; those that
// belong to none (handshakes, strays) are answered from here, statelessly and never with more than
// they brought.
#pragma once

#include "transport/connection/connection_table.h"
#include "transport/connection/params.h"
#include "transport/connection/shared.h"
#include "transport/endpoint.h"
#include "transport/security/cookie.h"
#include "transport/security/replay_memory.h"

namespace heddle::transport {

class Endpoint::Body {
 public:
  Body(const EndpointOptions& options, const Seed& seed, events::Sink* sink);

  void handle_run(Nanos now, const RxRun& run);
  bool poll_transmit(Nanos now, TxBatch& batch);
  void handle_timeout(Nanos now);
  PacketKey* receive_key(Nanos now, const Address& from, std::span<const std::byte> packet);
  BurstClaim claim_burst(Nanos now, const Address& from, std::span<const std::byte> header,
                         uint32_t segments);
  void note_decrypted(Nanos now, std::span<const std::byte> header, bool ok);

  Shared shared;
  ConnectionTable table;
  ConnectionId latest_data = 0;  // which connection got payload last

  static constexpr size_t kMaxReplies = params::endpoint::kMaxReplies;
  static constexpr uint32_t kResetsPerMilli = params::endpoint::kResetsPerMilli;
  static constexpr Nanos kReceivingFor = params::endpoint::kReceivingFor;

  Nanos next_timeout() const;
  size_t bytes_held() const;

 private:
  // A reply to a packet without a connection.
  struct Reply {
    Address to;
    uint8_t nic = 0;  // that it leaves from
    uint8_t length = 0;
    std::array<std::byte, 64> bytes{};

    std::span<std::byte> packet() { return std::span(bytes).first(length); }
  };

  uint32_t handle_burst(Nanos now, const RxRun& run, uint32_t first);
  void handle_trimmed(Nanos now, const RxRun& run);
  void handle_packet(Nanos now, const RxRun& run, uint32_t index,
                     std::span<const std::byte> packet);
  void handle_init(Nanos now, const RxRun& run, std::span<const std::byte> packet);
  // Who sent an init, and to which NIC of this host.
  struct Asker {
    Address peer;
    uint8_t nic = 0;
  };
  void accept(Nanos now, const Asker& asker, const InitPacket& init);
  Connection* find_made_by(const Address& peer, const InitPacket& init);
  void handle_answer(Nanos now, const RxRun& run, std::span<const std::byte> packet);
  void retry(Nanos now, const Asker& asker, const InitPacket& init);

  // keyed_packets.cc
  std::nullptr_t drop_encrypted(Nanos now, ConnectionId id, events::DropReason why);
  // The connection that an encrypted packet names; null: none, and the drop is counted.
  Connection* find_claimed(Nanos now, const Address& from, std::span<const std::byte> packet);
  // True if an init proves one of our keys and is not a replay.
  bool may_ask(Nanos now, const InitPacket& init, std::span<const std::byte> packet);
  // Whether an answer to this connection proves its key; a refusal without proof is kept as a hint.
  bool may_answer(Nanos now, Connection& connection, std::span<const std::byte> packet);
  void handle_version(Nanos now, Connection& connection, std::span<const std::byte> packet);
  void handle_reset(Nanos now, const RxRun& run, std::span<const std::byte> packet);
  // The connection that a packet with this header belongs to; null: none, and counted.
  Connection* connection_for(Nanos now, const RxRun& run, const std::byte* header);
  void reset_stranger(Nanos now, const RxRun& run, const std::byte* header);
  void refuse(Nanos now, const Asker& asker, const InitPacket& init, RefuseReason reason);
  Reply* new_reply(const Asker& to);
  void drop(Nanos now, events::DropReason reason) { shared.observer.drop(now, 0, reason); }

  CookieMaker cookies_;
  ReplayMemory accepted_;
  Ring<Reply> replies_;
  uint16_t reply_path_ = 0;  // of the next
  Nanos resets_at_;          // the millisecond that resets_ counts
  uint32_t resets_ = 0;
  Nanos settle_at_ = Nanos::never();
};

}  // namespace heddle::transport
