// FecDatapath: see fec_datapath.h.
#include "datapath/fec/fec_datapath.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "datapath/fec/params.h"
#include "datapath/run_filter.h"
#include "transport/packet_identity.h"
#include "transport/params.h"

namespace heddle::datapath {

using transport::NetworkError;
using transport::PayloadAt;
using transport::RegionId;
using transport::RxRun;
using transport::TxBurst;

namespace {

// Datagrams leave space for parity, but all networks pass those of kBaseDatagram.
uint32_t most_bytes(const Capabilities& inner) {
  const auto overhead = static_cast<uint32_t>(kMostParityOverhead);
  return std::min(inner.max_datagram_bytes,
                  std::max(inner.max_datagram_bytes - overhead, transport::params::kBaseDatagram));
}

// Parity comes in addition to what the transport lets be in flight, and a peer, whose numbers may
// differ, sends as much of it as of data at most.
Bytes receive_capacity(const Capabilities& inner) {
  return {std::min(inner.receive_capacity.count,
                   std::max(inner.receive_capacity.count / 2, fec_params::kLeastCapacity))};
}

bool is_parity(std::byte first) { return first == transport::kParityFirstByte; }

}  // namespace

Result<std::unique_ptr<Datapath>> with_fec(std::unique_ptr<Datapath> inner,
                                           const FecOptions& options) {
  return FecDatapath::make(std::move(inner), options);
}

Result<std::unique_ptr<Datapath>> FecDatapath::make(std::unique_ptr<Datapath> inner,
                                                    const FecOptions& options) {
  CHECK(options.on() && options.data <= kMostFecData && options.parity >= 1 &&
        options.parity <= std::min<uint32_t>(options.data, kMostFecParity));
  CHECK(inner->capabilities().chunk_paths == 0);
  auto encrypted = EncryptedBurst::make(*inner);
  if (!encrypted) return fail(encrypted.error());
  return std::unique_ptr<Datapath>(
      new FecDatapath(std::move(inner), options, std::move(*encrypted)));
}

FecDatapath::FecDatapath(std::unique_ptr<Datapath> inner, const FecOptions& options,
                         std::unique_ptr<EncryptedBurst> encrypted)
    : ForwardingDatapath(std::move(inner)),
      capabilities_(this->inner().capabilities()),
      encoder_(options, most_bytes(capabilities_), capabilities_.max_datagram_bytes,
               [this](const TxBurst& burst) { send_parity(burst); }),
      // A peer's datagrams may be longer than this side's.
      rebuilder_(this->inner().capabilities().max_datagram_bytes),
      encrypted_(std::move(encrypted)) {
  capabilities_.max_datagram_bytes = most_bytes(capabilities_);
  capabilities_.receive_capacity = receive_capacity(capabilities_);
  // What arrives must be seen before it is placed.
  capabilities_.predicts = false;
  errors_.reserve(fec_params::kErrorsKept);
}

// --- sending ---

// Stretches of bursts that need nothing here go down together.
size_t FecDatapath::transmit(std::span<const TxBurst> bursts) {
  refused_ = false;
  unsent_.assign(bursts.size(), 0);
  const Nanos now = inner().now();
  for (size_t i = 0; i < bursts.size(); ++i) {
    Handling handling;
    size_t end = i;
    for (; end < bursts.size(); ++end) {
      handling = handling_of(now, bursts[end]);
      if (!handling.passes()) break;
    }
    if (end > i) {
      const size_t taken = inner().transmit(bursts.subspan(i, end - i));
      for (size_t each = 0; each < taken; ++each) unsent_[i + each] = inner().unsent(each);
      i += taken;
      refused_ = i < end;
    }
    if (i == bursts.size()) break;
    if (refused_ || !send_alone(now, bursts[i], handling, unsent_[i])) {
      refused_ = true;
      return i;
    }
  }
  send_due();
  return bursts.size();
}

FecDatapath::Handling FecDatapath::handling_of(Nanos now, const TxBurst& burst) {
  if (is_too_large(burst)) return {.too_large = true};
  if (burst.connection == 0) return {};
  const FecPeers::Sending sending = peers_.on_send(now, burst.to);
  return {.announce = sending.announce, .covered = sending.reads_parity && may_be_covered(burst)};
}

// False: the network does not accept it.
bool FecDatapath::send_alone(Nanos now, const TxBurst& burst, const Handling& handling,
                             uint32_t& unsent) {
  if (handling.too_large) {
    report_too_large(burst);
    unsent = burst.segments;
    return true;
  }
  if (!(handling.covered ? send_covered(now, burst, unsent) : send(burst, unsent))) return false;
  if (handling.announce) announce(now, burst);
  return true;
}

// What is longer leaves no space for parity.
bool FecDatapath::is_too_large(const TxBurst& burst) const {
  return !burst.may_fragment && burst.datagram_bytes() > capabilities_.max_datagram_bytes;
}

// As the inner datapath does.
void FecDatapath::report_too_large(const TxBurst& burst) {
  if (errors_.size() == fec_params::kErrorsKept) errors_.pop_front();
  errors_.push_back({.kind = transport::NetworkErrorKind::kTooLarge,
                     .to = burst.to,
                     .path = burst.path,
                     .limit_bytes = capabilities_.max_datagram_bytes,
                     .local = true});
}

bool FecDatapath::may_be_covered(const TxBurst& burst) const {
  if (burst.tests_path || burst.hop_limit != 0) return false;
  if (burst.datagram_bytes() > capabilities_.max_datagram_bytes) return false;
  if (burst.total_payload() > 0 && payload_of(burst) == nullptr) return false;
  return transport::identify_packet({burst.headers, burst.header_bytes}).has_value();
}

const std::byte* FecDatapath::payload_of(const TxBurst& burst) const {
  if (burst.region >= memory_.size()) return nullptr;
  const Memory& memory = memory_[burst.region];
  if (memory.start == nullptr || burst.offset > memory.bytes) return nullptr;
  CHECK(burst.total_payload() <= memory.bytes - burst.offset);
  return memory.start + burst.offset;
}

bool FecDatapath::send(const TxBurst& burst, uint32_t& unsent) {
  if (inner().transmit({&burst, 1}) == 0) return false;
  unsent = inner().unsent(0);
  return true;
}

bool FecDatapath::send_covered(Nanos now, const TxBurst& burst, uint32_t& unsent) {
  const std::byte* payload = burst.total_payload() > 0 ? payload_of(burst) : nullptr;
  const bool keyed = burst.key != nullptr;
  const TxBurst& sent = keyed ? encrypted_->encrypt(burst, payload) : burst;
  if (!send(sent, unsent)) return false;
  if (keyed) encrypted_->end();
  for (uint32_t i = 0; i + unsent < burst.segments; ++i) {
    std::span<const std::byte> first(burst.headers + size_t{i} * burst.header_bytes,
                                     burst.header_bytes);
    std::span<const std::byte> second;
    if (keyed) {
      first = encrypted_->first(i);
      if (sent.payload_bytes > 0) second = encrypted_->second(i);
    } else if (payload != nullptr) {
      const bool last = i + 1u == burst.segments;
      second = {payload + size_t{i} * burst.payload_bytes,
                last ? burst.last_payload_bytes : burst.payload_bytes};
    }
    const auto packet = transport::identify_packet(first);
    if (packet) encoder_.add(now, burst, *packet, first, second);
  }
  return true;
}

void FecDatapath::announce(Nanos now, const TxBurst& burst) {
  peers_.on_announced(now, burst.to);
  const auto bytes = write_announcement(inner().local_address().port);
  TxBurst announcement;
  announcement.to = burst.to;
  announcement.path = burst.path;
  announcement.nic = burst.nic;
  announcement.peer_nic = burst.peer_nic;
  announcement.segments = 1;
  announcement.header_bytes = static_cast<uint16_t>(bytes.size());
  announcement.headers = bytes.data();
  inner().transmit({&announcement, 1});
}

// What the network does not accept is dropped: parity is only worth something soon.
void FecDatapath::send_parity(const TxBurst& burst) {
  if (inner().transmit({&burst, 1}) == 1) parity_sent_ += burst.segments - inner().unsent(0);
}

// Not while a burst is to be offered again: the inner datapath knows how much of it has left.
void FecDatapath::send_due() {
  if (!refused_ && encoder_.due_at() != Nanos::never()) encoder_.send_due(inner().now());
}

void FecDatapath::wait(Nanos until) {
  send_due();
  if (rebuilder_.any()) return;
  inner().wait(refused_ ? until : std::min(until, encoder_.due_at()));
  send_due();
}

// --- receiving ---

size_t FecDatapath::receive(RxBatch& batch, const transport::Prediction* /*prediction*/) {
  send_due();
  inner().receive(batch, nullptr);
  inner_lent_ = batch.count + batch.event_count > 0;
  const Nanos now = inner().now();
  size_t kept = 0;
  for (size_t i = 0; i < batch.count; ++i) {
    if (!take_run(now, batch.runs[i])) continue;
    if (kept != i) batch.runs[kept] = batch.runs[i];
    ++kept;
  }
  batch.count = kept;
  while (batch.count < batch.runs.size() && rebuilder_.take(batch.runs[batch.count])) ++batch.count;
  // A batch of parity alone holds nothing for the caller, who then does not release it.
  if (inner_lent_ && batch.count + batch.event_count == 0) release(batch);
  return batch.count;
}

// Takes parity out of the run; what is behind it moves up. False: nothing is left.
bool FecDatapath::take_run(Nanos now, RxRun& run) {
  if (run.payload_at != PayloadAt::kFrame || run.trimmed) return true;
  const bool takes_part = peers_.takes_part(now, run.from);
  return filter_run(run, [this, now, &run, takes_part](std::span<std::byte> datagram) {
    if (!datagram.empty() && is_parity(datagram[0])) {
      return take_parity(now, run, datagram, takes_part);
    }
    if (!takes_part) return false;
    const auto packet = transport::identify_packet(datagram);
    if (packet) rebuilder_.remember(now, *packet, datagram);
    return false;
  });
}

// False: it is of a stranger, and for the transport to drop and count.
bool FecDatapath::take_parity(Nanos now, const RxRun& run, std::span<const std::byte> datagram,
                              bool takes_part) {
  if (const auto port = read_announcement(datagram)) {
    return peers_.on_announcement(now, run.from, *port);
  }
  if (!takes_part) return false;
  if (const auto parity = read_parity(datagram)) {
    ++parity_received_;
    rebuilder_.handle(now, *parity, run);
  }
  return true;
}

void FecDatapath::release(RxBatch& batch) {
  rebuilder_.release();
  if (std::exchange(inner_lent_, false)) inner().release(batch);
  batch.count = batch.event_count = 0;
}

// --- memory, errors and counters ---

Result<RegionId> FecDatapath::register_memory(void* start, size_t bytes) {
  Result<RegionId> region = inner().register_memory(start, bytes);
  if (!region) return region;
  if (*region >= memory_.size()) memory_.resize(*region + size_t{1});
  memory_[*region] = {static_cast<std::byte*>(start), bytes};
  return region;
}

void FecDatapath::unregister_memory(RegionId region) {
  if (region < memory_.size()) memory_[region] = {};
  inner().unregister_memory(region);
}

bool FecDatapath::poll_error(NetworkError& error) {
  if (!errors_.empty()) {
    error = errors_.pop_front();
    return true;
  }
  while (inner().poll_error(error)) {
    // The transport knows nothing of parity and announcements.
    if (error.quoted_bytes == 0 || !is_parity(error.quoted[0])) return true;
  }
  return false;
}

const DatapathStatistics& FecDatapath::statistics() const {
  statistics_ = inner().statistics();
  statistics_.parity_sent = parity_sent_;
  statistics_.parity_received = parity_received_;
  statistics_.rebuilt = rebuilder_.rebuilt();
  return statistics_;
}

}  // namespace heddle::datapath
