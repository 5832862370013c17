// See nic.h.
#include "datapath/xdp/nic.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "datapath/udp/clock.h"
#include "datapath/udp/socket_address.h"
#include "datapath/xdp/interface.h"
#include "datapath/xdp/params.h"

namespace heddle::datapath {

using transport::TxBurst;

namespace {

// The headers that the largest datagram needs; IPv6 takes more.
uint32_t header_bytes(const transport::Address& local) {
  return is_ipv4(local) || is_any(local) ? 28 : 48;
}

}  // namespace

Result<std::unique_ptr<XdpNic>> XdpNic::open(const XdpOptions& options,
                                             std::shared_ptr<XdpAttachment> attachment,
                                             XdpNicOptions nic) {
  std::unique_ptr<XdpNic> made(new XdpNic());
  made->netlink_ = std::make_unique<Netlink>();
  if (Result<void> opened = made->netlink_->open(); !opened) return fail(opened.error());
  made->attachment_ = std::move(attachment);
  made->engine_ = nic.engine;
  const XdpInterface& interface = made->attachment_->interface();
  for (const auto& socket : made->sockets()) {
    made->descriptors_.push_back(socket->descriptor());
  }
  made->max_datagram_bytes_ = made->attachment_->mtu_bytes() - header_bytes(nic.local);

  RouteInterface route;
  route.index = interface.addressed;
  route.local = nic.local;
  route.mac = interface.mac;
  route.tags = interface.tags;
  route.tag_count = interface.tag_count;
  route.traffic_class = options.traffic_class;
  made->routes_ = std::make_unique<RouteCache>(*made->netlink_, route);
  XdpReceiverOptions receives;
  receives.port = nic.local.port;
  receives.scope = interface.addressed;
  receives.nic = nic.nic;
  receives.places = made->attachment_->multi_buffer();
  made->receiver_ =
      std::make_unique<XdpReceiver>(made->sockets(), receives, *nic.regions, *nic.statistics);
  XdpTransmitterOptions sends{std::move(nic.source_ports), options.traffic_class};
  made->transmitter_ = std::make_unique<XdpTransmitter>(
      made->attachment_->senders(nic.engine), std::move(sends), *nic.regions, *nic.statistics);
  return made;
}

XdpNic::Sent XdpNic::send(const TxBurst& burst, Nanos now) {
  if (now < down_until_ || burst.datagram_bytes() > max_datagram_bytes_) return Sent::kNotHere;
  const FrameTemplate* frame = routes_->find(burst.to, now);
  if (frame == nullptr) return Sent::kNotHere;
  return transmitter_->write(burst, *frame) ? Sent::kWritten : Sent::kFull;
}

void XdpNic::flush(Nanos now) {
  const int error = transmitter_->flush();
  if (error == 0) return;
  if (down_until_ == Nanos{}) {
    log_info("AF_XDP: {}; sends through UDP until it works again", std::strerror(error));
  }
  down_until_ = now + xdp_params::kDownRetry;
}

bool XdpNic::push() {
  if (!transmitter_->unfinished()) return false;
  if (transmitter_->push() != 0) down_until_ = monotonic_now() + xdp_params::kDownRetry;
  return transmitter_->unfinished();
}

void XdpNic::prepare_wait() const {
  for (const auto& socket : sockets()) {
    if (socket->receive_needs_wakeup()) socket->poll_driver();
  }
}

bool XdpNic::busy_polls() const {
  return std::all_of(sockets().begin(), sockets().end(),
                     [](const auto& socket) { return socket->busy_polls(); });
}

uint64_t XdpNic::dropped() const {
  uint64_t sum = receiver_->faulty();
  for (const auto& socket : sockets()) sum += socket->dropped();
  return sum;
}

}  // namespace heddle::datapath
