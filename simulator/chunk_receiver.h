// ChunkReceiver: the responder's half of the queue pairs of a NIC that accepts remote writes, of
// peers that a connection has admitted. It accepts the pieces of a path in order and drops stale
// ones, so a write lands in order or not at all. After a fence it rejects all pieces without the
// new epoch. It only decides; the caller writes the bytes.
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
    kWrite,  // write it, then call accept()
    kStale,
    kRepeated,  // on a reliable path: has already landed
    kGap,       // an earlier piece is missing
  };

  Verdict judge(const Packet& packet);
  // The piece has been written and, if it was the last, its event delivered.
  void accept(const Packet& packet);
  // The piece could not be written: an unreliable path drops the rest of the chunk.
  void reject(const Packet& packet);

  // The acknowledgement of a reliable path: the first chunk that has not landed.
  uint32_t next_chunk(const Packet& packet) { return state_of(packet).chunk; }
  // True once per gap, which is reported to the sender at once.
  bool report_gap(const Packet& packet);

  void admit(const transport::WriterAdmission& peer) { admitted_[peer.connection] = peer; }
  void fence(const transport::FenceRequest& request);

 private:
  static constexpr uint32_t kBroken = UINT32_MAX;

  struct State {
    uint32_t epoch = 0;
    uint32_t chunk = 0;  // current or next chunk
    uint32_t piece = 0;  // next piece of it; kBroken: the rest of it is dropped
    bool bound = false;  // to the sender of its first write
    NicId from_nic = 0;
    uint32_t from_connection = 0;
    bool gap_reported = false;
  };
  using Key = std::pair<uint32_t, uint16_t>;  // local connection, the peer's path

  State& state_of(const Packet& packet) {
    return states_[{packet.write.to_connection, packet.path}];
  }
  bool is_admitted(const Packet& packet) const;
  Verdict judge_unreliable(State& state, const RemoteWrite& write);

  std::map<Key, State> states_;
  std::map<uint32_t, transport::WriterAdmission> admitted_;  // until every path is fenced
};

}  // namespace heddle::simulator
