// NicSelection: several NICs of a host in one connection: what is advertised of them, which of them
// a packet leaves from and goes to, and the probes that find out which pairs reach each other. To
// an address that answered no probe nothing but probes is sent (docs/explanation/security.md).
#pragma once

#include <array>
#include <memory>

#include "transport/connection/packet_router.h"
#include "transport/extensions/extension.h"
#include "transport/path/nic_pairs.h"

namespace heddle::transport {

class NicSelection final : public Extension, private PacketRouter {
 public:
  static constexpr std::array kFrames = {FrameType::kNicProbe, FrameType::kNicAnswer};

  using Extension::Extension;

  uint32_t hooks() const override { return bit(Hook::kTransmit) | bit(Hook::kTimeout); }
  bool needed() const override { return pairs_ != nullptr; }
  void propose(const HandshakeParameters* offered, HandshakeParameters& own,
               std::string& congestion) override;
  void on_open(Nanos now, const Agreement& agreement) override;
  FrameResult on_frame(Nanos now, FrameType type, Reader& reader, const FrameOrigin& from) override;
  bool transmit(Nanos now, TxBatch& batch) override;
  Nanos next_timeout() const override { return pairs_->next_timeout(); }
  size_t bytes_held() const override;

 private:
  // PacketRouter.
  void direct(TxBurst& burst) const override;
  NicPair pair_of(uint16_t path) const override { return pairs_->pair_of(path); }
  bool knows(const Address& from) const override { return pairs_->knows(from); }
  void move_home(const Address& from, uint8_t nic) override { pairs_->move_home(from, nic); }

  bool advertises_nics() const;
  void update_groups(Nanos now);
  void send_frame(Nanos now, TxBatch& batch, FrameType type, const NicPairs::Message& message);
  void send_between(TxBurst& burst, const NicPair& pair) const;

  std::unique_ptr<NicPairs> pairs_;  // where a side has several NICs, and both know such frames
  uint32_t path_changes_seen_ = 0;   // of the sender, when the groups were last updated
};

}  // namespace heddle::transport
