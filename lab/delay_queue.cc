// See delay_queue.h.
#include "lab/delay_queue.h"

#include <algorithm>
#include <cstring>

namespace heddle::lab {

DelayQueue::DelayQueue(const DelayQueueOptions& options)
    : options_(options),
      room_(options.capacity.count + 2 * size_t{options.largest_frame}),
      ring_(new uint8_t[room_]) {}  // uninitialized: pages are allocated when frames come

bool DelayQueue::push(std::span<const uint8_t> frame, Nanos arrival) {
  if (frame.size() > options_.largest_frame ||
      held_.count + frame.size() > options_.capacity.count) {
    ++counts_.dropped;
    return false;
  }
  if (records_.empty()) tail_ = 0;  // reuses the same few pages when little is in flight
  if (room_ - tail_ < frame.size()) tail_ = 0;
  std::memcpy(ring_.get() + tail_, frame.data(), frame.size());
  last_due_ = std::max(last_due_, arrival + options_.delay);
  records_.push_back({tail_, frame.size(), last_due_});
  tail_ += frame.size();
  held_.count += frame.size();
  return true;
}

size_t DelayQueue::due(Nanos now, std::span<std::span<const uint8_t>> frames) const {
  size_t count = 0;
  for (const Record& record : records_) {
    if (count == frames.size() || record.due > now) break;
    frames[count++] = {ring_.get() + record.at, record.bytes};
  }
  return count;
}

void DelayQueue::pop(size_t count, Nanos now) {
  for (; count > 0 && !records_.empty(); --count) {
    const Record& oldest = records_.front();
    const Nanos after = now - oldest.due;
    counts_.latest = std::max(counts_.latest, after);
    if (after > options_.late_after) ++counts_.late;
    ++counts_.packets;
    counts_.bytes += oldest.bytes;
    held_.count -= oldest.bytes;
    records_.pop_front();
  }
}

std::optional<Nanos> DelayQueue::next_due() const {
  if (records_.empty()) return std::nullopt;
  return records_.front().due;
}

}  // namespace heddle::lab
