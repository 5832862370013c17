// See waiting_messages.h.
#include "messaging/waiting_messages.h"

#include <algorithm>
#include <utility>

namespace heddle::messaging {

size_t WaitingMessages::bytes_of(const Message& message) {
  return message.subject.size() + message.text.size();
}

// Whether it took the place of one that waits.
bool WaitingMessages::replaces(const Message& message) {
  if (!message.newest_only) return false;
  std::deque<Message>& among = message.important ? important_ : others_;
  const auto older = std::find_if(among.begin(), among.end(), [&message](const Message& each) {
    return each.newest_only && each.subject == message.subject;
  });
  if (older == among.end()) return false;
  bytes_ = bytes_ - bytes_of(*older) + bytes_of(message);
  *older = message;
  return true;
}

uint64_t WaitingMessages::add(Message message) {
  if (!replaces(message)) {
    bytes_ += bytes_of(message);
    std::deque<Message>& to = message.important ? important_ : others_;
    to.push_back(std::move(message));
  }
  return drop_too_many();
}

Message WaitingMessages::pop(std::deque<Message>& from) {
  Message first = std::move(from.front());
  from.pop_front();
  bytes_ -= bytes_of(first);
  return first;
}

uint64_t WaitingMessages::drop_too_many() {
  uint64_t dropped = 0;
  while (size() > limits_.messages || bytes_ > limits_.bytes) {
    pop(others_.empty() ? important_ : others_);
    ++dropped;
  }
  return dropped;
}

std::vector<Message> WaitingMessages::take(size_t most) {
  std::vector<Message> taken;
  while (taken.size() < most && size() > 0) {
    taken.push_back(pop(important_.empty() ? others_ : important_));
  }
  return taken;
}

uint64_t WaitingMessages::put_back(std::vector<Message> messages) {
  for (auto each = messages.rbegin(); each != messages.rend(); ++each) {
    std::deque<Message>& to = each->important ? important_ : others_;
    const bool newer =
        each->newest_only && std::any_of(to.begin(), to.end(), [&each](const Message& waiting) {
          return waiting.newest_only && waiting.subject == each->subject;
        });
    if (newer) continue;
    bytes_ += bytes_of(*each);
    to.push_front(std::move(*each));
  }
  return drop_too_many();
}

}  // namespace heddle::messaging
