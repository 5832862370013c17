// NetworkLink: see network_link.h.
#include "collectives/execution/network_link.h"

#include <cstring>

namespace heddle::collectives {

Result<void> NetworkLink::post(Message& message) {
  Result<void> posted = message.sends ? post_send(message) : post_receive(message);
  message.posted = posted.has_value();
  return posted;
}

Result<void> NetworkLink::announce(Message& message) {
  if (!message.signs || message.small) return {};
  message.announced = true;
  return send_head(message);
}

Result<engine::Operation> NetworkLink::send(engine::Channel channel,
                                            const transport::Payload& payload,
                                            transport::AckPolicy ack_policy) {
  Result<engine::Operation> sent = endpoint_.send(connection_, channel, payload, ack_policy);
  if (sent) ++posted_.sends[channel];
  return sent;
}

Result<engine::Operation> NetworkLink::receive(engine::Channel channel,
                                               const transport::Payload& place,
                                               transport::Fill fill) {
  Result<engine::Operation> received = endpoint_.receive(connection_, channel, place, fill);
  if (received) ++posted_.receives[channel];
  return received;
}

// The signature, and behind it what is small.
Result<void> NetworkLink::send_head(Message& message) {
  Result<Slot> slot = small_.lend();
  if (!slot) return fail(slot.error());
  message.small_slot = *slot;
  message.signature.write(slot->start);
  uint64_t head = Signature::kBytes;
  if (message.small) {
    if (message.bytes > 0) std::memcpy(slot->start + head, message.memory, message.bytes);
    head += message.bytes;
  }
  // No call waits for the acknowledgement of a copy.
  Result<engine::Operation> sent =
      send(message.channel, slot->first(head),
           message.small ? ack_policy_of_copy() : transport::AckPolicy::kDeferred);
  if (!sent) return fail(sent.error());
  message.head = *sent;
  message.touched = message.small;
  return {};
}

Result<void> NetworkLink::post_send(Message& message) {
  if (message.signs && !message.announced) {
    if (Result<void> sent = send_head(message); !sent) return sent;
  }
  if (message.small) {
    buffered_sends_.take(message.head, message.small_slot, connection_);
    return {};
  }
  if (message.copied) return send_copy(message);
  Result<engine::Operation> sent =
      send(message.channel, message.name,
           message.unasked ? transport::AckPolicy::kDeferred : transport::AckPolicy::kPrompt);
  if (!sent) return fail(sent.error());
  message.body = *sent;
  return {};
}

Result<void> NetworkLink::send_copy(Message& message) {
  Result<Slot> slot = small_.lend();
  if (!slot) return fail(slot.error());
  message.small_slot = *slot;
  if (message.bytes > 0) std::memcpy(slot->start, message.memory, message.bytes);
  Result<engine::Operation> sent =
      send(message.channel, slot->first(message.bytes), ack_policy_of_copy());
  if (!sent) return fail(sent.error());
  message.body = *sent;
  message.touched = true;
  buffered_sends_.take(message.body, message.small_slot, connection_);
  return {};
}

Result<void> NetworkLink::post_receive(Message& message) {
  if (message.signs) {
    Result<Slot> slot = small_.lend();
    if (!slot) return fail(slot.error());
    message.small_slot = *slot;
    Result<engine::Operation> received =
        receive(message.channel, slot->place, transport::Fill::kAtOnce);
    if (!received) return fail(received.error());
    message.head = *received;
  }
  if (message.small) return {};
  const transport::Payload place =
      message.stored ? message.chunk.first(message.bytes) : message.name;
  Result<engine::Operation> received =
      receive(message.channel, place,
              message.still_touched ? transport::Fill::kOnArrival : transport::Fill::kAtOnce);
  if (!received) return fail(received.error());
  message.body = *received;
  return {};
}

void NetworkLink::untouched(Message& message) {
  if (message.body) endpoint_.fill_at_once(message.body);
}

Link::Sight NetworkLink::look(Message& message, uint64_t& /*budget*/) {
  Sight sight;
  if (message.head && !look_at_head(message, sight)) return sight;
  if (message.body) {
    const engine::Outcome outcome = endpoint_.peek(message.body);
    if (!outcome.done) return sight;
    message.body = {};
    if (!outcome.ok || (!message.sends && outcome.bytes != message.bytes)) {
      return {.state = Sight::State::kFailed,
              .error = outcome.ok ? ErrorCode::kTruncated : outcome.error};
    }
  }
  if (!message.stored || message.taken == message.bytes) return {.state = Sight::State::kDone};
  const std::byte* const start =
      message.small ? message.small_slot.start + Signature::kBytes : message.chunk.start;
  return {.state = Sight::State::kPiece,
          .piece = start + message.taken,
          .piece_bytes = message.bytes - message.taken};
}

// False: `sight` is the answer.
bool NetworkLink::look_at_head(Message& message, Sight& sight) {
  const engine::Outcome outcome = endpoint_.peek(message.head);
  if (!outcome.done) return false;
  message.head = {};
  sight.state = Sight::State::kFailed;
  sight.error = outcome.error;
  if (!outcome.ok) return false;
  if (!message.sends) {
    sight.error = ErrorCode::kInvalid;
    if (outcome.bytes < Signature::kBytes) return false;
    message.signature = Signature::read(message.small_slot.start);
    message.signature_came = true;
    sight.error = ErrorCode::kTruncated;
    // Of equal calls the lengths are equal.
    if (message.small && outcome.bytes != Signature::kBytes + message.bytes) return false;
  }
  sight = {};
  return true;
}

bool NetworkLink::look_at_signature(Message& message) {
  if (!message.head || message.sends) return false;
  const engine::Outcome head = endpoint_.peek(message.head);
  if (!head.done) return false;
  message.head = {};
  if (!head.ok || head.bytes < Signature::kBytes) return false;
  message.signature = Signature::read(message.small_slot.start);
  message.signature_came = true;
  return true;
}

void NetworkLink::withdraw(Message& message) {
  for (const engine::Operation operation : {message.head, message.body}) {
    if (operation) endpoint_.cancel(operation);
  }
}

// Every operation that was cancelled or is on an aborted connection ends.
bool NetworkLink::settled(Message& message) {
  for (engine::Operation* operation : {&message.head, &message.body}) {
    if (*operation && !endpoint_.peek(*operation).done) return false;
    *operation = {};
  }
  return true;
}

}  // namespace heddle::collectives
