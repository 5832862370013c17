// SentCounter: counts the bytes that an endpoint of a replay sent, by its events. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>

#include "events/events.h"

namespace heddle::jobs {

class SentCounter : public events::Sink {
 public:
  uint64_t segments() const { return segments_; }
  uint64_t segments_retransmitted() const { return segments_retransmitted_; }
  uint64_t bytes_acked() const { return bytes_acked_; }

  events::KindSet wanted() const override {
    return {events::EventKind::kBurstSent, events::EventKind::kAckReceived};
  }
  void on(const events::BurstSent& event) override {
    segments_.fetch_add(event.segments, std::memory_order_relaxed);
    if (event.retransmission)
      segments_retransmitted_.fetch_add(event.segments, std::memory_order_relaxed);
  }
  void on(const events::AckReceived& event) override {
    bytes_acked_.fetch_add(event.acked_bytes, std::memory_order_relaxed);
  }

 private:
  std::atomic<uint64_t> segments_{0};
  std::atomic<uint64_t> segments_retransmitted_{0};
  std::atomic<uint64_t> bytes_acked_{0};
};

}  // namespace heddle::jobs
