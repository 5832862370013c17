// The placed-chunk shape between two endpoints: writes land in the peer's regions, in the order of
// their path or not at all, and fences reject those of earlier epochs. A reliable NIC reports the
// result of each write.
#include <cstring>

#include "transport/testing/pair.h"

namespace heddle::transport::testing {

void Pair::set_token(int side, RegionId region) {
  if (options_.endpoint.chunk_paths == 0) return;
  MemoryToken token;
  token.length = sizeof(region);
  std::memcpy(token.bytes.data(), &region, sizeof(region));
  (*this)[side].set_token(region, token);
}

void Pair::report_sent(int side, const Chunk& chunk, bool ok) {
  if (!options_.endpoint.reliable_chunks) return;
  PlacedEvent sent;
  sent.kind = PlacedEventKind::kSent;
  sent.connection = chunk.write.from_connection;
  sent.path = chunk.path;
  sent.ok = ok;
  sent.number = chunk.write.number;
  sent.epoch = chunk.write.epoch;
  (*this)[side].handle_placed(now_, sent);
}

void Pair::send_chunk(int side, const TxBurst& burst) {
  ++datagrams;
  Chunk chunk{1 - side, burst.path, *burst.write, {}};
  const bool lost = options_.drop && options_.drop(side, burst, 0);
  if (lost || random_.chance_per_million(options_.loss_per_million)) {
    report_sent(side, chunk, false);
    return;
  }
  if (burst.last_payload_bytes > 0) {
    const std::byte* from = bytes_of(side, burst.region, burst.offset, burst.last_payload_bytes);
    chunk.bytes.assign(from, from + burst.last_payload_bytes);
  }
  chunks_.emplace(now_ + options_.delay, std::move(chunk));
}

bool Pair::land_chunks(int side) {
  bool worked = false;
  for (auto at = chunks_.begin(); at != chunks_.end() && at->first <= now_;) {
    if (at->second.side != side) {
      ++at;
      continue;
    }
    const Chunk chunk = std::move(at->second);
    at = chunks_.erase(at);
    land(chunk);
    worked = true;
  }
  return worked;
}

// False: the token names nothing here, as a NIC finds that keeps to its registrations.
bool Pair::write_remotely(const Chunk& chunk) {
  RegionId region = 0;
  std::memcpy(&region, chunk.write.token.bytes.data(), sizeof(region));
  const uint64_t size =
      region < regions_[chunk.side].size() ? regions_[chunk.side][region].size() : 0;
  const uint64_t at = chunk.write.remote_offset;
  if (chunk.bytes.size() > size || at > size - chunk.bytes.size()) return false;
  std::memcpy(regions_[chunk.side][region].data() + at, chunk.bytes.data(), chunk.bytes.size());
  return true;
}

void Pair::land(const Chunk& chunk) {
  const uint32_t connection = chunk.write.to_connection;
  const auto epoch = epochs_.find({chunk.side, connection, chunk.path});
  const bool late = epoch != epochs_.end() && epoch->second != chunk.write.epoch;
  const bool over = epochs_.count({chunk.side, connection, FenceRequest::kEveryPath}) != 0;
  const bool lands = !late && !over && (chunk.bytes.empty() || write_remotely(chunk));
  if (lands) {
    PlacedEvent arrived;
    arrived.connection = connection;
    arrived.path = chunk.path;
    arrived.immediate = chunk.write.immediate;
    arrived.bytes = static_cast<uint32_t>(chunk.bytes.size());
    arrived.from = address(1 - chunk.side);
    arrived.at = now_;
    arrived.kind = PlacedEventKind::kArrived;
    (*this)[chunk.side].handle_placed(now_, arrived);
    settle(chunk.side);
  }
  report_sent(1 - chunk.side, chunk, lands);
}

void Pair::make_fences(int side) {
  FenceRequest request;
  while ((*this)[side].poll_fence(request)) {
    epochs_[{side, request.connection, request.path}] = request.epoch;
    PlacedEvent fenced;
    fenced.kind = PlacedEventKind::kFenced;
    fenced.connection = request.connection;
    fenced.path = request.path;
    fenced.epoch = request.epoch;
    (*this)[side].handle_placed(now_, fenced);
  }
}

}  // namespace heddle::transport::testing
