// Exchange: what the thread of the network and the thread of the disk hand each other, so that the
// two overlap.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"

namespace heddle::copying {

using Answers = std::vector<std::byte>;

// A message's place in the memory of its side.
struct MessagePlace {
  size_t index = 0;
  size_t bytes = 0;
};

class Exchange {
 public:
  // Wakes the thread of the network.
  explicit Exchange(std::function<void()> wake) : wake_(std::move(wake)) {}

  // Of the network's thread.
  void to_disk(MessagePlace place) { add(disk_places_, place); }
  void answers_to_disk(Answers answers) { add(disk_answers_, std::move(answers)); }
  std::optional<MessagePlace> take_from_disk() { return take(network_places_); }
  std::optional<Answers> take_answers_from_disk() { return take(network_answers_); }
  size_t answers_waiting() {
    const std::lock_guard lock(mutex_);
    return disk_answers_.size();
  }
  // Nothing more comes: the disk's thread ends once it has done what it has in hand.
  void stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  // The same, and it leaves what it has in hand.
  void abandon() {
    abandoned_ = true;
    stop();
  }
  bool abandoned() const { return abandoned_; }
  // Nothing waits for the disk's thread; it may still have the last message in hand.
  bool idle() {
    const std::lock_guard lock(mutex_);
    return disk_places_.empty() && disk_answers_.empty();
  }
  std::optional<Result<void>> end() {
    const std::lock_guard lock(mutex_);
    return end_;
  }

  // Of the disk's thread.
  std::optional<MessagePlace> next_place() { return take(disk_places_); }
  std::optional<Answers> next_answers() {
    std::optional<Answers> answers = take(disk_answers_);
    if (answers) wake_();
    return answers;
  }
  void to_network(MessagePlace place) { add(network_places_, place), wake_(); }
  // Waits while `most` are there, so that a peer that reads none makes this side hold few.
  void answers_to_network(Answers answers, size_t most) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopped_ || network_answers_.size() < most; });
    }
    add(network_answers_, std::move(answers));
    wake_();
  }
  // Sleeps until something comes from the network. False: stop.
  bool wait(bool for_place) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] {
      return stopped_ || (for_place && !disk_places_.empty()) || !disk_answers_.empty();
    });
    return !stopped_;
  }
  void set_end(Result<void> end) {
    {
      const std::lock_guard lock(mutex_);
      end_ = std::move(end);
    }
    wake_();
  }

 private:
  template <typename Item>
  void add(std::deque<Item>& queue, Item item) {
    const std::lock_guard lock(mutex_);
    queue.push_back(std::move(item));
    changed_.notify_all();
  }
  template <typename Item>
  std::optional<Item> take(std::deque<Item>& queue) {
    const std::lock_guard lock(mutex_);
    if (queue.empty()) return std::nullopt;
    std::optional<Item> item = std::move(queue.front());
    queue.pop_front();
    changed_.notify_all();
    return item;
  }

  const std::function<void()> wake_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<MessagePlace> disk_places_;
  std::deque<MessagePlace> network_places_;
  std::deque<Answers> disk_answers_;
  std::deque<Answers> network_answers_;
  std::optional<Result<void>> end_;  // of the disk's thread
  bool stopped_ = false;
  std::atomic<bool> abandoned_ = false;
};

}  // namespace heddle::copying
