// Numbers remote writes; implements the go-back-N of a reliable NIC.
#include "simulator/chunk_sender.h"

#include <algorithm>

namespace heddle::simulator {

ChunkSender::ChunkSender(Network& network, const ChunkSenderOptions& options, ChunkFates& fates)
    : network_(network), options_(options), fates_(fates), agent_(network.add_agent(*this)) {}

ChunkSender::~ChunkSender() {
  for (auto& [key, pair] : pairs_) {
    for (Chunk& chunk : pair.outstanding) drop_copies(chunk);
  }
  network_.remove_agent(agent_);
}

void ChunkSender::send(uint16_t path, uint64_t number, std::span<const PacketId> pieces) {
  PacketStore& packets = network_.packets();
  const RemoteWrite& first = packets[pieces.front()].write;
  const Key key(first.from_connection, path);
  QueuePair& pair = pairs_[key];
  if (first.epoch != pair.epoch) {
    fail(key, pair);
    pair = {};
    pair.epoch = first.epoch;
  }
  if (pair.failed) {
    for (const PacketId id : pieces) packets.give_back(id);
    fates_.handle_sent({key.first, path, pair.epoch, number, false});
    return;
  }
  Chunk chunk{pair.next_chunk++, number, {}};
  for (const PacketId id : pieces) {
    packets[id].write.chunk = chunk.chunk;
    packets[id].write.reliable = options_.reliable;
    if (options_.reliable) chunk.copies.push_back(packets.clone(id));
  }
  for (const PacketId id : pieces) network_.send(id);
  if (!options_.reliable) return;
  pair.outstanding.push_back(std::move(chunk));
  if (pair.due == Nanos::never()) arm(pair);
}

void ChunkSender::handle_ack(const Packet& ack) {
  const Key key(ack.write.to_connection, ack.path);
  const auto found = pairs_.find(key);
  if (found == pairs_.end() || found->second.epoch != ack.write.epoch) return;
  QueuePair& pair = found->second;
  bool progress = false;
  while (!pair.outstanding.empty() && pair.outstanding.front().chunk < ack.write.chunk) {
    drop_copies(pair.outstanding.front());
    fates_.handle_sent({key.first, key.second, pair.epoch, pair.outstanding.front().number, true});
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
  for (const Chunk& chunk : pair.outstanding) {
    for (const PacketId id : chunk.copies) network_.send(network_.packets().clone(id));
  }
}

void ChunkSender::fail(const Key& key, QueuePair& pair) {
  for (Chunk& chunk : pair.outstanding) {
    drop_copies(chunk);
    fates_.handle_sent({key.first, key.second, pair.epoch, chunk.number, false});
  }
  pair.outstanding.clear();
  pair.due = Nanos::never();
}

void ChunkSender::drop_copies(Chunk& chunk) {
  for (const PacketId id : chunk.copies) network_.packets().give_back(id);
  chunk.copies.clear();
}

void ChunkSender::arm(QueuePair& pair) {
  pair.due = pair.outstanding.empty() ? Nanos::never() : network_.now() + options_.timeout;
  if (pair.due != Nanos::never()) network_.schedule(agent_, pair.due);
}

}  // namespace heddle::simulator
