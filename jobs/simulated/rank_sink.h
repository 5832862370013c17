// RankSink: what a simulated rank sent, and what its calls moved, for the counters of a run and the
// communication matrix of its job. Calls that open connections, before time 0, are not in the
// matrix.
#pragma once

#include <algorithm>

#include "events/events.h"
#include "insight/traffic.h"
#include "transport/statistics.h"

namespace heddle::jobs {

class RankSink : public events::Sink {
 public:
  // `builder` may be null: no matrix is made.
  RankSink(insight::TrafficBuilder* builder, uint32_t process)
      : builder_(builder), process_(process) {}

  void begin() { begun_ = true; }

  // Adds what it sent. Which repeats were needless is not counted.
  void add_to(transport::ConnectionStatistics& sum) const {
    sum.payload_bytes_sent += sent_.payload_bytes_sent;
    sum.payload_bytes_retransmitted += sent_.payload_bytes_retransmitted;
    sum.payload_bytes_acked += sent_.payload_bytes_acked;
    sum.segments_sent += sent_.segments_sent;
    sum.segments_retransmitted += sent_.segments_retransmitted;
    sum.acks_received += sent_.acks_received;
    sum.segment_bytes = std::max(sum.segment_bytes, sent_.segment_bytes);
  }

  events::KindSet wanted() const override {
    using enum events::EventKind;
    return {kBurstSent,        kAckReceived,        kEndpointOpened, kConnectionOpened,
            kCommunicatorMade, kCommunicatorLinked, kCallMade,       kCallStarted,
            kCallEnded,        kMessageCompleted};
  }
  void on(const events::BurstSent& event) override {
    sent_.segments_sent += event.segments;
    sent_.payload_bytes_sent += event.bytes;
    sent_.segment_bytes =
        std::max(sent_.segment_bytes, event.bytes / std::max<uint32_t>(event.segments, 1));
    if (!event.retransmission) return;
    sent_.segments_retransmitted += event.segments;
    sent_.payload_bytes_retransmitted += event.bytes;
  }
  void on(const events::AckReceived& event) override {
    ++sent_.acks_received;
    sent_.payload_bytes_acked += event.acked_bytes;
  }
  void on(const events::EndpointOpened& event) override { add(event); }
  void on(const events::ConnectionOpened& event) override { add(event); }
  void on(const events::CommunicatorMade& event) override { add(event); }
  void on(const events::CommunicatorLinked& event) override { add(event); }
  void on(const events::CallMade& event) override { count(event); }
  void on(const events::CallStarted& event) override { count(event); }
  void on(const events::CallEnded& event) override { count(event); }
  void on(const events::MessageCompleted& event) override { count(event); }

 private:
  template <typename Event>
  void add(const Event& event) {
    if (builder_ != nullptr) builder_->add(process_, event);
  }
  template <typename Event>
  void count(const Event& event) {
    if (begun_) add(event);
  }

  insight::TrafficBuilder* const builder_;
  const uint32_t process_;
  bool begun_ = false;
  transport::ConnectionStatistics sent_;
};

}  // namespace heddle::jobs
