// Receiver credits in a connection: agreeing on them, telling demand, spending and giving credit.
// The rules are those of transport/credits/; here they meet packets and messages.
#include <algorithm>
#include <string_view>

#include "transport/connection/connection.h"

namespace heddle::transport {
namespace {

constexpr std::string_view kCredits = "credits";
// What a connection uses whose peer cannot give credit.
constexpr std::string_view kFallback = "cubic";
constexpr Nanos kDemandAgain = millis(100);

}  // namespace

// The name that travels is the fallback's: a peer that knows no credits agrees to that. Chunks that
// a NIC writes need no credit of the transport: where this side has them, it neither wishes for
// credits nor agrees to them.
void Connection::wish_for_credits() {
  if (options_.congestion != kCredits) return;
  HandshakeParameters& parameters = init_->parameters;
  if (shared_.options.chunk_paths == 0) {
    parameters.features |= kFeatureCredits;
    parameters.first_credit = shared_.credits.first_allowance();
  }
  parameters.congestion.fill('\0');
  kFallback.copy(parameters.congestion.data(), kMaxNameBytes);
}

bool Connection::agree_on_credits(const HandshakeParameters& wishes) {
  const bool wished = (wishes.features & kFeatureCredits) != 0;
  if (!wished || shared_.options.chunk_paths != 0) return false;
  options_.congestion = kCredits;
  accept_->parameters.features |= kFeatureCredits;
  accept_->parameters.first_credit = shared_.credits.first_allowance();
  return true;
}

void Connection::open_credits(uint64_t theirs, uint64_t ours) {
  credit_.open(theirs);
  shared_.credits.join(account_, id_, static_cast<uint32_t>(ours));
}

// Tells the peer of what there is to send, where it does not know of enough of it; and again after
// some time without credit: what the peer takes for arrived may be more than this side knows of.
void Connection::update_demand(Nanos now) {
  const bool works = outgoing_.has_work() && sender_.any_active();
  if (!works || !credit_.stuck(credit_cost(sender_.datagram_bytes(), 1))) {
    demand_at_ = Nanos::never();
  } else if (demand_at_ == Nanos::never()) {
    demand_at_ = now + kDemandAgain;
  }
  bool tells = demand_at_ <= now;
  if (tells) demand_at_ = now + kDemandAgain;
  if (works && credit_.asks_soon()) {
    const Outgoing::Backlog backlog =
        outgoing_.backlog(sender_.datagram_bytes() - data_header_bytes());
    const uint64_t headers = backlog.datagrams * (data_header_bytes() + kCreditOverhead);
    tells |= credit_.note_backlog(backlog.bytes + headers);
  } else if (!works) {
    tells |= credit_.note_idle();
  }
  if (tells) tell({FrameType::kDemand, 0, 0, 0, 0, 0});
}

// Whether one segment of it may leave.
bool Connection::has_credit(const Piece& piece) {
  const uint32_t segment = std::min(piece.length + data_header_bytes(), sender_.datagram_bytes());
  if (credit_.covers(credit_cost(segment, 1))) return true;
  sender_.note_held_back();
  return false;
}

// At least one: has_credit() was asked.
uint32_t Connection::segments_with_credit(const Piece& piece, uint32_t segments,
                                          uint32_t step) const {
  const auto cost = [&](uint32_t count) {
    const uint64_t payload = std::min<uint64_t>(piece.length, uint64_t{count} * step);
    return credit_cost(payload + uint64_t{data_header_bytes()} * count, count);
  };
  if (credit_.covers(cost(segments))) return segments;
  const auto covered =
      static_cast<uint32_t>(credit_.left() / credit_cost(step + data_header_bytes(), 1));
  return std::clamp(covered, 1u, segments);
}

bool Connection::handle_credit_frame(Nanos now, FrameType type, Reader& reader) {
  if (!credit_.on()) return false;
  DemandFrame demand;
  CreditFrame credit;
  if (type == FrameType::kDemand) {
    return read_demand(reader, demand) && shared_.credits.on_demand(now, account_, demand);
  }
  if (!read_credit(reader, credit)) return false;
  credit_.on_credit(credit);
  return true;
}

void Connection::count_arrival(Nanos now, uint64_t bytes, uint32_t datagrams, bool repeat) {
  if (account_.connection == 0) return;
  shared_.credits.on_arrival(now, account_, {credit_cost(bytes, datagrams), datagrams, repeat});
}

// What was acknowledged went to the sender and back, as credit and payload will.
void Connection::measure_for_credits(Nanos now) {
  if (account_.connection == 0) return;
  const Nanos rtt = sender_.latest_rtt();
  if (rtt.count > 0) shared_.credits.on_round_trip(now, account_, rtt);
}

// What a control packet tells besides its frames: acknowledgements, and how far the peer may send.
void Connection::write_answers(Nanos now, Writer& writer) {
  if (acks_.write(now, own_window(), writer)) ++statistics_.acks_sent;
  if (chunk_acks_.write(now, own_window(), writer)) ++statistics_.acks_sent;
  if (!trimmed_.empty()) write_trims(writer);
  if (!account_.tell || writer.left() < kCreditBytes) return;
  write_credit(shared_.credits.take_frame(account_), writer);
}

}  // namespace heddle::transport
