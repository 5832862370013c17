// Trace: what this process calls of NCCL, as events of heddle's recordings. What is seen of a call
// is that it was enqueued; NCCL moves the data later, on the GPU's stream.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "base/nanos.h"
#include "base/own_mutex.h"
#include "events/events.h"
#include "plugins/nccl/trace/communicators.h"
#include "plugins/nccl/trace/device_recording.h"
#include "plugins/nccl/trace/settings.h"

namespace heddle::nccl::trace {

// A collective, a send or a receive, as the program called it.
struct DataCall {
  events::Operation operation = events::Operation::kAllreduce;
  const void* comm = nullptr;
  int type = 0;            // ncclDataType_t
  uint64_t count = 0;      // elements, as in call_made
  int root = 0;            // or the peer
  bool one_sided = false;  // a write into the peer's memory, which no receive matches
};

// What is known of it while it is made; without a device it is not recorded.
struct CallRecord {
  DeviceRecording* device = nullptr;
  uint64_t communicator = 0;
  uint32_t call = 0;
  events::Operation operation = events::Operation::kAllreduce;
};

// A communicator that a call of NCCL makes. NCCL writes the handle when the call returns, inside of
// a group when the group ends.
struct Birth {
  void* const* handle = nullptr;
  uint64_t number = 0;
  uint32_t rank = 0;
  uint32_t size = 0;  // 0: NCCL is asked, when the communicator is first used
  int device = kUnknownDevice;
};

// A call that moves no data between ranks itself.
struct LibraryCall {
  const char* function = "";
  const void* comm = nullptr;
  uint64_t bytes = 0;
  uint32_t status = 0;
  Nanos began;
};

struct Copy {
  int from = kUnknownDevice;
  int to = kUnknownDevice;
  uint64_t bytes = 0;
};

// No function throws. Any thread.
class Trace {
 public:
  explicit Trace(Settings settings);

  const Settings& settings() const { return settings_; }

  CallRecord begin(const DataCall& call, uint64_t group) noexcept;
  // Whether NCCL took it.
  void end(const CallRecord& record, bool ok) noexcept;

  // Null: not one that was seen to be made.
  Communicator* find(const void* comm) const { return communicators_.find(comm); }
  // Communicators that were made together, so that a process with several has them on different
  // devices.
  void made(std::span<const Birth> births) noexcept;
  // Those of ncclCommInitAll(): one for each of `devices`, or of the first `count`.
  void made_all(void* const* handles, int count, const int* devices) noexcept;
  // Before NCCL frees it.
  void ended(const void* comm, bool failed) noexcept;
  void called(const LibraryCall& call) noexcept;

  // A copy between devices of this process. Recorded as a send in a communicator of the devices.
  CallRecord begin(const Copy& copy) noexcept;

  // Marks all recordings as closed; the process ends.
  void close() noexcept;

 private:
  Communicator* known(const void* comm);
  void place(Communicator& communicator, int device, bool together);
  DeviceRecording* recording_for(uint64_t communicator, int device);
  DeviceRecording* add_recording(int device, uint32_t rank, bool own_rank);
  DeviceRecording* device_of_copy(int device);
  // The communicator of the devices has at least `devices` from now on.
  void widen_copies(uint32_t devices);
  void join_copies(DeviceRecording& device);

  const Settings settings_;
  const uint64_t copies_number_;  // of the communicator of this process's devices
  Communicators communicators_;
  std::array<std::atomic<DeviceRecording*>, kMostDevices> by_device_{};
  std::atomic<DeviceRecording*> first_{nullptr};
  std::atomic<uint32_t> made_all_{0};
  std::atomic<uint32_t> copies_devices_{0};  // known from copies; 0: there was none
  OwnMutex mutex_;                           // of what follows
  std::vector<std::unique_ptr<DeviceRecording>> devices_;
  std::deque<events::LibraryCall> early_;  // before there was a recording
  bool failed_ = false;
};

// This process's; null where it does not record. The first call reads the environment.
Trace* process_trace() noexcept;

// Numbers of communicators that all their ranks find: of the unique ids, and of the `child`-th that
// a parent makes (counted from 1), with what its ranks have in common.
uint64_t number_of_ids(const void* ids, size_t bytes);
uint64_t number_of_child(uint64_t parent, uint32_t child, uint64_t common);

}  // namespace heddle::nccl::trace
