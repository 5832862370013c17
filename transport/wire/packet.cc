// Reading and writing headers. Rows of data headers are the hot path: one header is laid out, then
// copied and patched in two places for each further segment.
#include "transport/wire/packet.h"

#include <cstring>

#include "transport/wire/cursor.h"

namespace heddle::transport {
namespace {

constexpr uint64_t kOriginalNumberMask = (uint64_t{1} << 40) - 1;

template <typename Integer>
Integer load(const std::byte* from) {
  Integer value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

template <typename Integer>
void store(std::byte* to, Integer value) {
  std::memcpy(to, &value, sizeof(value));
}

}  // namespace

void write_connection_header(const ConnectionHeader& header, std::byte* to) {
  Writer writer({to, kConnectionHeaderBytes});
  writer.put(first_byte(header.type)).put(header.flags).put(header.path).put(header.connection);
  writer.put(header.number).put(header.sent_at.count).put(header.reply_port);
}

void write_data_header(const DataHeader& header, std::byte* to) {
  write_connection_header(header.base, to);
  Writer writer({to + kConnectionHeaderBytes, kDataHeaderBytes - kConnectionHeaderBytes});
  writer.put(header.channel)
      .put(header.sequence.value())
      .put(header.offset)
      .put(header.message_bytes);
}

ConnectionHeader read_connection_header(const std::byte* from) {
  ConnectionHeader header;
  header.type = type_of(from[0]);
  header.flags = load<uint8_t>(from + 1);
  header.path = load<uint16_t>(from + 2);
  header.connection = load<WireId>(from + kConnectionAt);
  header.number = load<uint64_t>(from + kNumberAt);
  header.sent_at = Nanos{load<int64_t>(from + kSentAt)};
  header.reply_port = load<uint16_t>(from + 28);
  return header;
}

DataHeader read_data_header(const std::byte* from) {
  DataHeader header;
  header.base = read_connection_header(from);
  header.channel = load<uint16_t>(from + kChannelAt);
  header.sequence = load<uint32_t>(from + 32);
  header.offset = load<uint32_t>(from + kOffsetAt);
  header.message_bytes = load<uint32_t>(from + 40);
  return header;
}

Nanos pack(const OriginalWrite& original) {
  return {static_cast<int64_t>(uint64_t{original.path & 0xffu} << 56 |
                               uint64_t{original.epoch.value()} << 40 |
                               (original.number & kOriginalNumberMask))};
}

OriginalWrite unpack_original(Nanos field) {
  const auto bits = static_cast<uint64_t>(field.count);
  return {static_cast<uint16_t>(bits >> 56), PathEpoch(static_cast<uint16_t>(bits >> 40)),
          bits & kOriginalNumberMask};
}

bool continues_burst(const std::byte* first, const std::byte* next, uint32_t index,
                     uint32_t payload_bytes) {
  // Everything but the number and the offset is the same in a row, its send time included.
  constexpr uint64_t kAsks = uint64_t{kFlagAckNow} << 8;
  const bool same_start = ((load<uint64_t>(first) ^ load<uint64_t>(next)) & ~kAsks) == 0 &&
                          load<uint32_t>(first + 8) == load<uint32_t>(next + 8);
  const bool same_time = load<uint64_t>(first + kSentAt) == load<uint64_t>(next + kSentAt);
  const bool same_message = load<uint64_t>(first + 28) == load<uint64_t>(next + 28) &&
                            load<uint32_t>(first + 40) == load<uint32_t>(next + 40);
  return same_start && same_time && same_message &&
         load<uint64_t>(next + kNumberAt) == load<uint64_t>(first + kNumberAt) + index &&
         load<uint32_t>(next + kOffsetAt) ==
             load<uint32_t>(first + kOffsetAt) + index * payload_bytes;
}

void write_data_headers(const DataHeader& first, uint32_t count, const HeaderSteps& steps,
                        std::byte* to) {
  write_data_header(first, to);
  const auto flags = static_cast<uint8_t>(first.base.flags & ~kFlagAckNow);
  if (count > 1) store(to + kFlagsAt, flags);
  for (uint32_t i = 1; i < count; ++i) {
    std::byte* at = to + size_t{i} * steps.header_stride;
    std::memcpy(at, to, kDataHeaderBytes);
    store(at + kNumberAt, first.base.number + i);
    store(at + kOffsetAt, first.offset + i * steps.payload_bytes);
  }
  store(to + size_t{count - 1} * steps.header_stride + kFlagsAt, first.base.flags);
}

}  // namespace heddle::transport
