// SimDatapath: the datapath contract on a simulated network, attached to one port of its NICs. Its
// clock is the network's. It notifies a Wakeup when a turn is useful; wait() lets the network's
// time pass, for tests that drive it themselves. Payload may be host memory (bytes are copied) or
// virtual memory (references are copied; see VirtualMemory).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ring.h"
#include "datapath/datapath.h"
#include "datapath/regions.h"
#include "engine/known_routes.h"
#include "simulator/datapath/host_memory.h"
#include "simulator/datapath/options.h"
#include "simulator/datapath/receive_queue.h"
#include "simulator/datapath/remote_writes.h"
#include "simulator/network.h"

namespace heddle::simulator {

class SimDatapath final : public datapath::Datapath,
                          public engine::KnownRoutes,
                          private Port,
                          private Wakeup {
 public:
  SimDatapath(Network& network, const SimDatapathOptions& options);
  ~SimDatapath() override;
  SimDatapath(const SimDatapath&) = delete;
  SimDatapath& operator=(const SimDatapath&) = delete;

  void set_wakeup(Wakeup* wakeup) { wakeup_ = wakeup; }
  void set_write_observer(WriteObserver* observer) { memory_.set_observer(observer); }
  void set_encryption_observer(EncryptionObserver* observer) { encryption_observer_ = observer; }
  void set_call_observer(CallObserver* observer) { call_observer_ = observer; }
  // Virtual memory that initially holds the bytes of `pattern`.
  transport::RegionId register_virtual(uint64_t pattern, uint64_t bytes) {
    return memory_.add_virtual(pattern, bytes);
  }
  // True if a turn would have work: input, an error, or room after a refusal.
  bool ready() const {
    return !queue_.empty() || !errors_.empty() || writes_.any_event() || has_room_;
  }
  // From now on it neither sends nor receives: its process is killed.
  void fall_silent() { silent_ = true; }
  Network& network() { return network_; }
  // The registered host memory.
  const datapath::RegionTable& regions() const { return memory_.regions(); }

  const datapath::Capabilities& capabilities() const override { return capabilities_; }
  transport::Address local_address() const override;
  std::vector<transport::Address> local_nics() const override;
  uint16_t source_port(uint16_t path, uint8_t nic) const override {
    return static_cast<uint16_t>(nics_[nic].send_base + path);
  }
  std::vector<transport::PlannedShare> shares_of(const transport::Address& peer) const override {
    return options_.shares_of ? options_.shares_of(peer) : std::vector<transport::PlannedShare>();
  }
  uint32_t changes() const override {
    return network_.route_changes() + (options_.plan_changes ? options_.plan_changes() : 0);
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
  void unregister_memory(transport::RegionId region) override { memory_.remove(region); }
  transport::MemoryToken token(transport::RegionId region) const override {
    return writes_.token(region);
  }
  void admit(const transport::WriterAdmission& peer) override { writes_.admit(peer); }
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

  // Of Port.
  void handle_packet(PacketId packet) override;
  void handle_room() override;
  bool handle_departure(PacketId packet) override { return writes_.handle_departure(packet); }
  // Of Wakeup, for the parts: passes it on.
  void handle_ready() override {
    if (wakeup_ != nullptr) wakeup_->handle_ready();
  }

  uint8_t number_of(NicId nic) const;
  bool can_be_sent(const transport::TxBurst& burst);
  void send_burst(const transport::TxBurst& burst);
  void write_segment(const transport::TxBurst& burst, uint32_t i, const Content& content,
                     const std::byte* payload, std::byte* to);
  void push_error(const transport::NetworkError& error);
  void handle_icmp(const Packet& packet);

  Network& network_;
  const SimDatapathOptions options_;
  datapath::Capabilities capabilities_;
  datapath::DatapathStatistics statistics_;
  struct Attached {
    NicId nic = 0;
    uint16_t send_base = 0;  // first of its send ports
  };
  std::vector<Attached> nics_;
  Wakeup* wakeup_ = nullptr;
  EncryptionObserver* encryption_observer_ = nullptr;
  CallObserver* call_observer_ = nullptr;

  HostMemory memory_;
  RemoteWrites writes_;
  ReceiveQueue queue_;
  Ring<transport::NetworkError> errors_;
  bool has_room_ = false;         // after a refusal
  std::vector<uint32_t> unsent_;  // per burst of the latest transmit(), up to the last with a loss
  bool lent_ = false;             // a batch
  bool silent_ = false;
  std::atomic<bool> woken_ = false;
};

}  // namespace heddle::simulator
