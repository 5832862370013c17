// ReceiveComm: the receiving end of a comm. A receive is posted once the sender has announced the
// channel of its tag; until then it is deferred.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plugins/nccl/net/comm.h"
#include "plugins/nccl/net/incoming_link.h"

namespace heddle::nccl {

class ReceiveComm final : public Comm {
 public:
  // `number`: of the comm on the link.
  ReceiveComm(std::shared_ptr<Attachment> attachment, std::shared_ptr<IncomingLink> link,
              uint32_t number);
  ~ReceiveComm() override;

  // irecv() of at most kMaxParts buffers: `request` is null if it cannot be posted now.
  Status receive(std::span<const TransferBuffer> buffers, Request*& request);

 private:
  struct Tag {
    int32_t tag = 0;
    engine::Channel channel = 0;
  };

  bool only_reads() const override { return false; }
  Status post_deferred() override;
  std::string truncated(const RequestPart& part) const override;
  void drop_deferred() override { deferred_.clear(); }
  // Posts the part, or leaves it without an operation if it has to be deferred.
  Status post(RequestPart& part);
  std::optional<engine::Channel> channel_of(int32_t tag);
  bool is_deferred(int32_t tag) const;

  const std::shared_ptr<IncomingLink> incoming_;
  const uint32_t number_;
  std::vector<Tag> tags_;
  std::vector<RequestPart*> deferred_;  // in posted order
};

}  // namespace heddle::nccl
