// ChunkContract: the contract suite's tests of the placed-chunk shape (transport/placed.h). A
// network with that shape instantiates both suites; its Pair's datapaths must have chunk_paths > 0.
#pragma once

#include <cstdint>
#include <vector>

#include "datapath/contract/contract.h"

namespace heddle::datapath::contract {

class ChunkContract : public Contract {
 public:
  static constexpr uint32_t kAtA = 1'001;  // connection ids
  static constexpr uint32_t kAtB = 2'002;

  // As Contract::open(), and registers a target of `target_bytes` at b.
  bool open_chunks(size_t target_bytes);
  void TearDown() override { end_target(); }
  // Unregisters the target; its bytes stay.
  void end_target();

  struct Write {
    uint16_t path = 0;
    uint64_t number = 0;
    uint32_t epoch = 0;
    uint32_t immediate = 0;
    uint32_t bytes = 0;
    uint64_t from = 0;  // offset in the source
    uint64_t to = 0;    // offset in the target
  };
  // Writes from a's source to b's target; retries until it is accepted.
  void write(const Write& write);
  // Receives events until there are `count` (or kPatience has passed).
  std::vector<transport::NicEvent> events(Datapath& at, size_t count);
  // Events that are available without waiting.
  std::vector<transport::NicEvent> events_now(Datapath& at);

  uint32_t chunk_bytes() { return a().capabilities().chunk_bytes; }
  bool holds(uint64_t to, uint64_t length, uint64_t from) const;
  bool untouched(uint64_t from, uint64_t to) const;

 private:
  Bytestring target_;
  std::vector<transport::NicEvent> early_;  // events at a, received while it waited to send
  transport::RegionId target_region_ = transport::kNoRegion;
};

}  // namespace heddle::datapath::contract
