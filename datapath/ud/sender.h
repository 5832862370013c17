// UdSender: sends bursts as datagrams of UD queue pairs; the path chooses the pair, so a path keeps
// its order. A header is copied into a slot; the NIC gathers it with its payload where that lies,
// in one request of two places. Copied as well is what may not be read later: encrypted segments,
// short payload, and retransmissions, since an operation may end before they have left (the first
// time a segment is sent, nothing can acknowledge it before the NIC has read it). UdDatapath drives
// it.
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
#include "datapath/verbs/memory.h"
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
  void settle(Nanos now);
  // After it, nothing of the region is read any more. `poll` takes completions.
  template <typename Poll>
  void forget(transport::RegionId region, Nanos until, Poll poll);

  // Waiting for the NIC to read them.
  size_t waiting() const { return slots_->count() - free_.size(); }
  uint64_t failed_pairs() const { return failed_; }
  // Datagrams whose payload was gathered.
  uint64_t gathered() const { return gathered_; }

 private:
  struct Request {
    uint32_t slot = 0;
    transport::RegionId region = transport::kNoRegion;  // whose memory it reads
  };
  struct Pair {
    std::unique_ptr<QueuePair> pair;  // null: none until `again_at`
    uint32_t serial = 0;              // of all pairs that were made
    Ring<Request> requests;           // in order
    Nanos again_at;
  };
  struct Ending {
    uint64_t number = 0;  // as the ender counts
    std::vector<Request> requests;
  };
  struct Row;

  Result<void> make(Pair& pair);
  void fail_pair(Nanos now, Pair& pair, const char* why);
  bool ready(Nanos now, Pair& pair);
  bool gathers(const transport::TxBurst& burst, uint32_t segment, uint32_t payload) const;
  void fill(Row& row, uint32_t i, const transport::TxBurst& burst, const std::byte* payload,
            uint32_t local_key);
  bool reads(transport::RegionId region) const;
  void stop_reading(transport::RegionId region);

  VerbsDevice& device_;
  QueuePairEnder& ender_;
  const RegionTable& regions_;
  Options options_;
  DatapathStatistics& statistics_;
  ReadRegistrar registrar_;
  std::unique_ptr<UdSlots> slots_;
  std::unique_ptr<RegisteredMemory> memory_;
  UdHandles handles_;
  std::vector<uint32_t> free_;  // slots
  std::vector<Pair> pairs_;
  std::vector<Ending> ending_;
  uint32_t made_ = 0;
  uint64_t failed_ = 0;
  uint64_t gathered_ = 0;
};

template <typename Poll>
void UdSender::forget(transport::RegionId region, Nanos until, Poll poll) {
  while (reads(region) && poll() < until) {
  }
  if (reads(region)) stop_reading(region);
  memory_->forget(region);
}

}  // namespace heddle::datapath
