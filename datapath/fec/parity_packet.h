// The two datagrams of forward error correction, as docs/explanation/protocol.md has them: an
// announcement says that its sender reads parity, and parity is one row of a group's code. The
// members of a group are packets of one connection, named by path and number in runs. Of each
// member the code covers its symbol: its length, and its bytes without path and wire id, which the
// parity datagram has. Every length and count is checked before it is used.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "datapath/fec/params.h"
#include "transport/packet_identity.h"

namespace heddle::datapath {

inline constexpr size_t kAnnouncementBytes = 8;
inline constexpr size_t kParityHeaderBytes = 16;
inline constexpr size_t kRunBytes = 4;

// Consecutive numbers on one path; numbers in their lower 16 bits.
struct MemberRun {
  uint8_t path = 0;
  uint8_t count = 0;
  uint16_t number = 0;
  bool operator==(const MemberRun&) const = default;
};

// The members of a group, in the order of their coefficients.
struct MemberList {
  uint64_t connection = 0;  // the receiver's wire id
  uint8_t members = 0;
  uint8_t run_count = 0;
  std::array<MemberRun, fec_params::kMostRuns> runs{};

  // The place of a packet with this path and number; nothing: it is no member.
  std::optional<uint32_t> find(const transport::PacketIdentity& packet) const;
  // The member at this place.
  transport::PacketIdentity at(uint32_t place) const;
  bool operator==(const MemberList&) const = default;
};

struct Parity {
  uint16_t group = 0;  // counts up at the sender
  uint8_t row = 0;
  MemberList list;
  std::span<const std::byte> body;  // as long as the longest member's symbol
};

// The receive port of the sender; nothing: no announcement.
std::optional<uint16_t> read_announcement(std::span<const std::byte> datagram);
std::array<std::byte, kAnnouncementBytes> write_announcement(uint16_t port);
// Nothing: malformed.
std::optional<Parity> read_parity(std::span<const std::byte> datagram);
// Writes all but the body; returns its length.
size_t write_parity_header(const Parity& parity, std::span<std::byte> to);

// --- symbols ---

inline constexpr size_t kLengthBytes = 2;
// Path and wire id.
inline constexpr size_t kOmittedBytes = 10;
constexpr size_t symbol_bytes(size_t datagram) { return datagram - kOmittedBytes + kLengthBytes; }
// Bytes by which parity may be longer than the longest member.
inline constexpr size_t kMostParityOverhead =
    kParityHeaderBytes + kRunBytes * fec_params::kMostRuns + kLengthBytes - kOmittedBytes;

// row += scale * the symbol of the datagram that consists of both parts. The first has the
// connection header.
void add_symbol(std::span<std::byte> row, uint8_t scale, std::span<const std::byte> first,
                std::span<const std::byte> second = {});
// Writes the datagram of this symbol to `to` and returns its length; 0: it cannot be the symbol of
// a packet named so.
size_t read_symbol(std::span<const std::byte> symbol, const transport::PacketIdentity& name,
                   std::span<std::byte> to);

}  // namespace heddle::datapath
