// ByzantineWords: packets of a peer that keeps the wire format and violates the protocol: field
// values at the edges of their ranges, numbers near the powers of two that code compares with,
// revoked grants and credits. Valid packets in between bring the other side into states where
// invalid ones matter. The caller supplies the random choices.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "base/nanos.h"
#include "transport/endpoint.h"
#include "transport/wire/control.h"
#include "transport/wire/handshake.h"
#include "transport/wire/packet.h"

namespace heddle::transport::testing {

class Dice {
 public:
  virtual ~Dice() = default;
  // In [0, bound); `bound` is at least 1.
  virtual uint64_t below(uint64_t bound) = 0;
};

// Kinds of words. A peer speaks some of them: one that spoke all would be found out before any
// could do harm.
enum class Habit : uint8_t {
  kHonest,       // acknowledges, grants and sends as it should
  kGrants,       // of anything
  kTakesBack,    // cancels receives and grants of less
  kCancels,      // withdraws messages, and says that some were delivered
  kData,         // segments with fields from their edges
  kEarly,        // small messages ahead of every receive
  kDrips,        // one byte at a time, with holes
  kRepeats,      // of chunks that were never written
  kMessages,     // whole ones in a control packet
  kAcks,         // of what was never sent
  kWindows,      // how much may be in flight, and when
  kCredits,      // granted, revoked, demanded
  kPlaced,       // grants for remote writes, out of range
  kFences,       // of paths that there are not
  kNics,         // probes and answers
  kTrims,        // of what was never sent
  kCloses,       // in the middle
  kPings,        // many in a packet
  kNumbers,      // packet numbers far ahead
  kHeaders,      // flags, paths and ports
  kGarbageTail,  // a frame cut short, or none
  kCount,
};

const char* name_of(Habit habit);

// What a hostile peer knows of a connection.
struct Acquaintance {
  static constexpr size_t kFew = 4;

  WireId id = 0;            // what packets to the victim call it
  uint16_t reply_port = 0;  // where the peer receives
  HandshakeParameters victim;
  uint32_t habits = UINT32_MAX;  // a bit each

  // By path: the last number sent, and what was heard.
  std::array<uint64_t, kFew> sent{};
  std::array<NumberRange, kFew> heard{};
  // By channel: the next sequence to send and to grant.
  std::array<uint32_t, kFew> to_send{kFirstSequence.value(), kFirstSequence.value(),
                                     kFirstSequence.value(), kFirstSequence.value()};
  std::array<uint32_t, kFew> to_grant = to_send;

  bool has(Habit habit) const { return (habits >> static_cast<uint32_t>(habit) & 1) != 0; }
  // A packet of the victim's came.
  void note(const ConnectionHeader& header);
};

class ByzantineWords {
 public:
  // A packet has no more.
  static constexpr size_t kMostBytes = 1100;

  explicit ByzantineWords(Dice& dice) : dice_(dice) {}

  // Some habits, honesty often among them.
  uint32_t draw_habits();
  // Its handshake parameters; it posts up to `posted` receives at a time.
  HandshakeParameters draw_parameters(uint32_t posted);
  // The next packet; returns its bytes. `space` has kMostBytes.
  size_t write_packet(Nanos now, Acquaintance& to, std::span<std::byte> space);
  // What the latest packet was.
  Habit latest() const { return latest_; }

 private:
  uint64_t below(uint64_t bound) { return dice_.below(bound); }
  bool one_in(uint64_t count) { return below(count) == 0; }
  template <typename T>
  T one_of(std::initializer_list<T> choices) {
    return *(choices.begin() + below(choices.size()));
  }

  uint64_t any64(uint64_t near);
  uint32_t any32(uint32_t near);
  uint16_t any_path(const Acquaintance& to);
  uint16_t any_channel(const Acquaintance& to);
  uint32_t any_sequence(const Acquaintance& to, uint16_t channel);
  Nanos any_time(Nanos now);

  ConnectionHeader header(Nanos now, Acquaintance& to, PacketType type);
  size_t write_data(Nanos now, Acquaintance& to, std::span<std::byte> space);
  size_t write_control(Nanos now, Acquaintance& to, std::span<std::byte> space);
  void write_frame(Nanos now, Acquaintance& to, Habit habit, Writer& writer);
  void write_honest(Nanos now, Acquaintance& to, Writer& writer);
  void write_acks(Nanos now, const Acquaintance& to, Writer& writer);
  void write_credits(Writer& writer);
  void write_placed(const Acquaintance& to, Writer& writer);
  void write_cancels(const Acquaintance& to, Habit habit, Writer& writer);

  Dice& dice_;
  Habit latest_ = Habit::kHonest;
};

}  // namespace heddle::transport::testing
