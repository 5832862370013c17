// SimDatapath: the datapath contract on a simulated network, attached to one port of its NICs. Its
// clock is the network's. It notifies a Wakeup when a turn is useful; wait() lets the network's
// time pass, for tests that drive it themselves. Payload may be host memory (bytes are copied) or
// virtual memory (references are copied; see VirtualMemory).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/ring.h"
#include "datapath/datapath.h"
#include "datapath/regions.h"
#include "simulator/chunk_receiver.h"
#include "simulator/chunk_sender.h"
#include "simulator/network.h"

namespace heddle::simulator {

struct SimDatapathOptions {
  NicId nic = 0;
  std::vector<NicId> further_nics;  // after `nic`; chunks use the first NIC only
  uint16_t port = 4791;
  uint16_t max_paths = 64;
  Bytes receive_capacity = {212'992};  // limit of the receive queue; further datagrams are dropped
  bool coalesces = true;               // returns consecutive datagrams as runs, like GRO
  Nanos coalesces_within = micros(20);
  bool predicts = true;
  bool scribbles =
      true;  // a wrong prediction leaves garbage in its place, like a scattered receive
  bool ecn = true;
  bool timestamps = true;
  bool drops_gso_bursts = false;  // the interface drops bursts of several segments
  Nanos clock_offset;             // this host's clock minus the network's

  // The placed-chunk shape. The NIC writes even if its process gets no turns.
  uint16_t chunk_paths = 0;  // 0: datagrams only; with max_paths at most 256
  uint32_t chunk_bytes = transport::kMaxChunkBytes;
  ChunkSenderOptions chunks;
  uint32_t chunk_events = 1'024;   // event queue limit; a chunk without room for its event is lost
  Nanos fence_takes = micros(10);  // until then older writes still land
};

// Notified of input, errors, and room in a NIC that was full.
class Wakeup {
 public:
  virtual ~Wakeup() = default;
  virtual void handle_ready() = 0;
};

// Notified of every write to memory registered with a datapath.
class WriteObserver {
 public:
  virtual ~WriteObserver() = default;
  // `copied`: by place(); otherwise by a prediction, right or wrong, or by a remote NIC.
  virtual void handle_write(const transport::Payload& range, bool copied) = 0;
};

// Notified of every encrypted packet before it leaves.
class EncryptionObserver {
 public:
  virtual ~EncryptionObserver() = default;
  virtual void handle_encryption(const transport::PacketKey& key,
                                 std::span<const std::byte> header) = 0;
};

// Notified when the driver calls the datapath and when the call returns: the time between two calls
// belongs to the driver and the endpoint.
class CallObserver {
 public:
  virtual ~CallObserver() = default;
  virtual void handle_call(bool inside) = 0;
};

class SimDatapath final : public datapath::Datapath,
                          private Port,
                          private Agent,
                          private ChunkFates {
 public:
  SimDatapath(Network& network, const SimDatapathOptions& options);
  ~SimDatapath() override;
  SimDatapath(const SimDatapath&) = delete;
  SimDatapath& operator=(const SimDatapath&) = delete;

  void set_wakeup(Wakeup* wakeup) { wakeup_ = wakeup; }
  void set_write_observer(WriteObserver* observer) { observer_ = observer; }
  void set_encryption_observer(EncryptionObserver* observer) { encryption_observer_ = observer; }
  void set_call_observer(CallObserver* observer) { call_observer_ = observer; }
  // Virtual memory that initially holds the bytes of `pattern`.
  transport::RegionId register_virtual(uint64_t pattern, uint64_t bytes);
  // True if a turn would have work: input, an error, or room after a refusal.
  bool ready() const { return received_ > 0 || !errors_.empty() || !events_.empty() || has_room_; }
  // From now on it neither sends nor receives: its process is killed.
  void fall_silent() { silent_ = true; }
  Network& network() { return network_; }
  // The registered host memory.
  const datapath::RegionTable& regions() const { return regions_; }

  const datapath::Capabilities& capabilities() const override { return capabilities_; }
  transport::Address local_address() const override;
  std::vector<transport::Address> local_nics() const override;
  uint16_t source_port(uint16_t path, uint8_t nic) const override {
    return static_cast<uint16_t>(nics_[nic].send_base + path);
  }
  Nanos now() override { return network_.now() + options_.clock_offset; }
  size_t transmit(std::span<const transport::TxBurst> bursts) override;
  uint32_t unsent(size_t burst) const override {
    return burst < unsent_.size() ? unsent_[burst] : 0;
  }
  size_t receive(datapath::RxBatch& batch, const transport::Prediction* prediction) override;
  void release(datapath::RxBatch& batch) override;
  void place(std::span<const transport::Placement> placements) override;
  void wait(Nanos until) override;
  void wake() override { woken_.store(true, std::memory_order_relaxed); }
  Result<transport::RegionId> register_memory(void* start, size_t bytes) override;
  void unregister_memory(transport::RegionId region) override;
  transport::MemoryToken token(transport::RegionId region) const override;
  void admit(const transport::WriterAdmission& peer) override { chunk_receiver_.admit(peer); }
  void recall(const transport::RecallRequest& request) override;
  void fence(const transport::FenceRequest& request) override;
  bool poll_error(transport::NetworkError& error) override;
  const datapath::DatapathStatistics& statistics() const override { return statistics_; }

 private:
  // Notifies the observer of a call's begin and end.
  class Inside {
   public:
    explicit Inside(CallObserver* observer) : observer_(observer) {
      if (observer_ != nullptr) observer_->handle_call(true);
    }
    ~Inside() {
      if (observer_ != nullptr) observer_->handle_call(false);
    }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    CallObserver* observer_;
  };

  void handle_packet(PacketId packet) override;
  void handle_room() override;
  bool handle_departure(PacketId packet) override;

  // transmit
  uint8_t number_of(NicId nic) const;
  bool can_be_sent(const transport::TxBurst& burst);
  void send_burst(const transport::TxBurst& burst);
  void write_segment(const transport::TxBurst& burst, uint32_t i, const Content& content,
                     const std::byte* payload, std::byte* to);
  Content content_of(transport::RegionId region, uint64_t offset, uint32_t bytes);
  void push_error(const transport::NetworkError& error);

  // receive
  uint32_t run_length(PacketId first) const;
  uint32_t alike_length(uint32_t length) const;
  bool continues_run(const Packet& first, const Packet& last, const Packet& next) const;
  void take_run(uint32_t length, transport::RxRun& run, const transport::Prediction* prediction);
  bool place_predicted(uint32_t length, const transport::Prediction& prediction);
  void scribble(uint32_t length, const transport::Prediction& prediction);
  bool fits(uint32_t length, const transport::Prediction& prediction) const;
  void append_frames(const Packet& packet, uint32_t bytes);

  // remote writes
  void send_chunk(const transport::TxBurst& burst);
  void handle_write(PacketId packet);
  void land(const Packet& packet);
  bool write_piece(const Packet& packet);
  void acknowledge(const Packet& packet, bool gap);
  void handle_sent(const ChunkFate& fate) override;
  void run(Nanos now) override;
  void push_event(const transport::PlacedEvent& event);

  // place
  void gather_contents(std::span<const transport::Placement> placements);
  void write_contents(const transport::Placement& placement, std::span<const Content> contents);
  void fill(std::byte* to, const Content& content) const;
  void report_write(transport::RegionId region, uint64_t offset, uint64_t length, bool copied);

  Network& network_;
  SimDatapathOptions options_;
  datapath::Capabilities capabilities_;
  datapath::DatapathStatistics statistics_;
  struct Attached {
    NicId nic = 0;
    uint16_t send_base = 0;  // first of its send ports
  };
  std::vector<Attached> nics_;
  Wakeup* wakeup_ = nullptr;
  WriteObserver* observer_ = nullptr;
  EncryptionObserver* encryption_observer_ = nullptr;
  CallObserver* call_observer_ = nullptr;

  datapath::RegionTable regions_;
  Ring<transport::NetworkError> errors_;
  bool has_room_ = false;         // after a refusal
  std::vector<uint32_t> unsent_;  // per burst of the latest transmit(), up to the last with a loss
  bool silent_ = false;
  std::atomic<bool> woken_ = false;

  PacketId first_ = kNoIndex;  // the receive queue
  PacketId last_ = kNoIndex;
  uint32_t received_ = 0;  // number of packets in it
  uint64_t received_bytes_ = 0;

  struct PendingFence {
    Nanos at;
    transport::FenceRequest request;
  };
  std::map<transport::RegionId, uint32_t> generations_;  // of registered regions
  ChunkSender chunk_sender_;
  ChunkReceiver chunk_receiver_;
  Ring<transport::PlacedEvent> events_;
  Ring<PendingFence> fences_;
  AgentId agent_;
  std::vector<PacketId> pieces_;  // scratch of send_chunk()

  bool lent_ = false;
  std::vector<std::byte> frames_;  // of the lent batch
  std::vector<Content> contents_;  // scratch of place() and transmit()
  std::vector<size_t> content_ends_;
  std::vector<transport::Placement> host_copies_;
};

}  // namespace heddle::simulator
