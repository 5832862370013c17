// CarrierLink: messages over a MessageCarrier, with their signatures.
#pragma once

#include "collectives/execution/link.h"
#include "collectives/message_carrier.h"

namespace heddle::collectives {

class CarrierLink final : public Link {
 public:
  // `sent` names the stream to the peer, with any channel. Carrier and slots must outlive it.
  CarrierLink(MessageCarrier& carrier, const MessageCarrier::Stream& sent, SlotPool& small)
      : carrier_(carrier), sent_(sent), received_(sent), small_(small) {
    received_.from = sent.to;
    received_.to = sent.from;
  }

  bool names_memory() const override { return false; }
  Result<void> post(Message& message) override;
  Sight look(Message& message, uint64_t& budget) override;
  void take(Message& message, uint64_t bytes) override { message.taken += bytes; }
  bool set_aside(Message& /*message*/, uint64_t& /*budget*/) override { return false; }
  bool look_at_signature(Message& /*message*/) override { return false; }
  bool settled(Message& message) override;

 private:
  Result<void> send(Message& message);

  MessageCarrier& carrier_;
  MessageCarrier::Stream sent_;
  MessageCarrier::Stream received_;
  SlotPool& small_;
};

}  // namespace heddle::collectives
