// Hostile: an attacker on the network during the fault phase. It sends garbage, forged and
// malformed packets, some in a peer's name and with wire ids in use, as an observer of the traffic
// could. All of it must be dropped without effect. Foreign: a host that uses another version of the
// wire protocol and announces it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "simulator/network.h"
#include "tests/vopr/checkers/ledger.h"
#include "tests/vopr/options.h"

namespace heddle::vopr {

class Hostile final : private simulator::Agent {
 public:
  Hostile(simulator::Network& network, const Ledger& ledger, const Options& options);
  ~Hostile() override;

 private:
  void run(Nanos now) override;
  void send_one();
  void send(uint32_t from, uint32_t to, std::span<const std::byte> packet);
  void send_garbage(uint32_t from, uint32_t to);
  void send_handshake(uint32_t from, uint32_t to);
  void send_answer(uint32_t from, uint32_t to, uint32_t id);
  void send_data(const Side& side, transport::WireId id);
  void send_control(const Side& side, transport::WireId id);
  const Side* any_side();
  uint16_t port_of_peer();

  simulator::Network& network_;
  const Ledger& ledger_;
  const Options& options_;
  Random random_;
  simulator::AgentId agent_;
  uint32_t left_;
  Nanos every_;
};

class Foreign final : private simulator::Port {
 public:
  static constexpr uint16_t kPort = 4799;

  Foreign(simulator::Network& network, simulator::NicId nic);
  ~Foreign() override;

  transport::Address address() const { return simulator::address_of(nic_, kPort); }

 private:
  void handle_packet(simulator::PacketId packet) override;
  void handle_room() override {}

  simulator::Network& network_;
  simulator::NicId nic_;
};

}  // namespace heddle::vopr
