// SendComm: the sending end of a comm.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plugins/nccl/net/comm.h"
#include "plugins/nccl/net/outgoing_link.h"

namespace heddle::nccl {

class SendComm final : public Comm {
 public:
  // `number`: of the comm on the link.
  SendComm(std::shared_ptr<Attachment> attachment, std::shared_ptr<OutgoingLink> link,
           uint32_t number);
  ~SendComm() override;

  // isend(): `request` is null if it cannot be posted now.
  Status send(const TransferBuffer& buffer, Request*& request);

 private:
  struct Tag {
    int32_t tag = 0;
    engine::Channel channel = 0;
  };

  std::string ended() override;
  bool only_reads() const override { return true; }
  std::string truncated(const RequestPart& part) const override;
  std::optional<engine::Channel> channel_of(int32_t tag);

  const std::shared_ptr<OutgoingLink> outgoing_;
  const uint32_t number_;
  std::vector<Tag> tags_;
};

}  // namespace heddle::nccl
