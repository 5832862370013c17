// Fields from their edges, and the packets that carry them.
#include "transport/testing/byzantine_words.h"

#include <algorithm>
#include <cstring>

#include "transport/wire/credit_frames.h"
#include "transport/wire/nic_frames.h"

namespace heddle::transport::testing {
namespace {

constexpr uint32_t kHabits = static_cast<uint32_t>(Habit::kCount);
constexpr size_t kLargestAck = 1 + 23 + 12 + 8 * (kMaxAckRanges - 1);
constexpr uint32_t bit(Habit habit) { return 1u << static_cast<uint32_t>(habit); }
constexpr bool is_data(Habit habit) {
  return habit == Habit::kData || habit == Habit::kEarly || habit == Habit::kDrips ||
         habit == Habit::kRepeats;
}

}  // namespace

const char* name_of(Habit habit) {
  static constexpr const char* kNames[] = {
      "honest",  "grants",   "takes_back", "cancels", "data",    "early",   "drips",
      "repeats", "messages", "acks",       "windows", "credits", "placed",  "fences",
      "nics",    "trims",    "closes",     "pings",   "numbers", "headers", "garbage_tail"};
  static_assert(std::size(kNames) == kHabits);
  return habit < Habit::kCount ? kNames[static_cast<size_t>(habit)] : "?";
}

void Acquaintance::note(const ConnectionHeader& header) {
  const bool numbered = header.type != PacketType::kControl || (header.flags & kFlagNumbered) != 0;
  if (!numbered || header.path >= kFew) return;
  NumberRange& range = heard[header.path];
  if (range.high != 0 && header.number == range.high + 1) {
    range.high = header.number;
  } else if (header.number > range.high) {
    range = {header.number, header.number};
  }
}

uint64_t ByzantineWords::any64(uint64_t near) {
  const uint64_t edge =
      one_of<uint64_t>({0, near, near, uint64_t{1} << 31, uint64_t{1} << 32, uint64_t{1} << 40,
                        uint64_t{1} << 62, uint64_t{1} << 63, UINT64_MAX});
  return edge + below(5) - 2;
}

uint32_t ByzantineWords::any32(uint32_t near) {
  const uint32_t edge =
      one_of<uint32_t>({0, near, near, 1u << 8, 1u << 16, 1u << 30, 1u << 31, UINT32_MAX});
  return edge + static_cast<uint32_t>(below(5)) - 2;
}

uint16_t ByzantineWords::any_path(const Acquaintance& to) {
  return static_cast<uint16_t>(
      one_of<uint32_t>({0, static_cast<uint32_t>(below(Acquaintance::kFew)),
                        to.victim.max_paths - 1u, to.victim.max_paths, to.victim.chunk_paths,
                        0x7fff, kFirstChunkPathName, kFirstChunkPathName + 1u, UINT16_MAX}));
}

uint16_t ByzantineWords::any_channel(const Acquaintance& to) {
  if (!one_in(6)) return static_cast<uint16_t>(below(2));
  return static_cast<uint16_t>(
      one_of<uint32_t>({2, 3, to.victim.max_channels - 1, to.victim.max_channels, UINT16_MAX}));
}

uint32_t ByzantineWords::any_sequence(const Acquaintance& to, uint16_t channel) {
  const size_t index = std::min<size_t>(channel, Acquaintance::kFew - 1);
  const uint32_t base = one_of({to.to_send[index], to.to_grant[index], kFirstSequence.value()});
  const uint32_t posted = to.victim.max_posted;
  const uint32_t step = one_of<uint32_t>({0, 0, 1, 2, to.victim.eager_blocks, posted, 2 * posted,
                                          UINT16_MAX, 1u << 30, 1u << 31, 1u << 31, 0u - posted});
  return base + step + static_cast<uint32_t>(below(5)) - 2;
}

Nanos ByzantineWords::any_time(Nanos now) {
  return one_of({now, now, Nanos{}, Nanos::never(), Nanos{INT64_MIN}, now - seconds(100),
                 now + seconds(100)});
}

uint32_t ByzantineWords::draw_habits() {
  uint32_t habits = one_in(4) ? 0 : bit(Habit::kHonest);
  for (uint64_t more = 1 + below(5); more > 0; --more) habits |= 1u << below(kHabits);
  if (!one_in(3)) habits &= ~bit(Habit::kCloses);  // else it is over before it began
  return habits == 0 ? bit(Habit::kHonest) : habits;
}

HandshakeParameters ByzantineWords::draw_parameters(uint32_t posted) {
  HandshakeParameters p;
  p.max_paths = one_of<uint16_t>({1, 4, 64, 256, UINT16_MAX});
  p.max_datagram_bytes = one_of<uint32_t>({1472, 1472, 8952, UINT32_MAX});
  p.window_bytes = one_of<uint64_t>({1 << 16, 1 << 20, 0, 1, UINT64_MAX});
  p.max_channels = one_of<uint32_t>({4, 64, 1, UINT16_MAX, UINT32_MAX});
  p.max_posted = posted;
  p.eager_block_bytes = one_of<uint32_t>({0, 512, 8192, UINT32_MAX});
  p.eager_blocks = one_of<uint16_t>({0, 2, 16, UINT16_MAX});
  p.chunk_paths = one_of<uint16_t>({0, 1, 8, UINT8_MAX, UINT16_MAX});
  p.chunk_bytes = one_of<uint32_t>({0, 1, 4096, 65536, UINT32_MAX});
  p.first_credit = one_of<uint64_t>({0, 1 << 16, UINT64_MAX});
  p.features = below(16) & ~kFeatureEncryption;
  const char* name = one_of({"cubic", "cubic", "dctcp", "swift", ""});
  std::strncpy(p.congestion.data(), name, kMaxNameBytes);
  return p;
}

ConnectionHeader ByzantineWords::header(Nanos now, Acquaintance& to, PacketType type) {
  ConnectionHeader header;
  header.type = type;
  header.connection = to.id;
  header.sent_at = to.has(Habit::kWindows) ? any_time(now) : now;
  header.reply_port = to.reply_port;
  header.path = static_cast<uint16_t>(
      below(std::clamp<uint64_t>(to.victim.max_paths, 1, Acquaintance::kFew)));
  header.number = ++to.sent[header.path];
  if (type == PacketType::kControl && !one_in(4)) header.flags |= kFlagNumbered;
  if (one_in(4)) header.flags |= kFlagAckNow;
  if (one_in(8)) ++to.sent[header.path];  // a gap
  if (to.has(Habit::kNumbers) && one_in(6)) header.number = any64(header.number);
  if (to.has(Habit::kHeaders) && one_in(3)) {
    if (one_in(3)) header.flags = static_cast<uint8_t>(below(256));
    if (one_in(3)) header.path = any_path(to);
    if (one_in(3)) header.reply_port = one_of<uint16_t>({0, 1, to.reply_port, UINT16_MAX});
  }
  return header;
}

size_t ByzantineWords::write_packet(Nanos now, Acquaintance& to, std::span<std::byte> space) {
  latest_ = static_cast<Habit>(below(kHabits));
  while (!to.has(latest_))
    latest_ = static_cast<Habit>((static_cast<uint32_t>(latest_) + 1) % kHabits);
  const bool sends = latest_ == Habit::kHonest && one_in(3);
  return is_data(latest_) || sends ? write_data(now, to, space) : write_control(now, to, space);
}

size_t ByzantineWords::write_data(Nanos now, Acquaintance& to, std::span<std::byte> space) {
  DataHeader data;
  data.base =
      header(now, to, latest_ == Habit::kRepeats ? PacketType::kRetransmission : PacketType::kData);
  data.channel = static_cast<uint16_t>(below(2));
  uint32_t& next = to.to_send[data.channel];
  uint32_t payload = static_cast<uint32_t>(below(900));
  switch (latest_) {
    case Habit::kHonest:
      data.sequence = next++;
      data.message_bytes = payload;
      break;
    case Habit::kEarly:
      data.sequence = ++next;
      data.message_bytes = payload;
      break;
    case Habit::kDrips:
      // Every other byte of a long message, from its front or anywhere.
      payload = 1;
      data.sequence = next + static_cast<uint32_t>(below(3));
      data.message_bytes = 60'000;
      data.offset = static_cast<uint32_t>(2 * (one_in(4) ? below(30'000) : to.sent[0] % 30'000));
      break;
    default:
      data.channel = any_channel(to);
      data.sequence = any_sequence(to, data.channel);
      data.offset = any32(payload);
      data.message_bytes =
          one_of({data.offset + payload, any32(to.victim.eager_block_bytes), any32(1u << 30)});
      break;
  }
  if (latest_ == Habit::kRepeats) {
    data.base.sent_at = pack(OriginalWrite{static_cast<uint16_t>(below(256)),
                                           static_cast<uint16_t>(any32(1)), any64(to.sent[0])});
  }
  std::memset(space.data(), 0xb5, kDataHeaderBytes + payload);
  write_data_header(data, space.data());
  return kDataHeaderBytes + payload;
}

size_t ByzantineWords::write_control(Nanos now, Acquaintance& to, std::span<std::byte> space) {
  ConnectionHeader start = header(now, to, PacketType::kControl);
  Writer writer(space.first(kMostBytes).subspan(kConnectionHeaderBytes));
  if (latest_ == Habit::kMessages) {
    start.flags |= kFlagNumbered;
    const uint16_t channel = one_in(3) ? any_channel(to) : static_cast<uint16_t>(below(2));
    uint32_t& next = to.to_send[std::min<size_t>(channel, Acquaintance::kFew - 1)];
    write_message({channel, one_in(3) ? any_sequence(to, channel) : next++}, writer);
    writer.put_zeros(below(600));
  } else {
    const uint64_t frames = one_in(2) ? 1 : latest_ == Habit::kPings ? 200 : 1 + below(12);
    for (uint64_t i = 0; i < frames; ++i) {
      if (writer.left() < kLargestFrameBytes + kLargestAck + kAckTimesBytes) break;
      write_frame(now, to, latest_, writer);
    }
  }
  write_connection_header(start, space.data());
  size_t bytes = kMostBytes - writer.left();
  if (latest_ == Habit::kGarbageTail && one_in(2)) {
    bytes -= below(bytes - kConnectionHeaderBytes + 1);  // cut within a frame
  }
  return bytes;
}

void ByzantineWords::write_frame(Nanos now, Acquaintance& to, Habit habit, Writer& writer) {
  const uint16_t channel = any_channel(to);
  switch (habit) {
    case Habit::kGrants:
      return write_grant({channel, any_sequence(to, channel),
                          one_of<uint16_t>({1, 1, 2, 300, UINT16_MAX}), any32(4096)},
                         writer);
    case Habit::kTakesBack:
    case Habit::kCancels:
      return write_cancels(to, habit, writer);
    case Habit::kAcks:
      return write_acks(now, to, writer);
    case Habit::kWindows:
      return write_ack_times({any_time(now), any64(1 << 16)}, writer);
    case Habit::kCredits:
      return write_credits(writer);
    case Habit::kPlaced:
      return write_placed(to, writer);
    case Habit::kFences:
      return write_fence(one_of({FrameType::kFenced, FrameType::kAskFence}),
                         {any_path(to), any32(1)}, writer);
    case Habit::kNics:
      return write_nic_frame(one_of({FrameType::kNicProbe, FrameType::kNicAnswer}),
                             {any64(below(UINT32_MAX))}, writer);
    case Habit::kTrims:
      return write_trim({any_path(to), any64(to.heard[0].high)}, writer);
    case Habit::kCloses:
      return write_close(static_cast<CloseReason>(below(5)), writer);
    case Habit::kPings:
      writer.put(FrameType::kPing);
      return;
    case Habit::kGarbageTail:
      writer.put(static_cast<uint8_t>(below(256))).put(any64(0));
      return;
    default:
      return write_honest(now, to, writer);
  }
}

// Acknowledges what came, grants the next receive.
void ByzantineWords::write_honest(Nanos now, Acquaintance& to, Writer& writer) {
  write_ack_times({now, 1 << 20}, writer);
  const auto path = static_cast<uint16_t>(below(Acquaintance::kFew));
  if (to.heard[path].high != 0) {
    AckFrame ack;
    ack.path = path;
    ack.echoed_sent_at = ack.received_at = now;
    ack.range_count = 1;
    ack.ranges[0] = to.heard[path];
    write_ack(ack, writer);
  }
  const auto channel = static_cast<uint16_t>(below(2));
  if (one_in(2)) write_grant({channel, to.to_grant[channel]++, 1, 1 << 20}, writer);
}

void ByzantineWords::write_acks(Nanos now, const Acquaintance& to, Writer& writer) {
  AckFrame ack;
  ack.path = any_path(to);
  const NumberRange& heard = to.heard[ack.path % Acquaintance::kFew];
  ack.echoed_sent_at = any_time(now);
  ack.received_at = any_time(now);
  ack.marked = any32(1);
  ack.range_count = one_of<uint8_t>({1, 1, 2, kMaxAckRanges});
  uint64_t high = any64(heard.high);
  for (uint8_t i = 0; i < ack.range_count; ++i) {
    const uint64_t length = one_of<uint64_t>({1, 1, 2, UINT32_MAX, 0});
    ack.ranges[i] = {high - length + 1, high};
    high -= length + one_of<uint64_t>({1, 2, 3, UINT32_MAX});
  }
  write_ack(ack, writer);
}

void ByzantineWords::write_credits(Writer& writer) {
  if (one_in(2)) {
    write_demand({any32(1), any64(1 << 16), any64(1 << 20)}, writer);
  } else {
    write_credit({any64(1 << 16), any32(1 << 16)}, writer);
  }
}

void ByzantineWords::write_placed(const Acquaintance& to, Writer& writer) {
  PlacedGrantFrame placed;
  placed.channel = any_channel(to);
  placed.sequence = one_in(2) ? to.to_grant[placed.channel % Acquaintance::kFew]
                              : any_sequence(to, placed.channel);
  placed.capacity = any32(65536);
  placed.slot = static_cast<uint8_t>(one_of<uint32_t>({0, 1, 254, 255}));
  placed.remote_offset = any64(4096);
  placed.token.length = one_of<uint8_t>({1, 12, 16, 32});
  for (std::byte& byte : placed.token.bytes) byte = static_cast<std::byte>(below(256));
  write_placed_grant(placed, writer);
}

void ByzantineWords::write_cancels(const Acquaintance& to, Habit habit, Writer& writer) {
  CancelFrame cancel;
  cancel.channel = any_channel(to);
  cancel.sequence = any_sequence(to, cancel.channel);
  cancel.reason = static_cast<CancelReason>(below(2));
  if (habit == Habit::kTakesBack) {
    // What was granted last, or is granted next: withdrawn, or worth nothing any more.
    const uint32_t near = to.to_grant[cancel.channel % Acquaintance::kFew] - one_of({0u, 1u, 2u});
    if (!one_in(4)) cancel.sequence = near;
    if (one_in(2)) return write_grant({cancel.channel, cancel.sequence, 1, 0}, writer);
    return write_cancel(FrameType::kCancelReceive, cancel, writer);
  }
  write_cancel(one_of({FrameType::kCancelSend, FrameType::kDelivered, FrameType::kCancelReceive}),
               cancel, writer);
}

}  // namespace heddle::transport::testing
