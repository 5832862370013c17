// RegisteredMemory: which regions the NIC may read and write. A region is registered when it is
// first named to a peer or sent from, and unregistered with its last user: regions of the same
// range share one registration. Registrations are not kept beyond that, since the memory of a range
// may have been returned to the system and mapped anew, which the NIC would not see.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "transport/payload.h"

struct ibv_mr;

namespace heddle::datapath {

// One registration, as the NIC knows it.
struct RegisteredRange {
  ibv_mr* memory = nullptr;  // null: it could not be registered
  uint32_t local_key = 0;
  uint32_t remote_key = 0;
  bool writable = false;  // by the peer's NIC; false: read-only memory, which can be sent only
};

class MemoryRegistrar {
 public:
  virtual ~MemoryRegistrar() = default;
  virtual RegisteredRange add(void* start, uint64_t bytes) = 0;
  virtual void remove(const RegisteredRange& range) = 0;
};

class RegisteredMemory {
 public:
  explicit RegisteredMemory(MemoryRegistrar& registrar) : registrar_(registrar) {}
  ~RegisteredMemory();
  RegisteredMemory(const RegisteredMemory&) = delete;
  RegisteredMemory& operator=(const RegisteredMemory&) = delete;

  // The registration of this region, made where there is none; one without memory where that is
  // impossible (then it is not tried again for this region).
  const RegisteredRange& find(transport::RegionId region, void* start, uint64_t bytes);
  // The region ends.
  void forget(transport::RegionId region);

  size_t ranges() const { return ranges_.size(); }
  uint64_t failures() const { return failures_; }

 private:
  using Key = std::pair<void*, uint64_t>;
  struct Shared {
    RegisteredRange range;
    uint32_t users = 0;
  };

  MemoryRegistrar& registrar_;
  std::map<Key, Shared> ranges_;
  std::vector<std::map<Key, Shared>::iterator> by_region_;  // end(): not registered
  uint64_t failures_ = 0;
};

}  // namespace heddle::datapath
