// Shape: all that a schedule depends on. Equal shapes give equal schedules, and the shapes of all
// ranks of a call differ in their rank only (and in the counts of an all-to-all-v).
#pragma once

#include <cstdint>
#include <span>

#include "collectives/collective.h"
#include "collectives/params.h"
#include "collectives/schedule/partition.h"
#include "collectives/schedule/step.h"

namespace heddle::collectives {

// Elements that one rank sends to and receives from each other, and where they begin in its
// buffers; one entry a rank. The memory outlives the schedule.
struct Exchange {
  std::span<const uint64_t> send_counts;
  std::span<const uint64_t> send_offsets;
  std::span<const uint64_t> receive_counts;
  std::span<const uint64_t> receive_offsets;
};

// Ranks of a group of kTwoLevel among `size`: `asked` where it divides `size`, else all.
constexpr uint32_t group_ranks_of(uint32_t size, uint32_t asked) {
  return asked > 1 && asked < size && size % asked == 0 ? asked : size;
}

struct Shape {
  Collective collective = Collective::kAllReduce;
  Algorithm algorithm = Algorithm::kRing;
  uint32_t rank = 0;
  uint32_t size = 1;
  uint32_t group_ranks = 1;  // kTwoLevel: neighbours in one group; divides `size`
  uint32_t root = 0;         // of rooted collectives; the peer of a send or receive
  uint64_t count = 0;        // elements: all of them (all-reduce, broadcast, reduce, send,
                             // receive), else those of one block (a rank's, or a pair's)
  uint32_t element_bytes = 1;
  uint64_t chunk_bytes = 1;  // what is forwarded or reduced goes in pieces of about this
  // Of the network; 0: it has none. A chunk has as many as hold `chunk_bytes`, so up to one more.
  uint64_t burst_payload_bytes = 0;
  bool in_place = false;  // kAllToAll: input and output are the same memory
  Exchange exchange;      // kAllToAllV

  // Of chunk_bytes, whatever the network: at least one element.
  uint64_t chunk_count() const { return std::max<uint64_t>(1, chunk_bytes / element_bytes); }
  uint64_t longest_chunk_bytes() const { return in_bursts(chunk_bytes, burst_payload_bytes); }
  // How sequences of up to `longest` elements are cut into chunks.
  Cut cut(uint64_t longest) const {
    return {longest, std::max<uint64_t>(1, longest_chunk_bytes() / element_bytes),
            std::max<uint64_t>(1, burst_payload_bytes / element_bytes)};
  }
  uint64_t message_count() const { return params::kMessageBytes / element_bytes; }
  uint64_t bytes(uint64_t elements) const { return elements * element_bytes; }
  // The rank that is `distance` behind this one; `distance` below 2 * size.
  uint32_t after(uint64_t distance) const {
    return static_cast<uint32_t>((rank + distance) % size);
  }
  uint32_t before(uint64_t distance) const {
    return static_cast<uint32_t>((rank + 2 * uint64_t{size} - distance) % size);
  }
  // This rank counted from the root.
  uint32_t from_root() const { return (rank + size - root) % size; }
  uint32_t rank_at(uint32_t from_root) const { return (from_root + root) % size; }
};

// --- the four kinds of step, over elements ---

inline Step send_step(const Shape& shape, uint32_t to, Buffer buffer, const Part& part) {
  return {.kind = StepKind::kSend,
          .peer = to,
          .bytes = shape.bytes(part.length),
          .source = {buffer, shape.bytes(part.offset)}};
}

inline Step receive_step(const Shape& shape, uint32_t from, Buffer buffer, const Part& part) {
  return {.kind = StepKind::kReceive,
          .peer = from,
          .bytes = shape.bytes(part.length),
          .destination = {buffer, shape.bytes(part.offset)}};
}

// The same of a result: its sender has received all that this rank sent of these elements.
inline Step answer_step(const Shape& shape, uint32_t from, const Part& part) {
  Step step = receive_step(shape, from, Buffer::kOutput, part);
  step.answers = true;
  return step;
}

// Into `destination` at the same offset, what comes after what is in `operand`.
inline Step reduce_step(const Shape& shape, uint32_t from, Buffer operand, Buffer destination,
                        const Part& part) {
  return {.kind = StepKind::kReceiveReduce,
          .peer = from,
          .bytes = shape.bytes(part.length),
          .source = {operand, shape.bytes(part.offset)},
          .destination = {destination, shape.bytes(part.offset)}};
}

struct Spot {
  Buffer buffer = Buffer::kOutput;
  uint64_t element = 0;
};

inline Step copy_step(const Shape& shape, const Spot& from, const Spot& to, uint64_t elements) {
  return {.kind = StepKind::kCopy,
          .bytes = shape.bytes(elements),
          .source = {from.buffer, shape.bytes(from.element)},
          .destination = {to.buffer, shape.bytes(to.element)}};
}

}  // namespace heddle::collectives
