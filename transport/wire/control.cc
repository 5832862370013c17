// Control frames to and from bytes. Every value is judged here as far as it can be without a
// connection.
#include "transport/wire/control.h"

#include <algorithm>

namespace heddle::transport {
namespace {

// After the newest range, ranges are a gap and a length, each at least 1, of 32 bits.
constexpr uint64_t kMaxStep = UINT32_MAX;

}  // namespace

void write_ack(const AckFrame& frame, Writer& writer) {
  const NumberRange& newest = frame.ranges[0];
  const uint64_t length = std::min(newest.high - newest.low + 1, kMaxStep);
  const bool cut = newest.high - newest.low >= kMaxStep;
  uint8_t count = 1;
  // A step too long for its field ends the list: what is left out was acknowledged long ago.
  while (!cut && count < frame.range_count &&
         frame.ranges[count - 1u].low - frame.ranges[count].high <= kMaxStep &&
         frame.ranges[count].high - frame.ranges[count].low < kMaxStep) {
    ++count;
  }
  writer.put(static_cast<uint8_t>(FrameType::kAck)).put(frame.path);
  writer.put(frame.echoed_sent_at.count).put(frame.received_at.count).put(frame.marked).put(count);
  writer.put(newest.high).put(static_cast<uint32_t>(length));
  for (uint8_t i = 1; i < count; ++i) {
    const NumberRange& range = frame.ranges[i];
    writer.put(static_cast<uint32_t>(frame.ranges[i - 1u].low - range.high));
    writer.put(static_cast<uint32_t>(range.high - range.low + 1));
  }
}

bool read_ack(Reader& reader, AckFrame& frame) {
  frame.path = reader.get<uint16_t>();
  frame.echoed_sent_at = Nanos{reader.get<int64_t>()};
  frame.received_at = Nanos{reader.get<int64_t>()};
  frame.marked = reader.get<uint32_t>();
  frame.range_count = reader.get<uint8_t>();
  if (!reader.ok() || frame.range_count == 0 || frame.range_count > kMaxAckRanges) return false;
  const uint64_t high = reader.get<uint64_t>();
  const uint64_t length = reader.get<uint32_t>();
  if (length == 0 || length > high) return false;
  frame.ranges[0] = {high - length + 1, high};
  for (uint8_t i = 1; i < frame.range_count; ++i) {
    const uint64_t step = reader.get<uint32_t>();
    const uint64_t bytes = reader.get<uint32_t>();
    const uint64_t below = frame.ranges[i - 1u].low;
    // A step of 1 would touch the range above; numbers start at 1.
    if (step < 2 || bytes == 0 || step >= below || bytes > below - step) return false;
    frame.ranges[i] = {below - step - bytes + 1, below - step};
  }
  return reader.ok();
}

void write_ack_times(const AckTimes& times, Writer& writer) {
  writer.put(static_cast<uint8_t>(FrameType::kAckTimes));
  writer.put(times.made_at.count).put(times.window_bytes);
}

bool read_ack_times(Reader& reader, AckTimes& times) {
  times.made_at = Nanos{reader.get<int64_t>()};
  times.window_bytes = reader.get<uint64_t>();
  return reader.ok();
}

void write_grant(const GrantFrame& frame, Writer& writer) {
  writer.put(static_cast<uint8_t>(FrameType::kGrant)).put(frame.channel);
  writer.put(frame.first_sequence.value()).put(frame.count).put(frame.capacity);
}

bool read_grant(Reader& reader, GrantFrame& frame) {
  frame.channel = reader.get<uint16_t>();
  frame.first_sequence = reader.get<uint32_t>();
  frame.count = reader.get<uint16_t>();
  frame.capacity = reader.get<uint32_t>();
  return reader.ok() && frame.count > 0;
}

void write_cancel(FrameType type, const CancelFrame& frame, Writer& writer) {
  writer.put(static_cast<uint8_t>(type)).put(frame.channel).put(frame.sequence.value());
  writer.put(static_cast<uint8_t>(frame.reason));
}

bool read_cancel(Reader& reader, CancelFrame& frame) {
  frame.channel = reader.get<uint16_t>();
  frame.sequence = reader.get<uint32_t>();
  const uint8_t reason = reader.get<uint8_t>();
  frame.reason = static_cast<CancelReason>(reason);
  return reader.ok() && reason <= static_cast<uint8_t>(CancelReason::kTruncated);
}

void write_close(CloseReason reason, Writer& writer) {
  writer.put(static_cast<uint8_t>(FrameType::kClose)).put(static_cast<uint8_t>(reason));
}

bool read_close(Reader& reader, CloseReason& reason) {
  const uint8_t value = reader.get<uint8_t>();
  reason = static_cast<CloseReason>(value);
  return reader.ok() && value <= static_cast<uint8_t>(CloseReason::kUnheard);
}

void write_placed_grant(const PlacedGrantFrame& frame, Writer& writer) {
  writer.put(static_cast<uint8_t>(FrameType::kPlacedGrant)).put(frame.channel);
  writer.put(frame.sequence.value()).put(frame.capacity).put(frame.slot).put(frame.remote_offset);
  writer.put(frame.token.length).put_bytes(std::span(frame.token.bytes).first(frame.token.length));
}

bool read_placed_grant(Reader& reader, PlacedGrantFrame& frame) {
  frame.channel = reader.get<uint16_t>();
  frame.sequence = reader.get<uint32_t>();
  frame.capacity = reader.get<uint32_t>();
  frame.slot = reader.get<uint8_t>();
  frame.remote_offset = reader.get<uint64_t>();
  frame.token.length = reader.get<uint8_t>();
  if (!reader.ok() || frame.token.length == 0 || frame.token.length > frame.token.bytes.size()) {
    return false;
  }
  const std::span<const std::byte> bytes = reader.take(frame.token.length);
  std::copy(bytes.begin(), bytes.end(), frame.token.bytes.begin());
  return reader.ok();
}

void write_message(const MessageFrame& frame, Writer& writer) {
  writer.put(static_cast<uint8_t>(FrameType::kMessage))
      .put(frame.channel)
      .put(frame.sequence.value());
}

bool read_message(Reader& reader, MessageFrame& frame) {
  frame.channel = reader.get<uint16_t>();
  frame.sequence = reader.get<uint32_t>();
  return reader.ok();
}

void write_fence(FrameType type, const FenceFrame& frame, Writer& writer) {
  writer.put(static_cast<uint8_t>(type)).put(frame.path).put(uint32_t{frame.epoch.value()});
}

bool read_fence(Reader& reader, FenceFrame& frame) {
  frame.path = reader.get<uint16_t>();
  const uint32_t epoch = reader.get<uint32_t>();
  frame.epoch = static_cast<uint16_t>(epoch);
  return reader.ok() && epoch <= UINT16_MAX;
}

void write_trim(const TrimFrame& frame, Writer& writer) {
  writer.put(static_cast<uint8_t>(FrameType::kTrimmed)).put(frame.path).put(frame.number);
}

bool read_trim(Reader& reader, TrimFrame& frame) {
  frame.path = reader.get<uint16_t>();
  frame.number = reader.get<uint64_t>();
  return reader.ok();
}

}  // namespace heddle::transport
