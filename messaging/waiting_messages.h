// WaitingMessages: what a publisher has to send: bounded, important ones first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "messaging/publisher.h"

namespace heddle::messaging {

struct WaitingLimits {
  size_t messages = 0;
  size_t bytes = 0;  // of texts and subjects
};

class WaitingMessages {
 public:
  explicit WaitingMessages(const WaitingLimits& limits) : limits_(limits) {}

  // Returns how many were dropped for it, itself included.
  uint64_t add(Message message);
  // The next ones, at most `most`, in the order in which they were added, important ones first.
  std::vector<Message> take(size_t most);
  // Those that were taken and could not be sent: they are the next ones again. Returns how many
  // were dropped.
  uint64_t put_back(std::vector<Message> messages);

  size_t size() const { return important_.size() + others_.size(); }
  size_t bytes() const { return bytes_; }

 private:
  static size_t bytes_of(const Message& message);
  bool replaces(const Message& message);
  Message pop(std::deque<Message>& from);
  uint64_t drop_too_many();

  WaitingLimits limits_;
  std::deque<Message> important_;
  std::deque<Message> others_;
  size_t bytes_ = 0;
};

}  // namespace heddle::messaging
