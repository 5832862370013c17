// RemoteReceives: the posted receives that the peer's NIC may write: the slot by which an immediate
// names each (wire/immediate.h), and the writes that have to be fenced (transport/placed.h) before
// its message ends. Without remote writes it is empty.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "transport/extensions/fences.h"
#include "transport/messages/in_message.h"
#include "transport/messages/params.h"
#include "transport/wire/control.h"

namespace heddle::transport {

// Regions that peers may write. Their names are the datapath's and need not be dense.
using TokenTable = std::map<RegionId, MemoryToken>;

class RemoteReceives {
 public:
  // A receive that has a slot.
  struct Receive {
    ChannelId channel = 0;
    Sequence sequence;
    bool used = false;
  };

  // Receives into regions with a token may be written remotely from now on.
  void open(const TokenTable& tokens, Fences& fences);

  // Gives the receive a slot, if its memory can be written and a slot is free.
  void take_slot(ChannelId channel, Sequence sequence, InMessage& message);
  void release_slot(InMessage& message);
  // The receive that the peer calls `slot`; null: there is none.
  const Receive* find(uint8_t slot) const {
    return slot < slots_.size() && slots_[slot].used ? &slots_[slot] : nullptr;
  }
  bool any() const { return used_ > 0; }
  // What a grant says of a receive with a slot.
  PlacedGrantFrame describe(ChannelId channel, Sequence sequence, const InMessage& message) const;

  // Paths whose writes a message awaits one by one; beyond that it awaits every write.
  static constexpr size_t kMostWrites = params::messages::kMostWrites;

  // The message is not over before this write cannot land any more. True: it may still land.
  bool await_write(InMessage& message, const OriginalWrite& write);
  // The peer may have written to it on any path, and it is unknown which writes are in flight:
  // requests a fence of each. True: some may still land.
  bool await_every_write(InMessage& message);
  // Whether no write can land in it any more.
  bool fenced(const InMessage& message) const;
  // Requests the fences that the message waits for and that nothing has requested yet.
  void request_fences(InMessage& message);

 private:
  const TokenTable* tokens_ = nullptr;  // null: nothing is written remotely
  Fences* fences_ = nullptr;
  std::vector<Receive> slots_;
  uint32_t used_ = 0;
};

}  // namespace heddle::transport
