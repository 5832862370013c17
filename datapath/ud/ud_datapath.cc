// See ud_datapath.h, and datapath/datapath.h for the contract.
#include "datapath/ud/ud_datapath.h"

#include <fmt/format.h>
#include <infiniband/verbs.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "datapath/run_filter.h"
#include "datapath/ud/params.h"
#include "datapath/verbs/open.h"
#include "datapath/verbs/params.h"
#include "transport/params.h"

namespace heddle::datapath {

using transport::Address;
using transport::NetworkError;
using transport::Prediction;
using transport::TxBurst;

namespace {

template <typename Integer>
Integer random_bits() {
  Integer bits = 0;
  CHECK(getrandom(&bits, sizeof bits, 0) == sizeof bits);
  return bits;
}

}  // namespace

Result<std::unique_ptr<UdDatapath>> UdDatapath::open(const VerbsOptions& options,
                                                     const UdPlace& place) {
  auto udp = UdpDatapath::open(udp_beside_verbs(options, place.port.choice));
  if (!udp) return fail(std::move(udp).error());
  return open(options, place, std::move(*udp));
}

Result<std::unique_ptr<UdDatapath>> UdDatapath::open(const VerbsOptions& options,
                                                     const UdPlace& place,
                                                     std::unique_ptr<UdpDatapath> udp) {
  std::unique_ptr<UdDatapath> made(new UdDatapath(std::move(udp), place.engine));
  if (Result<void> attached = made->attach(options, place); !attached) {
    return fail(attached.error());
  }
  return made;
}

// Before the ender, which they hand their queue pairs to, and the device.
UdDatapath::~UdDatapath() {
  sender_.reset();
  receiver_.reset();
}

Result<void> UdDatapath::attach(const VerbsOptions& options, const UdPlace& place) {
  const RdmaChoice& choice = place.port.choice;
  Result<std::unique_ptr<VerbsDevice>> device = VerbsDevice::open(choice, *place.port.library);
  if (!device) return fail(std::move(device).error());
  device_ = std::move(*device);
  const uint32_t packet = mtu_bytes(device_->mtu());
  if (packet < transport::params::kBaseDatagram) {
    return fail(ErrorCode::kUnavailable, "cannot open RDMA datagrams (UD)",
                fmt::format("packets of {} port {} carry {} bytes, and datagrams need {}",
                            choice.device, choice.port, packet, transport::params::kBaseDatagram),
                fmt::format("raise the MTU of its interface to {} or more, or set rdma_mode to rc",
                            ud_params::kEnoughMtu));
  }
  const uint32_t datagram = std::min(packet, inner().capabilities().max_datagram_bytes);
  key_ = random_bits<uint32_t>() >> 1;
  ender_ = std::make_unique<QueuePairEnder>(device_, place.ends_within);
  if (ender_->descriptor() < 0) {
    return fail(ErrorCode::kExhausted, "cannot open RDMA verbs", "there are no more descriptors",
                "raise the limit of open files (ulimit -n)");
  }
  UdSender::Options sends{.pairs = std::min(options.chunk_paths, options.paths),
                          .key = key_,
                          .traffic_class = options.traffic_class,
                          .max_datagram_bytes = datagram};
  for (uint16_t path = 0; path < options.paths; ++path) {
    sends.source_ports.push_back(inner().source_port(path, 0));
  }
  sender_ =
      std::make_unique<UdSender>(*device_, *ender_, inner().regions(), std::move(sends), own_);
  if (Result<void> opened = sender_->open(); !opened) return opened;
  receiver_ = std::make_unique<UdReceiver>(
      *device_, *ender_,
      UdReceiver::Options{.local = inner().local_address(),
                          .key = key_,
                          .slots = static_cast<uint32_t>(options.receive_buffer.count / packet),
                          .max_datagram_bytes = packet},
      own_);
  if (Result<void> opened = receiver_->open(); !opened) return opened;
  for (const int descriptor :
       {device_->completion_descriptor(), device_->report_descriptor(), ender_->descriptor()}) {
    if (Result<void> watched = inner().watch_input(descriptor); !watched) return watched;
  }
  errors_.reserve(ud_params::kErrorsKept);
  inner().limit_datagrams(datagram);
  capabilities_ = inner().capabilities();
  capabilities_.max_burst_segments = transport::kMaxBurstSegments;
  capabilities_.receives_runs = true;
  capabilities_.predicts = false;  // the NIC takes the next slot, whatever arrives
  capabilities_.receive_capacity.count =
      std::min<uint64_t>(capabilities_.receive_capacity.count,
                         uint64_t{receiver_->slots()} * ud_params::kCapacityPerSlot);
  log_info(
      "RDMA: {} port {}, GID {} ({}), UD: datagrams of {} bytes, {} queue pairs to send, {} "
      "slots to receive",
      choice.device, choice.port, choice.gid.index, rdma_address_text(choice.gid.address), datagram,
      options.chunk_paths, receiver_->slots());
  return {};
}

// --- sending ---

// Stretches of bursts that go by UDP go together.
size_t UdDatapath::transmit(std::span<const TxBurst> bursts) {
  unsent_.clear();
  refused_ = false;
  const Nanos now = inner().now();
  size_t taken = 0;
  while (taken < bursts.size()) {
    if (by_pair(now, bursts[taken])) {
      uint32_t lost = 0;
      const Way way = send(now, bursts[taken], lost);
      if (way == Way::kFull) {
        ++own_.transmit_refused;
        refused_ = true;
        return taken;
      }
      if (way == Way::kTaken) {
        if (lost > 0) {
          unsent_.resize(taken + 1);
          unsent_.back() = lost;
        }
        ++taken;
        continue;
      }
    }
    size_t end = taken + 1;
    while (end < bursts.size() && !by_pair(now, bursts[end])) ++end;
    const size_t count = send_udp(bursts.subspan(taken, end - taken), taken);
    taken += count;
    if (taken < end) break;
  }
  return taken;
}

size_t UdDatapath::send_udp(std::span<const TxBurst> bursts, size_t first) {
  const size_t count = inner().transmit(bursts);
  for (size_t i = 0; i < count; ++i) {
    const uint32_t lost = inner().unsent(i);
    if (lost == 0) continue;
    unsent_.resize(first + i + 1);
    unsent_.back() = lost;
  }
  return count;
}

// A burst is of one connection, so its first datagram names the engine of all.
UdPeer UdDatapath::peer_of(const TxBurst& burst) {
  const uint8_t engines = peers_.engines_of(burst.to);
  if (engines == 1) return {.to = burst.to};
  const uint8_t engine =
      transport::engine_of({burst.headers, burst.header_bytes}, {.count = engines});
  return {.to = burst.to, .engine = engine < engines ? engine : uint8_t{0}};
}

// Asks the peer where that is due. Probes of a route or of its MTU, and what UDP reports as too
// large, need IP's own answers.
bool UdDatapath::by_pair(Nanos now, const TxBurst& burst) {
  if (!works_) return false;
  const UdPeer to = peer_of(burst);
  const UdPeers::Sending sending = peers_.on_send(now, to, burst.connection != 0);
  if (sending.ask != UdPeers::Ask::kNone) ask(now, to, sending);
  return sending.by_pair && burst.hop_limit == 0 && !burst.may_fragment &&
         burst.datagram_bytes() <= capabilities_.max_datagram_bytes;
}

UdDatapath::Way UdDatapath::send(Nanos now, const TxBurst& burst, uint32_t& unsent) {
  const UdPeer peer = peer_of(burst);
  const UdPeers::Sending sending = peers_.on_send(now, peer, false);
  const UdDestination& to = *sending.to;
  if (burst.datagram_bytes() > to.mtu_bytes) {
    report_too_large(burst, to.mtu_bytes);
    unsent = burst.segments;
    return Way::kTaken;
  }
  UdSender::Sent sent = sender_->send(now, burst, to);
  if (sent == UdSender::Sent::kFull) {
    poll();
    sent = sender_->send(now, burst, to);
  }
  switch (sent) {
    case UdSender::Sent::kTaken:
      return Way::kTaken;
    case UdSender::Sent::kFull:
      return Way::kFull;
    case UdSender::Sent::kNever:
      unsent = burst.segments;
      return Way::kTaken;
    case UdSender::Sent::kNoWay:
      break;
  }
  peers_.on_moved(now, peer);
  return Way::kUdp;
}

void UdDatapath::report_too_large(const TxBurst& burst, uint32_t limit) {
  if (errors_.size() == ud_params::kErrorsKept) errors_.pop_front();
  errors_.push_back({.kind = transport::NetworkErrorKind::kTooLarge,
                     .to = burst.to,
                     .path = burst.path,
                     .limit_bytes = limit,
                     .local = true});
}

void UdDatapath::ask(Nanos now, const UdPeer& to, const UdPeers::Sending& sending) {
  const auto nonce = random_bits<uint64_t>() | 1;
  greet(to, GreetingKind::kAsk, nonce, sending.ask == UdPeers::Ask::kByPair ? sending.to : nullptr);
  peers_.on_asked(now, to, nonce);
}

// What the network does not accept is asked or answered again.
void UdDatapath::greet(const UdPeer& to, GreetingKind kind, uint64_t nonce,
                       const UdDestination* by_pair) {
  const auto bytes = write_greeting({.kind = kind,
                                     .mtu = device_->mtu(),
                                     .to = to.engine,
                                     .from = engine_.index,
                                     .engines = engine_.count,
                                     .port = inner().local_address().port,
                                     .queue_pair = receiver_->number(),
                                     .key = key_,
                                     .nonce = nonce});
  TxBurst burst;
  burst.to = to.to;
  burst.segments = 1;
  burst.header_bytes = static_cast<uint16_t>(bytes.size());
  burst.headers = bytes.data();
  if (by_pair != nullptr) {
    sender_->send(inner().now(), burst, *by_pair);
  } else {
    inner().transmit({&burst, 1});
  }
}

// --- receiving ---

size_t UdDatapath::receive(RxBatch& batch, const Prediction* prediction) {
  batch.count = 0;
  batch.event_count = 0;
  batch.place_filled = false;
  const Nanos now = poll();
  ++turns_;
  if (turns_ >= ud_params::kTurnsPerLook && receive_udp(now, batch, prediction) > 0) {
    return batch.count;
  }
  if (receiver_->receive(now, batch) > 0) {
    lent_ud_ = true;
    return batch.count;
  }
  return looks_ > 0 || !works_ ? receive_udp(now, batch, prediction) : 0;
}

size_t UdDatapath::receive_udp(Nanos now, RxBatch& batch, const Prediction* prediction) {
  turns_ = 0;
  lent_ud_ = false;
  if (inner().receive(batch, prediction) == 0) {
    peers_.on_look(now);
    if (looks_ > 0) --looks_;
    return 0;
  }
  looks_ = ud_params::kLooksAfterInput;
  size_t kept = 0;
  for (size_t i = 0; i < batch.count; ++i) {
    transport::RxRun& run = batch.runs[i];
    const bool whole = run.payload_at == transport::PayloadAt::kFrame;
    if (whole && !filter_run(run, [&](auto datagram) { return take(now, run.from, datagram); })) {
      continue;
    }
    if (kept != i) batch.runs[kept] = run;
    ++kept;
  }
  batch.count = kept;
  // The caller releases no empty batch.
  if (kept == 0) inner().release(batch);
  return kept;
}

bool UdDatapath::take(Nanos now, const Address& from, std::span<const std::byte> datagram) {
  if (datagram.empty() || datagram[0] != kGreetingFirstByte) return false;
  const auto greeting = read_greeting(datagram);
  if (!greeting) return false;  // for the transport to drop and count
  // The kernel merged it with datagrams of this engine: it is asked again.
  if (greeting->to != engine_.index && greeting->to < engine_.count) return true;
  on_greeting(now, from, *greeting);
  return true;
}

void UdDatapath::on_greeting(Nanos now, const Address& from, const Greeting& greeting) {
  const UdPeer peer{.to = {.host = from.host, .scope = from.scope, .port = greeting.port},
                    .engine = greeting.from};
  switch (greeting.kind) {
    case GreetingKind::kAsk:
      if (works_ && receiver_->number() != 0) greet(peer, GreetingKind::kAnswer, greeting.nonce);
      break;
    case GreetingKind::kAnswer:
      peers_.on_answer(now, from, greeting);
      break;
    case GreetingKind::kMoved:
      peers_.on_moved(now, peer);
      break;
  }
}

void UdDatapath::release(RxBatch& batch) {
  if (!lent_ud_) {
    inner().release(batch);
    return;
  }
  lent_ud_ = false;
  batch.count = 0;
  receiver_->release();
}

// Takes what the NIC has done; returns the time.
Nanos UdDatapath::poll() {
  const Nanos now = inner().now();
  if (!works_) return now;
  std::array<ibv_wc, verbs_params::kCompletionsACall> done;
  int count = 0;
  do {
    count = ibv_poll_cq(device_->completions(), static_cast<int>(done.size()), done.data());
    for (int i = 0; i < count; ++i) {
      const ibv_wc& each = done[static_cast<size_t>(i)];
      if ((each.wr_id & 1) == 0) {
        sender_->on_completion(now, each);
      } else {
        receiver_->on_completion(now, each);
      }
    }
  } while (count == static_cast<int>(done.size()));
  Ring<UdReceiver::Greeted>& greetings = receiver_->greetings();
  while (!greetings.empty()) {
    const UdReceiver::Greeted greeted = greetings.pop_front();
    on_greeting(now, greeted.from, greeted.greeting);
  }
  receiver_->post_free(now);
  if (count < 0) {
    log_error("RDMA: the completion queue of {} failed", device_->choice().device);
    give_up();
  }
  settle(now);
  return now;
}

void UdDatapath::settle(Nanos now) {
  sender_->settle();
  if (!works_ || !receiver_->settle(now)) return;
  peers_.for_each([this](const UdPeer& to) { greet(to, GreetingKind::kMoved, 1); });
}

// From now on all travels by UDP. The kernel closes the descriptors of a device that is gone: they
// would end each wait at once.
void UdDatapath::give_up() {
  works_ = false;
  inner().ignore_input(device_->report_descriptor());
  inner().ignore_input(device_->completion_descriptor());
}

// --- waiting, memory, errors and counters ---

// A completion that came before the queue was armed causes no notification, so it is looked for
// afterwards.
void UdDatapath::wait(Nanos until) {
  looks_ = std::max(looks_, 1u);  // what ends the wait may be UDP's
  if (works_) {
    device_->take_notification();
    device_->arm();
    poll();
    if (receiver_->has_input()) return;
    if (std::exchange(refused_, false)) until = std::min(until, inner().now() + ud_params::kRetry);
  }
  inner().wait(until);
  ender_->take_notification();
  if (!works_) return;
  device_->take_notification();
  if (device_->take_reports()) give_up();
}

void UdDatapath::take_wake() {
  looks_ = std::max(looks_, 1u);
  inner().take_wake();
  ender_->take_notification();
  if (!works_) return;
  device_->take_notification();
  device_->arm();
  poll();
  if (device_->take_reports()) give_up();
  if (receiver_->has_input()) inner().wake();
}

bool UdDatapath::poll_error(NetworkError& error) {
  if (!errors_.empty()) {
    error = errors_.pop_front();
    return true;
  }
  while (inner().poll_error(error)) {
    // The transport knows nothing of greetings.
    if (error.quoted_bytes == 0 || error.quoted[0] != kGreetingFirstByte) return true;
  }
  return false;
}

const DatapathStatistics& UdDatapath::statistics() const {
  all_ = inner().statistics();
  all_.transmit_calls += own_.transmit_calls;
  all_.receive_calls += own_.receive_calls;
  all_.datagrams_sent += own_.datagrams_sent;
  all_.datagrams_received += own_.datagrams_received;
  all_.transmit_refused += own_.transmit_refused;
  return all_;
}

}  // namespace heddle::datapath
