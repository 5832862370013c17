// Agreeing on credits, advertising demand, spending and giving credit.
#include "transport/extensions/credits.h"

#include <algorithm>
#include <string_view>

#include "transport/connection/parts.h"
#include "transport/credits/params.h"

namespace heddle::transport {
namespace {

constexpr std::string_view kCredits = "credits";
// The controller of a connection whose peer cannot give credit.
constexpr std::string_view kFallback = "cubic";

uint64_t cost_of(const SentBurst& sent, uint32_t first, uint32_t count) {
  return credit_cost(sent.bytes(first, count), count);
}

bool has_credits(const HandshakeParameters& parameters) {
  return (parameters.features & kFeatureCredits) != 0;
}

}  // namespace

uint32_t Credits::hooks() const {
  return bit(Hook::kTransmit) | bit(Hook::kFramesDue) | bit(Hook::kFrames) | bit(Hook::kTimeout) |
         bit(Hook::kAcked) | bit(Hook::kLost);
}

// The name that an initiator sends is the fallback's: a peer without credits agrees to that. Chunks
// that a NIC writes need no credit: an endpoint that has them neither asks for credits nor agrees.
void Credits::propose(const HandshakeParameters* offered, HandshakeParameters& own,
                      std::string& congestion) {
  const bool asked = offered != nullptr ? has_credits(*offered) : congestion == kCredits;
  if (asked && parts().shared.payload_in_datagrams) {
    own.features |= kFeatureCredits;
    own.first_credit = parts().shared.credits.first_allowance();
    if (offered != nullptr) congestion = kCredits;
  }
  if (offered == nullptr && congestion == kCredits) congestion = kFallback;
}

void Credits::settle(const HandshakeParameters& own, const HandshakeParameters& peer,
                     std::string& congestion) {
  if (has_credits(own) && has_credits(peer)) congestion = kCredits;
}

void Credits::on_open(Nanos /*now*/, const Agreement& agreement) {
  if (!has_credits(agreement.own) || !has_credits(agreement.peer)) return;
  balance_.open(agreement.peer.first_credit);
  parts().shared.credits.join(account_, parts().identity.id,
                              static_cast<uint32_t>(agreement.own.first_credit));
  parts().flow_control = this;
}

void Credits::on_close() {
  parts().shared.credits.leave(account_);
  parts().flow_control = nullptr;
}

bool Credits::transmit(Nanos now, TxBatch& /*batch*/) {
  update_demand(now);
  return false;
}

// Advertises what there is to send, where the peer does not know of enough of it; and again after
// some time without credit: the peer may count bytes as arrived that this side counts as lost.
void Credits::update_demand(Nanos now) {
  const SendController& sender = parts().sender;
  const Outgoing& outgoing = parts().outgoing;
  const bool works = outgoing.has_work() && sender.any_active();
  if (!works || !balance_.stuck(credit_cost(sender.datagram_bytes(), 1))) {
    demand_at_ = Nanos::never();
  } else if (demand_at_ == Nanos::never()) {
    demand_at_ = now + params::credits::kDemandInterval;
  }
  bool due = demand_at_ <= now;
  if (due) demand_at_ = now + params::credits::kDemandInterval;
  if (works && balance_.asks_soon()) {
    const uint32_t header = parts().keys.data_header_bytes();
    const Outgoing::Backlog backlog = outgoing.backlog(sender.datagram_bytes() - header);
    const uint64_t headers = backlog.datagrams * (header + kCreditOverhead);
    due |= balance_.note_backlog(backlog.bytes + headers);
  } else if (!works) {
    due |= balance_.note_idle();
  }
  if (due) parts().control.send({FrameType::kDemand, 0, 0, 0, 0, 0});
}

bool Credits::may_send(const Piece& piece) const {
  const uint32_t whole = piece.length + parts().keys.data_header_bytes();
  return balance_.covers(credit_cost(std::min(whole, parts().sender.datagram_bytes()), 1));
}

uint32_t Credits::segments_allowed(const Piece& piece, uint32_t segments, uint32_t step) const {
  const uint32_t header = parts().keys.data_header_bytes();
  const uint64_t payload = std::min<uint64_t>(piece.length, uint64_t{segments} * step);
  if (balance_.covers(credit_cost(payload + uint64_t{header} * segments, segments))) {
    return segments;
  }
  const auto covered = static_cast<uint32_t>(balance_.left() / credit_cost(step + header, 1));
  return std::clamp(covered, 1u, segments);
}

void Credits::on_sent(const SentBurst& sent) { balance_.on_sent(cost_of(sent, 0, sent.count)); }

void Credits::on_acked(const SentBurst& sent, uint32_t first, uint32_t count, bool was_lost) {
  if (sent.data) balance_.on_acked(cost_of(sent, first, count), was_lost);
  for (uint8_t i = 0; i < sent.control_count; ++i) {
    if (sent.control[i].type == FrameType::kCredit) assures_ = false;
  }
}

void Credits::on_lost(const SentBurst& sent, uint32_t first, uint32_t count,
                      events::LossCause /*cause*/) {
  if (sent.data) balance_.on_lost(cost_of(sent, first, count));
}

void Credits::on_arrival(Nanos now, uint64_t bytes, uint32_t datagrams, bool again) {
  parts().shared.credits.on_arrival(now, account_,
                                    {credit_cost(bytes, datagrams), datagrams, again});
}

// What was acknowledged went to the sender and back, as credit and payload will.
void Credits::on_ack(Nanos now) {
  const Nanos rtt = parts().sender.latest_rtt();
  if (rtt.count > 0) parts().shared.credits.on_round_trip(now, account_, rtt);
}

FrameResult Credits::on_frame(Nanos now, FrameType type, Reader& reader,
                              const FrameOrigin& /*from*/) {
  if (!balance_.on()) return kMalformedFrame;
  if (type == FrameType::kDemand) return on_demand(now, reader);
  CreditFrame credit;
  if (!read_credit(reader, credit)) return kMalformedFrame;
  balance_.on_credit(credit);
  return {};
}

// Credit travels in packets without a number, whose loss is not noticed. If a demand that the
// credit covers comes again, the frame did not arrive: then it leaves in a numbered packet, so that
// it is retransmitted, and a dead path is noticed.
FrameResult Credits::on_demand(Nanos now, Reader& reader) {
  DemandFrame demand;
  const uint64_t wanted = account_.wanted;
  if (!read_demand(reader, demand) || !parts().shared.credits.on_demand(now, account_, demand)) {
    return kMalformedFrame;
  }
  if (account_.frame_due && account_.wanted == wanted && !assures_) {
    assures_ = true;
    parts().control.send({FrameType::kCredit, 0, 0, 0, 0, 0});
  }
  return {};
}

bool Credits::frames_due(Nanos /*now*/) const { return account_.frame_due; }

void Credits::write_frames(Nanos /*now*/, Writer& writer) {
  if (!account_.frame_due || writer.left() < kCreditBytes) return;
  write_credit(parts().shared.credits.take_frame(account_), writer);
}

void Credits::write_record(ControlRecord& record, Writer& writer) {
  if (record.type == FrameType::kCredit) {
    write_credit(parts().shared.credits.take_frame(account_), writer);
  } else {
    write_demand(balance_.demand(), writer);
  }
}

}  // namespace heddle::transport
