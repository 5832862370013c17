// SharedMemoryNegotiation: see negotiation.h.
#include "collectives/shared_memory/negotiation.h"

#include <algorithm>
#include <cstring>

#include "base/log.h"
#include "collectives/shared_memory/pull.h"
#include "engine/seed.h"

namespace heddle::collectives {
namespace {

MemoryAnswer declined(const Error& error, bool same_host = true) {
  return {.step = MemoryAnswer::Step::kDeclined, .same_host = same_host, .why = error.message()};
}

// Whether the kernel lets this process read there.
bool can_pull(const engine::ReceivedDescriptors& from) {
  if (from.process <= 0) return false;
  uint64_t read = 0;
  return pull(from.process, from.message.address, reinterpret_cast<std::byte*>(&read),
              sizeof read) &&
         read == from.message.proof;
}

void note_pulls(const SharedPair& pair, const engine::ReceivedDescriptors& from) {
  Side& mine = pair.segment.shared().sides[pair.side];
  mine.pulls.store(can_pull(from) ? 1 : 0, std::memory_order_release);
}

}  // namespace

void MemoryOffer::write(std::byte* bytes) const {
  where.write(bytes);
  std::copy(channel.begin(), channel.end(), bytes + HostIdentity::kBytes);
}

MemoryOffer MemoryOffer::read(const std::byte* bytes) {
  MemoryOffer offer;
  offer.where = HostIdentity::read(bytes);
  std::copy_n(bytes + HostIdentity::kBytes, offer.channel.size(), offer.channel.begin());
  return offer;
}

Result<MemoryOffer> SharedMemoryNegotiation::offer() {
  if (!here_) {
    const Result<HostIdentity> found = host_identity();
    if (!found) return fail(found.error());
    here_ = *found;
  }
  if (!channel_.is_open()) {
    Result<engine::DescriptorChannel> opened = engine::DescriptorChannel::open();
    if (!opened) return fail(opened.error());
    channel_ = std::move(*opened);
  }
  return MemoryOffer{*here_, channel_.name()};
}

engine::DescriptorMessage SharedMemoryNegotiation::signed_message(
    engine::DescriptorMessage message) {
  if (proof_ == 0) proof_ = engine::system_seed();
  message.address = reinterpret_cast<uint64_t>(&proof_);
  message.proof = proof_;
  return message;
}

MemoryAnswer SharedMemoryNegotiation::hand(const MemoryOffer& offer,
                                           const engine::DescriptorMessage& from,
                                           HandedOver& made) {
  if (!here_) {
    const Result<HostIdentity> found = host_identity();
    if (!found) return declined(found.error());
    here_ = *found;
  }
  const std::string differs = difference(*here_, offer.where);
  if (!differs.empty()) return {.same_host = here_->host == offer.where.host, .why = differs};
  const int wake = waits_.wake_descriptor();
  if (wake < 0)
    return {.same_host = true, .why = "this network cannot be woken by another process"};
  Descriptor memory;
  Result<Segment> segment = Segment::create(memory);
  if (!segment) return declined(segment.error());
  Result<Descriptor> socket = engine::connect_descriptor_channel(offer.channel);
  if (!socket) return declined(socket.error());
  const Result<void> handed =
      engine::send_descriptors(*socket, signed_message(from), {memory.number(), wake});
  if (!handed) return declined(handed.error());
  made.pair.segment = std::move(*segment);
  made.pair.side = 0;
  made.socket = std::move(*socket);
  return {.step = MemoryAnswer::Step::kHandedOver};
}

void SharedMemoryNegotiation::accept_all() {
  while (channel_.is_open()) {
    Descriptor socket = channel_.accept();
    if (!socket.valid()) break;
    accepted_.push_back(std::move(socket));
  }
  std::vector<Descriptor> waiting;
  for (Descriptor& socket : accepted_) {
    if (!engine::has_descriptors(socket)) {
      waiting.push_back(std::move(socket));
      continue;
    }
    Result<engine::ReceivedDescriptors> received = engine::receive_descriptors(socket);
    if (!received || received->descriptors.size() != 2) continue;
    const std::pair key(received->message.group, received->message.member);
    received_[key] = {std::move(*received), std::move(socket)};
  }
  accepted_ = std::move(waiting);
}

void SharedMemoryNegotiation::forget(uint64_t group) {
  std::erase_if(received_, [group](const auto& arrived) { return arrived.first.first == group; });
}

MemoryAnswer SharedMemoryNegotiation::take(uint32_t rank, const engine::DescriptorMessage& from,
                                           bool pulls, SharedPair& made) {
  accept_all();
  const auto found = received_.find({from.group, rank});
  if (found == received_.end()) {
    return {.same_host = true, .why = "what the other rank handed over has not come"};
  }
  Arrived arrived = std::move(found->second);
  received_.erase(found);
  Result<Segment> segment = Segment::map(arrived.received.descriptors[0]);
  if (!segment) return declined(segment.error());
  const Result<void> handed =
      engine::send_descriptors(arrived.socket, signed_message(from), {waits_.wake_descriptor()});
  if (!handed) return declined(handed.error());
  made.segment = std::move(*segment);
  made.side = 1;
  made.process = arrived.received.process;
  if (pulls) note_pulls(made, arrived.received);
  made.wake = std::move(arrived.received.descriptors[1]);
  return {.step = MemoryAnswer::Step::kTaken};
}

MemoryAnswer SharedMemoryNegotiation::finish(HandedOver& handed, bool pulls, SharedPair& made) {
  Result<engine::ReceivedDescriptors> received = engine::receive_descriptors(handed.socket);
  if (!received) return declined(received.error());
  if (received->descriptors.size() != 1) {
    return {.same_host = true, .why = "the other rank handed over something else"};
  }
  made = std::move(handed.pair);
  made.process = received->process;
  if (pulls) note_pulls(made, *received);
  made.wake = std::move(received->descriptors[0]);
  return {.step = MemoryAnswer::Step::kTaken};
}

void SharedMemoryNegotiation::warn_once(const std::string& who, const std::string& why) {
  if (std::exchange(warned_, true)) return;
  log_warn("{} are on one host and use the network between them: {}", who, why);
}

}  // namespace heddle::collectives
