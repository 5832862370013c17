// CarrierLink: see carrier_link.h.
#include "collectives/execution/carrier_link.h"

#include <cstring>
#include <utility>

namespace heddle::collectives {

Result<void> CarrierLink::post(Message& message) {
  if (message.signs) {
    Result<Slot> slot = small_.lend();
    if (!slot) return fail(slot.error());
    message.small_slot = *slot;
  }
  if (message.sends) return send(message);
  received_.channel = message.channel;
  message.ticket = carrier_.receive(received_);
  message.posted = true;
  return {};
}

Result<void> CarrierLink::send(Message& message) {
  size_t head = 0;
  if (message.signs) {
    message.signature.write(message.small_slot.start);
    head = Signature::kBytes;
    if (message.small && message.bytes > 0) {
      std::memcpy(message.small_slot.start + head, message.memory, message.bytes);
      head += message.bytes;
    }
  }
  sent_.channel = message.channel;
  message.ticket = carrier_.send(sent_, message.bytes, {message.small_slot.start, head});
  message.posted = true;
  // No call waits for the acknowledgement of a copy.
  if (message.small || message.copied) {
    carrier_.forget(std::exchange(message.ticket, 0));
    message.touched = true;
  }
  return {};
}

Link::Sight CarrierLink::look(Message& message, uint64_t& /*budget*/) {
  const bool signed_receive = message.signs && !message.sends;
  if (message.ticket != 0) {
    const size_t room = signed_receive ? small_.slot_bytes() : 0;
    const MessageCarrier::State state =
        carrier_.look(message.ticket, {message.small_slot.start, room});
    if (state == MessageCarrier::State::kWaiting) return {};
    message.ticket = 0;
    if (state == MessageCarrier::State::kFailed) {
      return {.state = Sight::State::kFailed, .error = ErrorCode::kTimeout};
    }
    if (signed_receive) {
      message.signature = Signature::read(message.small_slot.start);
      message.signature_came = true;
    }
  }
  if (!message.stored || message.taken == message.bytes) return {.state = Sight::State::kDone};
  const std::byte* const start =
      message.small ? message.small_slot.start + Signature::kBytes : message.chunk.start;
  return {.state = Sight::State::kPiece,
          .piece = start + message.taken,
          .piece_bytes = message.bytes - message.taken};
}

bool CarrierLink::settled(Message& message) {
  if (message.ticket != 0) carrier_.forget(std::exchange(message.ticket, 0));
  return true;
}

}  // namespace heddle::collectives
