// An endpoint's memory of early messages: see eager_memory.h.
#include "engine/eager_memory.h"

#include <utility>

namespace heddle::engine {

EagerMemory::EagerMemory(std::shared_ptr<datapath::Datapath> datapath, Bytes size)
    : datapath_(std::move(datapath)), memory_(std::make_unique<AnonymousMemory>(size)) {}

EagerMemory::~EagerMemory() {
  if (datapath_ && region_ != transport::kNoRegion) datapath_->unregister_memory(region_);
}

Result<EagerMemory> EagerMemory::create(std::shared_ptr<datapath::Datapath> datapath, Bytes size) {
  EagerMemory made(std::move(datapath), size);
  if (size.count == 0) return made;
  AnonymousMemory& memory = *made.memory_;
  if (memory.start() == nullptr) {
    return fail(ErrorCode::kExhausted, "cannot hold memory for early messages",
                "the system gives no more address space", "lower eager_bytes");
  }
  Result<transport::RegionId> named =
      made.datapath_->register_memory(memory.start(), memory.bytes());
  if (!named) return fail(named.error());
  made.region_ = *named;
  return made;
}

}  // namespace heddle::engine
