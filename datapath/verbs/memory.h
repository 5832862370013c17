// RegisteredMemory: which regions the NIC may read and write. A region of the host's memory is
// registered when it is first named to a peer or sent from, one of a device's at once; it is
// unregistered with its last user: regions of the same range share one registration. Registrations
// are not kept beyond that, since the memory of a range may have been returned to the system and
// mapped anew, which the NIC would not see.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "datapath/datapath.h"
#include "transport/payload.h"

struct ibv_mr;

namespace heddle::datapath {

// One registration, as the NIC knows it.
struct RegisteredRange {
  ibv_mr* memory = nullptr;  // null: it could not be registered
  uint32_t local_key = 0;
  uint32_t remote_key = 0;
  bool writable = false;  // by the peer's NIC; false: read-only memory, which can be sent only
  int error = 0;          // errno where it could not be registered
};

class MemoryRegistrar {
 public:
  virtual ~MemoryRegistrar() = default;
  virtual RegisteredRange add(void* start, uint64_t bytes) = 0;
  // Memory of a device, by its dmabuf; the NIC's addresses are those of its mapping.
  virtual RegisteredRange add_device(const DeviceMemory& memory, uint64_t bytes) = 0;
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
  // The same for a region of a device's memory, before find() is called for it. One that could not
  // be registered is not kept.
  RegisteredRange add_device(transport::RegionId region, const DeviceMemory& memory,
                             uint64_t bytes);
  // The region ends.
  void forget(transport::RegionId region);

  size_t ranges() const { return ranges_.size(); }
  uint64_t failures() const { return failures_; }

 private:
  struct Key {
    void* start = nullptr;
    uint64_t bytes = 0;
    bool of_device = false;

    auto operator<=>(const Key&) const = default;
  };
  struct SharedRange {
    RegisteredRange range;
    uint32_t users = 0;
  };

  std::map<Key, SharedRange>::iterator& entry_of(transport::RegionId region);

  MemoryRegistrar& registrar_;
  std::map<Key, SharedRange> ranges_;
  std::vector<std::map<Key, SharedRange>::iterator> by_region_;  // end(): not registered
  uint64_t failures_ = 0;
};

}  // namespace heddle::datapath
