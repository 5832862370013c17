// SentFeedback: the last step of an acknowledgement that arrived (ControlReceiver reads the frame,
// SendController::on_ack() finds which packets arrived or are lost): it notifies the parts whose
// frames and payload the packets carried, and counts retransmissions that were needless.
#pragma once

#include <cstdint>

#include "transport/connection/close.h"
#include "transport/connection/parts.h"
#include "transport/extensions/extension_set.h"

namespace heddle::transport {

class SentFeedback final : public SentBurstListener {
 public:
  // All must outlive it.
  SentFeedback(ConnectionParts& parts, ExtensionSet& extensions, Close& close)
      : parts_(parts), extensions_(extensions), close_(close) {}

  void on_acked(const SentBurst& sent, uint32_t first, uint32_t count, bool was_lost) override;
  void on_lost(const SentBurst& sent, uint32_t first, uint32_t count,
               events::LossCause cause) override;

  // In segments of what was retransmitted.
  uint64_t spurious_retransmits() const { return spurious_retransmits_; }

 private:
  void count_needless(const SentBurst& sent, uint32_t first, uint32_t count);

  ConnectionParts& parts_;
  ExtensionSet& extensions_;
  Close& close_;
  uint64_t spurious_retransmits_ = 0;
};

}  // namespace heddle::transport
