// NetworkLink: messages over a connection of the engine. A small message travels behind its
// signature in one slot; before a large one goes a message with the signature alone.
#pragma once

#include "collectives/execution/buffered_sends.h"
#include "collectives/execution/link.h"

namespace heddle::collectives {

class NetworkLink final : public Link {
 public:
  // All must outlive it.
  NetworkLink(engine::Endpoint& endpoint, engine::Connection connection, SlotPool& small,
              BufferedSends& buffered_sends)
      : endpoint_(endpoint),
        connection_(connection),
        small_(small),
        buffered_sends_(buffered_sends) {}

  bool names_memory() const override { return true; }
  Result<void> post(Message& message) override;
  Result<void> announce(Message& message) override;
  Sight look(Message& message, uint64_t& budget) override;
  void untouched(Message& message) override;
  void take(Message& message, uint64_t bytes) override { message.taken += bytes; }
  bool set_aside(Message& /*message*/, uint64_t& /*budget*/) override { return false; }
  bool look_at_signature(Message& message) override;
  void withdraw(Message& message) override;
  StreamCounts* counts() override { return &posted_; }
  bool settled(Message& message) override;

 private:
  Result<engine::Operation> send(engine::Channel channel, const transport::Payload& payload,
                                 transport::AckPolicy ack_policy);
  Result<engine::Operation> receive(engine::Channel channel, const transport::Payload& place,
                                    transport::Fill fill);
  Result<void> post_send(Message& message);
  // No call waits for the acknowledgement of a copy, unless there are too many copies.
  transport::AckPolicy ack_policy_of_copy() {
    return buffered_sends_.has_room() ? transport::AckPolicy::kDeferred
                                      : transport::AckPolicy::kPrompt;
  }
  Result<void> send_head(Message& message);
  Result<void> send_copy(Message& message);
  Result<void> post_receive(Message& message);
  bool look_at_head(Message& message, Sight& sight);

  engine::Endpoint& endpoint_;
  const engine::Connection connection_;
  SlotPool& small_;
  BufferedSends& buffered_sends_;
  StreamCounts posted_;
};

}  // namespace heddle::collectives
