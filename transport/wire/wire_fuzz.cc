// Fuzzes every parser of the wire: the first byte picks one, the rest is what it reads. What a
// parser accepts must survive being written and read again.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/check.h"
#include "transport/wire/control.h"
#include "transport/wire/credit_frames.h"
#include "transport/wire/handshake.h"
#include "transport/wire/nic_frames.h"
#include "transport/wire/packet.h"

namespace heddle::transport {
namespace {

using Bytes = std::span<const std::byte>;

// Reads, writes what was read, reads that, and compares both as they stand on the wire.
template <typename Frame, typename Write>
void round_trip(Bytes input, bool (*read)(Reader&, Frame&), Write write) {
  Reader reader(input);
  Frame first{};
  if (!read(reader, first)) return;
  std::array<std::byte, 256> once{};
  std::array<std::byte, 256> twice{};
  Writer writer(once);
  write(first, writer);
  Frame second{};
  Reader again{std::span(once).subspan(1)};
  CHECK(read(again, second));
  CHECK(once.size() - again.left() == once.size() - writer.left());
  Writer rewriter(twice);
  write(second, rewriter);
  CHECK(once == twice);
}

template <typename Packet>
void round_trip(Bytes input, bool (*read)(Bytes, Packet&),
                size_t (*write)(const Packet&, std::span<std::byte>)) {
  Packet first;
  if (!read(input, first)) return;
  std::array<std::byte, kInitBytes> once{};
  std::array<std::byte, kInitBytes> twice{};
  const size_t length = write(first, once);
  Packet second;
  CHECK(read(std::span(once).first(length), second));
  CHECK(write(second, twice) == length);
  CHECK(once == twice);
}

void fuzz_ack(Bytes input) {
  Reader reader(input);
  AckFrame frame;
  if (read_ack(reader, frame)) {
    CHECK(frame.range_count >= 1 && frame.range_count <= kMaxAckRanges);
    for (size_t i = 0; i < frame.range_count; ++i) {
      CHECK(frame.ranges[i].low >= 1 && frame.ranges[i].low <= frame.ranges[i].high);
      CHECK(i == 0 || frame.ranges[i].high + 1 < frame.ranges[i - 1].low);
    }
  }
  round_trip<AckFrame>(input, read_ack, write_ack);
}

void fuzz_headers(Bytes input) {
  if (input.size() < kDataHeaderBytes) return;
  std::array<std::byte, 3 * kDataHeaderBytes> headers{};
  const DataHeader header = read_data_header(input.data());
  const auto step = static_cast<uint32_t>(input.size());
  write_data_headers(header, 3, {step}, headers.data());
  // The first byte holds a version too, which is not part of what was read. Of the flags only the
  // last header may ask for an acknowledgement.
  CHECK(std::memcmp(headers.data() + 2, input.data() + 2, kDataHeaderBytes - 2) == 0);
  const std::byte flags = input[kFlagsAt];
  CHECK(headers[kFlagsAt] == (flags & ~std::byte{kFlagAckNow}));
  CHECK(headers[2 * kDataHeaderBytes + kFlagsAt] == flags);
  CHECK(continues_burst(headers.data(), headers.data() + kDataHeaderBytes, 1, step));
  CHECK(continues_burst(headers.data(), headers.data() + 2 * kDataHeaderBytes, 2, step));
  const OriginalWrite original = unpack_original(header.base.sent_at);
  CHECK(pack(original) == header.base.sent_at);
}

void fuzz_frame(uint8_t which, Bytes input) {
  const auto write_as = [](FrameType type) {
    return [type](const auto& frame, Writer& writer) {
      if constexpr (std::is_same_v<std::decay_t<decltype(frame)>, CancelFrame>) {
        write_cancel(type, frame, writer);
      } else {
        write_fence(type, frame, writer);
      }
    };
  };
  switch (which) {
    case 0:
      fuzz_ack(input);
      break;
    case 1:
      round_trip<AckTimes>(input, read_ack_times, write_ack_times);
      break;
    case 2:
      round_trip<GrantFrame>(input, read_grant, write_grant);
      break;
    case 3:
      round_trip<CancelFrame>(input, read_cancel, write_as(FrameType::kCancelSend));
      break;
    case 4:
      round_trip<CloseReason>(input, read_close, write_close);
      break;
    case 5:
      round_trip<PlacedGrantFrame>(input, read_placed_grant, write_placed_grant);
      break;
    case 14:
      round_trip<DemandFrame>(input, read_demand, write_demand);
      break;
    case 15:
      round_trip<CreditFrame>(input, read_credit, write_credit);
      round_trip<NicFrame>(input, read_nic_frame, [](const NicFrame& frame, Writer& writer) {
        write_nic_frame(FrameType::kNicProbe, frame, writer);
      });
      round_trip<TrimFrame>(input, read_trim, write_trim);
      break;
    default:
      round_trip<FenceFrame>(input, read_fence, write_as(FrameType::kFenced));
      break;
  }
}

void fuzz_packet(uint8_t which, Bytes input) {
  switch (which) {
    case 0:
      round_trip<InitPacket>(input, read_init, write_init);
      break;
    case 1:
      round_trip<RetryPacket>(input, read_retry, write_retry);
      break;
    case 2:
      round_trip<AcceptPacket>(input, read_accept, write_accept);
      break;
    case 3:
      round_trip<RefusePacket>(input, read_refuse, write_refuse);
      break;
    case 4:
      round_trip<VersionPacket>(input, read_version, write_version);
      break;
    case 5:
      round_trip<ResetPacket>(input, read_reset, write_reset);
      break;
    default:
      fuzz_headers(input);
      break;
  }
}

}  // namespace
}  // namespace heddle::transport

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::span<const std::byte> input = std::as_bytes(std::span(data + 1, size - 1));
  const auto which = static_cast<uint8_t>(data[0] % 16);
  if (which < 7 || which >= 14) {
    heddle::transport::fuzz_frame(which, input);
  } else {
    heddle::transport::fuzz_packet(static_cast<uint8_t>(which - 7), input);
  }
  return 0;
}
