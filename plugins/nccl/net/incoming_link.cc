// The receiving side of a link: see incoming_link.h.
#include "plugins/nccl/net/incoming_link.h"

#include <algorithm>
#include <utility>

namespace heddle::nccl {

IncomingLink::IncomingLink(std::shared_ptr<engine::Endpoint> endpoint,
                           engine::Connection connection,
                           std::unique_ptr<RecordSlots<kSends>> sends,
                           std::unique_ptr<RecordSlots<kReceives>> receives)
    : Link(std::move(endpoint), connection),
      sender_(std::move(sends)),
      receiver_(std::move(receives)),
      idle_since_(this->endpoint().now()) {
  receiver_.post(*this);
}

IncomingLink::~IncomingLink() {
  end(sender_.operations());
  end(receiver_.operations());
}

Result<std::shared_ptr<IncomingLink>> IncomingLink::accept(
    std::shared_ptr<engine::Endpoint> endpoint, engine::Connection connection) {
  auto sends = RecordSlots<kSends>::create(*endpoint);
  if (!sends) return fail(sends.error());
  auto receives = RecordSlots<kReceives>::create(*endpoint);
  if (!receives) return fail(receives.error());
  return std::shared_ptr<IncomingLink>(
      new IncomingLink(std::move(endpoint), connection, std::move(*sends), std::move(*receives)));
}

std::vector<IncomingLink::Opened> IncomingLink::poll() {
  std::vector<Opened> opened;
  const OwnMutex::Lock lock = mutex_.lock();
  using Took = decltype(receiver_)::Took;
  ControlRecord record;
  Took took = receiver_.take(*this, record);
  for (; took == Took::kRecord; took = receiver_.take(*this, record)) handle(record, opened);
  if (took == Took::kGarbage) give_up("the peer sent a control record that is none");
  report_closed();
  return opened;
}

void IncomingLink::handle(const ControlRecord& record, std::vector<Opened>& opened) {
  switch (record.kind) {
    case ControlKind::kOpen:
      opened.push_back({.comm = record.comm, .listener = record.listener});
      return;
    case ControlKind::kTag:
      // A peer has no more channels than these, so a hostile one cannot make the table grow.
      if (record.channel == kControlChannel || record.channel >= kLinkChannels) return;
      std::erase_if(tags_, [&](const Tag& tag) { return tag.channel == record.channel; });
      tags_.push_back({.comm = record.comm, .tag = record.tag, .channel = record.channel});
      return;
    case ControlKind::kClosed:
      return;  // goes the other way
  }
}

std::optional<engine::Channel> IncomingLink::channel_of(uint32_t comm, int32_t tag) {
  const OwnMutex::Lock lock = mutex_.lock();
  for (const Tag& known : tags_) {
    if (known.comm == comm && known.tag == tag) return known.channel;
  }
  return std::nullopt;
}

void IncomingLink::begin_comm() {
  const OwnMutex::Lock lock = mutex_.lock();
  ++comms_;
  had_comms_ = true;
}

bool IncomingLink::had_comms() const {
  const OwnMutex::Lock lock = mutex_.lock();
  return had_comms_;
}

void IncomingLink::close_comm(uint32_t comm) {
  const OwnMutex::Lock lock = mutex_.enter();
  if (!lock.owns_lock()) return;
  if (--comms_ == 0) idle_since_ = endpoint().now();
  add_closed(comm);
}

bool IncomingLink::refuse_comm(uint32_t comm) {
  const OwnMutex::Lock lock = mutex_.lock();
  add_closed(comm);
  return !std::exchange(refused_, true);
}

void IncomingLink::add_closed(uint32_t comm) {
  std::erase_if(tags_, [&](const Tag& tag) { return tag.comm == comm; });
  // Each comm of a link is closed once, so a hostile peer's are as many as it opens.
  if (closed_.size() < kLinkChannels) closed_.push_back(comm);
  report_closed();
}

void IncomingLink::report_closed() {
  while (!closed_.empty()) {
    if (!sender_.send(*this, {.kind = ControlKind::kClosed, .comm = closed_.front()})) return;
    closed_.erase(closed_.begin());
  }
}

uint32_t IncomingLink::comms() const {
  const OwnMutex::Lock lock = mutex_.lock();
  return comms_;
}

std::optional<Nanos> IncomingLink::idle_since() const {
  const OwnMutex::Lock lock = mutex_.lock();
  return comms_ > 0 ? std::nullopt : std::optional<Nanos>(idle_since_);
}

}  // namespace heddle::nccl
