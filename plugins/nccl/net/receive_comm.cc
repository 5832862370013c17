// Receives of a comm: see receive_comm.h.
#include "plugins/nccl/net/receive_comm.h"

#include <algorithm>
#include <utility>

#include "plugins/nccl/net/attachment.h"

namespace heddle::nccl {

ReceiveComm::ReceiveComm(std::shared_ptr<Attachment> attachment, std::shared_ptr<IncomingLink> link,
                         uint32_t number)
    : Comm(std::move(attachment), *link), incoming_(std::move(link)), number_(number) {
  incoming_->begin_comm();
}

ReceiveComm::~ReceiveComm() {
  abandon();
  incoming_->close_comm(number_);
}

std::string ReceiveComm::truncated(const RequestPart& part) const {
  return "a message is longer than its receive of " + std::to_string(part.buffer.length) + " bytes";
}

std::optional<engine::Channel> ReceiveComm::channel_of(int32_t tag) {
  for (const Tag& known : tags_) {
    if (known.tag == tag) return known.channel;
  }
  std::optional<engine::Channel> channel = incoming_->channel_of(number_, tag);
  if (!channel) {
    attachment_->pump();
    channel = incoming_->channel_of(number_, tag);
  }
  if (channel) tags_.push_back({.tag = tag, .channel = *channel});
  return channel;
}

bool ReceiveComm::is_deferred(int32_t tag) const {
  return std::ranges::any_of(deferred_, [&](const RequestPart* part) { return part->tag == tag; });
}

Status ReceiveComm::post(RequestPart& part) {
  const std::optional<engine::Channel> channel = channel_of(part.tag);
  if (!channel) return kSuccess;
  const Result<engine::Operation> receive =
      link_.endpoint().receive(link_.connection(), *channel, part.buffer);
  if (!receive) return fail_post(receive.error());
  posted(part, *receive);
  return kSuccess;
}

Status ReceiveComm::post_deferred() {
  if (deferred_.empty()) return kSuccess;
  const std::vector<RequestPart*> before = std::exchange(deferred_, {});
  for (RequestPart* const part : before) {
    if (failure_ == kSuccess && !is_deferred(part->tag)) static_cast<void>(post(*part));
    if (!part->operation) deferred_.push_back(part);
  }
  // A tag that was never announced does not come any more once the link is closed.
  if (failure_ == kSuccess && !deferred_.empty() && link_.closed()) {
    return fail_with(link_.failure_status(), link_.failure());
  }
  return failure_;
}

Status ReceiveComm::receive(std::span<const TransferBuffer> buffers, Request*& request) {
  request = nullptr;
  const OwnMutex::Lock lock = mutex_.enter();
  if (!lock.owns_lock()) return kInvalidUsage;
  if (failure_ != kSuccess) return failure_;
  Request* const taken = requests_.take(*this);
  if (taken == nullptr) return kSuccess;
  for (const TransferBuffer& buffer : buffers) {
    RequestPart& part = taken->parts[static_cast<size_t>(taken->count++)];
    part.tag = buffer.tag;
    part.profile_parent = buffer.profile;
    if (buffer.bytes == 0) continue;
    const std::optional<transport::Payload> payload =
        buffer.registration != nullptr
            ? buffer.registration->payload(link_.endpoint(), buffer.data, buffer.bytes)
            : std::nullopt;
    if (!payload) {
      give_back(*taken);
      return fail_with(kInvalidArgument,
                       "a receive's buffer is not in memory registered for its device");
    }
    use(part, buffer.registration);
    part.buffer = *payload;
  }
  request = taken;
  for (int i = 0; i < taken->count; ++i) {
    RequestPart& part = taken->parts[static_cast<size_t>(i)];
    if (!is_deferred(part.tag)) {
      if (const Status status = post(part); status != kSuccess) return status;
    }
    if (!part.operation) deferred_.push_back(&part);
  }
  return kSuccess;
}

}  // namespace heddle::nccl
