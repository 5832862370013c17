// OutgoingLink: the side of a link that connected and sends.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "plugins/nccl/net/link.h"
#include "plugins/nccl/params.h"

namespace heddle::nccl {

class OutgoingLink final : public Link {
 public:
  // Errors: those of registering memory and of connecting.
  static Result<std::shared_ptr<OutgoingLink>> open(std::shared_ptr<engine::Endpoint> endpoint,
                                                    const transport::Address& peer);
  ~OutgoingLink() override;

  // Whether a further comm fits, with kChannelsAComm tags.
  bool has_room() const;
  // Begins a comm of the listen comm `listener`; empty: call again later.
  std::optional<uint32_t> open_comm(uint64_t listener);
  // The channel of a new tag; empty: call again later, or no channel is left (full()).
  std::optional<engine::Channel> open_tag(uint32_t comm, int32_t tag);
  void close_comm(uint32_t comm);
  // The address that it was opened to.
  const transport::Address& destination() const { return destination_; }
  bool full() const;
  uint32_t comms() const override;

  // Whether the peer closed this comm at least `grace` ago: what it had received until then has
  // been acknowledged meanwhile.
  bool closed_by_peer(uint32_t comm, Nanos grace);

 private:
  static constexpr size_t kSends = params::net::kRecordSends;
  static constexpr size_t kReceives = params::net::kRecordReceives;

  struct OpenComm {
    uint32_t channels = 0;
    std::optional<Nanos> closed_at;  // by the peer
  };

  OutgoingLink(std::shared_ptr<engine::Endpoint> endpoint, engine::Connection connection,
               const transport::Address& destination, std::unique_ptr<RecordSlots<kSends>> sends,
               std::unique_ptr<RecordSlots<kReceives>> receives);
  uint32_t kept() const;
  void poll();

  const transport::Address destination_;
  mutable OwnMutex mutex_;
  RecordSender<kSends> sender_;
  RecordReceiver<kReceives> receiver_;
  uint32_t next_channel_ = kControlChannel + 1;
  uint32_t next_comm_ = 1;
  std::map<uint32_t, OpenComm> comms_;
};

}  // namespace heddle::nccl
