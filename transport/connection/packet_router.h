// PacketRouter: between which NICs the packets of a connection travel, where there are several. An
// extension implements it; without one, packets take the NICs that the handshake used.
#pragma once

#include "transport/address.h"
#include "transport/path/nic_pairs.h"
#include "transport/tx_batch.h"

namespace heddle::transport {

class PacketRouter {
 public:
  virtual ~PacketRouter() = default;
  // Sets the NICs and the address that a burst of this path takes.
  virtual void direct(TxBurst& burst) const = 0;
  virtual NicPair pair_of(uint16_t path) const = 0;
  // Whether the peer sends from this address as well.
  virtual bool knows(const Address& from) const = 0;
  // The peer's handshake came again from this address, to this NIC.
  virtual void move_home(const Address& from, uint8_t nic) = 0;
};

}  // namespace heddle::transport
