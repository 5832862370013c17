// CallQueue: calls that have not begun. It numbers them: collectives in the order in which they are
// made, messages between two ranks by peer and direction. It decides which call begins next: of
// collectives the oldest, of messages the oldest of a stream whose earlier ones are posted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/ring.h"
#include "collectives/call.h"

namespace heddle::collectives {

struct WaitingCall {
  Call call;
  uint64_t number = 0;
  uint64_t request = 0;  // 0: one of the agreement's own
  std::optional<Algorithm> algorithm = std::nullopt;
};

class CallQueue {
 public:
  // Of this rank among `ranks`. Collectives count from 1: the agreement's first call has 0.
  CallQueue(uint32_t rank, uint32_t ranks)
      : rank_(rank), made_(2 * size_t{ranks}), posted_(2 * size_t{ranks}) {}

  // Numbers a call that the application makes.
  WaitingCall number(Call call, uint64_t request);
  void push(WaitingCall waiting);
  // Of the next collective that is made.
  uint64_t next_number() const { return next_number_; }

  bool any_collective() const { return !collectives_.empty(); }
  WaitingCall take_collective() { return collectives_.pop_front(); }

  bool any_message() const { return !messages_.empty(); }
  // The next that may begin, from place `at` on; `at` becomes its place.
  std::optional<WaitingCall> take_message(size_t& at);
  // All of this message has been posted: the next of its stream may begin.
  void note_posted(const Call& call) { ++stream_of(posted_, call); }

  // The n-th send of this rank to itself meets its n-th receive from itself.
  struct OwnPair {
    std::vector<WaitingCall>::iterator send;
    std::vector<WaitingCall>::iterator receive;
  };
  std::optional<OwnPair> own_pair();
  void erase(const OwnPair& pair);

  // Calls end(request) for each, in order: collectives before messages.
  template <typename End>
  void drain(End end) {
    while (!collectives_.empty()) end(collectives_.pop_front().request);
    for (const WaitingCall& waiting : messages_) end(waiting.request);
    messages_.clear();
  }

 private:
  static uint64_t& stream_of(std::vector<uint64_t>& streams, const Call& call) {
    return streams[2 * size_t{call.root} + (call.collective == Collective::kSend ? 0 : 1)];
  }

  const uint32_t rank_;
  uint64_t next_number_ = 1;
  Ring<WaitingCall> collectives_;
  std::vector<WaitingCall> messages_;  // in the order of their calls
  std::vector<uint64_t> made_;         // messages by peer and direction
  std::vector<uint64_t> posted_;       // and those of which everything is posted
};

}  // namespace heddle::collectives
