// FramePort: see frame_port.h.
#include "relaying/frame_port.h"

#include "base/check.h"
#include "relaying/params.h"

namespace heddle::relaying {

Result<FrameMemory> FrameMemory::make(engine::Endpoint& endpoint, uint32_t frames) {
  FrameMemory made;
  made.frames_ = frames;
  made.pages_ = AnonymousMemory(Bytes{params::kFrameBytes * frames});
  if (made.pages_.start() == nullptr) {
    return fail(ErrorCode::kExhausted, "cannot hold a relayed session", "there is no memory for it",
                "");
  }
  Result<engine::Memory> memory =
      endpoint.register_memory(made.pages_.start(), made.pages_.bytes());
  if (!memory) return fail(memory.error());
  made.memory_ = std::move(*memory);
  return made;
}

Result<void> FrameMemory::share(engine::Endpoint& endpoint) {
  Result<engine::Memory> memory = endpoint.register_memory(pages_.start(), pages_.bytes());
  if (!memory) return fail(memory.error());
  shared_ = std::move(*memory);
  return {};
}

std::span<std::byte> FrameMemory::frame(uint64_t number) const {
  return {pages_.start() + number % frames_ * params::kFrameBytes, params::kFrameBytes};
}

transport::Payload FrameMemory::payload(uint64_t number, size_t bytes) const {
  return memory_.slice(number % frames_ * params::kFrameBytes, bytes);
}

transport::Payload FrameMemory::shared_payload(uint64_t number, size_t bytes) const {
  return shared_.slice(number % frames_ * params::kFrameBytes, bytes);
}

Result<std::unique_ptr<FramePort>> FramePort::make(engine::Endpoint& endpoint,
                                                   engine::Connection connection,
                                                   uint32_t frames_in, uint32_t frames_out) {
  Result<FrameMemory> in = FrameMemory::make(endpoint, frames_in);
  if (!in) return fail(in.error());
  Result<FrameMemory> out = FrameMemory::make(endpoint, frames_out);
  if (!out) return fail(out.error());
  std::unique_ptr<FramePort> port(
      new FramePort(endpoint, connection, std::move(*in), std::move(*out)));
  port->post_receives();
  return port;
}

FramePort::~FramePort() {
  endpoint_.abort(connection_);
  for (const engine::Operation each : receiving_) endpoint_.wait(each, Nanos::never());
  for (const engine::Operation each : sending_) endpoint_.wait(each, Nanos::never());
}

void FramePort::post_receives() {
  while (posted_ - popped_ < in_.frames()) {
    const Result<engine::Operation> posted =
        endpoint_.receive(connection_, kFrameChannel, in_.payload(posted_, params::kFrameBytes));
    if (!posted) return;  // closed, which status() reports
    receiving_.push_back(*posted);
    ++posted_;
  }
}

std::optional<std::span<const std::byte>> FramePort::front() {
  if (!front_bytes_) {
    if (receiving_.empty()) return std::nullopt;
    const engine::Outcome outcome = endpoint_.peek(receiving_.front());
    if (!outcome.done) return std::nullopt;
    receiving_.pop_front();
    if (!outcome.ok) {
      // Closed, or the frame did not fit, which no end of a session sends: then it is closed here.
      endpoint_.abort(connection_);
      while (!receiving_.empty()) {
        endpoint_.forget(receiving_.front());
        receiving_.pop_front();
      }
      return std::nullopt;
    }
    front_bytes_ = outcome.bytes;
  }
  return in_.frame(popped_).first(*front_bytes_);
}

void FramePort::pop() {
  CHECK(front_bytes_);
  front_bytes_.reset();
  ++popped_;
  post_receives();
}

void FramePort::reap() {
  while (!sending_.empty() && endpoint_.peek(sending_.front()).done) sending_.pop_front();
}

bool FramePort::has_space(bool priority) {
  reap();
  return sending_.size() + (priority ? 0 : params::kPriorityFrames) < out_.frames();
}

void FramePort::write(const Frame& frame) {
  CHECK(sending_.size() < out_.frames());
  const size_t bytes = write_frame(out_.frame(written_), frame);
  const Result<engine::Operation> posted =
      endpoint_.send(connection_, kFrameChannel, out_.payload(written_, bytes));
  if (!posted) return;  // closed: the next connection retransmits what is lost
  sending_.push_back(*posted);
  ++written_;
}

bool FramePort::idle() {
  reap();
  return sending_.empty();
}

}  // namespace heddle::relaying
