// The sending side of a link: see outgoing_link.h.
#include "plugins/nccl/net/outgoing_link.h"

#include <algorithm>
#include <utility>

namespace heddle::nccl {

OutgoingLink::OutgoingLink(std::shared_ptr<engine::Endpoint> endpoint,
                           engine::Connection connection, const transport::Address& destination,
                           std::unique_ptr<RecordSlots<kSends>> sends,
                           std::unique_ptr<RecordSlots<kReceives>> receives)
    : Link(std::move(endpoint), connection),
      destination_(destination),
      sender_(std::move(sends)),
      receiver_(std::move(receives)) {
  receiver_.post(*this);
}

OutgoingLink::~OutgoingLink() {
  end(sender_.operations());
  end(receiver_.operations());
}

Result<std::shared_ptr<OutgoingLink>> OutgoingLink::open(std::shared_ptr<engine::Endpoint> endpoint,
                                                         const transport::Address& peer) {
  auto sends = RecordSlots<kSends>::create(*endpoint);
  if (!sends) return fail(sends.error());
  auto receives = RecordSlots<kReceives>::create(*endpoint);
  if (!receives) return fail(receives.error());
  const Result<engine::Connection> connection = endpoint->connect(peer);
  if (!connection) return fail(connection.error());
  return std::shared_ptr<OutgoingLink>(new OutgoingLink(std::move(endpoint), *connection, peer,
                                                        std::move(*sends), std::move(*receives)));
}

bool OutgoingLink::full() const {
  const OwnMutex::Lock lock = mutex_.lock();
  return next_channel_ >= kLinkChannels;
}

uint32_t OutgoingLink::comms() const {
  const OwnMutex::Lock lock = mutex_.lock();
  return static_cast<uint32_t>(comms_.size());
}

// Channels that open comms may still take of those that are kept for them.
uint32_t OutgoingLink::kept() const {
  uint32_t kept = 0;
  for (const auto& [number, comm] : comms_) {
    kept += kChannelsAComm - std::min(comm.channels, kChannelsAComm);
  }
  return kept;
}

bool OutgoingLink::has_room() const {
  const OwnMutex::Lock lock = mutex_.lock();
  return next_channel_ + kept() + kChannelsAComm <= kLinkChannels;
}

std::optional<uint32_t> OutgoingLink::open_comm(uint64_t listener) {
  const OwnMutex::Lock lock = mutex_.lock();
  if (!sender_.send(*this, {.comm = next_comm_, .listener = listener})) return std::nullopt;
  comms_[next_comm_];
  return next_comm_++;
}

std::optional<engine::Channel> OutgoingLink::open_tag(uint32_t comm, int32_t tag) {
  const OwnMutex::Lock lock = mutex_.lock();
  if (next_channel_ >= kLinkChannels) return std::nullopt;
  const auto channel = static_cast<engine::Channel>(next_channel_);
  const ControlRecord record = {
      .kind = ControlKind::kTag, .comm = comm, .tag = tag, .channel = channel};
  if (!sender_.send(*this, record)) return std::nullopt;
  ++next_channel_;
  ++comms_[comm].channels;
  return channel;
}

void OutgoingLink::close_comm(uint32_t comm) {
  const OwnMutex::Lock lock = mutex_.enter();
  if (lock.owns_lock()) comms_.erase(comm);
}

void OutgoingLink::poll() {
  ControlRecord record;
  for (auto took = receiver_.take(*this, record); took == decltype(receiver_)::Took::kRecord;
       took = receiver_.take(*this, record)) {
    const auto found = comms_.find(record.comm);
    if (record.kind != ControlKind::kClosed || found == comms_.end()) continue;
    if (!found->second.closed_at) found->second.closed_at = endpoint().now();
  }
}

bool OutgoingLink::closed_by_peer(uint32_t comm, Nanos grace) {
  const OwnMutex::Lock lock = mutex_.lock();
  poll();
  const auto found = comms_.find(comm);
  return found != comms_.end() && found->second.closed_at &&
         endpoint().now() - *found->second.closed_at >= grace;
}

}  // namespace heddle::nccl
