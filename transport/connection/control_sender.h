// ControlSender: writes the control packets of a connection: acknowledgements, reliable frames
// (ControlQueue), probes of paths and of their sizes, and the final close frames.
#pragma once

#include "transport/connection/close.h"
#include "transport/connection/packet_writer.h"
#include "transport/extensions/extension_set.h"

namespace heddle::transport {

// Control packets stay below every path's size.
inline constexpr uint32_t kControlBytes = SendController::kBaseDatagram;

class ControlSender {
 public:
  ControlSender(ConnectionParts& parts, ExtensionSet& extensions)
      : parts_(parts), extensions_(extensions) {}

  // Whether a control packet is due.
  bool due(Nanos now) {
    return parts_.control.due(now) || parts_.keep_alive.probe_due() ||
           parts_.sender.wants_probe() || parts_.acks.due(now) || parts_.reports_due ||
           extensions_.frames_due(now);
  }
  // Adds what is due. kNothing: no record could be lent, so that frames have to wait.
  SendResult send(Nanos now, TxBatch& batch);
  // Of a connection that is over. True: the batch is full, and some are left.
  bool send_final_frames(Nanos now, TxBatch& batch, Close& close);

  // Frames that are not retransmitted: acknowledgements, and those of extensions.
  void write_reports(Nanos now, Writer& writer);
  // Waiting frames that are retransmitted, as many as `sent` remembers.
  void write_queued(SentBurst& sent, Writer& writer);

 private:
  // What a control packet is for, besides acknowledgements and frames.
  struct Purpose {
    uint16_t path = 0;
    bool ping = false;                         // the peer has to acknowledge it
    uint32_t padded_to = 0;                    // 0: as small as it is
    std::optional<CloseReason> final_close{};  // the connection is over
  };
  SendResult write_packet(Nanos now, TxBatch& batch, const Purpose& purpose);
  void write_frames(Nanos now, const Purpose& purpose, SentBurst* sent, Writer& writer);
  void write_record(ControlRecord& record, Writer& writer);

  ConnectionParts& parts_;
  ExtensionSet& extensions_;
};

}  // namespace heddle::transport
