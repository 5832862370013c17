// BurstSender: writes one burst of payload. It takes the next bytes to send from Outgoing and a
// quota from the payload strategy, cuts them into segments, and flags those that ask for an
// acknowledgement.
#pragma once

#include "transport/connection/control_sender.h"

namespace heddle::transport {

class BurstSender {
 public:
  BurstSender(ConnectionParts& parts, ControlSender& control) : parts_(parts), control_(control) {}

  SendResult send(Nanos now, TxBatch& batch);

 private:
  // The bytes that leave in one burst.
  struct Cut {
    uint32_t segments = 0;
    uint32_t step = 0;   // payload of each segment but the last
    uint32_t bytes = 0;  // of all

    uint32_t last() const { return bytes - (segments - 1) * step; }
    uint32_t first() const { return segments > 1 ? step : last(); }
  };
  Cut cut(const Piece& piece, const SendQuota& quota) const;
  bool shares_packet(const Piece& piece, const SendQuota& quota, uint32_t bytes) const;
  SendResult send_segments(Nanos now, TxBatch& batch, const Piece& piece, const SendQuota& quota);
  SendResult send_with_frames(Nanos now, TxBatch& batch, const Piece& piece,
                              const SendQuota& quota);
  uint8_t flags_of(const Piece& piece, uint32_t bytes, const SendQuota& quota) const;
  bool rest_may_leave(const Piece& piece, const SendQuota& quota) const;
  void count(Nanos now, const Piece& piece, const SentBurst& sent, const SendQuota& quota);

  ConnectionParts& parts_;
  ControlSender& control_;
};

}  // namespace heddle::transport
