// IncomingLink: the side of a link that accepted and receives.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "plugins/nccl/net/link.h"
#include "plugins/nccl/params.h"

namespace heddle::nccl {

class IncomingLink final : public Link {
 public:
  // Errors: those of registering memory.
  static Result<std::shared_ptr<IncomingLink>> accept(std::shared_ptr<engine::Endpoint> endpoint,
                                                      engine::Connection connection);
  ~IncomingLink() override;

  // A comm that the peer began.
  struct Opened {
    uint32_t comm = 0;
    uint64_t listener = 0;
  };
  // Takes in the records that have come; returns comms that began. A record that is none ends the
  // connection.
  std::vector<Opened> poll();
  // Empty: the peer has not announced it yet.
  std::optional<engine::Channel> channel_of(uint32_t comm, int32_t tag);

  // A receive comm exists for one that poll() returned.
  void begin_comm();
  // It has ended; reports that to the peer.
  void close_comm(uint32_t comm);
  // There is no listener for it; reports that to the peer. True: it is the first of this link.
  bool refuse_comm(uint32_t comm);
  uint32_t comms() const override;
  // Whether a receive comm ever was on it.
  bool had_comms() const;
  // The time from which on it has had no comm; empty: it has one.
  std::optional<Nanos> idle_since() const;

 private:
  static constexpr size_t kSends = params::net::kRecordSends;
  static constexpr size_t kReceives = params::net::kRecordReceives;

  struct Tag {
    uint32_t comm = 0;
    int32_t tag = 0;
    engine::Channel channel = 0;
  };

  IncomingLink(std::shared_ptr<engine::Endpoint> endpoint, engine::Connection connection,
               std::unique_ptr<RecordSlots<kSends>> sends,
               std::unique_ptr<RecordSlots<kReceives>> receives);
  void handle(const ControlRecord& record, std::vector<Opened>& opened);
  void add_closed(uint32_t comm);
  void report_closed();

  mutable OwnMutex mutex_;
  RecordSender<kSends> sender_;
  RecordReceiver<kReceives> receiver_;
  std::vector<Tag> tags_;
  std::vector<uint32_t> closed_;  // not reported yet
  uint32_t comms_ = 0;
  bool had_comms_ = false;
  bool refused_ = false;
  Nanos idle_since_;
};

}  // namespace heddle::nccl
