// ProbePacket: the head of a probe's payload. It fits into what every socket keeps of a packet that
// ICMP quotes. probe_sender.h and probe_receiver.h exchange it.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/nanos.h"
#include "base/units.h"
#include "measure/probe_params.h"
#include "probing/tasks.h"

namespace heddle::measure {

struct ProbePacket {
  static constexpr uint32_t kMagic = 0x52504448;  // "HDPR"
  static constexpr size_t kBytes = 28;

  uint32_t magic = kMagic;
  uint8_t kind = 0;  // a probing::TaskKind
  uint8_t hop = 0;   // its hop limit where that may not suffice, else 0
  uint16_t number = 0;
  uint64_t run = 0;
  int64_t sent_at = 0;  // wall clock, ns
  uint16_t from = 0;    // index of the NIC
  uint16_t to = 0;

  // Both ends are of one byte order or do not understand each other.
  std::array<std::byte, kBytes> bytes() const {
    std::array<std::byte, kBytes> out{};
    std::memcpy(out.data(), this, kBytes);
    return out;
  }
  // False: it is no probe of this run.
  static bool read(std::span<const std::byte> in, uint64_t run, ProbePacket& packet) {
    if (in.size() < kBytes) return false;
    std::array<std::byte, sizeof(ProbePacket)> whole{};
    std::memcpy(whole.data(), in.data(), kBytes);
    packet = std::bit_cast<ProbePacket>(whole);
    return packet.magic == kMagic && packet.run == run;
  }
};
static_assert(offsetof(ProbePacket, to) + sizeof(uint16_t) == ProbePacket::kBytes);

// An answer has the number of the probe, and says how many routers that crossed.
inline constexpr uint8_t kAnswerKind = 0x80;

// A packet of a train with the headers of Ethernet, IPv4 and UDP.
inline constexpr Bytes kTrainFrame = {params::kTrainPayload + 28 + 14};

}  // namespace heddle::measure
