// Order, gaps and epochs of remote writes, as in unreliable (UC) and reliable (RC) connected queue
// pairs.
#include "simulator/chunk_receiver.h"

#include <limits>

#include "simulator/network.h"

namespace heddle::simulator {

ChunkReceiver::Verdict ChunkReceiver::judge(const Packet& packet) {
  const RemoteWrite& write = packet.write;
  if (!is_admitted(packet)) return Verdict::kStale;
  State& state = state_of(packet);
  if (!state.bound) {
    state.bound = true;
    state.from_nic = packet.from_nic;
    state.from_connection = write.from_connection;
  }
  if (state.from_nic != packet.from_nic || state.from_connection != write.from_connection ||
      state.epoch != write.epoch) {
    return Verdict::kStale;
  }
  if (!write.reliable) return judge_unreliable(state, write);
  const std::pair got(write.chunk, write.piece);
  const std::pair wanted(state.chunk, state.piece);
  if (got == wanted) return Verdict::kWrite;
  return got < wanted ? Verdict::kRepeated : Verdict::kGap;
}

bool ChunkReceiver::is_admitted(const Packet& packet) const {
  const auto found = admitted_.find(packet.write.to_connection);
  return found != admitted_.end() && packet.path < found->second.paths &&
         address_of(packet.from_nic, 0).host == found->second.peer.host;
}

// An unreliable queue pair resumes at the first piece of any later chunk.
ChunkReceiver::Verdict ChunkReceiver::judge_unreliable(State& state, const RemoteWrite& write) {
  if (write.chunk < state.chunk) return Verdict::kStale;
  if (write.chunk > state.chunk) {
    state.chunk = write.chunk;
    state.piece = write.piece == 0 ? 0 : kBroken;
  }
  if (write.piece == state.piece) return Verdict::kWrite;
  if (write.piece < state.piece && state.piece != kBroken) return Verdict::kStale;
  state.piece = kBroken;
  return Verdict::kGap;
}

void ChunkReceiver::accept(const Packet& packet) {
  State& state = state_of(packet);
  state.gap_reported = false;
  if (packet.write.last) {
    state.chunk = packet.write.chunk + 1;
    state.piece = 0;
  } else {
    ++state.piece;
  }
}

void ChunkReceiver::reject(const Packet& packet) {
  if (!packet.write.reliable) state_of(packet).piece = kBroken;
}

bool ChunkReceiver::report_gap(const Packet& packet) {
  return !std::exchange(state_of(packet).gap_reported, true);
}

void ChunkReceiver::fence(const transport::FenceRequest& request) {
  if (request.path == transport::FenceRequest::kEveryPath) {
    admitted_.erase(request.connection);
    states_.erase(states_.lower_bound({request.connection, 0}),
                  states_.upper_bound({request.connection, std::numeric_limits<uint16_t>::max()}));
    return;
  }
  State& state = states_[{request.connection, request.path}];
  state = {};
  state.epoch = request.epoch;
}

}  // namespace heddle::simulator
