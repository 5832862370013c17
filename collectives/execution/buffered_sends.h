// BufferedSends: small messages in flight that were sent from a copy, so that their call ends
// without waiting for the acknowledgement, which arrives a round trip after the answer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "collectives/execution/slots.h"
#include "collectives/params.h"
#include "engine/endpoint.h"

namespace heddle::collectives {

class BufferedSends {
 public:
  // At most this many are in flight; a rank that is further ahead waits, which bounds its memory.
  static constexpr size_t kMost = params::kBufferedSends;

  // Both must outlive it.
  BufferedSends(engine::Endpoint& endpoint, SlotPool& slots) : endpoint_(endpoint), slots_(slots) {
    underway_.reserve(kMost);
  }
  ~BufferedSends() {
    for (const BufferedSend& each : underway_) endpoint_.forget(each.send);
  }
  BufferedSends(const BufferedSends&) = delete;
  BufferedSends& operator=(const BufferedSends&) = delete;

  // Whether take() accepts another.
  bool has_room() {
    if (underway_.size() >= look_at_) {
      reap();
      // Looking at each of many that are not done would cost more than they do.
      look_at_ = std::min(underway_.size() + kLookEvery, kMost);
    }
    return underway_.size() < kMost;
  }

  // Takes ownership of a send and its slot; false: there are too many.
  bool take(engine::Operation& send, Slot& slot, engine::Connection connection) {
    if (!has_room()) return false;
    underway_.push_back({send, slot, connection});
    send = {};
    slot = {};
    return true;
  }

  // Releases the slots of sends that have ended; true: none is left.
  bool reap() {
    std::erase_if(underway_, [this](BufferedSend& each) {
      if (!endpoint_.peek(each.send).done) return false;
      slots_.give_back(each.slot);
      return true;
    });
    return underway_.empty();
  }

  // After a failure: ends them, as soon as the peers' sides let it.
  void withdraw() {
    for (const BufferedSend& each : underway_) endpoint_.cancel(each.send);
  }
  // The connection of one that has not ended; 0: all have.
  engine::Connection unfinished() const {
    return underway_.empty() ? 0 : underway_.front().connection;
  }

 private:
  static constexpr size_t kLookEvery = params::kBufferedSendsLookEvery;
  struct BufferedSend {
    engine::Operation send;
    Slot slot;
    engine::Connection connection = 0;
  };

  engine::Endpoint& endpoint_;
  SlotPool& slots_;
  std::vector<BufferedSend> underway_;
  size_t look_at_ = kLookEvery;
};

}  // namespace heddle::collectives
