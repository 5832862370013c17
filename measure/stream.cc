// Streams: see stream.h.
#include "measure/stream.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/quantity.h"
#include "measure/params.h"
#include "measure/stream/message_pattern.h"

namespace heddle::measure {

Result<MessageSlots> MessageSlots::make(engine::Endpoint& endpoint, uint64_t message_bytes,
                                        uint32_t window, SlotContent content) {
  MessageSlots slots;
  slots.message_bytes_ = message_bytes;
  slots.window_ = window;
  const uint64_t total = message_bytes * window;
  slots.bytes_ = AnonymousMemory(Bytes{std::max<uint64_t>(total, 1)});
  if (slots.bytes_.start() == nullptr) {
    return fail(ErrorCode::kExhausted,
                fmt::format("cannot hold {} messages of {}", window, size_text(message_bytes)),
                "the system gives no more memory", "choose a smaller size with -s");
  }
  if (content == SlotContent::kZeros) slots.find_memory(total);
  Result<engine::Memory> memory = endpoint.register_memory(slots.bytes_.start(), total);
  if (!memory) return fail(memory.error());
  slots.memory_ = std::move(*memory);
  return slots;
}

bool MessageSlots::find_memory(uint64_t most) {
  constexpr uint64_t kPage = 4096;
  const uint64_t total = message_bytes_ * window_;
  const uint64_t end = total - found_ > most ? found_ + most : total;
  for (; found_ < end; found_ = std::min(end, found_ + kPage)) {
    static_cast<volatile std::byte*>(bytes_.start())[found_] = std::byte{0};
  }
  return found_ == total;
}

std::span<std::byte> MessageSlots::slot(uint64_t number) const {
  return {bytes_.start() + number % window_ * message_bytes_, message_bytes_};
}

engine::MessageBytes MessageSlots::message(uint64_t number, uint64_t bytes) const {
  const uint64_t offset = number % window_ * message_bytes_;
  return {.start = bytes_.start() + offset,
          .bytes = bytes,
          .region = memory_.region(),
          .offset = offset};
}

double StreamResult::bits_per_s() const {
  const Nanos span = ended - began;
  return span.count <= 0 ? 0 : static_cast<double>(payload_bytes) * 8 / to_seconds(span);
}

SendStream::SendStream(engine::MessageLink& link, const TestOptions& options, MessageSlots slots,
                       Filling filling)
    : link_(link),
      options_(options),
      slots_(std::move(slots)),
      filling_(filling),
      marks_left_(options.window) {
  result_.began = result_.ended = link.now();
  if (filling == Filling::kLater) return;
  for (uint64_t i = 0; i < options_.window; ++i) fill_message(slots_.slot(i), i);
}

SendStream::~SendStream() {
  if (!under_way_.empty()) link_.abort();
  for (const Sending& each : under_way_) link_.wait(each.operation, Nanos::never());
}

Result<void> SendStream::reap() {
  while (!under_way_.empty()) {
    const Sending front = under_way_.front();
    const engine::Outcome outcome = link_.peek(front.operation);
    if (!outcome.done) return {};
    under_way_.pop_front();
    if (!outcome.ok) return fail(failure_of(link_, outcome));
    if (front.bytes == 0) continue;
    ++result_.messages;
    result_.payload_bytes += front.bytes;
    result_.ended = link_.now();
  }
  return {};
}

Result<void> SendStream::step(bool more) {
  if (Result<void> reaped = reap(); !reaped) return reaped;
  uint64_t filled = 0;
  while (under_way_.size() < options_.window &&
         (filled < params::kFoundAtATime || under_way_.empty())) {
    const bool marking = !more || marks_left_ < options_.window;
    if (marking && marks_left_ == 0) return {};
    const uint64_t bytes = marking ? 0 : options_.message_bytes;
    const bool first = filling_ == Filling::kLater && posted_ < options_.window;
    if (!marking && (options_.check || first)) fill_message(slots_.slot(posted_), posted_);
    filled += first ? bytes : 0;
    Result<engine::Operation> operation =
        link_.send(kStreamChannel, slots_.message(posted_, bytes));
    if (!operation) return fail(operation.error());
    under_way_.push_back({*operation, bytes});
    if (marking) {
      --marks_left_;
    } else {
      ++posted_;
    }
  }
  return {};
}

ReceiveStream::ReceiveStream(engine::MessageLink& link, const TestOptions& options,
                             MessageSlots slots)
    : link_(link), options_(options), slots_(std::move(slots)) {
  result_.began = result_.ended = link.now();
}

ReceiveStream::~ReceiveStream() {
  if (!under_way_.empty()) link_.abort();
  for (const engine::Operation each : under_way_) link_.wait(each, Nanos::never());
}

Result<void> ReceiveStream::step() {
  while (true) {
    while (marks_ == 0 && under_way_.size() < options_.window) {
      Result<engine::Operation> operation =
          link_.receive(kStreamChannel, slots_.message(posted_, options_.message_bytes));
      if (!operation) return fail(operation.error());
      under_way_.push_back(*operation);
      ++posted_;
    }
    if (under_way_.empty()) return {};
    const engine::Outcome outcome = link_.peek(under_way_.front());
    if (!outcome.done) return {};
    under_way_.pop_front();
    if (!outcome.ok) return fail(failure_of(link_, outcome));
    take(outcome.bytes);
  }
}

void ReceiveStream::take(uint64_t bytes) {
  if (bytes == 0) {
    ++marks_;
    return;
  }
  result_.ended = link_.now();
  if (result_.messages++ == 0) result_.began = result_.ended;
  result_.payload_bytes += bytes;
  result_.timeline.add(result_.ended, bytes);
  const uint64_t number = taken_++;
  if (!options_.check) return;
  const std::span<const std::byte> got = slots_.slot(number).first(bytes);
  const auto difference = find_difference(got, number);
  if (bytes == options_.message_bytes && !difference) return;
  if (result_.wrong_messages++ > 0) return;
  result_.first_difference = difference ? fmt::format("byte {} of message {}", *difference, number)
                                        : fmt::format("length {} of message {}", bytes, number);
}

}  // namespace heddle::measure
