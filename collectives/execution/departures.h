// Departures: small messages on their way whose payload was copied, so that the call that sent them
// need not wait until they are acknowledged: that takes a round trip more than the answer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "collectives/execution/slots.h"
#include "engine/endpoint.h"

namespace heddle::collectives {

class Departures {
 public:
  // So many are on their way at most; whoever sends more waits, so that a rank that runs ahead of
  // the others takes no memory without bound.
  static constexpr size_t kMost = 64;

  // Both must outlive it.
  Departures(engine::Endpoint& endpoint, SlotPool& slots) : endpoint_(endpoint), slots_(slots) {
    underway_.reserve(kMost);
  }
  ~Departures() {
    for (const Departure& departure : underway_) endpoint_.forget(departure.send);
  }
  Departures(const Departures&) = delete;
  Departures& operator=(const Departures&) = delete;

  // Whether take() takes one.
  bool has_room() {
    if (underway_.size() >= look_at_) {
      reap();
      // Looking at each of many that are not done would cost more than they do.
      look_at_ = std::min(underway_.size() + kLookEvery, kMost);
    }
    return underway_.size() < kMost;
  }

  // Takes over a send and the slot that it is sent from; false: there are too many.
  bool take(engine::Operation& send, Slot& slot) {
    if (!has_room()) return false;
    underway_.push_back({send, slot});
    send = {};
    slot = {};
    return true;
  }

  // Gives back what has arrived, or cannot any more; true: nothing is left.
  bool reap() {
    std::erase_if(underway_, [this](Departure& departure) {
      if (!endpoint_.peek(departure.send).done) return false;
      slots_.give_back(departure.slot);
      return true;
    });
    return underway_.empty();
  }

 private:
  static constexpr size_t kLookEvery = 16;
  struct Departure {
    engine::Operation send;
    Slot slot;
  };

  engine::Endpoint& endpoint_;
  SlotPool& slots_;
  std::vector<Departure> underway_;
  size_t look_at_ = kLookEvery;
};

}  // namespace heddle::collectives
