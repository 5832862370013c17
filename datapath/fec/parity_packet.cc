// See parity_packet.h.
#include "datapath/fec/parity_packet.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"
#include "datapath/fec.h"
#include "datapath/fec/field.h"

namespace heddle::datapath {

using transport::kIdentityNumberAt;
using transport::kIdentityPathAt;
using transport::PacketIdentity;

static_assert(std::endian::native == std::endian::little, "fields are copied as they stand");

namespace {

constexpr uint8_t kFormat = 1;
constexpr uint8_t kAnnouncement = 0;
constexpr uint8_t kParityRow = 1;
constexpr size_t kKindAt = 2;
constexpr size_t kPortAt = 4;
constexpr size_t kRowAt = 3;
constexpr size_t kGroupAt = 4;
constexpr size_t kMembersAt = 6;
constexpr size_t kRunCountAt = 7;
constexpr size_t kConnectionAt = 8;
static_assert(kIdentityNumberAt == kIdentityPathAt + kOmittedBytes);

template <typename Integer>
Integer get(std::span<const std::byte> from, size_t at) {
  Integer value{};
  std::memcpy(&value, from.data() + at, sizeof value);
  return value;
}

template <typename Integer>
void put(std::span<std::byte> to, size_t at, Integer value) {
  std::memcpy(to.data() + at, &value, sizeof value);
}

void put_kind(std::span<std::byte> to, uint8_t kind) {
  to[0] = transport::kParityFirstByte;
  to[1] = std::byte{kFormat};
  to[kKindAt] = std::byte{kind};
}

bool is_kind(std::span<const std::byte> datagram, uint8_t kind) {
  return datagram[0] == transport::kParityFirstByte && datagram[1] == std::byte{kFormat} &&
         datagram[kKindAt] == std::byte{kind};
}

}  // namespace

std::optional<uint32_t> MemberList::find(const PacketIdentity& packet) const {
  if (packet.connection != connection) return {};
  const auto number = static_cast<uint16_t>(packet.number);
  uint32_t before = 0;
  for (size_t i = 0; i < run_count; ++i) {
    const auto behind = static_cast<uint16_t>(number - runs[i].number);
    if (packet.path == runs[i].path && behind < runs[i].count) return before + behind;
    before += runs[i].count;
  }
  return {};
}

PacketIdentity MemberList::at(uint32_t place) const {
  CHECK(place < members);
  size_t i = 0;
  for (; place >= runs[i].count; ++i) place -= runs[i].count;
  return {connection, static_cast<uint16_t>(runs[i].number + place), runs[i].path};
}

std::optional<uint16_t> read_announcement(std::span<const std::byte> datagram) {
  if (datagram.size() != kAnnouncementBytes || !is_kind(datagram, kAnnouncement)) return {};
  return get<uint16_t>(datagram, kPortAt);
}

std::array<std::byte, kAnnouncementBytes> write_announcement(uint16_t port) {
  std::array<std::byte, kAnnouncementBytes> made{};
  put_kind(made, kAnnouncement);
  put(std::span(made), kPortAt, port);
  return made;
}

std::optional<Parity> read_parity(std::span<const std::byte> datagram) {
  if (datagram.size() < kParityHeaderBytes || !is_kind(datagram, kParityRow)) return {};
  Parity parity;
  parity.row = get<uint8_t>(datagram, kRowAt);
  parity.group = get<uint16_t>(datagram, kGroupAt);
  MemberList& list = parity.list;
  list.members = get<uint8_t>(datagram, kMembersAt);
  list.run_count = get<uint8_t>(datagram, kRunCountAt);
  list.connection = get<uint64_t>(datagram, kConnectionAt);
  if (parity.row >= kMostFecParity || list.members > kMostFecData || list.run_count == 0 ||
      list.run_count > list.runs.size()) {
    return {};
  }
  const size_t body_at = kParityHeaderBytes + kRunBytes * list.run_count;
  if (datagram.size() < body_at + symbol_bytes(transport::kLeastPacketBytes)) return {};
  uint32_t members = 0;
  for (size_t i = 0; i < list.run_count; ++i) {
    const size_t at = kParityHeaderBytes + kRunBytes * i;
    MemberRun& run = list.runs[i];
    run = {get<uint8_t>(datagram, at), get<uint8_t>(datagram, at + 1),
           get<uint16_t>(datagram, at + 2)};
    if (run.count == 0) return {};
    members += run.count;
  }
  if (members != list.members) return {};
  parity.body = datagram.subspan(body_at);
  return parity;
}

size_t write_parity_header(const Parity& parity, std::span<std::byte> to) {
  const MemberList& list = parity.list;
  const size_t bytes = kParityHeaderBytes + kRunBytes * list.run_count;
  CHECK(to.size() >= bytes);
  put_kind(to, kParityRow);
  put(to, kRowAt, parity.row);
  put(to, kGroupAt, parity.group);
  put(to, kMembersAt, list.members);
  put(to, kRunCountAt, list.run_count);
  put(to, kConnectionAt, list.connection);
  for (size_t i = 0; i < list.run_count; ++i) {
    const size_t at = kParityHeaderBytes + kRunBytes * i;
    put(to, at, list.runs[i].path);
    put(to, at + 1, list.runs[i].count);
    put(to, at + 2, list.runs[i].number);
  }
  return bytes;
}

void add_symbol(std::span<std::byte> row, uint8_t scale, std::span<const std::byte> first,
                std::span<const std::byte> second) {
  CHECK(first.size() >= transport::kLeastPacketBytes);
  std::array<std::byte, kLengthBytes> length;
  put(std::span(length), 0, static_cast<uint16_t>(first.size() + second.size()));
  for (const std::span<const std::byte> piece :
       {std::span<const std::byte>(length), first.first(kIdentityPathAt),
        first.subspan(kIdentityNumberAt), second}) {
    add_scaled(row, piece, scale);
    row = row.subspan(piece.size());
  }
}

size_t read_symbol(std::span<const std::byte> symbol, const PacketIdentity& name,
                   std::span<std::byte> to) {
  const size_t length = get<uint16_t>(symbol, 0);
  if (length < transport::kLeastPacketBytes || length > to.size() ||
      symbol_bytes(length) > symbol.size()) {
    return 0;
  }
  const auto padding = symbol.subspan(symbol_bytes(length));
  if (std::ranges::any_of(padding, [](std::byte each) { return each != std::byte{0}; })) return 0;
  symbol = symbol.subspan(kLengthBytes, length - kOmittedBytes);
  std::memcpy(to.data(), symbol.data(), kIdentityPathAt);
  put(to, kIdentityPathAt, name.path);
  put(to, kIdentityPathAt + sizeof name.path, name.connection);
  symbol = symbol.subspan(kIdentityPathAt);
  std::memcpy(to.data() + kIdentityNumberAt, symbol.data(), symbol.size());
  const auto is = transport::identify_packet(to.first(length));
  const bool named = is && static_cast<uint16_t>(is->number) == name.number;
  return named ? length : 0;
}

}  // namespace heddle::datapath
