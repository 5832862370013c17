// Stream: a program that sends messages of one size to a peer, or receives them, with a few posted
// ahead, and checks every byte. Message n contains the bytes of the pattern from n times the
// message size on.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "simulator/checks/memory_check.h"
#include "simulator/transport_process.h"

namespace heddle::simulator {

struct StreamOptions {
  std::optional<transport::Address> peer;  // sends to it; empty: receives from any that connects
  uint64_t message_bytes = 1u << 20;
  uint32_t messages = 1;
  uint32_t ahead = 4;    // maximum number posted
  uint64_t pattern = 1;  // equal on both sides
  bool reuses = false;   // the sender: other bytes lie in a buffer as soon as its send has ended
  transport::ConnectionOptions connection;
};

class Stream : public TransportProgram {
 public:
  Stream(TransportProcess& process, const StreamOptions& options)
      : options_(options), process_(process) {
    process.set_program(this);
    region_ = options.peer ? process.register_virtual(options.pattern, bytes())
                           : process.register_virtual(~options.pattern, bytes());
    if (!options.peer) {
      check_ = std::make_unique<MemoryCheck>(process.datapath());
      check_->watch(region_);
    } else {
      connection_ =
          *process.endpoint().post_connect(process.now(), *options.peer, options.connection);
    }
    process.poke();
  }
  // Ends the memory check, which refers to the process's datapath: call it before the process is
  // destroyed or killed.
  void forget() { check_.reset(); }

  bool done() const { return ended_ == options_.messages; }
  uint32_t ended() const { return ended_; }
  uint32_t failed() const { return failed_; }
  ErrorCode first_error() const { return first_error_; }
  Nanos done_at() const { return done_at_; }
  bool closed() const { return closed_; }
  bool close_when_done = false;
  transport::ConnectionId connection() const { return connection_; }
  const transport::ConnectionStatistics* statistics() const {
    return process_.endpoint().statistics(connection_);
  }
  // Of the receiver; empty is good.
  const std::vector<std::string>& violations() const { return check_->violations(); }
  uint64_t bytes_verified() const { return check_->bytes_verified(); }
  uint64_t bytes_ended() const { return bytes_ended_; }

 private:
  uint64_t bytes() const { return options_.message_bytes * options_.messages; }
  transport::Payload place(uint64_t message) const {
    return {region_, message * options_.message_bytes, options_.message_bytes};
  }

  bool handle_turn(TransportProcess& process) override {
    transport::Notice notice;
    while (process.endpoint().poll_notice(notice)) {
      if (notice.kind == transport::NoticeKind::kAccepted) connection_ = notice.connection;
      if (notice.kind == transport::NoticeKind::kClosed) closed_ = true;
    }
    transport::Completion completion;
    while (process.endpoint().poll_completion(completion)) take(completion);
    if (connection_ == 0 || closed_) return false;
    bool posted = false;
    while (posted_ < options_.messages && posted_ - ended_ < options_.ahead) {
      if (!post(process)) break;
      posted = true;
    }
    if (close_when_done && done() && !close_posted_) {
      process.endpoint().post_close(process.now(), connection_);
      posted = close_posted_ = true;
    }
    return posted;
  }

  bool post(TransportProcess& process) {
    const transport::Payload payload = place(posted_);
    if (options_.peer) {
      if (!process.endpoint().post_send(process.now(), {connection_, 0}, payload, posted_))
        return false;
    } else {
      check_->post(payload);
      if (!process.endpoint().post_receive(process.now(), {connection_, 0}, payload, posted_)) {
        check_->fail(payload);
        check_->release(payload);
        return false;
      }
    }
    ++posted_;
    return true;
  }

  void take(const transport::Completion& completion) {
    if (completion.operation != ended_ && first_error_ == ErrorCode::kSystem) {
      first_error_ = ErrorCode::kInvalid;  // out of order
    }
    if (!completion.ok) {
      ++failed_;
      if (first_error_ == ErrorCode::kSystem) first_error_ = completion.error;
    } else {
      bytes_ended_ += completion.bytes;
    }
    if (options_.peer && options_.reuses) {
      const transport::Payload sent = place(completion.operation);
      process_.network().virtual_memory().write(sent.region, sent.offset,
                                                {kUnknownBytes, 0, sent.length});
    }
    if (!options_.peer && completion.ok) {
      check_->complete(place(completion.operation), completion.bytes, options_.pattern,
                       completion.operation * options_.message_bytes);
    } else if (!options_.peer) {
      check_->fail(place(completion.operation));
    }
    ++ended_;
    if (done()) done_at_ = process_.network().now();
  }

  StreamOptions options_;
  TransportProcess& process_;
  std::unique_ptr<MemoryCheck> check_;
  transport::RegionId region_ = transport::kNoRegion;
  transport::ConnectionId connection_ = 0;
  uint32_t posted_ = 0;
  uint32_t ended_ = 0;
  uint32_t failed_ = 0;
  uint64_t bytes_ended_ = 0;
  ErrorCode first_error_ = ErrorCode::kSystem;  // none
  Nanos done_at_;
  bool closed_ = false;
  bool close_posted_ = false;
};

}  // namespace heddle::simulator
