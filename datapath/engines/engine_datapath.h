// EngineDatapath: the datapath contract over another datapath that shares its port with those of
// other engines. with_engines() creates it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "datapath/engines/inbox.h"
#include "datapath/forwarding.h"
#include "transport/engine_share.h"

namespace heddle::datapath {

class EngineDatapath final : public ForwardingDatapath<> {
 public:
  using Inboxes = std::vector<std::unique_ptr<Inbox>>;

  // `inboxes` has one for each engine.
  EngineDatapath(std::unique_ptr<Datapath> inner, uint8_t index,
                 std::shared_ptr<const Inboxes> inboxes);
  ~EngineDatapath() override;

  size_t receive(RxBatch& batch, const transport::Prediction* prediction) override;
  void release(RxBatch& batch) override;
  Result<transport::RegionId> register_memory(void* start, size_t bytes) override;
  Result<transport::RegionId> register_device_memory(const DeviceMemory& memory,
                                                     size_t bytes) override;
  const DatapathStatistics& statistics() const override;

 private:
  bool is_own(const transport::RxRun& run) const;
  uint8_t owner_of(const transport::RxRun& run, uint32_t segment) const;
  void sort_out(RxBatch& batch);
  void split(const transport::RxRun& run, RxBatch& batch);
  void keep(const HandedRuns::Part& part, RxBatch& batch);
  void hand_over(const HandedRuns::Part& part, uint8_t to);
  void take_handed(RxBatch& batch);
  void note_memory(transport::RegionId region, void* start);

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
