// Link: one connection of heddle that carries the comms from one process to another; an
// OutgoingLink at the side that connects, an IncomingLink at the other. The connecting side owns
// all numbers: comms, and a channel for each tag of a comm, so that the n-th send with a tag meets
// the n-th receive with it. Channel 0 carries control records: what opens goes forwards, what ended
// at the accepting side goes back.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/own_mutex.h"
#include "base/result.h"
#include "engine/endpoint.h"
#include "nccl/types.h"
#include "plugins/nccl/net/control_record.h"
#include "plugins/nccl/params.h"

namespace heddle::nccl {

// Channels of a link, the control channel among them. A further comm opens a further link.
inline constexpr uint32_t kLinkChannels = params::net::kLinkChannels;
// Channels that are kept for each comm; more are used as long as there are any.
inline constexpr uint32_t kChannelsAComm = params::net::kChannelsAComm;

// What both ends have: the connection, and why it ended.
class Link {
 public:
  Link(std::shared_ptr<engine::Endpoint> endpoint, engine::Connection connection);
  virtual ~Link() = default;  // the derived classes end the connection before their memory goes
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  engine::Endpoint& endpoint() const { return *endpoint_; }
  engine::Connection connection() const { return connection_; }
  engine::ConnectionStatus status() const { return endpoint_->status(connection_); }
  bool closed() const { return status().state == engine::ConnectionState::kClosed; }
  const std::string& peer() const { return peer_; }  // "10.0.0.2:41000"
  // Aborts the connection for this reason, if it is open.
  void give_up(const std::string& why);
  // What NCCL gets for the end of the connection.
  Status failure_status() const;
  // The peer's address and the cause of the end: "10.0.0.2:41000: the peer does not answer".
  std::string failure() const;
  // Comms that share it.
  virtual uint32_t comms() const = 0;

 protected:
  // Aborts the connection unless it is closed; `operations` on it end then, and are discarded.
  void end(std::span<const engine::Operation> operations);

 private:
  const std::shared_ptr<engine::Endpoint> endpoint_;
  const engine::Connection connection_;
  const std::string peer_;
  mutable OwnMutex reason_mutex_;
  std::string given_up_;  // empty: this side did not
};

// Control records in flight in one direction: their memory, and the operations on it.
template <size_t kCount>
class RecordSlots {
 public:
  static constexpr size_t kBytes = kCount * ControlRecord::kBytes;

  // Errors: those of registering memory.
  static Result<std::unique_ptr<RecordSlots>> create(engine::Endpoint& endpoint) {
    auto slots = std::make_unique<RecordSlots>();
    Result<engine::Memory> memory = endpoint.register_memory(slots->bytes_.data(), kBytes);
    if (!memory) return fail(memory.error());
    slots->memory_ = std::move(*memory);
    return slots;
  }

  std::span<std::byte, ControlRecord::kBytes> bytes(size_t slot) {
    return std::span<std::byte, ControlRecord::kBytes>(&bytes_[slot * ControlRecord::kBytes],
                                                       ControlRecord::kBytes);
  }
  transport::Payload payload(size_t slot) const {
    return memory_.slice(slot * ControlRecord::kBytes, ControlRecord::kBytes);
  }
  static constexpr size_t count() { return kCount; }
  engine::Operation& operation(size_t slot) { return operations_[slot]; }
  std::span<const engine::Operation> operations() const { return operations_; }

 private:
  std::array<std::byte, kBytes> bytes_;
  std::array<engine::Operation, kCount> operations_ = {};
  engine::Memory memory_;  // goes first
};

// Sends records from the slots in turn. False: all are in flight, or the connection is closed.
template <size_t kCount>
class RecordSender {
 public:
  explicit RecordSender(std::unique_ptr<RecordSlots<kCount>> slots) : slots_(std::move(slots)) {}

  bool send(const Link& link, const ControlRecord& record) {
    engine::Operation& operation = slots_->operation(next_);
    if (operation && !link.endpoint().peek(operation).done) return false;
    operation = {};
    write_record(slots_->bytes(next_), record);
    const Result<engine::Operation> sent =
        link.endpoint().send(link.connection(), kControlChannel, slots_->payload(next_),
                             transport::AckPolicy::kDeferred);
    if (!sent) return false;
    operation = *sent;
    next_ = (next_ + 1) % kCount;
    return true;
  }
  std::span<const engine::Operation> operations() const { return slots_->operations(); }

 private:
  std::unique_ptr<RecordSlots<kCount>> slots_;
  size_t next_ = 0;
};

// Receives records: as many are posted as there are slots, and the oldest arrives first.
template <size_t kCount>
class RecordReceiver {
 public:
  explicit RecordReceiver(std::unique_ptr<RecordSlots<kCount>> slots) : slots_(std::move(slots)) {}

  // Posts what is not posted; what cannot be posted now is at the next call.
  void post(const Link& link) {
    for (; missing_ > 0; --missing_) {
      const size_t slot = (next_ + kCount - missing_) % kCount;
      const Result<engine::Operation> posted =
          link.endpoint().receive(link.connection(), kControlChannel, slots_->payload(slot));
      if (!posted) return;
      slots_->operation(slot) = *posted;
    }
  }
  enum class Took : uint8_t { kNothing, kRecord, kGarbage };
  Took take(const Link& link, ControlRecord& record) {
    post(link);
    if (missing_ == kCount) return Took::kNothing;
    engine::Operation& operation = slots_->operation(next_);
    const engine::Outcome outcome = link.endpoint().peek(operation);
    if (!outcome.done) return Took::kNothing;
    operation = {};
    const std::optional<ControlRecord> read = outcome.ok && outcome.bytes == ControlRecord::kBytes
                                                  ? read_record(slots_->bytes(next_))
                                                  : std::nullopt;
    next_ = (next_ + 1) % kCount;
    ++missing_;
    post(link);
    if (!read) return Took::kGarbage;
    record = *read;
    return Took::kRecord;
  }
  std::span<const engine::Operation> operations() const { return slots_->operations(); }

 private:
  std::unique_ptr<RecordSlots<kCount>> slots_;
  size_t next_ = 0;          // the oldest receive
  size_t missing_ = kCount;  // receives that are not posted: those before next_, in the ring
};

}  // namespace heddle::nccl
