// See communicators.h.
#include "plugins/nccl/trace/communicators.h"

#include <new>

#include "base/hash.h"

namespace heddle::nccl::trace {

uint64_t Communicator::next_message(bool from, uint32_t peer) {
  Messages* counts = messages_.load(std::memory_order_acquire);
  if (counts == nullptr) {
    std::unique_ptr<Messages> made(new (std::nothrow) Messages{});
    if (!made) return 0;
    if (messages_.compare_exchange_strong(counts, made.get())) counts = made.release();
  }
  return (*counts)[2 * (peer % kMostPeers) + (from ? 1 : 0)].fetch_add(1) + 1;
}

void Communicator::reset(const void* new_handle, uint64_t new_number) {
  number = new_number;
  rank = size = calls = children = group_call = 0;
  collectives = group = 0;
  device = nullptr;
  if (Messages* const counts = messages_.load()) {
    for (auto& count : *counts) count = 0;
  }
  handle.store(new_handle, std::memory_order_relaxed);
}

size_t Communicators::first_slot(const void* handle) {
  return mix_bits(reinterpret_cast<uintptr_t>(handle)) % kSlots;
}

// Null: there is none. At least half of the slots are empty or left. A slot is read once: another
// thread may remove its communicator meanwhile.
Communicators::Found Communicators::look_up(const void* handle) const {
  for (size_t tried = 0; tried < kSlots; ++tried) {
    const size_t slot = (first_slot(handle) + tried) % kSlots;
    Communicator* const each = slots_[slot].load(std::memory_order_acquire);
    if (each == nullptr) return {};
    if (each != left() && each->handle.load(std::memory_order_relaxed) == handle) {
      return {slot, each};
    }
  }
  return {};
}

Communicator* Communicators::find(const void* handle) const { return look_up(handle).communicator; }

Communicator* Communicators::add(const void* handle, uint64_t number) {
  remove(handle);
  const OwnMutex::Lock lock = mutex_.enter();
  if (!lock) return nullptr;
  if (free_.empty()) {
    if (all_.size() == kMost) return nullptr;
    all_.push_back(std::make_unique<Communicator>());
    free_.push_back(all_.back().get());
  }
  Communicator* const made = free_.back();
  made->reset(handle, number);
  size_t slot = first_slot(handle);
  const auto taken = [this](size_t at) {
    const Communicator* const each = slots_[at].load(std::memory_order_relaxed);
    return each != nullptr && each != left();
  };
  while (taken(slot)) slot = (slot + 1) % kSlots;
  free_.pop_back();
  slots_[slot].store(made, std::memory_order_release);
  return made;
}

void Communicators::remove(const void* handle) {
  const OwnMutex::Lock lock = mutex_.enter();
  const auto [slot, ended] = look_up(handle);
  if (!lock || ended == nullptr) return;
  slots_[slot].store(left(), std::memory_order_release);
  // Where nothing follows, a search may stop.
  for (size_t at = slot; slots_[(at + 1) % kSlots].load(std::memory_order_relaxed) == nullptr &&
                         slots_[at].load(std::memory_order_relaxed) == left();
       at = (at + kSlots - 1) % kSlots) {
    slots_[at].store(nullptr, std::memory_order_release);
  }
  ended->handle.store(nullptr, std::memory_order_relaxed);
  free_.push_back(ended);
}

}  // namespace heddle::nccl::trace
