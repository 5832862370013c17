// From a run of datagrams to connections, and from connections to a batch.
#include "transport/endpoint/body.h"

#include <algorithm>

#include "transport/extensions/extension_set.h"
#include "transport/stranger_budget.h"

namespace heddle::transport {

using events::CloseCause;
using events::DropReason;

Endpoint::Body::Body(const EndpointOptions& options, const Seed& seed, events::Sink* sink)
    : shared(options, seed, sink),
      table(shared, options.max_connections),
      cookies_(shared.secrets),
      accepted_(2 * CookieMaker::kLifetime, replay_limit(options)) {
  ExtensionSet::open_endpoint(shared);
}

void Endpoint::Body::handle_run(Nanos now, const RxRun& run) {
  shared.statistics.datagrams_received += run.segments;
  if (run.trimmed) return handle_trimmed(now, run);
  const bool whole = run.payload_at == PayloadAt::kFrame;
  const size_t step = whole ? run.step() : run.header_bytes;
  const bool encrypted_only = shared.keyed && !run.opened;
  for (uint32_t i = 0; i < run.segments;) {
    const std::byte* at = run.frame + i * step;
    const uint32_t bytes = i + 1 == run.segments ? run.last_segment_bytes : run.segment_bytes;
    if (bytes < 8) {
      drop(now, DropReason::kBadLength);
      ++i;
    } else if (encrypted_only && clear_bytes(at[0]) != 0) {
      drop(now, DropReason::kBadTag);
      ++i;
    } else if (at[0] == std::byte{first_byte(PacketType::kData)} ||
               at[0] == std::byte{first_byte(PacketType::kRetransmission)}) {
      i += handle_burst(now, run, i);
    } else if (run.payload_at == PayloadAt::kPlaced && bytes > run.header_bytes) {
      drop(now, DropReason::kBadLength);  // only data segments may have parts in a predicted place
      ++i;
    } else {
      const size_t here = whole ? bytes : std::min<size_t>(bytes, run.header_bytes);
      handle_packet(now, run, i, {at, here});
      ++i;
    }
  }
}

// Hands over the longest burst of data segments from `first` on; returns how many segments it has.
uint32_t Endpoint::Body::handle_burst(Nanos now, const RxRun& run, uint32_t first) {
  const bool whole = run.payload_at == PayloadAt::kFrame;
  const size_t stride = whole ? run.step() : kDataHeaderBytes;
  const std::byte* start = run.frame + first * stride;
  const auto bytes_of = [&run](uint32_t i) {
    return i + 1 == run.segments ? run.last_segment_bytes : run.segment_bytes;
  };
  if (bytes_of(first) < kDataHeaderBytes) {
    drop(now, DropReason::kBadLength);
    return 1;
  }
  const uint32_t step = run.segment_bytes - kDataHeaderBytes;
  uint32_t count = 1;
  std::byte asks{0};
  while (first + count < run.segments && bytes_of(first + count) >= kDataHeaderBytes &&
         continues_burst(start, start + count * stride, count, step)) {
    asks |= start[count * stride + kFlagsAt];
    ++count;
  }
  Connection* connection = connection_for(now, run, start);
  if (connection == nullptr) return count;
  DataBurst burst;
  burst.header = read_data_header(start);
  burst.header.base.flags |= static_cast<uint8_t>(asks) & kFlagAckNow;
  if (burst.header.base.type == PacketType::kRetransmission) {
    burst.original = unpack_original(burst.header.base.sent_at);
    burst.header.base.sent_at = {};
  }
  burst.segments = count;
  burst.last = bytes_of(first + count - 1) - kDataHeaderBytes;
  burst.step = count > 1 ? step : burst.last;
  burst.run = &run;
  burst.first = first;
  connection->handle_data(now, burst);
  latest_data = connection->id();
  table.touch(*connection);
  if (settle_at_ == Nanos::never()) settle_at_ = now + kReceivingFor;
  return count;
}

// A header that a switch left of a packet.
void Endpoint::Body::handle_trimmed(Nanos now, const RxRun& run) {
  if (run.segment_bytes < kConnectionHeaderBytes) return drop(now, DropReason::kBadLength);
  if (shared.keyed) return drop(now, DropReason::kBadTag);
  if (version_of(run.frame[0]) != kWireVersion) return drop(now, DropReason::kBadVersion);
  const PacketType type = type_of(run.frame[0]);
  const bool of_connection = type == PacketType::kData || type == PacketType::kRetransmission ||
                             type == PacketType::kControl;
  if (!of_connection) return drop(now, DropReason::kBadType);
  Connection* connection = connection_for(now, run, run.frame);
  if (connection == nullptr) return;
  connection->handle_trimmed(now, read_connection_header(run.frame));
  table.touch(*connection);
}

Connection* Endpoint::Body::connection_for(Nanos now, const RxRun& run, const std::byte* header) {
  const ConnectionHeader base = read_connection_header(header);
  Connection* connection = table.find_named(base.connection);
  if (connection == nullptr || !connection->is_peer(run.from)) {
    drop(now, DropReason::kUnknownConnection);
    if (!shared.keyed) reset_stranger(now, run, header);
    return nullptr;
  }
  return connection;
}

void Endpoint::Body::handle_packet(Nanos now, const RxRun& run, uint32_t index,
                                   std::span<const std::byte> packet) {
  // Those two stand alike in every version: by them a side learns what the other speaks.
  const PacketType type = type_of(packet[0]);
  const bool any_version = type == PacketType::kInit || type == PacketType::kVersion;
  if (version_of(packet[0]) != kWireVersion && !any_version) {
    drop(now, DropReason::kBadVersion);
    return;
  }
  switch (type) {
    case PacketType::kInit:
      handle_init(now, run, packet);
      return;
    case PacketType::kRetry:
    case PacketType::kAccept:
    case PacketType::kRefuse:
    case PacketType::kVersion:
      handle_answer(now, run, packet);
      return;
    case PacketType::kReset:
      handle_reset(now, run, packet);
      return;
    case PacketType::kControl:
      break;
    default:
      drop(now, DropReason::kBadType);
      return;
  }
  if (packet.size() < kConnectionHeaderBytes) {
    drop(now, DropReason::kBadLength);
    return;
  }
  Connection* connection = connection_for(now, run, packet.data());
  if (connection == nullptr) return;
  connection->handle_control(now, run, index, packet);
  table.touch(*connection);
}

bool Endpoint::Body::poll_transmit(Nanos now, TxBatch& batch) {
  shared.retired.clear();
  while (!replies_.empty() && batch.has_room(sizeof(Reply::bytes))) {
    const Reply reply = replies_.pop_front();
    std::copy_n(reply.bytes.begin(), reply.length, batch.header_space());
    TxBurst burst;
    burst.to = reply.to;
    burst.nic = reply.nic;
    burst.path = reply_path_;  // in turn: one of them may be dead
    reply_path_ = static_cast<uint16_t>((reply_path_ + 1u) % shared.options.max_paths);
    burst.segments = 1;
    burst.header_bytes = reply.length;
    burst.headers = batch.header_space();
    batch.add(burst);
  }
  for (const ConnectionId id : shared.credits.poll(now)) {
    if (Connection* connection = table.find(id); connection != nullptr) table.touch(*connection);
  }
  while (Connection* connection = table.next_ready()) {
    const TurnEnd end = connection->transmit(now, batch, table.has_ready());
    if (connection->gone()) {
      table.remove(*connection);
      continue;
    }
    table.update_timer(*connection);
    if (end == TurnEnd::kShareSpent) table.touch(*connection);
    if (end == TurnEnd::kBatchFull) {
      table.put_back(*connection);
      break;
    }
  }
  return !batch.empty();
}

void Endpoint::Body::handle_timeout(Nanos now) {
  while (Connection* connection = table.next_due(now)) {
    connection->handle_timeout(now);
    table.touch(*connection);
  }
  if (settle_at_ > now) return;
  table.for_each([&](Connection& connection) { connection.settle_receiving(now - kReceivingFor); });
  settle_at_ = shared.receiving > 0 ? now + kReceivingFor : Nanos::never();
}

Nanos Endpoint::Body::next_timeout() const {
  if (!replies_.empty()) return {};
  return std::min({table.next_timeout(), settle_at_, shared.credits.next_at()});
}

size_t Endpoint::Body::bytes_held() const {
  return sizeof(*this) + table.bytes_held() + shared.sent.bytes_held() + shared.out.bytes_held() +
         shared.retransmissions.bytes_held() + shared.in.bytes_held() + shared.ranges.bytes_held() +
         accepted_.bytes_held() + shared.credits.bytes_held() +
         shared.completions.capacity() * sizeof(Completion) + replies_.capacity() * sizeof(Reply);
}

}  // namespace heddle::transport
