// Placement of payload: where the bytes of an arriving burst go. PayloadPlacer asks the datapath
// for copies into the posted buffer, or into a bounded eager block while the receive is not posted.
#pragma once

#include <cstdint>
#include <vector>

#include "transport/messages/in_message.h"

namespace heddle::transport {

// Blocks of an endpoint's eager region, lent to messages that arrive before their receive.
class EagerBlocks {
 public:
  EagerBlocks(RegionId region, Bytes size, uint32_t block_bytes);
  uint32_t lend();  // kNoIndex: none left
  void give_back(uint32_t block) { free_.push_back(block); }
  Payload place(uint32_t block) const {
    return {region_, uint64_t{block} * block_bytes_, block_bytes_};
  }
  uint32_t block_bytes() const { return block_bytes_; }
  uint32_t left() const { return static_cast<uint32_t>(free_.size()) + untouched(); }

 private:
  uint32_t untouched() const { return total_ - used_; }

  RegionId region_;
  uint32_t block_bytes_;
  uint32_t total_;
  uint32_t used_ = 0;  // blocks up to here have been lent before
  std::vector<uint32_t> free_;
};

class PayloadPlacer {
 public:
  PayloadPlacer(EagerBlocks& eager, std::vector<Placement>& placements)
      : eager_(eager), placements_(placements) {}

  const EagerBlocks& eager() const { return eager_; }
  // The message has begun before its receive: it gets an eager block, if one is left.
  void lend_block(InMessage& message) { message.eager_block = eager_.lend(); }
  // Asks for the copies of those bytes of the burst that are new: `fresh` of them.
  void place(const InMessage& message, const DataBurst& burst, uint64_t fresh);
  // The receive is posted now: what waited in an eager block goes to its buffer.
  void move_from_eager(InMessage& message);
  void release_block(InMessage& message);

 private:
  void place_new_parts(const InMessage& message, const DataBurst& burst, uint32_t segment);
  Payload target(const InMessage& message) const;
  Placement placement_of(const InMessage& message, const DataBurst& burst, uint32_t first,
                         uint32_t count) const;
  void add(const Placement& placement);

  EagerBlocks& eager_;
  std::vector<Placement>& placements_;
};

}  // namespace heddle::transport
