// Datapath: the contract between the transport and a network: move batches, lend frames, wait,
// register memory. Implementations: udp/, xdp/, verbs/ and ud/ here, SimDatapath in simulator/. All
// pass one contract suite (datapath/contract/). One thread drives a datapath; other threads may
// call only wake() and now().
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
#include "datapath/params.h"
#include "transport/address.h"
#include "transport/payload.h"
#include "transport/placed.h"
#include "transport/rx_run.h"
#include "transport/tx_batch.h"

namespace heddle::datapath {

// Capabilities of a network; read once, before the transport is made.
struct Capabilities {
  uint32_t max_datagram_bytes = 0;  // the largest that the local interface sends unfragmented
  uint16_t max_paths = 1;           // number of entropy values to send with
  uint32_t max_burst_segments = 1;  // above 1: one call sends several segments (GSO)
  bool receives_runs = false;       // one call receives several segments (GRO)
  bool predicts = false;            // uses a Prediction
  bool ecn = false;                 // reads and sets ECN marks
  bool timestamps = false;          // received_at is a time stamp of the network
  Bytes receive_capacity;           // bytes that the receive queue holds without a drop

  // The placed-chunk shape (transport/placed.h), in addition to datagrams. 0 paths: datagrams only.
  uint16_t chunk_paths = 0;
  uint32_t chunk_bytes = 0;      // the largest write, at most transport::kMaxChunkBytes
  bool reliable_chunks = false;  // reports for each write whether it has landed (kSent)
};

// Runs lent by receive(); the datapath owns their memory and reuses it after release().
struct RxBatch {
  static constexpr size_t kMaxRuns = params::kMaxRuns;
  std::array<transport::RxRun, kMaxRuns> runs;
  size_t count = 0;
  // The batch is small and ends with the predicted place: a new prediction saves the copy of the
  // data that follows.
  bool place_filled = false;
  std::array<transport::NicEvent, kMaxRuns> events;  // in order of arrival
  size_t event_count = 0;
};

// Facts about a NIC, as reported by the system.
struct NicFacts {
  std::string device;  // its name on this host; empty: unknown
  BitsPerSec rate;     // of its link, as the driver reports it; zero: unknown
};

// Memory of a device, such as a GPU's, that the system shares as a dmabuf. The processor reaches it
// through a mapping: what cannot be written by a NIC takes that way.
struct DeviceMemory {
  int dmabuf = -1;          // a descriptor, which the caller keeps open as long as the region
  uint64_t offset = 0;      // of the region in it
  void* mapping = nullptr;  // of the region's first byte
};

// Counters that the transport cannot observe itself.
struct DatapathStatistics {
  uint64_t transmit_calls = 0;
  uint64_t receive_calls = 0;
  uint64_t datagrams_sent = 0;
  uint64_t datagrams_received = 0;
  uint64_t dropped_at_receive = 0;  // the queue was full (where the system reports it)
  uint64_t transmit_refused = 0;    // bursts that the network did not accept at once
  uint64_t payload_copied_bytes = 0;
  uint64_t payload_placed_bytes = 0;  // received in place, without a copy in user space
  uint64_t handed_over = 0;           // datagrams to other engines (datapath/engines.h)
  // Of datapath/fec.h.
  uint64_t parity_sent = 0;
  uint64_t parity_received = 0;
  uint64_t rebuilt = 0;  // datagrams that were lost, or late

  void add(const DatapathStatistics& other) {
    transmit_calls += other.transmit_calls;
    receive_calls += other.receive_calls;
    datagrams_sent += other.datagrams_sent;
    datagrams_received += other.datagrams_received;
    dropped_at_receive += other.dropped_at_receive;
    transmit_refused += other.transmit_refused;
    payload_copied_bytes += other.payload_copied_bytes;
    payload_placed_bytes += other.payload_placed_bytes;
    handed_over += other.handed_over;
    parity_sent += other.parity_sent;
    parity_received += other.parity_received;
    rebuilt += other.rebuilt;
  }
};

class Datapath {
 public:
  virtual ~Datapath() = default;

  virtual const Capabilities& capabilities() const = 0;
  // The address at which it receives; with several NICs, the first one's.
  virtual transport::Address local_address() const = 0;
  // The receive address of each NIC; the index is the NIC number in bursts and runs. All have the
  // same port.
  virtual std::vector<transport::Address> local_nics() const { return {local_address()}; }
  // Facts about NIC `nic`.
  virtual NicFacts nic_facts(uint8_t /*nic*/) const { return {}; }
  // The source port of packets of this path and NIC, on which switches hash; 0 where there is none.
  virtual uint16_t source_port(uint16_t /*path*/, uint8_t /*nic*/) const { return 0; }
  // The clock of everything that this datapath drives.
  virtual Nanos now() = 0;

  // Sends bursts in order; returns the number accepted. The caller offers the rest again after
  // wait() has returned. A burst that can never be sent (no route, too large) counts as accepted
  // and appears in poll_error(). A burst with a key leaves encrypted and authenticated
  // (transport/packet_key.h); a segment that has left is never encrypted again.
  virtual size_t transmit(std::span<const transport::TxBurst> bursts) = 0;
  // Number of trailing segments of bursts[burst] of the latest transmit() that were accepted but
  // never left.
  virtual uint32_t unsent(size_t /*burst*/) const { return 0; }

  // Fills `batch` with received data, without blocking; `prediction` may be null. Returns
  // batch.count. A batch that holds only events is lent as well.
  virtual size_t receive(RxBatch& batch, const transport::Prediction* prediction) = 0;
  // Returns the frames of a batch to the datapath. At most one batch is lent at a time.
  virtual void release(RxBatch& batch) = 0;
  // Performs copies; sources are frames of the lent batch, regions, or virtual bytes.
  virtual void place(std::span<const transport::Placement> placements) = 0;

  // Sleeps until input arrives, a refused transmit may be retried, wake() is called, or `until`.
  virtual void wait(Nanos until) = 0;
  // Ends the current or next wait(); any thread may call it.
  virtual void wake() = 0;
  // A descriptor that is readable after input or wake(), so that one thread can watch several
  // datapaths; -1 where there is none. Watch it after take_wake(): where the watch itself costs
  // time a packet, a datapath may drop it while the driving thread receives without waiting.
  virtual int descriptor() const { return -1; }
  // An eventfd: writing 8 bytes to it equals wake(), also from other processes; -1 where there is
  // none.
  virtual int wake_descriptor() const { return -1; }
  // Clears pending wake() calls, so that descriptor() is no longer readable. Called by the driving
  // thread while no thread waits.
  virtual void take_wake() {}

  // Registers memory for sending and placement. The memory must outlive the region.
  virtual Result<transport::RegionId> register_memory(void* start, size_t bytes) = 0;
  // The same for memory of a device, which the NIC then reads and writes itself. Errors:
  // kUnavailable (this datapath moves payload by the processor, or the NIC's driver cannot reach
  // other devices), kExhausted (locked memory), kInvalid (no such dmabuf). Its mapping can be
  // registered instead.
  virtual Result<transport::RegionId> register_device_memory(const DeviceMemory& memory,
                                                             size_t bytes);
  virtual void unregister_memory(transport::RegionId region) = 0;

  // The placed-chunk shape; a datagram network keeps these defaults. token() names a region for a
  // peer's NIC; an empty token where remote writes to it are impossible.
  virtual transport::MemoryToken token(transport::RegionId) const { return {}; }
  // From now on this peer may write to the connection; what no connection has admitted is refused.
  virtual void admit(const transport::WriterAdmission&) {}
  // After it returns, no write that transmit() has taken on this path reads memory any more. One
  // that had begun is reported as failed where the NIC is reliable, and its path then needs a new
  // epoch; one that had not begun is dropped without a report, and so is one of an unreliable NIC.
  // A path on which nothing was to be read stays as it is.
  virtual void recall(const transport::RecallRequest&) {}
  // See FenceRequest; an event of a later receive() answers it.
  virtual void fence(const transport::FenceRequest&) {}

  // Takes the next error that the network reported for earlier packets; false: there is none.
  virtual bool poll_error(transport::NetworkError& error) = 0;
  virtual const DatapathStatistics& statistics() const = 0;
};

}  // namespace heddle::datapath
