// Requester: the sending half of a reliable queue pair with go-back-N (IBTA volume 1, section
// 9.7): messages become packets with consecutive numbers; a NAK or a timeout returns to the first
// packet that is not acknowledged. RoceNic asks it for packets and passes it replies.
#pragma once

#include <cstdint>

#include "base/nanos.h"
#include "base/ring.h"
#include "simulator/network.h"
#include "simulator/roce/dcqcn.h"
#include "simulator/roce/header.h"
#include "simulator/roce_options.h"

namespace heddle::simulator::roce {

// The two ends of a queue pair; `source_port` is what switches hash.
struct QueuePairAddress {
  NicId from = 0;
  NicId to = 0;
  uint16_t source_port = kFirstSourcePort;
  uint32_t peer = 0;  // number of the responder at `to`
};

// A message: a flow's bytes.
struct Message {
  uint32_t flow = 0;
  transport::RegionId region = transport::kNoRegion;
  uint64_t bytes = 0;
};

struct RequesterCounts {
  uint64_t packets = 0;  // sent
  uint64_t packets_retransmitted = 0;
  uint64_t bytes = 0;  // payload, likewise
  uint64_t bytes_retransmitted = 0;
  uint64_t bytes_acked = 0;
  uint64_t acks = 0;
  uint64_t naks = 0;
  uint64_t cnps = 0;
  uint64_t timeouts = 0;
};

class Requester {
 public:
  Requester(const QueuePairAddress& address, const RoceOptions& options, BitsPerSec line_rate)
      : address_(address),
        options_(options),
        line_rate_(line_rate),
        congestion_(options.congestion, line_rate) {}

  void post(const Message& message);

  // Whether a packet waits to be sent, and when the rate permits it.
  bool has_packet() const { return next_ < end_; }
  Nanos next_at() const { return next_at_; }
  // Sends the next packet.
  void send(Network& network);

  // The responder expects `expected` next. `on_done(flow)` is called for each message that has been
  // acknowledged.
  template <typename OnDone>
  void handle_ack(Nanos now, uint64_t expected, OnDone on_done);
  // The same from a NAK: goes back to `expected`.
  template <typename OnDone>
  void handle_nak(Nanos now, uint64_t expected, OnDone on_done);
  void handle_cnp(Nanos now);

  // The time of the timeout; never() while nothing is unacknowledged.
  Nanos timeout_at() const {
    return unacked_ < next_ ? progress_at_ + options_.ack_timeout : Nanos::never();
  }
  // Goes back to the first unacknowledged packet. False: the queue pair has failed and sends no
  // more.
  bool handle_timeout(Nanos now);
  // The flows of messages that are not acknowledged, after a failure.
  template <typename OnFlow>
  void take_unfinished(OnFlow on_flow);

  bool failed() const { return failed_; }
  BitsPerSec rate(Nanos now) { return options_.dcqcn ? congestion_.rate(now) : line_rate_; }
  const RequesterCounts& counts() const { return counts_; }

 private:
  struct Posted {
    Message message;
    uint64_t first = 0;  // packet number
    uint64_t packets = 0;
  };

  void go_back(uint64_t to);
  bool advance(Nanos now, uint64_t expected);

  QueuePairAddress address_;
  RoceOptions options_;
  BitsPerSec line_rate_;
  Dcqcn congestion_;
  Ring<Posted> posted_;   // from the first with an unacknowledged packet
  size_t current_ = 0;    // in posted_: the message of packet next_
  uint64_t unacked_ = 0;  // packet numbers: the first unacknowledged
  uint64_t next_ = 0;     // the next to send
  uint64_t sent_ = 0;     // above all that were sent
  uint64_t end_ = 0;      // above all of the posted messages
  Nanos next_at_;
  Nanos progress_at_;  // of the latest acknowledgement that confirmed a packet, or of a timeout
  uint32_t timeouts_in_sequence_ = 0;
  bool failed_ = false;
  RequesterCounts counts_;
};

template <typename OnDone>
void Requester::handle_ack(Nanos now, uint64_t expected, OnDone on_done) {
  ++counts_.acks;
  if (!advance(now, expected)) return;
  while (!posted_.empty() && posted_.front().first + posted_.front().packets <= unacked_) {
    const Message done = posted_.pop_front().message;
    if (current_ > 0) --current_;
    counts_.bytes_acked += done.bytes;
    on_done(done.flow);
  }
}

template <typename OnDone>
void Requester::handle_nak(Nanos now, uint64_t expected, OnDone on_done) {
  if (expected < unacked_ || failed_) return;  // it was overtaken
  ++counts_.naks;
  handle_ack(now, expected, on_done);
  go_back(expected);
}

template <typename OnFlow>
void Requester::take_unfinished(OnFlow on_flow) {
  while (!posted_.empty()) on_flow(posted_.pop_front().message.flow);
}

}  // namespace heddle::simulator::roce
