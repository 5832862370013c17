// Numbers remote writes; implements the go-back-N of a reliable NIC.
#include "simulator/chunk_sender.h"

#include <algorithm>
#include <iterator>

namespace heddle::simulator {

ChunkSender::ChunkSender(Network& network, const ChunkSenderOptions& options, ChunkFates& fates)
    : network_(network), options_(options), fates_(fates), agent_(network.add_agent(*this)) {}

ChunkSender::~ChunkSender() {
  for (auto& [key, pair] : pairs_) {
    for (Chunk& chunk : pair.outstanding) drop_packets(chunk);
  }
  network_.remove_agent(agent_);
}

void ChunkSender::send(const ChunkSource& source, std::span<const PacketId> pieces) {
  PacketStore& packets = network_.packets();
  const RemoteWrite& first = packets[pieces.front()].write;
  const Key key(first.from_connection, source.path);
  QueuePair& pair = pairs_[key];
  if (first.epoch != pair.epoch) {
    fail(key, pair);
    const uint32_t epoch = first.epoch;
    pair = {};
    pair.epoch = epoch;
  }
  if (pair.failed) {
    for (const PacketId id : pieces) packets.give_back(id);
    fates_.handle_sent({key.first, source.path, pair.epoch, source.number, false});
    return;
  }
  pair.outstanding.push_back({pair.next_chunk++, source, {}, {pieces.begin(), pieces.end()}});
  Chunk& chunk = pair.outstanding.back();
  for (const PacketId id : pieces) {
    packets[id].write.chunk = chunk.chunk;
    packets[id].write.reliable = options_.reliable;
    if (options_.reliable) chunk.copies.push_back(packets.clone(id));
  }
  if (options_.stall_every > 0 && pair.next_chunk % options_.stall_every == 0 && !held_back(pair)) {
    pair.held_until = network_.now() + options_.stall_for;
    network_.schedule(agent_, pair.held_until);
  }
  if (!held_back(pair)) release(pair);
  if (options_.reliable && pair.due == Nanos::never()) arm(pair);
}

void ChunkSender::release(QueuePair& pair) {
  pair.held_until = {};
  auto chunk = pair.outstanding.end();
  while (chunk != pair.outstanding.begin() && !std::prev(chunk)->held.empty()) --chunk;
  for (; chunk != pair.outstanding.end(); ++chunk) {
    for (const PacketId id : std::exchange(chunk->held, {})) network_.send(id);
  }
}

const ChunkSource* ChunkSender::source_of(const Packet& piece) {
  const auto found = pairs_.find({piece.write.from_connection, piece.path});
  if (found == pairs_.end() || found->second.epoch != piece.write.epoch) return nullptr;
  std::deque<Chunk>& chunks = found->second.outstanding;
  const auto before = [](const Chunk& chunk, uint32_t number) { return chunk.chunk < number; };
  auto chunk = std::lower_bound(chunks.begin(), chunks.end(), piece.write.chunk, before);
  if (chunk == chunks.end() || chunk->chunk != piece.write.chunk) return nullptr;
  if (!options_.reliable) {  // those before it have left
    while (chunks.front().chunk < piece.write.chunk) {
      drop_packets(chunks.front());
      chunks.pop_front();
    }
    chunk = chunks.begin();
  }
  return &chunk->source;
}

void ChunkSender::recall(const transport::RecallRequest& request) {
  const bool every = request.path == transport::RecallRequest::kEveryPath;
  for (auto entry = pairs_.lower_bound({request.connection, every ? uint16_t{0} : request.path});
       entry != pairs_.end() && entry->first.first == request.connection &&
       (every || entry->first.second == request.path);
       ++entry) {
    recall(entry->first, entry->second);
  }
}

// Its packets that wait for the link end as they would leave: their chunk is not known any more.
void ChunkSender::recall(const Key& key, QueuePair& pair) {
  const auto reads = [](const Chunk& chunk) { return chunk.source.payload.length > 0; };
  if (std::none_of(pair.outstanding.begin(), pair.outstanding.end(), reads)) return;
  if (options_.reliable) {
    fail(key, pair);
    pair.failed = true;
    return;
  }
  for (Chunk& chunk : pair.outstanding) {
    if (reads(chunk)) drop_packets(chunk);
  }
  std::erase_if(pair.outstanding, reads);
}

void ChunkSender::handle_ack(const Packet& ack) {
  const Key key(ack.write.to_connection, ack.path);
  const auto found = pairs_.find(key);
  if (found == pairs_.end() || found->second.epoch != ack.write.epoch) return;
  QueuePair& pair = found->second;
  bool progress = false;
  while (!pair.outstanding.empty() && pair.outstanding.front().chunk < ack.write.chunk) {
    drop_packets(pair.outstanding.front());
    fates_.handle_sent(
        {key.first, key.second, pair.epoch, pair.outstanding.front().source.number, true});
    pair.outstanding.pop_front();
    progress = true;
  }
  if (progress) {
    pair.tries = 0;
    arm(pair);
  }
  if (ack.write.gap) send_again(pair);
}

void ChunkSender::run(Nanos now) {
  Nanos next = Nanos::never();
  for (auto& [key, pair] : pairs_) {
    if (pair.held_until > now) next = std::min(next, pair.held_until);
    if (pair.held_until != Nanos{} && pair.held_until <= now) release(pair);
    if (pair.due <= now) {
      if (++pair.tries > options_.tries) {
        fail(key, pair);
        pair.failed = true;
      } else {
        send_again(pair);
        arm(pair);
      }
    }
    next = std::min(next, pair.due);
  }
  if (next != Nanos::never()) network_.schedule(agent_, next);
}

void ChunkSender::send_again(QueuePair& pair) {
  if (held_back(pair)) return;
  for (const Chunk& chunk : pair.outstanding) {
    for (const PacketId id : chunk.copies) network_.send(network_.packets().clone(id));
  }
}

void ChunkSender::fail(const Key& key, QueuePair& pair) {
  for (Chunk& chunk : pair.outstanding) {
    drop_packets(chunk);
    if (!options_.reliable) continue;
    fates_.handle_sent({key.first, key.second, pair.epoch, chunk.source.number, false});
  }
  pair.outstanding.clear();
  pair.due = Nanos::never();
}

void ChunkSender::drop_packets(Chunk& chunk) {
  for (const PacketId id : chunk.copies) network_.packets().give_back(id);
  for (const PacketId id : chunk.held) network_.packets().give_back(id);
  chunk.copies.clear();
  chunk.held.clear();
}

void ChunkSender::arm(QueuePair& pair) {
  const Nanos from = std::max(network_.now(), pair.held_until);
  pair.due = pair.outstanding.empty() ? Nanos::never() : from + options_.timeout;
  if (pair.due != Nanos::never()) network_.schedule(agent_, pair.due);
}

}  // namespace heddle::simulator
