// MessageMemory: the registered memory of a side's messages, and the operations on it.
#pragma once

#include <span>
#include <vector>

#include "base/anonymous_memory.h"
#include "base/result.h"
#include "engine/endpoint.h"
#include "engine/message_link.h"

namespace heddle::copying {

inline constexpr engine::Channel kContentChannel = 1;
inline constexpr engine::Channel kAnswerChannel = 2;

class MessageMemory {
 public:
  // Errors: kExhausted, those of register_memory().
  static Result<MessageMemory> make(engine::Endpoint& endpoint, size_t message_bytes,
                                    size_t count) {
    MessageMemory made;
    made.message_bytes_ = message_bytes;
    made.pages_ = AnonymousMemory(Bytes{message_bytes * count});
    if (made.pages_.start() == nullptr) {
      return fail(ErrorCode::kExhausted, "cannot copy", "there is no memory for messages");
    }
    Result<engine::Memory> memory =
        endpoint.register_memory(made.pages_.start(), made.pages_.bytes());
    if (!memory) return fail(memory.error());
    made.memory_ = std::move(*memory);
    return made;
  }

  std::span<std::byte> message(size_t index) const {
    return {pages_.start() + index * message_bytes_, message_bytes_};
  }
  engine::MessageBytes slice(size_t index, size_t bytes) const {
    const transport::Payload payload = memory_.slice(index * message_bytes_, bytes);
    return {.start = message(index).data(),
            .bytes = bytes,
            .region = payload.region,
            .offset = payload.offset};
  }

 private:
  AnonymousMemory pages_;
  engine::Memory memory_;
  size_t message_bytes_ = 0;
};

// A posted message.
struct PostedMessage {
  size_t index = 0;
  engine::Operation operation;
};

// Why a link can carry nothing more.
inline Error end_of(const engine::MessageLink& link, ErrorCode otherwise) {
  const engine::ConnectionStatus status = link.status();
  if (status.state == engine::ConnectionState::kClosed) return status.error;
  return {otherwise, "the connection failed", "", ""};
}

}  // namespace heddle::copying
