// Responder: the receiving half of a reliable queue pair (IBTA volume 1, section 9.7) and the
// notification point of DCQCN. It places packets in order, discards all others, and replies.
// RoceNic passes it packets and sends its replies.
#pragma once

#include <cstdint>

#include "base/nanos.h"
#include "simulator/roce/header.h"
#include "simulator/roce_options.h"

namespace heddle::simulator::roce {

class Responder {
 public:
  struct Verdict {
    bool place = false;  // the packet is the expected one
    bool ack = false;    // reply with an acknowledgement of expected()
    bool nak = false;    // reply with a NAK of expected()
    bool cnp = false;    // reply with a CNP
  };

  // A packet with that header has arrived; `marked`: with a congestion mark.
  Verdict handle(Nanos now, const Header& header, bool marked, Nanos cnp_interval) {
    Verdict verdict;
    if (marked && now >= may_notify_at_) {
      may_notify_at_ = now + cnp_interval;
      verdict.cnp = true;
    }
    if (header.packet_number == expected_) {
      ++expected_;
      nak_sent_ = false;
      verdict.place = true;
      verdict.ack = header.wants_ack;
      return verdict;
    }
    ++discarded_;
    if (header.packet_number < expected_) {
      verdict.ack = header.wants_ack;  // a duplicate: its acknowledgement may have been lost
    } else if (!nak_sent_) {
      nak_sent_ = verdict.nak = true;  // once, until the expected packet arrives
    }
    return verdict;
  }

  // Each packet that arrives, by how many its requester had sent before it.
  void note_order(uint32_t sent_before) {
    const auto ahead = static_cast<int32_t>(sent_before - latest_sent_);
    if (ahead < 0) {
      ++reordered_;
    } else {
      latest_sent_ = sent_before;
    }
  }

  uint64_t expected() const { return expected_; }
  uint64_t discarded() const { return discarded_; }
  uint64_t reordered() const { return reordered_; }

 private:
  uint64_t expected_ = 0;
  uint64_t discarded_ = 0;
  uint64_t reordered_ = 0;
  uint32_t latest_sent_ = 0;
  Nanos may_notify_at_;
  bool nak_sent_ = false;
};

}  // namespace heddle::simulator::roce
