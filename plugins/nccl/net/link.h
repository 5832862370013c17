// Link: one connection of heddle that carries the comms from one process to another. The connecting
// side owns all numbers: comms, and a channel for each tag of a comm, so that the n-th send with a
// tag meets the n-th receive with it. Channel 0 carries the control records that announce them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/own_mutex.h"
#include "base/result.h"
#include "engine/endpoint.h"
#include "nccl/types.h"
#include "plugins/nccl/net/control_record.h"

namespace heddle::nccl {

// Channels of a link, the control channel among them. A further comm opens a further link.
inline constexpr uint32_t kLinkChannels = 256;

// What both ends have: the connection, and why it ended.
class Link {
 public:
  Link(std::shared_ptr<engine::Endpoint> endpoint, engine::Connection connection)
      : endpoint_(std::move(endpoint)), connection_(connection) {}
  ~Link() = default;  // the derived classes end the connection before their memory goes
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  engine::Endpoint& endpoint() const { return *endpoint_; }
  engine::Connection connection() const { return connection_; }
  engine::ConnectionStatus status() const { return endpoint_->status(connection_); }
  bool closed() const { return status().state == engine::ConnectionState::kClosed; }
  std::string peer() const;  // "10.0.0.2:41000"
  // What NCCL gets for the end of the connection.
  Status failure_status() const;
  // The peer's address and the cause of the end: "10.0.0.2:41000: the peer does not answer".
  std::string failure() const;

 protected:
  // Aborts the connection unless it is closed; `operations` on it end then, and are discarded.
  void end(std::span<const engine::Operation> operations);

 private:
  const std::shared_ptr<engine::Endpoint> endpoint_;
  const engine::Connection connection_;
};

class OutgoingLink : public Link {
 public:
  // Errors: those of registering memory.
  static Result<std::shared_ptr<OutgoingLink>> open(std::shared_ptr<engine::Endpoint> endpoint,
                                                    const transport::Address& peer);
  ~OutgoingLink() { end(slots_); }

  // Whether a further comm with one tag fits.
  bool has_room() const;
  // Begins a comm of the listen comm `listener`; empty: call again later, or there is no room.
  std::optional<uint32_t> open_comm(uint64_t listener);
  // The channel of a new tag; empty: call again later, or no channel is left (full()).
  std::optional<engine::Channel> open_tag(uint32_t comm, int32_t tag);
  void close_comm();
  bool full() const;
  // Comms that have not been closed.
  uint32_t comms() const;

 private:
  static constexpr size_t kSlots = 64;  // records in flight

  OutgoingLink(std::shared_ptr<engine::Endpoint> endpoint, engine::Connection connection,
               engine::Memory memory, std::unique_ptr<std::byte[]> bytes);
  bool send(const ControlRecord& record);

  mutable OwnMutex mutex_;
  const std::unique_ptr<std::byte[]> bytes_;
  engine::Memory memory_;
  std::array<engine::Operation, kSlots> slots_ = {};
  size_t next_slot_ = 0;
  uint32_t next_channel_ = kControlChannel + 1;
  uint32_t next_comm_ = 1;
  uint32_t comms_ = 0;
};

class IncomingLink : public Link {
 public:
  // Posts the receives of control records. Errors: those of posting and registering.
  static Result<std::shared_ptr<IncomingLink>> accept(std::shared_ptr<engine::Endpoint> endpoint,
                                                      engine::Connection connection);
  ~IncomingLink() { end(slots_); }

  // A comm that the peer began.
  struct Opened {
    uint32_t comm = 0;
    uint64_t listener = 0;
  };
  // Takes in the records that have come; returns comms that began.
  std::vector<Opened> poll();
  // Empty: the peer has not announced it yet.
  std::optional<engine::Channel> channel_of(uint32_t comm, int32_t tag);

 private:
  static constexpr size_t kSlots = 16;  // receives posted ahead

  struct Tag {
    uint32_t comm = 0;
    int32_t tag = 0;
    engine::Channel channel = 0;
  };

  IncomingLink(std::shared_ptr<engine::Endpoint> endpoint, engine::Connection connection,
               engine::Memory memory, std::unique_ptr<std::byte[]> bytes);
  bool post(size_t slot);
  void handle(const ControlRecord& record, std::vector<Opened>& opened);

  OwnMutex mutex_;
  const std::unique_ptr<std::byte[]> bytes_;
  engine::Memory memory_;
  std::array<engine::Operation, kSlots> slots_ = {};
  size_t next_slot_ = 0;  // the oldest receive
  std::vector<Tag> tags_;
};

}  // namespace heddle::nccl
