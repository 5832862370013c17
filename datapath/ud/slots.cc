// See slots.h.
#include "datapath/ud/slots.h"

#include <infiniband/verbs.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "base/log.h"

namespace heddle::datapath {

Result<std::unique_ptr<UdSlots>> UdSlots::make(VerbsDevice& device, uint32_t count,
                                               size_t slot_bytes, bool writable) {
  std::unique_ptr<UdSlots> made(new UdSlots(device, count, slot_bytes));
  const size_t bytes = count * slot_bytes;
  void* const start =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) {
    return fail(ErrorCode::kExhausted, "cannot open RDMA datagrams", std::strerror(errno));
  }
  made->start_ = static_cast<std::byte*>(start);
  made->memory_ = device.library().memory.reg_mr(device.domain(), start, bytes,
                                                 writable ? IBV_ACCESS_LOCAL_WRITE : 0);
  if (made->memory_ == nullptr) {
    const bool limited = errno == ENOMEM;
    return fail(limited ? ErrorCode::kExhausted : ErrorCode::kSystem, "cannot open RDMA datagrams",
                std::to_string(bytes) + " bytes cannot be registered: " + std::strerror(errno),
                limited ? "raise the limit of locked memory (ulimit -l); see heddle doctor rdma"
                        : "see heddle doctor rdma");
  }
  made->local_key_ = made->memory_->lkey;
  return made;
}

UdSlots::~UdSlots() {
  if (memory_ != nullptr) device_.library().memory.dereg_mr(memory_);
  if (start_ != nullptr) munmap(start_, count_ * slot_bytes_);
}

}  // namespace heddle::datapath
