// SimDatapath: see sim_datapath.h. Calls of the driver and of the network.
#include "simulator/sim_datapath.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"
#include "simulator/params.h"

namespace heddle::simulator {

using transport::NetworkError;
using transport::NetworkErrorKind;
using transport::RegionId;
using transport::TxBurst;

SimDatapath::SimDatapath(Network& network, const SimDatapathOptions& options)
    : network_(network),
      options_(options),
      memory_(network),
      writes_(network, options_, memory_, statistics_, *this),
      queue_(network, options_, memory_) {
  CHECK(options.max_paths >= 1 && options.max_paths + options.chunk_paths <= 256);
  CHECK(options.chunk_bytes <= transport::kMaxChunkBytes);
  const auto attach = [&](NicId nic) {
    nics_.push_back({nic, network.attach(nic, options.port, *this)});
    capabilities_.max_datagram_bytes =
        std::max(capabilities_.max_datagram_bytes, network.max_datagram_bytes(nic));
  };
  attach(options.nic);
  for (const NicId nic : options.further_nics) attach(nic);
  CHECK(nics_.size() <= transport::kMaxNics);
  capabilities_.max_paths = options.max_paths;
  capabilities_.max_burst_segments = transport::kMaxBurstSegments;
  capabilities_.receives_runs = options.coalesces;
  capabilities_.predicts = options.predicts;
  capabilities_.ecn = options.ecn;
  capabilities_.timestamps = options.timestamps;
  capabilities_.receive_capacity = options.receive_capacity;
  capabilities_.chunk_paths = options.chunk_paths;
  capabilities_.chunk_bytes = options.chunk_paths > 0 ? options.chunk_bytes : 0;
  capabilities_.reliable_chunks = options.chunk_paths > 0 && options.chunks.reliable;
  errors_.reserve(params::kErrorsKept);
}

SimDatapath::~SimDatapath() {
  for (const Attached& each : nics_) network_.detach(each.nic, options_.port);
}

transport::Address SimDatapath::local_address() const {
  return address_of(options_.nic, options_.port);
}

std::vector<transport::Address> SimDatapath::local_nics() const {
  std::vector<transport::Address> addresses;
  for (const Attached& each : nics_) addresses.push_back(address_of(each.nic, options_.port));
  return addresses;
}

uint8_t SimDatapath::number_of(NicId nic) const {
  size_t number = 0;
  while (number + 1 < nics_.size() && nics_[number].nic != nic) ++number;
  return static_cast<uint8_t>(number);
}

size_t SimDatapath::transmit(std::span<const TxBurst> bursts) {
  const Inside inside(call_observer_);
  ++statistics_.transmit_calls;
  has_room_ = false;
  unsent_.clear();
  if (silent_) return bursts.size();
  for (size_t i = 0; i < bursts.size(); ++i) {
    if (!can_be_sent(bursts[i])) {
      unsent_.resize(i + 1);
      unsent_.back() = bursts[i].segments;
      continue;
    }
    if (!network_.may_send(nics_[bursts[i].nic].nic, *this)) {
      ++statistics_.transmit_refused;
      return i;
    }
    if (bursts[i].write != nullptr) {
      const size_t port = nics_.front().send_base + size_t{options_.max_paths} + bursts[i].path;
      writes_.send(bursts[i], static_cast<uint16_t>(port));
    } else {
      send_burst(bursts[i]);
    }
  }
  return bursts.size();
}

// Bursts that can never be sent become errors, as from a system call.
bool SimDatapath::can_be_sent(const TxBurst& burst) {
  CHECK(burst.segments >= 1 && burst.segments <= transport::kMaxBurstSegments);
  const bool chunk = burst.write != nullptr;
  CHECK(burst.path < (chunk ? options_.chunk_paths : options_.max_paths));
  CHECK(burst.last_payload_bytes <= burst.payload_bytes);
  CHECK(burst.nic < nics_.size());
  NetworkError error;
  error.to = burst.to;
  error.path = burst.path;
  if (nic_of(burst.to) >= network_.topology().nics.size()) {
    error.kind = NetworkErrorKind::kUnreachable;
  } else if (chunk) {
    CHECK(burst.segments == 1 && burst.header_bytes == 0);
    CHECK(burst.payload_bytes <= transport::kMaxChunkBytes);
    return true;
  } else if (const uint32_t most = network_.max_datagram_bytes(nics_[burst.nic].nic);
             burst.datagram_bytes() > most) {
    error.kind = NetworkErrorKind::kTooLarge;
    error.limit_bytes = most;
    error.local = true;
  } else {
    return true;
  }
  push_error(error);
  return false;
}

void SimDatapath::send_burst(const TxBurst& burst) {
  if (options_.drops_gso_bursts && burst.segments > 1) {
    statistics_.datagrams_sent += burst.segments;
    return;
  }
  PacketStore& packets = network_.packets();
  const bool named = is_virtual(burst.region) && burst.payload_bytes > 0;
  const std::byte* payload = nullptr;
  if (!named && burst.payload_bytes > 0) {
    payload = memory_.resolve({burst.region, burst.offset, burst.total_payload()});
    statistics_.payload_copied_bytes += burst.total_payload();
  }
  const NicId to_nic = nic_of(burst.to);
  for (uint32_t i = 0; i < burst.segments; ++i) {
    const uint32_t bytes =
        i + 1u == burst.segments ? burst.last_payload_bytes : burst.payload_bytes;
    const uint64_t at = uint64_t{i} * burst.payload_bytes;
    Content content;
    if (named && bytes > 0) content = memory_.content_of({burst.region, burst.offset + at, bytes});
    // The tag follows real payload; for virtual payload it follows the header.
    const bool tag_in_header = named && bytes > 0;
    const auto header_bytes =
        static_cast<uint16_t>(burst.header_bytes + (tag_in_header ? burst.tag_bytes() : 0));
    const uint32_t payload_bytes = bytes + (tag_in_header ? 0 : burst.tag_bytes());
    const PacketId id = packets.lend(header_bytes, payload_bytes, content.name, content.at);
    Packet& packet = packets[id];
    packet.from_nic = nics_[burst.nic].nic;
    packet.to_nic = to_nic;
    packet.from_port = source_port(burst.path, burst.nic);
    packet.to_port = burst.to.port;
    packet.path = burst.path;
    packet.may_fragment = burst.may_fragment;
    packet.hop_limit = burst.hop_limit;
    if (burst.ecn_capable && options_.ecn) packet.ecn = transport::Ecn::kEct0;
    write_segment(burst, i, content, payload == nullptr ? nullptr : payload + at,
                  packets.bytes(packet));
    ++statistics_.datagrams_sent;
    network_.send(id);
  }
}

// The bytes of segment `i`: its header, and its payload unless `content` names it; encrypted if the
// burst has a key.
void SimDatapath::write_segment(const TxBurst& burst, uint32_t i, const Content& content,
                                const std::byte* payload, std::byte* to) {
  const uint32_t bytes = i + 1u == burst.segments ? burst.last_payload_bytes : burst.payload_bytes;
  const std::span<const std::byte> header(burst.headers + size_t{i} * burst.header_bytes,
                                          burst.header_bytes);
  const bool named = content.name != transport::kNoRegion;
  if (burst.key != nullptr) {
    if (encryption_observer_ != nullptr)
      encryption_observer_->handle_encryption(*burst.key, header);
    if (named) {
      transport::tag_payload_name(*burst.key, header, {content.name, content.at, bytes}, to);
    } else {
      transport::encrypt_segment(*burst.key, header, {payload, payload == nullptr ? 0 : bytes}, to);
    }
    return;
  }
  std::memcpy(to, header.data(), header.size());
  if (payload != nullptr) std::memcpy(to + header.size(), payload, bytes);
}

// --- receiving ---

void SimDatapath::handle_packet(PacketId id) {
  const Packet& packet = network_.packets()[id];
  switch (packet.kind) {
    case PacketKind::kRefused:
    case PacketKind::kTooLarge:
    case PacketKind::kTimeExceeded:
      handle_icmp(packet);
      break;
    case PacketKind::kWrite:
      return writes_.handle_write(id);
    case PacketKind::kWriteAck:
      writes_.handle_ack(packet);
      break;
    default:
      if (queue_.push(id)) {
        ++statistics_.datagrams_received;
        return handle_ready();
      }
      ++statistics_.dropped_at_receive;
      network_.count(Fate::kReceiveQueueFull, packet.datagram_bytes());
  }
  network_.packets().give_back(id);
}

void SimDatapath::handle_icmp(const Packet& packet) {
  NetworkError error;
  error.kind = packet.kind == PacketKind::kRefused    ? NetworkErrorKind::kRefused
               : packet.kind == PacketKind::kTooLarge ? NetworkErrorKind::kTooLarge
                                                      : NetworkErrorKind::kTimeExceeded;
  error.to = address_of(packet.from_nic, packet.from_port);
  error.path = packet.path;
  error.limit_bytes = packet.limit_bytes;
  const std::byte* bytes = network_.packets().bytes(packet);
  std::memcpy(error.router.data(), bytes, Packet::kRouterBytes);
  std::memcpy(error.quoted.data(), bytes + Packet::kRouterBytes, Packet::kQuotedBytes);
  error.quoted_bytes = Packet::kQuotedBytes;
  push_error(error);
}

size_t SimDatapath::receive(datapath::RxBatch& batch, const transport::Prediction* prediction) {
  const Inside inside(call_observer_);
  CHECK(!lent_);
  ++statistics_.receive_calls;
  batch.count = 0;
  batch.event_count = 0;
  queue_.begin_batch();
  std::array<size_t, datapath::RxBatch::kMaxRuns> starts;
  if (silent_) return 0;
  while (!queue_.empty() && batch.count < batch.runs.size() && !queue_.batch_full()) {
    transport::RxRun& run = batch.runs[batch.count];
    starts[batch.count] = queue_.frame_bytes();
    const uint8_t nic = number_of(queue_.front().to_nic);
    statistics_.payload_placed_bytes += queue_.take_run(run, prediction);
    run.nic = nic;
    prediction = nullptr;  // it applies to the next run only
    ++batch.count;
  }
  for (size_t i = 0; i < batch.count; ++i) batch.runs[i].frame = queue_.frames() + starts[i];
  while (writes_.any_event() && batch.event_count < batch.events.size()) {
    batch.events[batch.event_count++] = writes_.take_event();
  }
  lent_ = batch.count + batch.event_count > 0;
  return batch.count;
}

void SimDatapath::release(datapath::RxBatch& batch) {
  const Inside inside(call_observer_);
  queue_.poison_frames();
  lent_ = false;
  batch.count = batch.event_count = 0;
}

// --- errors, time and memory ---

void SimDatapath::push_error(const NetworkError& error) {
  if (errors_.size() == params::kErrorsKept) errors_.pop_front();
  errors_.push_back(error);
  handle_ready();
}

bool SimDatapath::poll_error(NetworkError& error) {
  const Inside inside(call_observer_);
  if (errors_.empty()) return false;
  error = errors_.pop_front();
  return true;
}

void SimDatapath::handle_room() {
  has_room_ = true;
  handle_ready();
}

void SimDatapath::wait(Nanos until) {
  const Nanos end = until == Nanos::never() ? until : until - options_.clock_offset;
  while (!woken_.exchange(false, std::memory_order_relaxed)) {
    if (ready()) {
      has_room_ = false;
      return;
    }
    if (network_.next_event_at() > end || network_.next_event_at() == Nanos::never()) {
      if (end != Nanos::never()) network_.run_until(end);
      return;
    }
    network_.step();
  }
}

Result<RegionId> SimDatapath::register_memory(void* start, size_t bytes) {
  if (start == nullptr || bytes == 0) {
    return fail(ErrorCode::kInvalid, "cannot register memory", "it is empty");
  }
  return memory_.add_host(start, bytes);
}

void SimDatapath::place(std::span<const transport::Placement> placements) {
  const Inside inside(call_observer_);
  statistics_.payload_copied_bytes += memory_.place(placements);
}

void SimDatapath::recall(const transport::RecallRequest& request) {
  const Inside inside(call_observer_);
  writes_.recall(request);
}

void SimDatapath::fence(const transport::FenceRequest& request) {
  const Inside inside(call_observer_);
  writes_.fence(request);
}

}  // namespace heddle::simulator
