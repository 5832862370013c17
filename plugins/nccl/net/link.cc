// Both ends of a link: see link.h.
#include "plugins/nccl/net/link.h"

#include <algorithm>
#include <utility>

#include "engine/addresses.h"
#include "plugins/nccl/status.h"

namespace heddle::nccl {
namespace {

// Records lie one after the other in the memory of a link's end.
std::span<std::byte, ControlRecord::kBytes> record_bytes(std::byte* memory, size_t slot) {
  return std::span<std::byte, ControlRecord::kBytes>(memory + slot * ControlRecord::kBytes,
                                                     ControlRecord::kBytes);
}

transport::Payload record_payload(const engine::Memory& memory, size_t slot) {
  return memory.slice(slot * ControlRecord::kBytes, ControlRecord::kBytes);
}

}  // namespace

std::string Link::peer() const { return engine::address_text(status().peer); }

Status Link::failure_status() const {
  const engine::ConnectionStatus now = status();
  // kInvalid: this side gave the connection up, for a peer that did not answer a cancellation.
  if (now.graceful || now.error.code == ErrorCode::kInvalid) return kRemoteError;
  return status_of(now.error.code);
}

std::string Link::failure() const {
  const engine::ConnectionStatus now = status();
  std::string why = now.graceful ? "the peer closed the connection" : now.error.message();
  return engine::address_text(now.peer) + ": " + why;
}

void Link::end(std::span<const engine::Operation> operations) {
  endpoint_->abort(connection_);
  for (const engine::Operation operation : operations) {
    if (operation) endpoint_->forget(operation);
  }
}

// --- OutgoingLink ---

OutgoingLink::OutgoingLink(std::shared_ptr<engine::Endpoint> endpoint,
                           engine::Connection connection, engine::Memory memory,
                           std::unique_ptr<std::byte[]> bytes)
    : Link(std::move(endpoint), connection), bytes_(std::move(bytes)), memory_(std::move(memory)) {}

Result<std::shared_ptr<OutgoingLink>> OutgoingLink::open(std::shared_ptr<engine::Endpoint> endpoint,
                                                         const transport::Address& peer) {
  constexpr size_t kBytes = kSlots * ControlRecord::kBytes;
  auto bytes = std::make_unique<std::byte[]>(kBytes);
  Result<engine::Memory> memory = endpoint->register_memory(bytes.get(), kBytes);
  if (!memory) return fail(memory.error());
  const Result<engine::Connection> connection = endpoint->connect(peer);
  if (!connection) return fail(connection.error());
  return std::shared_ptr<OutgoingLink>(
      new OutgoingLink(std::move(endpoint), *connection, std::move(*memory), std::move(bytes)));
}

bool OutgoingLink::full() const {
  const OwnMutex::Lock lock = mutex_.lock();
  return next_channel_ >= kLinkChannels;
}

uint32_t OutgoingLink::comms() const {
  const OwnMutex::Lock lock = mutex_.lock();
  return comms_;
}

bool OutgoingLink::has_room() const {
  const OwnMutex::Lock lock = mutex_.lock();
  // Each comm that has sent nothing yet needs a channel as well.
  return next_channel_ + comms_ < kLinkChannels;
}

bool OutgoingLink::send(const ControlRecord& record) {
  engine::Operation& slot = slots_[next_slot_];
  if (slot && !endpoint().peek(slot).done) return false;
  slot = {};
  write_record(record_bytes(bytes_.get(), next_slot_), record);
  const Result<engine::Operation> sent =
      endpoint().send(connection(), kControlChannel, record_payload(memory_, next_slot_),
                      transport::AckPolicy::kDeferred);
  if (!sent) return false;
  slot = *sent;
  next_slot_ = (next_slot_ + 1) % kSlots;
  return true;
}

std::optional<uint32_t> OutgoingLink::open_comm(uint64_t listener) {
  const OwnMutex::Lock lock = mutex_.lock();
  const ControlRecord record = {.comm = next_comm_, .listener = listener};
  if (!send(record)) return std::nullopt;
  ++comms_;
  return next_comm_++;
}

std::optional<engine::Channel> OutgoingLink::open_tag(uint32_t comm, int32_t tag) {
  const OwnMutex::Lock lock = mutex_.lock();
  if (next_channel_ >= kLinkChannels) return std::nullopt;
  const auto channel = static_cast<engine::Channel>(next_channel_);
  if (!send({.kind = ControlKind::kTag, .comm = comm, .tag = tag, .channel = channel})) {
    return std::nullopt;
  }
  ++next_channel_;
  return channel;
}

void OutgoingLink::close_comm() {
  const OwnMutex::Lock lock = mutex_.lock();
  --comms_;
}

// --- IncomingLink ---

IncomingLink::IncomingLink(std::shared_ptr<engine::Endpoint> endpoint,
                           engine::Connection connection, engine::Memory memory,
                           std::unique_ptr<std::byte[]> bytes)
    : Link(std::move(endpoint), connection), bytes_(std::move(bytes)), memory_(std::move(memory)) {}

Result<std::shared_ptr<IncomingLink>> IncomingLink::accept(
    std::shared_ptr<engine::Endpoint> endpoint, engine::Connection connection) {
  constexpr size_t kBytes = kSlots * ControlRecord::kBytes;
  auto bytes = std::make_unique<std::byte[]>(kBytes);
  Result<engine::Memory> memory = endpoint->register_memory(bytes.get(), kBytes);
  if (!memory) return fail(memory.error());
  std::shared_ptr<IncomingLink> link(
      new IncomingLink(std::move(endpoint), connection, std::move(*memory), std::move(bytes)));
  for (size_t slot = 0; slot < kSlots; ++slot) {
    if (!link->post(slot)) {
      return fail(ErrorCode::kClosed, "cannot accept a peer", "its connection ended at once");
    }
  }
  return link;
}

bool IncomingLink::post(size_t slot) {
  const Result<engine::Operation> posted =
      endpoint().receive(connection(), kControlChannel, record_payload(memory_, slot));
  slots_[slot] = posted ? *posted : engine::Operation{};
  return posted.has_value();
}

std::vector<IncomingLink::Opened> IncomingLink::poll() {
  std::vector<Opened> opened;
  const OwnMutex::Lock lock = mutex_.lock();
  while (slots_[next_slot_]) {
    const engine::Outcome outcome = endpoint().peek(slots_[next_slot_]);
    if (!outcome.done) break;
    slots_[next_slot_] = {};
    if (!outcome.ok) break;  // the connection ended
    const std::optional<ControlRecord> record =
        outcome.bytes == ControlRecord::kBytes ? read_record(record_bytes(bytes_.get(), next_slot_))
                                               : std::nullopt;
    if (record) handle(*record, opened);
    if (!post(next_slot_)) break;
    next_slot_ = (next_slot_ + 1) % kSlots;
  }
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
  }
}

std::optional<engine::Channel> IncomingLink::channel_of(uint32_t comm, int32_t tag) {
  const OwnMutex::Lock lock = mutex_.lock();
  for (const Tag& known : tags_) {
    if (known.comm == comm && known.tag == tag) return known.channel;
  }
  return std::nullopt;
}

}  // namespace heddle::nccl
