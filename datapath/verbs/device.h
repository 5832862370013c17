// VerbsDevice: one opened RDMA port: its protection domain, its completion queue with a channel to
// sleep on, and registration of memory. Queue pairs (queue_pair.h) are made in it and must end
// before it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"
#include "datapath/rdma_devices.h"
#include "datapath/verbs/library.h"
#include "datapath/verbs/memory.h"

namespace heddle::datapath {

// The end of a work request.
struct Completion {
  uint64_t id = 0;  // as its queue pair was given
  bool ok = false;
  uint32_t immediate = 0;  // of a write that arrived
  uint32_t bytes = 0;      // likewise
  const char* error = "";  // not ok: why
};

class VerbsDevice final : public MemoryRegistrar {
 public:
  // By this library, which must outlive it. Errors: kUnavailable (the device has gone),
  // kPermission, kExhausted (locked memory), kSystem.
  static Result<std::unique_ptr<VerbsDevice>> open(const RdmaChoice& choice,
                                                   const VerbsLibrary& library);
  ~VerbsDevice() override;

  const VerbsLibrary& library() const { return library_; }
  ibv_pd* domain() const { return domain_; }
  ibv_cq* completions() const { return completions_; }
  const RdmaChoice& choice() const { return choice_; }
  // Of a packet's payload, as verbs encode it: 1 is 256 bytes, 5 is 4096.
  uint8_t mtu() const { return mtu_; }

  // Room in the completion queue for a queue pair; false: the device has no more.
  bool reserve_completions(uint32_t count);
  void release_completions(uint32_t count) { reserved_ -= count; }
  // Takes completions that are there; returns their number. Receives that a peer used up without an
  // immediate mean nothing and are left out.
  size_t poll(std::span<Completion> out);

  // Readable after arm() once there is a completion.
  int completion_descriptor() const;
  void arm();
  // Clears what arm() asked for; call it before the next arm().
  void take_notification();

  // Readable when the driver reports something outside of completions.
  int report_descriptor() const;
  // Logs such reports. True: one says that queue pairs do not work any more.
  bool take_reports();

  RegisteredRange add(void* start, uint64_t bytes) override;
  RegisteredRange add_device(const DeviceMemory& memory, uint64_t bytes) override;
  void remove(const RegisteredRange& range) override;

 private:
  VerbsDevice(const VerbsLibrary& library, const RdmaChoice& choice)
      : library_(library), choice_(choice) {}

  Result<void> open_context();
  Result<void> make_queues();

  const VerbsLibrary& library_;
  RdmaChoice choice_;
  ibv_context* context_ = nullptr;
  ibv_pd* domain_ = nullptr;
  ibv_comp_channel* channel_ = nullptr;
  ibv_cq* completions_ = nullptr;
  uint8_t mtu_ = 1;
  uint32_t capacity_ = 0;  // of the completion queue
  uint32_t most_capacity_ = 0;
  uint32_t reserved_ = 0;
  bool armed_ = false;
};

}  // namespace heddle::datapath
