// Sends of a comm. A send that meets no receive yet waits in the transport, not in NCCL.
#include "plugins/nccl/net/send_comm.h"

#include <string>
#include <utility>

#include "plugins/nccl/net/attachment.h"
#include "plugins/nccl/params.h"

namespace heddle::nccl {

SendComm::SendComm(std::shared_ptr<Attachment> attachment, std::shared_ptr<OutgoingLink> link,
                   uint32_t number)
    : Comm(std::move(attachment), *link), outgoing_(std::move(link)), number_(number) {}

SendComm::~SendComm() {
  abandon();
  outgoing_->close_comm(number_);
  attachment_->release(outgoing_);
}

std::string SendComm::ended() {
  return outgoing_->closed_by_peer(number_, params::net::kCloseGrace) ? "the peer closed the comm"
                                                                      : "";
}

std::string SendComm::truncated(const RequestPart& part) const {
  return "a message of " + std::to_string(part.buffer.length) + " bytes met a smaller receive";
}

std::optional<engine::Channel> SendComm::channel_of(int32_t tag) {
  for (const Tag& known : tags_) {
    if (known.tag == tag) return known.channel;
  }
  const std::optional<engine::Channel> channel = outgoing_->open_tag(number_, tag);
  if (channel) tags_.push_back({.tag = tag, .channel = *channel});
  return channel;
}

Status SendComm::send(const TransferBuffer& buffer, Request*& request) {
  request = nullptr;
  const OwnMutex::Lock lock = mutex_.enter();
  if (!lock.owns_lock()) return kInvalidUsage;
  if (failure_ != kSuccess) return failure_;
  std::optional<transport::Payload> payload = transport::Payload{};
  if (buffer.bytes > 0) {
    payload = buffer.registration != nullptr
                  ? buffer.registration->payload(link_.endpoint(), buffer.data, buffer.bytes)
                  : std::nullopt;
  }
  if (!payload) {
    return fail_with(kInvalidArgument, "a send's data is not in memory registered for its device");
  }
  const std::optional<engine::Channel> channel = channel_of(buffer.tag);
  if (!channel) {
    if (link_.closed()) return fail_with(link_.failure_status(), link_.failure());
    if (!outgoing_->full()) return kSuccess;
    return fail_with(kInvalidUsage, "the comms to one peer use more than " +
                                        std::to_string(kLinkChannels - 1) + " tags");
  }
  Request* const taken = requests_.take(*this);
  if (taken == nullptr) return kSuccess;
  const Result<engine::Operation> sent =
      link_.endpoint().send(link_.connection(), *channel, *payload);
  if (!sent) {
    requests_.give_back(*taken);
    return fail_post(sent.error());
  }
  taken->count = 1;
  RequestPart& part = taken->parts[0];
  use(part, buffer.bytes > 0 ? buffer.registration : nullptr);
  part.buffer = *payload;
  part.profile_parent = buffer.profile;
  posted(part, *sent);
  request = taken;
  return kSuccess;
}

}  // namespace heddle::nccl
