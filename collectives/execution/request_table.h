// RequestTable: the running calls, and the outcomes that were not fetched yet. A request of a group
// ends with the last of its members.
#pragma once

#include <cstdint>
#include <vector>

namespace heddle::collectives {

class RequestTable {
 public:
  enum class State : uint8_t { kUnknown, kUnderWay, kDone, kFailed };

  // A call; `group` is the request of its group, 0: none.
  uint64_t open(uint64_t group = 0) {
    const uint64_t id = take_slot();
    at(id).group = group;
    if (group != 0) ++at(group).members;
    return id;
  }
  // A group, which runs until close_group() and the end of its members.
  uint64_t open_group() {
    const uint64_t id = take_slot();
    at(id).members = 1;
    return id;
  }
  void close_group(uint64_t id) { end_member(id); }

  void finish(uint64_t id, bool ok) {
    const uint64_t group = at(id).group;
    at(id).failed |= !ok;
    end(id);
    if (group == 0) return;
    at(group).failed |= !ok;
    end_member(group);
  }

  State state(uint64_t id) const {
    const auto index = static_cast<uint32_t>(id);
    if (id == 0 || index >= slots_.size() || slots_[index].generation != id >> 32) {
      return State::kUnknown;
    }
    if (!slots_[index].done) return State::kUnderWay;
    return slots_[index].failed ? State::kFailed : State::kDone;
  }
  // Of one that has ended: it is known no more.
  void use_up(uint64_t id) {
    Slot& slot = at(id);
    slot.generation = 0;
    free_.push_back(static_cast<uint32_t>(id));
    --lent_;
  }
  // Discards the request.
  void forget(uint64_t id) {
    if (state(id) == State::kUnknown) return;
    if (at(id).done) return use_up(id);
    at(id).forgotten = true;
  }
  uint32_t lent() const { return lent_; }

 private:
  struct Slot {
    uint64_t group = 0;
    uint32_t members = 0;
    uint32_t generation = 0;  // 0: free
    bool done = false;
    bool failed = false;
    bool forgotten = false;
  };

  uint64_t take_slot() {
    if (free_.empty()) {
      free_.push_back(static_cast<uint32_t>(slots_.size()));
      slots_.emplace_back();
      free_.reserve(slots_.capacity());
    }
    const uint32_t index = free_.back();
    free_.pop_back();
    ++lent_;
    slots_[index] = {};
    next_generation_ = next_generation_ == UINT32_MAX ? 1 : next_generation_ + 1;
    slots_[index].generation = next_generation_;
    return uint64_t{next_generation_} << 32 | index;
  }
  Slot& at(uint64_t id) { return slots_[static_cast<uint32_t>(id)]; }
  void end(uint64_t id) {
    at(id).done = true;
    if (at(id).forgotten) use_up(id);
  }
  void end_member(uint64_t group) {
    if (--at(group).members == 0) end(group);
  }

  std::vector<Slot> slots_;
  std::vector<uint32_t> free_;
  uint32_t next_generation_ = 0;
  uint32_t lent_ = 0;
};

}  // namespace heddle::collectives
