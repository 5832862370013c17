// EngineDatapath: the datapath contract over another datapath that shares its port with those of
// other engines. with_engines() creates it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "datapath/datapath.h"
#include "datapath/engines/inbox.h"
#include "transport/engine_share.h"

namespace heddle::datapath {

class EngineDatapath final : public Datapath {
 public:
  using Inboxes = std::vector<std::unique_ptr<Inbox>>;

  // `inboxes` has one for each engine.
  EngineDatapath(std::unique_ptr<Datapath> inner, uint8_t index,
                 std::shared_ptr<const Inboxes> inboxes);
  ~EngineDatapath() override;

  const Capabilities& capabilities() const override { return inner_->capabilities(); }
  transport::Address local_address() const override { return inner_->local_address(); }
  std::vector<transport::Address> local_nics() const override { return inner_->local_nics(); }
  NicFacts nic_facts(uint8_t nic) const override { return inner_->nic_facts(nic); }
  uint16_t source_port(uint16_t path, uint8_t nic) const override {
    return inner_->source_port(path, nic);
  }
  Nanos now() override { return inner_->now(); }
  size_t transmit(std::span<const transport::TxBurst> bursts) override {
    return inner_->transmit(bursts);
  }
  uint32_t unsent(size_t burst) const override { return inner_->unsent(burst); }
  size_t receive(RxBatch& batch, const transport::Prediction* prediction) override;
  void release(RxBatch& batch) override;
  void place(std::span<const transport::Placement> placements) override {
    inner_->place(placements);
  }
  void wait(Nanos until) override { inner_->wait(until); }
  void wake() override { inner_->wake(); }
  int descriptor() const override { return inner_->descriptor(); }
  int wake_descriptor() const override { return inner_->wake_descriptor(); }
  void take_wake() override { inner_->take_wake(); }
  Result<transport::RegionId> register_memory(void* start, size_t bytes) override;
  void unregister_memory(transport::RegionId region) override;
  bool poll_error(transport::NetworkError& error) override { return inner_->poll_error(error); }
  const DatapathStatistics& statistics() const override;

 private:
  bool is_own(const transport::RxRun& run) const;
  uint8_t owner_of(const transport::RxRun& run, uint32_t segment) const;
  void sort_out(RxBatch& batch);
  void split(const transport::RxRun& run, RxBatch& batch);
  void keep(const HandedRuns::Part& part, RxBatch& batch);
  void hand_over(const HandedRuns::Part& part, uint8_t to);
  void take_handed(RxBatch& batch);

  const std::unique_ptr<Datapath> inner_;
  const transport::EngineShare share_;
  const std::shared_ptr<const Inboxes> inboxes_;
  HandedRuns handed_;                       // to this engine; lent, in part
  std::vector<transport::RxRun> unsorted_;  // of the batch being sorted out
  std::vector<std::byte*> memory_;          // where each region begins
  bool inner_lent_ = false;                 // a batch
  uint64_t handed_over_ = 0;                // datagrams, to others
  uint64_t dropped_ = 0;                    // datagrams that could not be handed over
  mutable DatapathStatistics statistics_;
};

}  // namespace heddle::datapath
