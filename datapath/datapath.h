// Datapath: the contract between the transport and a network: move batches, lend frames, wait, name
// memory. Implementations: udp/ here, the simulator's in simulator/. One contract suite holds for
// all (datapath/contract/). One thread drives a datapath; only wake() and now() may be called from
// others.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "base/units.h"
#include "transport/address.h"
#include "transport/payload.h"
#include "transport/placed.h"
#include "transport/rx_run.h"
#include "transport/tx_batch.h"

namespace heddle::datapath {

// What a network can do; read once, before the transport is made.
struct Capabilities {
  uint32_t max_datagram_bytes = 0;  // the largest datagram the local interface passes unfragmented
  uint16_t max_paths = 1;           // entropies it can send with
  uint32_t max_burst_segments = 1;  // above 1: rows of segments leave in one call (GSO)
  bool receives_runs = false;       // rows of segments arrive in one call (GRO)
  bool predicts = false;            // honours a Prediction
  bool ecn = false;                 // reads and sets marks
  bool timestamps = false;          // received_at is the network's time, not the loop's
  Bytes receive_capacity;           // what may wait in its receive queue without being dropped

  // The placed-chunk shape (transport/placed.h), beside datagrams. No paths: datagrams only.
  uint16_t chunk_paths = 0;
  uint32_t chunk_bytes = 0;      // the largest write, at most transport::kMaxChunkBytes
  bool reliable_chunks = false;  // tells of each write whether it has landed (kSent)
};

// Runs lent by receive(); their memory is the datapath's until release().
struct RxBatch {
  static constexpr size_t kMaxRuns = 64;
  std::array<transport::RxRun, kMaxRuns> runs;
  size_t count = 0;
  // It is small and ended with the predicted place: with another prediction, what follows needs no
  // copy.
  bool place_filled = false;
  std::array<transport::PlacedEvent, kMaxRuns> events;  // in the order in which they came
  size_t event_count = 0;
};

// What the system knows of a NIC.
struct NicFacts {
  std::string device;  // its name here; empty: not known
  BitsPerSec rate;     // of its link, as the driver says; zero: not known
};

// What it counted that the transport cannot see.
struct DatapathStatistics {
  uint64_t transmit_calls = 0;
  uint64_t receive_calls = 0;
  uint64_t datagrams_sent = 0;
  uint64_t datagrams_received = 0;
  uint64_t dropped_at_receive = 0;  // the queue was full (where the system tells)
  uint64_t transmit_refused = 0;    // bursts that the network did not take at once
  uint64_t payload_copied_bytes = 0;
  uint64_t payload_placed_bytes = 0;  // landed in place, without a copy in user space
};

class Datapath {
 public:
  virtual ~Datapath() = default;

  virtual const Capabilities& capabilities() const = 0;
  // Where it receives; of several NICs the first.
  virtual transport::Address local_address() const = 0;
  // The same of each of its NICs, in the order of their numbers in bursts and runs; all have one
  // port.
  virtual std::vector<transport::Address> local_nics() const { return {local_address()}; }
  // Of one of them.
  virtual NicFacts nic_facts(uint8_t /*nic*/) const { return {}; }
  // The source port of what leaves on this path from this NIC: what switches hash on. 0 where there
  // is none.
  virtual uint16_t source_port(uint16_t /*path*/, uint8_t /*nic*/) const { return 0; }
  // The clock that everything driven by this datapath lives by.
  virtual Nanos now() = 0;

  // Sends bursts in order; returns how many were taken. The rest is offered again by the caller,
  // after wait() says that there is room. A burst that can never be sent (no route, too large)
  // counts as taken and shows up in poll_error(). A burst that names a key leaves sealed
  // (transport/sealing.h); what has left is never sealed again.
  virtual size_t transmit(std::span<const transport::TxBurst> bursts) = 0;
  // Segments of bursts[burst] of the latest transmit() that counted as taken and never left, the
  // last ones of it.
  virtual uint32_t unsent(size_t /*burst*/) const { return 0; }

  // Fills `batch` with what has arrived, without blocking; `prediction` may be null. Returns
  // batch.count. A batch with events only is also lent.
  virtual size_t receive(RxBatch& batch, const transport::Prediction* prediction) = 0;
  // Gives the frames of a batch back. At most one batch is lent at a time.
  virtual void release(RxBatch& batch) = 0;
  // Makes the copies; sources are frames of the lent batch, regions, or virtual bytes.
  virtual void place(std::span<const transport::Placement> placements) = 0;

  // Sleeps until something has arrived, a refused transmit may be tried again, wake() was called,
  // or `until`.
  virtual void wait(Nanos until) = 0;
  // Ends a wait() from any thread; remembered if none is under way.
  virtual void wake() = 0;
  // A descriptor that polls readable when something has arrived or wake() was called, so that one
  // thread can watch several datapaths; -1 where there is none.
  virtual int descriptor() const { return -1; }
  // A descriptor to which 8 bytes are written in place of wake(), by other processes too (an
  // eventfd); -1 where there is none.
  virtual int wake_descriptor() const { return -1; }
  // Forgets what wake() left behind, so that descriptor() does not stay readable. For the driving
  // thread, while nobody waits.
  virtual void take_wake() {}

  // Names memory so that payload can be read and placed there. The memory must outlive the region.
  virtual Result<transport::RegionId> register_memory(void* start, size_t bytes) = 0;
  virtual void unregister_memory(transport::RegionId region) = 0;

  // The placed-chunk shape; a datagram network keeps these as they are. How a peer's NIC is told
  // where to write: an empty token where it cannot be.
  virtual transport::MemoryToken token(transport::RegionId) const { return {}; }
  // See FenceRequest; answered by an event of a later receive().
  virtual void fence(const transport::FenceRequest&) {}

  // What the network said about earlier packets; false when there is nothing more.
  virtual bool poll_error(transport::NetworkError& error) = 0;
  virtual const DatapathStatistics& statistics() const = 0;
};

}  // namespace heddle::datapath
