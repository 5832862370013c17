// ForwardingDatapath: a datapath around another one. It forwards each call that the class derived
// from it does not override, so none of them states the whole contract again.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "datapath/datapath.h"

namespace heddle::datapath {

template <typename Inner = Datapath>
class ForwardingDatapath : public Datapath {
 public:
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
  size_t receive(RxBatch& batch, const transport::Prediction* prediction) override {
    return inner_->receive(batch, prediction);
  }
  void release(RxBatch& batch) override { inner_->release(batch); }
  void place(std::span<const transport::Placement> placements) override {
    inner_->place(placements);
  }
  void wait(Nanos until) override { inner_->wait(until); }
  void wake() override { inner_->wake(); }
  int descriptor() const override { return inner_->descriptor(); }
  int wake_descriptor() const override { return inner_->wake_descriptor(); }
  void take_wake() override { inner_->take_wake(); }
  Result<transport::RegionId> register_memory(void* start, size_t bytes) override {
    return inner_->register_memory(start, bytes);
  }
  Result<transport::RegionId> register_device_memory(const DeviceMemory& memory,
                                                     size_t bytes) override {
    return inner_->register_device_memory(memory, bytes);
  }
  void unregister_memory(transport::RegionId region) override { inner_->unregister_memory(region); }
  transport::MemoryToken token(transport::RegionId region) const override {
    return inner_->token(region);
  }
  void admit(const transport::WriterAdmission& peer) override { inner_->admit(peer); }
  void recall(const transport::RecallRequest& request) override { inner_->recall(request); }
  void fence(const transport::FenceRequest& request) override { inner_->fence(request); }
  bool poll_error(transport::NetworkError& error) override { return inner_->poll_error(error); }
  const DatapathStatistics& statistics() const override { return inner_->statistics(); }

 protected:
  explicit ForwardingDatapath(std::unique_ptr<Inner> inner) : inner_(std::move(inner)) {
    CHECK(inner_ != nullptr);
  }

  Inner& inner() { return *inner_; }
  const Inner& inner() const { return *inner_; }

 private:
  const std::unique_ptr<Inner> inner_;
};

}  // namespace heddle::datapath
