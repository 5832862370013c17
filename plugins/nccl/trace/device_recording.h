// DeviceRecording: what one device of this process does, as a recording of its own. A recording has
// at most one rank of each communicator, and a process may drive several GPUs; so each gets a file,
// as if it were a process. Threads write without locks.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <utility>

#include "base/fork_guard.h"
#include "events/recording.h"
#include "plugins/nccl/trace/params.h"

namespace heddle::nccl::trace {

inline constexpr uint32_t kMostDevices = params::kMostDevices;  // of a process
inline constexpr int kUnknownDevice = -1;

class DeviceRecording {
 public:
  // `index` counts the process's recordings from 0.
  DeviceRecording(uint32_t index, int device, std::shared_ptr<events::Recording> recording)
      : index_(index), device_(device), recording_(std::move(recording)) {}

  int device() const { return device_; }
  events::Recording& recording() { return *recording_; }

  // From any thread; a thread's first event here takes a block of the file.
  template <typename Event>
  void write(const Event& event) {
    events::Recorder* const recorder = of_this_thread();
    if (recorder != nullptr) {
      recorder->on_any(event);
    } else {
      recording_->note(event);
    }
  }
  // For rare events that must not be overwritten.
  void note(const events::AnyEvent& event) { recording_->note(event); }

  // False if a rank of this communicator is here already. Callers take turns.
  bool join(uint64_t communicator) { return communicators_.insert(communicator).second; }
  bool has(uint64_t communicator) const { return communicators_.count(communicator) != 0; }
  void leave(uint64_t communicator) { communicators_.erase(communicator); }

  // Copies to other devices: numbers of calls, and of copies to each.
  struct Copies {
    std::atomic<uint32_t> calls{0};
    std::array<std::atomic<uint64_t>, kMostDevices> to{};
  };
  Copies& copies() { return copies_; }

 private:
  events::Recorder* of_this_thread();

  const uint32_t index_;
  const int device_;
  const std::shared_ptr<events::Recording> recording_;
  std::set<uint64_t> communicators_;
  Copies copies_;
};

}  // namespace heddle::nccl::trace
