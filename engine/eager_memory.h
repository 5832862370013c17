// EagerMemory: the registered memory of an endpoint that holds messages which arrive before their
// receives are posted.
#pragma once

#include <cstddef>
#include <memory>

#include "base/anonymous_memory.h"
#include "base/result.h"
#include "base/units.h"
#include "datapath/datapath.h"

namespace heddle::engine {

class EagerMemory {
 public:
  // Zero bytes: none, and no region. Errors: kExhausted, and those of register_memory().
  static Result<EagerMemory> create(std::shared_ptr<datapath::Datapath> datapath, Bytes size);
  EagerMemory(EagerMemory&& other) noexcept = default;
  EagerMemory& operator=(EagerMemory&&) = delete;
  ~EagerMemory();

  transport::RegionId region() const { return region_; }  // kNoRegion where there is none
  size_t bytes() const { return region_ == transport::kNoRegion ? 0 : memory_->bytes(); }

 private:
  EagerMemory(std::shared_ptr<datapath::Datapath> datapath, Bytes size);

  std::shared_ptr<datapath::Datapath> datapath_;  // null once moved from
  std::unique_ptr<AnonymousMemory> memory_;
  transport::RegionId region_ = transport::kNoRegion;
};

}  // namespace heddle::engine
