// ChunkReceiver: the responder's half of the queue pairs of a NIC that takes remote writes. It
// accepts the pieces of a path in their order and drops what is behind, so a write lands in order
// or not at all; a fence makes it refuse whatever does not carry the new epoch. It judges only; the
// bytes are the caller's.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "simulator/packet.h"
#include "transport/placed.h"

namespace heddle::simulator {

class ChunkReceiver {
 public:
  enum class Verdict : uint8_t {
    kWrite,  // to be written; then accept() follows
    kStale,
    kRepeated,  // of a reliable path, and had landed before
    kGap,       // what comes before it is missing
  };

  Verdict judge(const Packet& packet);
  // The piece has been written, and its event delivered where it is the last.
  void accept(const Packet& packet);
  // The piece could not be written: an unreliable path drops the rest of the chunk.
  void reject(const Packet& packet);

  // The acknowledgement that a reliable path gives: the first chunk that has not landed.
  uint32_t next_chunk(const Packet& packet) { return state_of(packet).chunk; }
  // True once for every gap: it is told to the sender at once.
  bool tell_gap(const Packet& packet);

  void fence(const transport::FenceRequest& request);

 private:
  static constexpr uint32_t kBroken = UINT32_MAX;

  struct State {
    uint32_t epoch = 0;
    uint32_t chunk = 0;  // under way, or the next
    uint32_t piece = 0;  // of it, the next; kBroken: the rest of it is dropped
    bool bound = false;  // to the sender whose first write made it
    NicId from_nic = 0;
    uint32_t from_connection = 0;
    bool gap_told = false;
  };
  using Key = std::pair<uint32_t, uint16_t>;  // our connection, the peer's path

  State& state_of(const Packet& packet) {
    return states_[{packet.write.to_connection, packet.path}];
  }
  Verdict judge_unreliable(State& state, const RemoteWrite& write);

  std::map<Key, State> states_;
  std::map<uint32_t, bool> over_;  // connections that are fenced for good
};

}  // namespace heddle::simulator
