// The packets of heddle's wire protocol, version 2, and the header that every packet of a
// connection has. One datagram holds one packet. All fields are little-endian.
// docs/explanation/protocol.md has the layouts as tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/nanos.h"
#include "transport/rx_run.h"
#include "transport/wire/numbers.h"

namespace heddle::transport {

inline constexpr uint8_t kWireVersion = 2;

enum class PacketType : uint8_t {
  kInit = 1,             // asks for a connection
  kRetry = 2,            // "prove that you receive at that address": carries a cookie
  kAccept = 3,           // the connection exists
  kVersion = 4,          // "I do not speak that version"
  kRefuse = 5,           // "no": with a reason
  kReset = 6,            // "I know no such connection"
  kData = 8,             // a segment of a message
  kControl = 9,          // frames: acknowledgements, grants, probes, closes
  kRetransmission = 10,  // a segment of a remotely written chunk that was declared lost
  kParity = 11,          // of datapath/fec/: no endpoint reads it
};

// The first byte of every packet: version in the high half, type in the low half.
constexpr uint8_t first_byte(PacketType type, uint8_t version = kWireVersion) {
  return static_cast<uint8_t>(version << 4 | static_cast<uint8_t>(type));
}
constexpr uint8_t version_of(std::byte first) { return static_cast<uint8_t>(first) >> 4; }
constexpr PacketType type_of(std::byte first) {
  return static_cast<PacketType>(static_cast<uint8_t>(first) & 0x0f);
}

// Bits of the second byte.
inline constexpr uint8_t kFlagAckNow = 1;          // the sender waits for the acknowledgement
inline constexpr uint8_t kFlagRetransmission = 2;  // sent before under another number
inline constexpr uint8_t kFlagNumbered =
    4;  // control: has a packet number and wants an acknowledgement
inline constexpr uint8_t kFlagAckLater = 8;  // the acknowledgement may be deferred
inline constexpr uint8_t kKnownFlags =
    kFlagAckNow | kFlagRetransmission | kFlagNumbered | kFlagAckLater;

// What a packet of a connection begins with.
struct ConnectionHeader {
  PacketType type = PacketType::kControl;
  uint8_t flags = 0;
  uint16_t path = 0;        // of the sender
  WireId connection = 0;    // the receiver's
  uint64_t number = 0;      // per path and direction, from 1
  Nanos sent_at;            // the sender's clock
  uint16_t reply_port = 0;  // where the sender receives
};
inline constexpr uint32_t kConnectionHeaderBytes = 30;

struct DataHeader {
  ConnectionHeader base;
  uint16_t channel = 0;
  Sequence sequence;           // of the message in its channel
  uint32_t offset = 0;         // of this segment's payload in the message
  uint32_t message_bytes = 0;  // of the whole message
};
static_assert(kDataHeaderBytes == kConnectionHeaderBytes + 14);

// A remote write that was declared lost and may still land. A kRetransmission packet has the layout
// of a data packet, with this in place of the send time.
struct OriginalWrite {
  uint16_t path = 0;    // chunk path of the sender, counted from 0; 8 bits on the wire
  PathEpoch epoch;      // of the path, when it left
  uint64_t number = 0;  // 40 bits on the wire; 0: there was none
};

Nanos pack(const OriginalWrite& original);
OriginalWrite unpack_original(Nanos field);

// A message has at most 1 GiB.
inline constexpr uint64_t kMaxMessageBytes = uint64_t{1} << 30;

// Byte positions in a data header, for predictions and patches of rows of headers.
inline constexpr size_t kFlagsAt = 1;
inline constexpr size_t kPathAt = 2;
inline constexpr size_t kConnectionAt = 4;
inline constexpr size_t kNumberAt = 12;
inline constexpr size_t kSentAt = 20;
inline constexpr size_t kChannelAt = 30;
inline constexpr size_t kOffsetAt = 36;

// Writes kConnectionHeaderBytes or kDataHeaderBytes at `to`.
void write_connection_header(const ConnectionHeader& header, std::byte* to);
void write_data_header(const DataHeader& header, std::byte* to);

// Read from at least as many bytes; field values are not judged.
ConnectionHeader read_connection_header(const std::byte* from);
DataHeader read_data_header(const std::byte* from);

// Whether the data header at `next` continues the one at `first`: the same packet of the same
// message, its number larger by `index` and its offset by `index` x `payload_bytes`. Whether it
// asks for an acknowledgement may differ.
bool continues_burst(const std::byte* first, const std::byte* next, uint32_t index,
                     uint32_t payload_bytes);

struct HeaderSteps {
  uint32_t payload_bytes = 0;                 // by which offsets rise
  uint32_t header_stride = kDataHeaderBytes;  // from header to header
};

// Writes `count` data headers, numbers and offsets rising from those of `first`. Where that asks
// for an acknowledgement, the last one does.
void write_data_headers(const DataHeader& first, uint32_t count, const HeaderSteps& steps,
                        std::byte* to);

}  // namespace heddle::transport
