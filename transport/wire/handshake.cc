// Handshake packets to and from bytes.
// The fields that a side of any version must understand (type, id, nonce) stand first and never
// move, so that a version that we do not speak can be answered.
#include "transport/wire/handshake.h"

#include <algorithm>
#include <cstring>

#include "transport/wire/cursor.h"

namespace heddle::transport {
namespace {

enum class Parameter : uint16_t {
  kEnd = 0,
  kMaxPaths = 1,
  kMaxDatagramBytes = 2,
  kWindowBytes = 3,
  kMaxChannels = 4,
  kMaxPosted = 5,
  kEagerBlockBytes = 6,
  kEagerBlocks = 7,
  kFeatures = 8,
  kCongestion = 9,
  kChunkPaths = 10,
  kChunkBytes = 11,
  kKeyId = 16,
  kKeyNonce = 17,
  kMac = 18,
  kProtection = 19,
  kFirstCredit = 20,
  kNics = 21,
};

template <typename Integer>
void put_parameter(Writer& writer, Parameter type, Integer value) {
  writer.put(static_cast<uint16_t>(type)).put(static_cast<uint16_t>(sizeof(value))).put(value);
}

void put_bytes(Writer& writer, Parameter type, std::span<const std::byte> bytes) {
  writer.put(static_cast<uint16_t>(type)).put(static_cast<uint16_t>(bytes.size()));
  writer.put_bytes(bytes);
}

// Returns where the proof belongs; null without key parameters.
const std::byte* write_parameters(const HandshakeParameters& p, Writer& writer) {
  put_parameter(writer, Parameter::kMaxPaths, p.max_paths);
  put_parameter(writer, Parameter::kMaxDatagramBytes, p.max_datagram_bytes);
  put_parameter(writer, Parameter::kWindowBytes, p.window_bytes);
  put_parameter(writer, Parameter::kMaxChannels, p.max_channels);
  put_parameter(writer, Parameter::kMaxPosted, p.max_posted);
  put_parameter(writer, Parameter::kEagerBlockBytes, p.eager_block_bytes);
  put_parameter(writer, Parameter::kEagerBlocks, p.eager_blocks);
  put_parameter(writer, Parameter::kFeatures, p.features);
  put_parameter(writer, Parameter::kChunkPaths, p.chunk_paths);
  put_parameter(writer, Parameter::kChunkBytes, p.chunk_bytes);
  if ((p.features & kFeatureCredits) != 0) {
    put_parameter(writer, Parameter::kFirstCredit, p.first_credit);
  }
  const auto length = static_cast<uint16_t>(std::strlen(p.congestion.data()));
  writer.put(static_cast<uint16_t>(Parameter::kCongestion)).put(length);
  writer.put_bytes(std::as_bytes(std::span(p.congestion.data(), length)));
  if (!p.nics.empty()) put_bytes(writer, Parameter::kNics, p.nics);
  const std::byte* mac = nullptr;
  if (p.key.present) {
    put_bytes(writer, Parameter::kKeyId, p.key.id);
    put_bytes(writer, Parameter::kKeyNonce, p.key.nonce);
    put_parameter(writer, Parameter::kProtection, p.key.protection);
    put_bytes(writer, Parameter::kMac, std::array<std::byte, kMacBytes>{});
    mac = writer.position() - kMacBytes;
  }
  writer.put(static_cast<uint16_t>(Parameter::kEnd));
  return mac;
}

template <typename Integer>
bool take_parameter(Reader& value, size_t length, Integer& field) {
  if (length != sizeof(Integer)) return false;
  field = value.get<Integer>();
  return true;
}

bool take_name(Reader& value, size_t length, std::array<char, kMaxNameBytes + 1>& name) {
  if (length > kMaxNameBytes) return false;
  const std::span<const std::byte> bytes = value.take(length);
  name.fill('\0');
  if (!bytes.empty()) std::memcpy(name.data(), bytes.data(), bytes.size());
  return true;
}

template <size_t kBytes>
bool take_bytes(std::span<const std::byte> bytes, std::array<std::byte, kBytes>& field) {
  if (bytes.size() != kBytes) return false;
  std::copy(bytes.begin(), bytes.end(), field.begin());
  return true;
}

bool read_parameter(Parameter type, std::span<const std::byte> bytes, HandshakeParameters& p) {
  Reader value(bytes);
  switch (type) {
    case Parameter::kMaxPaths:
      return take_parameter(value, bytes.size(), p.max_paths);
    case Parameter::kMaxDatagramBytes:
      return take_parameter(value, bytes.size(), p.max_datagram_bytes);
    case Parameter::kWindowBytes:
      return take_parameter(value, bytes.size(), p.window_bytes);
    case Parameter::kMaxChannels:
      return take_parameter(value, bytes.size(), p.max_channels);
    case Parameter::kMaxPosted:
      return take_parameter(value, bytes.size(), p.max_posted);
    case Parameter::kEagerBlockBytes:
      return take_parameter(value, bytes.size(), p.eager_block_bytes);
    case Parameter::kEagerBlocks:
      return take_parameter(value, bytes.size(), p.eager_blocks);
    case Parameter::kFeatures:
      return take_parameter(value, bytes.size(), p.features);
    case Parameter::kChunkPaths:
      return take_parameter(value, bytes.size(), p.chunk_paths);
    case Parameter::kChunkBytes:
      return take_parameter(value, bytes.size(), p.chunk_bytes);
    case Parameter::kFirstCredit:
      return take_parameter(value, bytes.size(), p.first_credit);
    case Parameter::kCongestion:
      return take_name(value, bytes.size(), p.congestion);
    case Parameter::kNics:
      p.nics = bytes;
      return !bytes.empty() && bytes.size() % kHostBytes == 0 &&
             bytes.size() <= kMaxNics * kHostBytes;
    case Parameter::kKeyId:
      return take_bytes(bytes, p.key.id);
    case Parameter::kKeyNonce:
      return take_bytes(bytes, p.key.nonce);
    case Parameter::kProtection:
      return take_parameter(value, bytes.size(), p.key.protection);
    case Parameter::kMac:
      p.key.present = true;
      return bytes.size() == kMacBytes;
    case Parameter::kEnd:
      break;
  }
  return true;  // of a later version: skipped
}

// `packet` is what the reader began with.
bool read_parameters(std::span<const std::byte> packet, Reader& reader, HandshakeParameters& p) {
  while (true) {
    const auto type = static_cast<Parameter>(reader.get<uint16_t>());
    if (!reader.ok()) return false;
    if (type == Parameter::kEnd) break;
    const uint16_t length = reader.get<uint16_t>();
    const std::span<const std::byte> bytes = reader.take(length);
    if (!reader.ok() || !read_parameter(type, bytes, p)) return false;
    if (type == Parameter::kMac) p.key.mac_at = static_cast<size_t>(bytes.data() - packet.data());
  }
  return p.max_paths > 0 && p.max_channels > 0 && p.max_posted > 0 && p.max_posted <= kMostPosted;
}

Writer begin(PacketType type, uint32_t connection, std::span<std::byte> space) {
  Writer writer(space);
  writer.put(first_byte(type)).put(uint8_t{0}).put(uint16_t{0}).put(connection);
  return writer;
}

size_t bytes_written(const Writer& writer, std::span<std::byte> space) {
  return space.size() - writer.left();
}

// Skips the type, flags and path; gives the id.
uint32_t read_start(Reader& reader) {
  reader.get<uint32_t>();
  return reader.get<uint32_t>();
}

void read_cookie(Reader& reader, std::array<std::byte, kCookieBytes>& cookie) {
  const std::span<const std::byte> bytes = reader.take(kCookieBytes);
  std::copy(bytes.begin(), bytes.end(), cookie.begin());
}

}  // namespace

const char* text_of(RefuseReason reason) {
  switch (reason) {
    case RefuseReason::kNotAccepting:
      break;
    case RefuseReason::kFull:
      return "the peer has as many connections as it may (without cluster keys: its "
             "stranger_bytes)";
    case RefuseReason::kCongestionUnknown:
      return "the peer does not know that congestion control";
    case RefuseReason::kDatagramsTooSmall:
      return "the largest datagram of this side or of the peer is below 512 bytes";
    case RefuseReason::kNoKeys:
      return "the peer has no cluster keys";
    case RefuseReason::kDemandsHeaders:
      return "protection is 'full' here, and the peer's is 'headers'";
    case RefuseReason::kDemandsFull:
      return "protection is 'headers' here, and the peer demands 'full'";
    case RefuseReason::kEnded:
      return "the peer accepted the connection and closed it before it was open here";
  }
  return "the peer does not accept connections";
}

size_t write_init(const InitPacket& packet, std::span<std::byte> space) {
  size_t mac_at = 0;
  return write_init(packet, space, mac_at);
}

size_t write_init(const InitPacket& packet, std::span<std::byte> space, size_t& mac_at) {
  CHECK(space.size() >= kInitBytes);
  space = space.first(kInitBytes);
  Writer writer = begin(PacketType::kInit, packet.connection, space);
  writer.put(packet.nonce).put(packet.sent_at.count).put(packet.reply_port);
  writer.put(packet.wire_id);
  writer.put(static_cast<uint8_t>(packet.has_cookie)).put_bytes(packet.cookie);
  const std::byte* mac = write_parameters(packet.parameters, writer);
  if (mac != nullptr) mac_at = static_cast<size_t>(mac - space.data());
  writer.put_zeros(writer.left());
  return kInitBytes;
}

bool read_init(std::span<const std::byte> bytes, InitPacket& packet) {
  if (bytes.size() < kInitBytes) return false;
  Reader reader(bytes);
  packet.connection = read_start(reader);
  packet.nonce = reader.get<uint64_t>();
  packet.sent_at = Nanos{reader.get<int64_t>()};
  packet.reply_port = reader.get<uint16_t>();
  packet.wire_id = reader.get<WireId>();
  packet.has_cookie = reader.get<uint8_t>() != 0;
  read_cookie(reader, packet.cookie);
  return read_parameters(bytes, reader, packet.parameters) && packet.connection != 0 &&
         packet.wire_id != 0 && packet.reply_port != 0;
}

size_t write_retry(const RetryPacket& packet, std::span<std::byte> space) {
  Writer writer = begin(PacketType::kRetry, packet.connection, space);
  writer.put(packet.nonce).put_bytes(packet.cookie);
  if (packet.proven) writer.put_zeros(kMacBytes);
  return bytes_written(writer, space);
}

bool read_retry(std::span<const std::byte> bytes, RetryPacket& packet) {
  Reader reader(bytes);
  packet.connection = read_start(reader);
  packet.nonce = reader.get<uint64_t>();
  read_cookie(reader, packet.cookie);
  packet.proven = reader.left() == kMacBytes;
  return reader.ok();
}

size_t write_accept(const AcceptPacket& packet, std::span<std::byte> space) {
  size_t mac_at = 0;
  return write_accept(packet, space, mac_at);
}

size_t write_accept(const AcceptPacket& packet, std::span<std::byte> space, size_t& mac_at) {
  Writer writer = begin(PacketType::kAccept, packet.connection, space);
  writer.put(packet.nonce).put(packet.accepted_as).put(packet.echoed_sent_at.count);
  writer.put(packet.reply_port).put(packet.wire_id);
  const std::byte* mac = write_parameters(packet.parameters, writer);
  if (mac != nullptr) mac_at = static_cast<size_t>(mac - space.data());
  return bytes_written(writer, space);
}

bool read_accept(std::span<const std::byte> bytes, AcceptPacket& packet) {
  Reader reader(bytes);
  packet.connection = read_start(reader);
  packet.nonce = reader.get<uint64_t>();
  packet.accepted_as = reader.get<uint32_t>();
  packet.echoed_sent_at = Nanos{reader.get<int64_t>()};
  packet.reply_port = reader.get<uint16_t>();
  packet.wire_id = reader.get<WireId>();
  return read_parameters(bytes, reader, packet.parameters) && packet.accepted_as != 0 &&
         packet.wire_id != 0 && packet.reply_port != 0;
}

size_t write_refuse(const RefusePacket& packet, std::span<std::byte> space) {
  Writer writer = begin(PacketType::kRefuse, packet.connection, space);
  writer.put(packet.nonce).put(static_cast<uint8_t>(packet.reason));
  if (packet.proven) writer.put_zeros(kMacBytes);
  return bytes_written(writer, space);
}

bool read_refuse(std::span<const std::byte> bytes, RefusePacket& packet) {
  Reader reader(bytes);
  packet.connection = read_start(reader);
  packet.nonce = reader.get<uint64_t>();
  const uint8_t reason = reader.get<uint8_t>();
  packet.reason = static_cast<RefuseReason>(reason);
  packet.proven = reader.left() == kMacBytes;
  return reader.ok() && reason <= static_cast<uint8_t>(RefuseReason::kEnded);
}

size_t write_version(const VersionPacket& packet, std::span<std::byte> space) {
  Writer writer = begin(PacketType::kVersion, packet.connection, space);
  writer.put(packet.nonce).put(packet.lowest).put(packet.highest);
  return bytes_written(writer, space);
}

bool read_version(std::span<const std::byte> bytes, VersionPacket& packet) {
  Reader reader(bytes);
  packet.connection = read_start(reader);
  packet.nonce = reader.get<uint64_t>();
  packet.lowest = reader.get<uint8_t>();
  packet.highest = reader.get<uint8_t>();
  return reader.ok();
}

size_t write_reset(const ResetPacket& packet, std::span<std::byte> space) {
  Writer writer(space);
  writer.put(first_byte(PacketType::kReset)).put(uint8_t{0}).put(packet.path);
  writer.put(packet.connection).put(packet.number);
  return bytes_written(writer, space);
}

bool read_reset(std::span<const std::byte> bytes, ResetPacket& packet) {
  Reader reader(bytes);
  reader.get<uint16_t>();  // type and flags
  packet.path = reader.get<uint16_t>();
  packet.connection = reader.get<WireId>();
  packet.number = reader.get<uint64_t>();
  return reader.ok();
}

}  // namespace heddle::transport
