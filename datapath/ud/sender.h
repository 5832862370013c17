// UdSender: sends bursts as datagrams of UD queue pairs; the path chooses the pair, so a path keeps
// its order. Header and payload are copied into a slot: the NIC may read it long after the
// operation has ended, so it never reads memory of the caller. UdDatapath drives it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/nanos.h"
#include "base/ring.h"
#include "datapath/datapath.h"
#include "datapath/regions.h"
#include "datapath/ud/handles.h"
#include "datapath/ud/peers.h"
#include "datapath/ud/slots.h"
#include "datapath/verbs/queue_pair.h"
#include "datapath/verbs/queue_pair_ender.h"
#include "transport/tx_batch.h"

struct ibv_send_wr;
struct ibv_wc;

namespace heddle::datapath {

class UdSender {
 public:
  struct Options {
    uint16_t pairs = 1;
    uint32_t key = 0;
    uint8_t traffic_class = 0;
    uint32_t max_datagram_bytes = 0;
    std::vector<uint16_t> source_ports;  // by path
  };
  enum class Sent : uint8_t {
    kTaken,
    kFull,   // until completions come
    kNever,  // accepted, but nothing of it leaves
    kNoWay,  // to this peer
  };

  // All must outlive it.
  UdSender(VerbsDevice& device, QueuePairEnder& ender, const RegionTable& regions, Options options,
           DatapathStatistics& statistics);
  ~UdSender();
  UdSender(const UdSender&) = delete;
  UdSender& operator=(const UdSender&) = delete;

  Result<void> open();
  Sent send(Nanos now, const transport::TxBurst& burst, const UdDestination& to);
  // Of a request of its queue pairs.
  void on_completion(Nanos now, const ibv_wc& done);
  // Queue pairs may have ended: their slots are free, and others take their place.
  void settle();

  // Waiting for the NIC to read them.
  size_t waiting() const { return slots_->count() - free_.size(); }
  uint64_t failed_pairs() const { return failed_; }

 private:
  struct Pair {
    std::unique_ptr<QueuePair> pair;  // null: none until `again_at`
    uint32_t serial = 0;              // of all pairs that were made
    Ring<uint32_t> slots;             // of its requests, in order
    Nanos again_at;
  };
  struct Ending {
    uint64_t number = 0;  // as the ender counts
    std::vector<uint32_t> slots;
  };
  struct Row;

  Result<void> make(Pair& pair);
  void fail_pair(Nanos now, Pair& pair, const char* why);
  bool ready(Nanos now, Pair& pair);
  // Returns the bytes of the datagram.
  static uint32_t fill(std::byte* slot, const transport::TxBurst& burst, uint32_t segment,
                       const std::byte* payload);

  VerbsDevice& device_;
  QueuePairEnder& ender_;
  const RegionTable& regions_;
  Options options_;
  DatapathStatistics& statistics_;
  std::shared_ptr<UdSlots> slots_;
  std::shared_ptr<UdHandles> handles_;
  std::vector<uint32_t> free_;  // slots
  std::vector<Pair> pairs_;
  std::vector<Ending> ending_;
  uint32_t made_ = 0;
  uint64_t failed_ = 0;
};

}  // namespace heddle::datapath
