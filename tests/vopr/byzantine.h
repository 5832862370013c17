// Byzantine: a peer that completes real handshakes during the fault phase, then sends well-formed
// packets that break the protocol's rules (transport/testing/byzantine_words.h). It requests and
// accepts connections, leaves handshakes half open, abandons open connections, guesses ids of other
// connections from its own, and, if enabled, forges packets in the peers' names that must be
// dropped. It becomes silent when the faults stop, so every operation that waits for it must end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "simulator/network.h"
#include "tests/vopr/checkers/ledger.h"
#include "tests/vopr/options.h"
#include "tests/vopr/reached.h"
#include "transport/testing/byzantine_words.h"

namespace heddle::vopr {

class Byzantine final : private simulator::Port, private simulator::Agent {
 public:
  Byzantine(simulator::Network& network, const Ledger& ledger, const Options& options,
            Reached& reached);
  ~Byzantine() override;

  // The address at which it accepts connections.
  transport::Address address() const { return simulator::address_of(nic_, kByzantinePort); }
  // Stops sending; if enabled, also stops receiving at its port.
  void fall_silent();

 private:
  using Id = decltype(transport::InitPacket::connection);

  class Drawn final : public transport::testing::Dice {
   public:
    explicit Drawn(uint64_t seed) : random_(seed) {}
    uint64_t below(uint64_t bound) override { return random_.below(bound); }

   private:
    Random random_;
  };

  // One connection; its own id is its index in `talks_` plus 1.
  struct Talk {
    uint32_t host = 0;
    bool open = false;
    bool abandoned = false;
    transport::InitPacket init;
    transport::testing::Acquaintance victim;
  };

  void handle_packet(simulator::PacketId packet) override;
  void handle_room() override {}
  void run(Nanos now) override;

  void act();
  void ask(uint32_t host);
  void ask_half();
  void speak(Talk& talk);
  void guess();
  void forge();
  Talk* talk_of(Id id);
  void answer(uint32_t nic, const transport::InitPacket& init);
  void handle_bytes(uint32_t nic, std::span<const std::byte> bytes);
  void send(uint32_t host, std::span<const std::byte> bytes);
  void send_init(const Talk& talk);
  void count(const char* what) { reached_.add(std::string("byzantine ") + what); }

  simulator::Network& network_;
  const Ledger& ledger_;
  const Options& options_;
  Reached& reached_;
  Drawn dice_;
  transport::testing::ByzantineWords words_;
  simulator::AgentId agent_;
  simulator::NicId nic_;
  bool listens_ = false;
  uint32_t left_;
  Nanos every_;
  std::vector<Talk> talks_;
};

}  // namespace heddle::vopr
