// Echo: see echo.h.
#include "measure/echo.h"

#include "base/interrupt.h"

namespace heddle::measure {

engine::Outcome wait_unless_interrupted(engine::MessageLink& link, engine::Operation operation) {
  engine::Outcome outcome;
  while (interrupted() == 0 && !outcome.done) outcome = link.wait(operation, millis(100));
  return outcome;
}

// --- server ---

EchoServer::EchoServer(engine::MessageLink& link, uint64_t message_bytes, MessageSlots slots)
    : link_(link), message_bytes_(message_bytes), slots_(std::move(slots)) {}

EchoServer::~EchoServer() {
  if (!receives_.empty() || !echoes_.empty()) link_.abort();
  for (const engine::Operation each : receives_) link_.wait(each, Nanos::never());
  for (const engine::Operation each : echoes_) link_.wait(each, Nanos::never());
}

Result<void> EchoServer::reap_echoes() {
  while (!echoes_.empty()) {
    const engine::Outcome outcome = link_.peek(echoes_.front());
    if (!outcome.done) return {};
    echoes_.pop_front();
    if (!outcome.ok) return fail(failure_of(link_, outcome));
  }
  return {};
}

Result<void> EchoServer::post_receives() {
  // Slots of echoes that have not arrived yet are still being sent from.
  for (uint32_t due = echo_receives_due(receives_.size(), echoes_.size(), marks_); due > 0; --due) {
    Result<engine::Operation> operation =
        link_.receive(kEchoChannel, slots_.message(posted_, message_bytes_));
    if (!operation) return fail(operation.error());
    receives_.push_back(*operation);
    ++posted_;
  }
  return {};
}

Result<void> EchoServer::step() {
  while (true) {
    if (Result<void> reaped = reap_echoes(); !reaped) return reaped;
    if (Result<void> posted = post_receives(); !posted) return posted;
    if (receives_.empty()) return {};
    const engine::Outcome outcome = link_.peek(receives_.front());
    if (!outcome.done) return {};
    receives_.pop_front();
    if (!outcome.ok) return fail(failure_of(link_, outcome));
    Result<engine::Operation> echo =
        link_.send(kEchoChannel, slots_.message(taken_++, outcome.bytes));
    if (!echo) return fail(echo.error());
    echoes_.push_back(*echo);
    if (outcome.bytes == 0) {
      ++marks_;
    } else {
      ++rounds_;
    }
  }
}

// --- client ---

EchoClient::EchoClient(engine::MessageLink& link, uint64_t message_bytes, MessageSlots sending,
                       MessageSlots receiving)
    : link_(link),
      message_bytes_(message_bytes),
      sending_(std::move(sending)),
      receiving_(std::move(receiving)) {}

EchoClient::~EchoClient() {
  if (!receives_.empty() || sent_) link_.abort();
  for (const engine::Operation each : receives_) link_.wait(each, Nanos::never());
  if (sent_) link_.wait(sent_, Nanos::never());
}

std::span<const std::byte> EchoClient::echo() const {
  return receiving_.slot(taken_ - 1).first(echo_bytes_);
}

Result<engine::Outcome> EchoClient::wait_for(engine::Operation operation) {
  const engine::Outcome outcome = wait_unless_interrupted(link_, operation);
  if (!outcome.done) return fail(ErrorCode::kCancelled, "stopped", "interrupted by a signal");
  if (!outcome.ok) return fail(failure_of(link_, outcome));
  return outcome;
}

Result<void> EchoClient::post_receives() {
  while (receives_.size() < kEchoWindow) {
    Result<engine::Operation> operation =
        link_.receive(kEchoChannel, receiving_.message(posted_, message_bytes_));
    if (!operation) return fail(operation.error());
    receives_.push_back(*operation);
    ++posted_;
  }
  return {};
}

// The echo proves that the last message arrived, but its acknowledgement may still be in flight.
Result<void> EchoClient::ready() {
  if (!sent_) return {};
  Result<engine::Outcome> sent = wait_for(sent_);
  if (!sent && interrupted() != 0) return fail(sent.error());
  sent_ = {};
  return sent ? Result<void>() : fail(sent.error());
}

Result<Nanos> EchoClient::round() {
  if (Result<void> is_ready = ready(); !is_ready) return fail(is_ready.error());
  if (receives_.empty()) {
    if (Result<void> posted = post_receives(); !posted) return fail(posted.error());
  }
  const Nanos began = link_.now();
  Result<engine::Operation> send = link_.send(kEchoChannel, sending_.message(0, message_bytes_));
  if (!send) return fail(send.error());
  sent_ = *send;
  // While the message travels: those posted before are enough for its echo.
  if (Result<void> posted = post_receives(); !posted) return fail(posted.error());
  Result<engine::Outcome> back = wait_for(receives_.front());
  if (!back && interrupted() != 0) return fail(back.error());
  const Nanos ended = link_.now();
  receives_.pop_front();
  if (!back) return fail(back.error());
  ++taken_;
  echo_bytes_ = back->bytes;
  return ended - began;
}

Result<void> EchoClient::finish() {
  if (Result<void> posted = post_receives(); !posted) return posted;
  for (uint32_t i = 0; i < kEchoWindow; ++i) {
    Result<engine::Operation> mark = link_.send(kEchoChannel, engine::MessageBytes{});
    if (!mark) return fail(mark.error());
    link_.forget(*mark);
  }
  while (!receives_.empty()) {
    Result<engine::Outcome> back = wait_for(receives_.front());
    if (!back && interrupted() != 0) return fail(back.error());
    receives_.pop_front();
    if (!back) return fail(back.error());
  }
  return ready();
}

}  // namespace heddle::measure
