// PayloadStrategy: how payload travels. This one puts it into datagrams, as every connection can;
// an extension may replace it (transport/extensions/remote_writes.h).
#pragma once

#include <cstdint>

#include "base/random.h"
#include "transport/connection/send_result.h"
#include "transport/messages/outgoing.h"
#include "transport/placed.h"
#include "transport/send/send_controller.h"
#include "transport/tx_batch.h"

namespace heddle::transport {

class PayloadStrategy {
 public:
  PayloadStrategy(SendController& sender, Random& random) : sender_(sender), random_(random) {}
  virtual ~PayloadStrategy() = default;
  PayloadStrategy(const PayloadStrategy&) = delete;
  PayloadStrategy& operator=(const PayloadStrategy&) = delete;

  // Whether it sends this piece by send() and not as datagrams.
  virtual bool claims(Piece& /*piece*/) { return false; }
  virtual SendResult send(Nanos /*now*/, TxBatch& /*batch*/, const Piece& /*piece*/) {
    return SendResult::kNothing;
  }
  // Whether a data burst may leave in datagrams now.
  virtual bool poll_quota(Nanos now, SendQuota& quota) {
    return sender_.poll_quota(now, random_, quota);
  }
  // Whether a probe of this path is not a control packet, but sent by send_probe().
  virtual bool claims_probe(uint16_t /*path*/) { return false; }
  // Sends none where no record is left for it.
  virtual void send_probe(Nanos /*now*/, TxBatch& /*batch*/, uint16_t /*path*/) {}
  // Whether acknowledgements of its own wait to be sent.
  virtual bool acks_pending() const { return false; }
  // The path that an acknowledgement calls `name`.
  virtual uint16_t path_named(uint16_t name) const { return name; }

  // Data segments arrived.
  virtual void on_data(Nanos /*now*/) {}
  // An event of the NIC.
  virtual void on_event(Nanos /*now*/, const NicEvent& /*event*/) {}
  // The end of an input: passes requests of this connection on to the endpoint.
  virtual void flush() {}
  // The connection is over. True: its receives may not end yet, since the peer's NIC may still
  // write to them; then they end once drained() says so.
  virtual bool close() { return false; }
  virtual bool drained() const { return true; }

 private:
  SendController& sender_;
  Random& random_;
};

}  // namespace heddle::transport
