// EncryptedBurst: a burst with a key, encrypted ahead of the datapath that sends it, so that parity
// covers what is on the wire. What the network did not accept is offered again as it was encrypted:
// no packet is encrypted twice.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/result.h"
#include "datapath/datapath.h"
#include "transport/tx_batch.h"

namespace heddle::datapath {

class EncryptedBurst {
 public:
  // Registers its memory. Errors: those of register_memory().
  static Result<std::unique_ptr<EncryptedBurst>> make(Datapath& datapath);

  // The same burst without a key. `payload` is that of the burst, in memory.
  const transport::TxBurst& encrypt(const transport::TxBurst& burst, const std::byte* payload);
  // The burst was accepted, or cannot be sent.
  void end() { waits_ = false; }

  // The parts of datagram `segment`.
  std::span<const std::byte> first(uint32_t segment) const;
  std::span<const std::byte> second(uint32_t segment) const;

 private:
  EncryptedBurst();
  bool is_waiting(const transport::TxBurst& burst) const;

  std::unique_ptr<std::byte[]> headers_;
  std::unique_ptr<std::byte[]> payload_;
  std::unique_ptr<std::byte[]> packet_;
  transport::RegionId region_ = transport::kNoRegion;
  transport::TxBurst burst_;
  bool waits_ = false;
};

}  // namespace heddle::datapath
