// See xdp_datapath.h, and datapath/datapath.h for the contract.
#include "datapath/xdp/xdp_datapath.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "datapath/engines.h"
#include "datapath/udp/socket_address.h"
#include "datapath/xdp/params.h"

namespace heddle::datapath {

using transport::Prediction;
using transport::TxBurst;

namespace {

UdpOptions udp_options(const XdpOptions& options) {
  UdpOptions udp;
  udp.bind = options.bind;
  udp.port = options.port;
  udp.paths = options.paths;
  udp.mtu_bytes = options.mtu_bytes;
  udp.traffic_class = options.traffic_class;
  udp.receive_buffer = options.receive_buffer;
  return udp;
}

// The IP packet of UDP's largest datagram.
uint32_t packet_bytes(const UdpDatapath& udp) {
  const transport::Address local = udp.local_address();
  return udp.capabilities().max_datagram_bytes + (is_ipv4(local) || is_any(local) ? 28 : 48);
}

}  // namespace

Result<std::unique_ptr<Datapath>> open_xdp(const XdpOptions& options) {
  Result<std::unique_ptr<XdpDatapath>> made = XdpDatapath::open(options);
  if (!made) return fail(std::move(made).error());
  return std::unique_ptr<Datapath>(std::move(made).value());
}

Result<std::vector<std::unique_ptr<Datapath>>> open_xdp_engines(const XdpOptions& options,
                                                                uint8_t engines) {
  Result<std::vector<std::unique_ptr<XdpDatapath>>> opened =
      XdpDatapath::open_engines(options, engines);
  if (!opened) return fail(std::move(opened).error());
  std::vector<std::unique_ptr<Datapath>> made;
  for (std::unique_ptr<XdpDatapath>& each : *opened) made.push_back(std::move(each));
  return with_engines(std::move(made));
}

Result<std::unique_ptr<XdpDatapath>> XdpDatapath::open(const XdpOptions& options) {
  Result<std::unique_ptr<UdpDatapath>> udp = UdpDatapath::open(udp_options(options));
  if (!udp) return fail(std::move(udp).error());
  const Result<Attachments> attachments = attach(options, **udp, 1);
  if (!attachments) return fail(attachments.error());
  return make(options, std::move(*udp), *attachments, 0);
}

Result<std::vector<std::unique_ptr<XdpDatapath>>> XdpDatapath::open_engines(
    const XdpOptions& options, uint8_t engines) {
  Result<std::vector<std::unique_ptr<UdpDatapath>>> opened =
      UdpDatapath::open_engines(udp_options(options), engines);
  if (!opened) return fail(std::move(opened).error());
  const Result<Attachments> attachments = attach(options, *opened->front(), engines);
  if (!attachments) return fail(attachments.error());
  std::vector<std::unique_ptr<XdpDatapath>> all;
  for (std::unique_ptr<UdpDatapath>& udp : *opened) {
    const auto engine = static_cast<uint8_t>(all.size());
    auto made = make(options, std::move(udp), *attachments, engine);
    if (!made) return fail(std::move(made).error());
    all.push_back(std::move(*made));
  }
  return all;
}

Result<XdpDatapath::Attachments> XdpDatapath::attach(const XdpOptions& options,
                                                     const UdpDatapath& udp, uint8_t engines) {
  Attachments all;
  for (const transport::Address& local : udp.local_nics()) {
    auto made = XdpAttachment::open(
        options, {.local = local, .mtu_bytes = packet_bytes(udp), .engines = engines});
    if (!made) return fail(std::move(made).error());
    all.push_back(std::move(*made));
  }
  return all;
}

Result<std::unique_ptr<XdpDatapath>> XdpDatapath::make(const XdpOptions& options,
                                                       std::unique_ptr<UdpDatapath> udp,
                                                       const Attachments& attachments,
                                                       uint8_t engine) {
  std::unique_ptr<XdpDatapath> made(new XdpDatapath(std::move(udp)));
  Result<void> opened = made->open_nics(options, attachments, engine);
  if (!opened) return fail(opened.error());
  return made;
}

Result<void> XdpDatapath::open_nics(const XdpOptions& options, const Attachments& attachments,
                                    uint8_t engine) {
  const std::vector<transport::Address> locals = inner().local_nics();
  uint32_t datagram = inner().capabilities().max_datagram_bytes;
  bool places = false;
  for (size_t i = 0; i < locals.size(); ++i) {
    XdpNicOptions wanted;
    wanted.local = locals[i];
    wanted.nic = static_cast<uint8_t>(i);
    wanted.engine = engine;
    for (uint16_t path = 0; path < options.paths; ++path) {
      wanted.source_ports.push_back(inner().source_port(path, wanted.nic));
    }
    wanted.regions = &inner().regions();
    wanted.statistics = &own_;
    Result<std::unique_ptr<XdpNic>> nic = XdpNic::open(options, attachments[i], std::move(wanted));
    if (!nic) return fail(std::move(nic).error());
    datagram = std::min(datagram, (*nic)->max_datagram_bytes());
    places = places || (*nic)->places();
    nics_.push_back(std::move(*nic));
  }
  for (const auto& nic : nics_) {
    for (const int descriptor : nic->descriptors()) {
      if (Result<void> watched = inner().watch_input(descriptor); !watched) return watched;
    }
  }
  watched_ = true;
  inner().limit_datagrams(datagram);
  capabilities_ = inner().capabilities();
  capabilities_.max_datagram_bytes = datagram;
  capabilities_.max_burst_segments = transport::kMaxBurstSegments;
  capabilities_.receives_runs = true;
  capabilities_.predicts = places;
  // All traffic may arrive at one queue.
  capabilities_.receive_capacity.count =
      std::min<uint64_t>(capabilities_.receive_capacity.count,
                         uint64_t{xdp_params::kReceiveFrames} * xdp_params::kCapacityPerFrame);
  return {};
}

size_t XdpDatapath::transmit(std::span<const TxBurst> bursts) {
  const Nanos now = inner().now();
  unsent_.clear();
  size_t taken = 0;
  for (const TxBurst& burst : bursts) {
    CHECK(burst.nic < nics_.size());
    const XdpNic::Sent sent = nics_[burst.nic]->send(burst, now);
    if (sent == XdpNic::Sent::kFull) {
      ++own_.transmit_refused;
      retry_at_ = now + xdp_params::kRetry;
      break;
    }
    if (sent == XdpNic::Sent::kNotHere) {
      flush(now);  // keeps the order where a route changes within a batch
      if (inner().transmit({&burst, 1}) == 0) break;
      if (const uint32_t lost = inner().unsent(0); lost > 0) {
        unsent_.resize(taken + 1);
        unsent_.back() = lost;
      }
    }
    ++taken;
  }
  flush(now);
  return taken;
}

void XdpDatapath::flush(Nanos now) {
  for (const auto& nic : nics_) nic->flush(now);
}

// The UDP datapath has input now and then only, and a look costs a system call; so most turns look
// at the XDP sockets alone, unless it had input lately or wait() was woken.
size_t XdpDatapath::receive(RxBatch& batch, const Prediction* prediction) {
  batch.count = 0;
  batch.event_count = 0;
  batch.place_filled = false;
  if (++turns_ >= xdp_params::kTurnsPerLook && receive_udp(batch, prediction) > 0) {
    return batch.count;
  }
  if (receive_xdp(batch, prediction) > 0) return batch.count;
  return looks_ > 0 ? receive_udp(batch, prediction) : 0;
}

size_t XdpDatapath::receive_udp(RxBatch& batch, const Prediction* prediction) {
  turns_ = 0;
  lent_ = nullptr;
  const size_t count = inner().receive(batch, prediction);
  if (count > 0) {
    looks_ = xdp_params::kLooksAfterInput;
  } else if (looks_ > 0) {
    --looks_;
  }
  return count;
}

size_t XdpDatapath::receive_xdp(RxBatch& batch, const Prediction* prediction) {
  for (size_t tried = 0; tried < nics_.size(); ++tried) {
    XdpNic* nic = nics_[turn_].get();
    turn_ = turn_ + 1 < nics_.size() ? turn_ + 1 : 0;
    nic->push();
    if (nic->receive(batch, prediction) == 0) continue;
    lent_ = nic;
    if (++busy_receives_ >= xdp_params::kReceivesPerWatch) watch_inputs(false);
    return batch.count;
  }
  return 0;
}

void XdpDatapath::release(RxBatch& batch) {
  if (lent_ == nullptr) {
    inner().release(batch);
    return;
  }
  std::exchange(lent_, nullptr)->release(batch);
}

// For each packet, the kernel notifies all that watch a socket: a sixth of the time that it takes.
// So a thread that receives without waiting does not watch.
void XdpDatapath::watch_inputs(bool watch) {
  busy_receives_ = 0;
  if (watched_ == watch) return;
  watched_ = watch;
  for (const auto& nic : nics_) {
    for (const int descriptor : nic->descriptors()) {
      if (!watch) {
        inner().ignore_input(descriptor);
      } else if (!inner().watch_input(descriptor)) {
        watched_ = false;  // no kernel memory: tried again at the next wait
      }
    }
  }
}

void XdpDatapath::take_wake() {
  watch_inputs(true);
  inner().take_wake();
}

void XdpDatapath::wait(Nanos until) {
  watch_inputs(true);
  until = std::min(until, std::exchange(retry_at_, Nanos::never()));
  for (const auto& nic : nics_) {
    if (nic->push()) until = std::min(until, inner().now() + xdp_params::kRetry);
    nic->prepare_wait();
  }
  looks_ = std::max(looks_, 1u);  // what ends the wait may be UDP's
  inner().wait(until);
}

bool XdpDatapath::busy_polls() const {
  return std::all_of(nics_.begin(), nics_.end(), [](const auto& nic) { return nic->busy_polls(); });
}

const DatapathStatistics& XdpDatapath::statistics() const {
  all_ = inner().statistics();
  all_.transmit_calls += own_.transmit_calls;
  all_.receive_calls += own_.receive_calls;
  all_.datagrams_sent += own_.datagrams_sent;
  all_.datagrams_received += own_.datagrams_received;
  all_.transmit_refused += own_.transmit_refused;
  all_.payload_copied_bytes += own_.payload_copied_bytes;
  all_.payload_placed_bytes += own_.payload_placed_bytes;
  for (const auto& nic : nics_) all_.dropped_at_receive += nic->dropped();
  return all_;
}

}  // namespace heddle::datapath
