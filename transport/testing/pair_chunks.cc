// The placed-chunk shape between two endpoints: a NIC reads the payload when the write leaves,
// writes land in the peer's regions, in the order of their path or not at all, and fences reject
// those of earlier epochs. A reliable NIC reports the result of each write.
#include <algorithm>
#include <cstring>
#include <utility>
#include <variant>

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
  NicEvent sent;
  sent.kind = NicEventKind::kSent;
  sent.connection = chunk.write.from_connection;
  sent.path = chunk.path;
  sent.ok = ok;
  sent.number = chunk.write.number;
  sent.epoch = chunk.write.epoch;
  (*this)[side].handle_nic_event(now_, sent);
}

void Pair::send_chunk(int side, const TxBurst& burst) {
  ++datagrams;
  Chunk chunk{1 - side,
              burst.path,
              *burst.write,
              {burst.region, burst.offset, burst.last_payload_bytes},
              {}};
  const bool lost = options_.drop && options_.drop(side, burst, 0);
  if (lost || random_.chance_per_million(options_.loss_per_million)) {
    report_sent(side, chunk, false);
    return;
  }
  const RecallRequest path{burst.write->from_connection, burst.path};
  Nanos leaves = now_ + (options_.stall ? options_.stall(side, burst) : Nanos{});
  for (const auto& [at, other] : stalled_) {
    if (other.side != side && path.covers(other.write, other.path)) leaves = std::max(leaves, at);
  }
  if (leaves > now_) {
    stalled_.emplace(leaves, std::move(chunk));
  } else {
    leave(std::move(chunk));
  }
}

void Pair::leave(Chunk chunk) {
  const Payload& source = chunk.source;
  if (source.length > 0) {
    const std::byte* from = bytes_of(1 - chunk.side, source.region, source.offset, source.length);
    chunk.bytes.assign(from, from + source.length);
    ++writes_left[1 - chunk.side];
  }
  chunks_.emplace(now_ + options_.delay, std::move(chunk));
}

bool Pair::leave_chunks() {
  bool worked = false;
  for (; !stalled_.empty() && stalled_.begin()->first <= now_; worked = true) {
    leave(std::move(stalled_.extract(stalled_.begin()).mapped()));
  }
  return worked;
}

void Pair::recall(int side, const RecallRequest& request) {
  std::vector<Chunk> failed;
  for (auto at = stalled_.begin(); at != stalled_.end();) {
    const Chunk& chunk = at->second;
    const bool ends = chunk.side != side && request.covers(chunk.write, chunk.path);
    if (ends) failed.push_back(std::move(at->second));
    at = ends ? stalled_.erase(at) : std::next(at);
  }
  for (const Chunk& chunk : failed) report_sent(side, chunk, false);
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
    NicEvent arrived;
    arrived.connection = connection;
    arrived.path = chunk.path;
    arrived.immediate = chunk.write.immediate;
    arrived.bytes = static_cast<uint32_t>(chunk.bytes.size());
    arrived.from = address(1 - chunk.side);
    arrived.at = now_;
    arrived.kind = NicEventKind::kArrived;
    (*this)[chunk.side].handle_nic_event(now_, arrived);
    settle(chunk.side);
  }
  report_sent(1 - chunk.side, chunk, lands);
}

void Pair::serve_nic(int side) {
  NicRequest request;
  while ((*this)[side].poll_nic_request(request)) {
    if (const auto* recalled = std::get_if<RecallRequest>(&request)) {
      ++recalls[side];
      if (!options_.ignores_recalls) recall(side, *recalled);
    } else if (const auto* peer = std::get_if<WriterAdmission>(&request)) {
      admissions[side].push_back(*peer);
    } else {
      fence(side, std::get<FenceRequest>(request));
    }
  }
}

void Pair::fence(int side, const FenceRequest& request) {
  epochs_[{side, request.connection, request.path}] = request.epoch;
  NicEvent fenced;
  fenced.kind = NicEventKind::kFenced;
  fenced.connection = request.connection;
  fenced.path = request.path;
  fenced.epoch = request.epoch;
  (*this)[side].handle_nic_event(now_, fenced);
}

}  // namespace heddle::transport::testing
