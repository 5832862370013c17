// See udp_datapath.h, and datapath/datapath.h for the contract.
#include "datapath/udp/udp_datapath.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/log.h"
#include "datapath/engines.h"
#include "datapath/resolve.h"
#include "datapath/udp/clock.h"
#include "datapath/udp/interface.h"
#include "datapath/udp/params.h"
#include "datapath/udp/shared_port.h"

namespace heddle::datapath {

using transport::NetworkError;
using transport::Placement;
using transport::Prediction;
using transport::RegionId;
using transport::TxBurst;

namespace {

constexpr uint32_t kMinMtu = 1280;
constexpr uint32_t kMaxMtu = 65535;
Result<void> check(const UdpOptions& options) {
  const std::string what = "cannot attach to UDP";
  if (options.paths < 1 || options.paths > udp_params::kMaxPaths) {
    return fail(ErrorCode::kInvalid, what,
                std::to_string(options.paths) + " paths are not possible", "choose 1 to 256");
  }
  if (options.mtu_bytes != 0 && (options.mtu_bytes < kMinMtu || options.mtu_bytes > kMaxMtu)) {
    return fail(ErrorCode::kInvalid, what,
                "an MTU of " + std::to_string(options.mtu_bytes) + " bytes is not possible",
                "choose 1280 to 65535, or 0 for the interface's");
  }
  if ((options.traffic_class & 3) != 0) {
    return fail(ErrorCode::kInvalid, what,
                "the two lowest bits of traffic class " + std::to_string(options.traffic_class) +
                    " belong to ECN",
                "choose a multiple of 4");
  }
  return {};
}

uint32_t largest_datagram(const UdpOptions& options, const transport::Address& local) {
  const uint32_t mtu = options.mtu_bytes != 0
                           ? options.mtu_bytes
                           : std::min(interface_mtu(local), udp_params::kJumboMtu);
  // A wildcard socket uses both protocols: IPv4 allows the larger datagram, and PMTU probes find
  // the limit of IPv6.
  const bool six = !is_ipv4(local) && !is_any(local);
  return std::max(mtu, kMinMtu) - (six ? 48 : 28);
}

SenderOptions sender_options(const UdpOptions& options, const std::vector<ReceiveSocket>& nics,
                             bool segments) {
  SenderOptions made;
  for (const ReceiveSocket& nic : nics) {
    made.nics.push_back({.family = nic.attachment.family,
                         .max_datagram_bytes = largest_datagram(options, nic.attachment.local)});
  }
  made.segments = segments;
  made.traffic_class = options.traffic_class;
  return made;
}

}  // namespace

Result<std::unique_ptr<Datapath>> open_udp(const UdpOptions& options) {
  Result<std::unique_ptr<UdpDatapath>> made = UdpDatapath::open(options);
  if (!made) return fail(std::move(made).error());
  return std::unique_ptr<Datapath>(std::move(made).value());
}

Result<std::vector<std::unique_ptr<Datapath>>> open_udp_engines(const UdpOptions& options,
                                                                uint8_t engines) {
  Result<std::vector<std::unique_ptr<UdpDatapath>>> opened =
      UdpDatapath::open_engines(options, engines);
  if (!opened) return fail(std::move(opened).error());
  std::vector<std::unique_ptr<Datapath>> made;
  for (std::unique_ptr<UdpDatapath>& each : *opened) made.push_back(std::move(each));
  return with_engines(std::move(made));
}

Result<std::vector<std::unique_ptr<UdpDatapath>>> UdpDatapath::open_engines(
    const UdpOptions& options, uint8_t engines) {
  if (Result<void> good = check(options); !good) return fail(std::move(good).error());
  Result<std::vector<EngineSockets>> sockets = open_shared_port(options, engines);
  if (!sockets) return fail(std::move(sockets).error());
  std::vector<std::unique_ptr<UdpDatapath>> made;
  for (EngineSockets& each : *sockets) {
    Result<std::unique_ptr<UdpDatapath>> opened = open(options, std::move(each));
    if (!opened) return fail(std::move(opened).error());
    made.push_back(std::move(*opened));
  }
  return made;
}

Result<std::unique_ptr<UdpDatapath>> UdpDatapath::open(const UdpOptions& options) {
  if (Result<void> good = check(options); !good) return fail(std::move(good).error());
  Result<std::vector<ReceiveSocket>> receives = open_receive_sockets(options);
  if (!receives) return fail(std::move(receives).error());
  return open(options, std::move(*receives));
}

Result<std::unique_ptr<UdpDatapath>> UdpDatapath::open(const UdpOptions& options,
                                                       std::vector<ReceiveSocket> receives) {
  std::vector<int> receive_descriptors;
  std::vector<Socket> sends;
  std::vector<int> descriptors;
  for (const ReceiveSocket& nic : receives) {
    receive_descriptors.push_back(nic.socket.descriptor());
    for (uint16_t i = 0; i < options.paths; ++i) {
      Result<Socket> socket = open_send_socket(nic.attachment);
      if (!socket) return fail(std::move(socket).error());
      descriptors.push_back(socket->descriptor());
      sends.push_back(std::move(*socket));
    }
  }
  const bool segments = options.segmentation != Offload::kOff && kernel_segments(sends.front());
  if (!segments && options.segmentation == Offload::kOn) {
    return fail(ErrorCode::kUnavailable, "cannot send rows of datagrams (GSO)",
                "this kernel cannot", "use Linux 4.18 or newer, or set GSO to auto");
  }
  std::unique_ptr<UdpDatapath> made(
      new UdpDatapath(options, std::move(receives), std::move(sends), segments));
  Result<void> watching =
      made->waiter_.open(receive_descriptors, std::move(descriptors), options.paths);
  if (!watching) return fail(std::move(watching).error());
  return made;
}

UdpDatapath::UdpDatapath(const UdpOptions& options, std::vector<ReceiveSocket> receives,
                         std::vector<Socket> sends, bool segments)
    : sender_(std::move(sends), sender_options(options, receives, segments), regions_, errors_,
              statistics_),
      waiter_(errors_) {
  uint32_t buffer_bytes = UINT32_MAX;
  for (ReceiveSocket& receive : receives) {
    const uint32_t datagram = largest_datagram(options, receive.attachment.local);
    const auto nic = static_cast<uint8_t>(nics_.size());
    nics_.push_back(receive.attachment.local);
    capabilities_.max_datagram_bytes = std::max(capabilities_.max_datagram_bytes, datagram);
    capabilities_.receives_runs = receive.coalesces;
    // All traffic may arrive at one NIC.
    buffer_bytes = std::min(buffer_bytes, receive.buffer_bytes);
    const ReceiverOptions made{.coalesces = receive.coalesces,
                               .max_datagram_bytes = datagram,
                               .place_min_bytes = options.place_min_bytes,
                               .nic = nic};
    receivers_.push_back(
        std::make_unique<Receiver>(std::move(receive.socket), made, regions_, statistics_));
    log_info(
        "UDP: {} with {} paths, datagrams of {} bytes, GSO {}, GRO {}, receive buffer {} bytes",
        to_text(nics_.back()), options.paths, datagram, segments ? "on" : "off",
        receive.coalesces ? "on" : "off", receive.buffer_bytes);
  }
  capabilities_.max_paths = options.paths;
  capabilities_.max_burst_segments = segments ? transport::kMaxBurstSegments : 1;
  capabilities_.predicts =
      options.place_min_bytes + transport::kDataHeaderBytes <= capabilities_.max_datagram_bytes;
  capabilities_.ecn = true;
  capabilities_.receive_capacity = {buffer_bytes / udp_params::kCapacityShare};
}

void UdpDatapath::limit_datagrams(uint32_t bytes) {
  capabilities_.max_datagram_bytes = std::min(capabilities_.max_datagram_bytes, bytes);
  sender_.limit_datagrams(bytes);
}

NicFacts UdpDatapath::nic_facts(uint8_t nic) const { return interface_facts(nics_[nic]); }

uint16_t UdpDatapath::source_port(uint16_t path, uint8_t nic) const {
  return bound_port(sender_.path(path, nic).descriptor());
}

Nanos UdpDatapath::now() { return monotonic_now(); }

size_t UdpDatapath::transmit(std::span<const TxBurst> bursts) {
  const size_t taken = sender_.transmit(bursts);
  if (taken < bursts.size()) {
    if (sender_.refusal() == Sender::Refusal::kSocketFull) {
      waiter_.watch_room(sender_.refused_socket());
    } else {
      waiter_.retry_at(monotonic_now() + udp_params::kNoBuffersRetry);
    }
  }
  return taken;
}

size_t UdpDatapath::receive(RxBatch& batch, const Prediction* prediction) {
  // Round robin, so that no NIC waits for the input of another.
  size_t count = 0;
  for (size_t tried = 0; tried < receivers_.size() && count == 0; ++tried) {
    lent_ = turn_;
    turn_ = turn_ + 1 < receivers_.size() ? turn_ + 1 : 0;
    count = receivers_[lent_]->receive(batch, prediction);
  }
  looks_due_ += count > 0 ? 1 : udp_params::kBusyTurnsPerCheck;
  return count;
}

void UdpDatapath::release(RxBatch& batch) { receivers_[lent_]->release(batch); }

void UdpDatapath::place(std::span<const Placement> placements) {
  for (const Placement& placement : placements) {
    if (placement.segments == 0) continue;
    statistics_.payload_copied_bytes +=
        uint64_t{placement.segments - 1u} * placement.bytes + placement.last_bytes;
  }
  regions_.place(placements);
}

void UdpDatapath::wait(Nanos until) { waiter_.wait(until); }

Result<RegionId> UdpDatapath::register_memory(void* start, size_t bytes) {
  return regions_.add_host(start, bytes);
}

void UdpDatapath::unregister_memory(RegionId region) { regions_.remove(region); }

bool UdpDatapath::poll_error(NetworkError& error) {
  if (errors_.empty() &&
      looks_due_ >= udp_params::kIdleTurnsPerCheck * udp_params::kBusyTurnsPerCheck) {
    looks_due_ = 0;
    waiter_.look_at_send_sockets();
  }
  return errors_.take(error);
}

const DatapathStatistics& UdpDatapath::statistics() const {
  statistics_.dropped_at_receive = 0;
  for (const auto& receiver : receivers_) statistics_.dropped_at_receive += receiver->dropped();
  return statistics_;
}

}  // namespace heddle::datapath
