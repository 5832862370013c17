// Communicators: which of the program's handles is which communicator of the recording. A call
// finds its communicator without a lock; creating and ending take one.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/own_mutex.h"
#include "plugins/nccl/trace/device_recording.h"
#include "plugins/nccl/trace/params.h"

namespace heddle::nccl::trace {

// A rank of a communicator. NCCL demands that calls on it are made by one thread at a time.
struct Communicator {
  std::atomic<const void*> handle{nullptr};
  std::atomic<uint64_t> number{0};
  std::atomic<uint32_t> rank{0};
  std::atomic<uint32_t> size{0};  // 0: not known yet
  std::atomic<DeviceRecording*> device{nullptr};

  std::atomic<uint32_t> calls{0};        // and groups, numbered together from 1
  std::atomic<uint64_t> collectives{0};  // all ranks make them in the same order
  std::atomic<uint32_t> children{0};     // splits, shrinks and grows, in the same order too
  std::atomic<uint64_t> group{0};        // the thread's group that `group_call` stands for
  std::atomic<uint32_t> group_call{0};

  // The number of a message to or from a peer, counted from 1 for each of both. Peers whose numbers
  // are equal modulo kMostPeers are counted together. The first message allocates; 0: no memory.
  static constexpr uint32_t kMostPeers = params::kMostPeers;
  uint64_t next_message(bool from, uint32_t peer);

  Communicator() = default;
  ~Communicator() { delete messages_.load(); }
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  // For another communicator.
  void reset(const void* new_handle, uint64_t new_number);

 private:
  using Messages = std::array<std::atomic<uint64_t>, 2 * kMostPeers>;
  std::atomic<Messages*> messages_{nullptr};
};

class Communicators {
 public:
  static constexpr size_t kMost = params::kMostCommunicators;  // at once

  Communicators() = default;
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;

  // Null: none has this handle.
  Communicator* find(const void* handle) const;
  // A new one in place of any with this handle. Null: there are kMost.
  Communicator* add(const void* handle, uint64_t number);
  // The handle is free for another; the object stays valid and may be used for that.
  void remove(const void* handle);

 private:
  static constexpr size_t kSlots = 2 * kMost;
  // A slot whose communicator ended, beyond which others may lie.
  static Communicator* left() { return reinterpret_cast<Communicator*>(alignof(Communicator)); }
  static size_t first_slot(const void* handle);
  struct Found {
    size_t slot = kSlots;
    Communicator* communicator = nullptr;
  };
  Found look_up(const void* handle) const;

  std::array<std::atomic<Communicator*>, kSlots> slots_{};
  OwnMutex mutex_;  // of what follows, and of changes of slots_
  std::vector<std::unique_ptr<Communicator>> all_;
  std::vector<Communicator*> free_;
};

}  // namespace heddle::nccl::trace
