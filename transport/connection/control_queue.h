// ControlQueue: the reliable frames of a connection (wire/control.h). It says when they are due,
// moves them into the packet that carries them, and queues them again when that packet is declared
// lost. Driven by the connection.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/ring.h"
#include "transport/connection/observer.h"
#include "transport/connection/params.h"
#include "transport/recovery/sent_bursts.h"
#include "transport/wire/control.h"
#include "transport/wire/cursor.h"

namespace heddle::transport {

class ControlQueue {
 public:
  // Answers to frames of the peer that may wait or be in flight, beside one for each operation that
  // is posted here. Beyond that a frame that needs an answer is not processed: its packet stays
  // unacknowledged and comes again. So a peer that never acknowledges answers cannot fill memory.
  static constexpr size_t kMostAnswers = params::control::kMostAnswers;

  ControlQueue(const Observer& observer, ConnectionId connection)
      : observer_(observer), connection_(connection) {}

  // A frame that leaves at once.
  void send(const ControlRecord& record) {
    records_.push_back(record);
    due_at_ = {};
  }
  // For frames that may wait for others: append them here, then call send_by().
  Ring<ControlRecord>& records() { return records_; }
  // Frames that wait, if any, leave at this time at the latest.
  void send_by(Nanos at) {
    if (!records_.empty()) due_at_ = std::min(due_at_, at);
  }
  // No record of a sent packet could be lent: the next try comes no earlier than `at`.
  void retry_at(Nanos at) { due_at_ = std::max(due_at_, at); }

  bool empty() const { return records_.empty(); }
  bool due(Nanos now) const { return due_at_ <= now; }
  Nanos due_at() const { return due_at_; }
  // Whether no further answer to the peer may be queued. `posted`: operations posted here.
  bool crowded(uint64_t posted) const {
    return records_.size() + answers_in_flight_ > kMostAnswers + posted;
  }

  // Moves waiting frames into the packet that `sent` records, as many as it remembers and the
  // space holds. `encode(record, writer)` writes one.
  template <typename Encode>
  void write(SentBurst& sent, Writer& writer, Encode encode) {
    while (!records_.empty() && sent.control_count < SentBurst::kMaxControl &&
           writer.left() > kLargestFrameBytes) {
      ControlRecord& record = sent.control[sent.control_count++];
      record = records_.pop_front();
      encode(record, writer);
    }
    answers_in_flight_ += answers_in(sent);
    if (records_.empty()) due_at_ = Nanos::never();
  }

  // `was_lost`: the packet had been declared lost, and its frames were queued again then.
  void on_acked(const SentBurst& sent, bool was_lost) {
    if (!was_lost) answers_in_flight_ -= answers_in(sent);
  }
  // Queues the frames of this packet again. `path`: where it was sent.
  void on_lost(const SentBurst& sent, uint16_t path);

  size_t bytes_held() const { return records_.capacity() * sizeof(ControlRecord); }

 private:
  // Of the packet's frames, those that a peer can cause by frames of its own.
  static uint32_t answers_in(const SentBurst& sent);

  const Observer& observer_;
  ConnectionId connection_;
  uint32_t answers_in_flight_ = 0;
  Ring<ControlRecord> records_;
  Nanos due_at_ = Nanos::never();
};

}  // namespace heddle::transport
