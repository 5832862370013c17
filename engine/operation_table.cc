// OperationTable: see operation_table.h. A slot's word holds its generation, so a stale id never
// matches the slot's next operation. Slabs never move, so readers need no lock.
#include "engine/operation_table.h"

#include "base/check.h"

namespace heddle::engine {

OperationTable::~OperationTable() {
  for (std::atomic<Slot*>& slab : slabs_) delete[] slab.load();
}

OperationTable::Slot* OperationTable::slot(uint64_t id) const {
  const uint32_t index = index_of(id);
  if (id == 0 || index >= kMaxOperations) return nullptr;
  Slot* slab = slabs_[index / kSlab].load(std::memory_order_acquire);
  return slab == nullptr ? nullptr : &slab[index % kSlab];
}

Operation OperationTable::open(const OperationPlace& place) {
  uint32_t index = 0;
  {
    const OwnMutex::Lock lock = free_mutex_.lock();
    if (free_.empty()) {
      if (slots_ == kMaxOperations) return {};
      slabs_[slots_ / kSlab].store(new Slot[kSlab], std::memory_order_release);
      slots_ += kSlab;
      free_.reserve(slots_);
      for (uint32_t i = 1; i <= kSlab; ++i) free_.push_back(slots_ - i);
    }
    index = free_.back();
    free_.pop_back();
  }
  Slot& slot = slabs_[index / kSlab].load(std::memory_order_relaxed)[index % kSlab];
  uint64_t generation = ((slot.word.load(std::memory_order_relaxed) >> 2) + 1) & UINT32_MAX;
  if (generation == 0) generation = 1;
  slot.place = place;
  slot.outcome = {};
  const uint64_t id = generation << 32 | engine_ | index;
  slot.word.store(word(id, kPending), std::memory_order_release);
  return {id};
}

void OperationTable::release(uint64_t id, Slot& slot) {
  slot.word.store(word(id, kFree), std::memory_order_relaxed);
  const OwnMutex::Lock lock = free_mutex_.lock();
  free_.push_back(index_of(id));
}

void OperationTable::abandon(Operation operation) {
  Slot* const found = slot(operation.id);
  CHECK(found != nullptr);
  release(operation.id, *found);
}

OperationPlace OperationTable::finish(uint64_t id, const Outcome& outcome) {
  Slot* const found = slot(id);
  CHECK(found != nullptr);
  const OperationPlace place = found->place;
  found->outcome = outcome;
  uint64_t expected = word(id, kPending);
  if (!found->word.compare_exchange_strong(expected, word(id, kDone), std::memory_order_acq_rel)) {
    CHECK(expected == word(id, kForgotten));
    release(id, *found);
  }
  return place;
}

Outcome OperationTable::take(Operation operation) {
  const Outcome unknown = {.done = true, .ok = false, .error = ErrorCode::kInvalid};
  Slot* const found = slot(operation.id);
  if (found == nullptr) return unknown;
  uint64_t seen = found->word.load(std::memory_order_acquire);
  if (seen == word(operation.id, kPending)) return {};
  if (seen != word(operation.id, kDone)) return unknown;
  const Outcome outcome = found->outcome;
  // Two threads may take the same operation; only one of them gets the outcome.
  if (!found->word.compare_exchange_strong(seen, word(operation.id, kFree),
                                           std::memory_order_acq_rel)) {
    return unknown;
  }
  const OwnMutex::Lock lock = free_mutex_.lock();
  free_.push_back(index_of(operation.id));
  return outcome;
}

bool OperationTable::is_done(Operation operation) const {
  const Slot* const found = slot(operation.id);
  return found == nullptr ||
         found->word.load(std::memory_order_acquire) != word(operation.id, kPending);
}

void OperationTable::forget(Operation operation) {
  Slot* const found = slot(operation.id);
  if (found == nullptr) return;
  uint64_t expected = word(operation.id, kPending);
  if (found->word.compare_exchange_strong(expected, word(operation.id, kForgotten),
                                          std::memory_order_acq_rel)) {
    return;
  }
  static_cast<void>(take(operation));
}

bool OperationTable::find(Operation operation, OperationPlace& place) const {
  const Slot* const found = slot(operation.id);
  if (found == nullptr || is_done(operation)) return false;
  place = found->place;
  return true;
}

}  // namespace heddle::engine
