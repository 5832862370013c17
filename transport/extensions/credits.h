// Credits: receiver credits in a connection (EQDS, NSDI 2022). Both sides agree on them in the
// handshake; then the sender advertises its demand and sends only what the receiver gave credit
// for. The rules are those of transport/credits/; here they meet packets and messages.
#pragma once

#include <array>

#include "transport/connection/flow_control.h"
#include "transport/credits/credit_account.h"
#include "transport/credits/credit_balance.h"
#include "transport/extensions/extension.h"

namespace heddle::transport {

class Credits final : public Extension, private FlowControl {
 public:
  static constexpr std::array kFrames = {FrameType::kDemand, FrameType::kCredit};

  using Extension::Extension;

  uint32_t hooks() const override;
  bool needed() const override { return balance_.on(); }
  void propose(const HandshakeParameters* offered, HandshakeParameters& own,
               std::string& congestion) override;
  void settle(const HandshakeParameters& own, const HandshakeParameters& peer,
              std::string& congestion) override;
  void on_open(Nanos now, const Agreement& agreement) override;
  void on_close() override;
  FrameResult on_frame(Nanos now, FrameType type, Reader& reader, const FrameOrigin& from) override;
  bool transmit(Nanos now, TxBatch& batch) override;
  bool frames_due(Nanos now) const override;
  void write_frames(Nanos now, Writer& writer) override;
  void write_record(ControlRecord& record, Writer& writer) override;
  void on_acked(const SentBurst& sent, uint32_t first, uint32_t count, bool was_lost) override;
  void on_lost(const SentBurst& sent, uint32_t first, uint32_t count,
               events::LossCause cause) override;
  Nanos next_timeout() const override { return demand_at_; }
  size_t bytes_held() const override { return sizeof(*this); }

 private:
  // FlowControl.
  bool may_send(const Piece& piece) const override;
  uint32_t segments_allowed(const Piece& piece, uint32_t segments, uint32_t step) const override;
  void on_sent(const SentBurst& sent) override;
  void on_arrival(Nanos now, uint64_t bytes, uint32_t datagrams, bool again) override;
  void on_ack(Nanos now) override;

  void update_demand(Nanos now);
  FrameResult on_demand(Nanos now, Reader& reader);

  CreditBalance balance_;             // to send with
  CreditAccount account_;             // of the peer, with the endpoint's CreditSource
  bool assures_ = false;              // a credit frame that is retransmitted waits or is in flight
  Nanos demand_at_ = Nanos::never();  // when a demand that got no credit is advertised again
};

}  // namespace heddle::transport
