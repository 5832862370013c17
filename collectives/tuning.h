// Tuning: which algorithm a collective takes, by a model of latency, bandwidth and the speed of
// reduction (Thakur, Rabenseifner and Gropp, 2005). All ranks compute with rank 0's numbers, so all
// choose alike.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "collectives/collective.h"

namespace heddle::collectives {

// What an algorithm costs its busiest rank: messages one after the other, bytes sent and reduced.
struct Work {
  uint64_t messages = 0;
  uint64_t sent = 0;
  uint64_t reduced = 0;
  bool to_neighbours = false;  // of a ring: hosts side by side may share switches

  // Messages of up to so many bytes need no grant.
  static constexpr uint64_t kSmallMessageBytes = 32 << 10;
  bool sends_small_messages() const { return sent <= messages * kSmallMessageBytes; }
};
// `bytes` as in Tuning::choose(); for at least two ranks.
Work work_of(Collective collective, Algorithm algorithm, uint64_t size, uint64_t bytes);

struct Tuning {
  static constexpr size_t kBytes = 25 + kCollectives;
  uint32_t latency_ns = 20'000;        // of a small message
  uint32_t large_latency_ns = 30'000;  // of one that waits for a grant
  uint32_t send_ps_per_byte = 400;     // 2.5 GB/s
  uint32_t ring_ps_per_byte = 400;     // the same where all send to their neighbours
  uint32_t reduce_ps_per_byte = 150;   // 6.7 GB/s
  uint32_t chunk_bytes = 256 << 10;    // of what is forwarded or reduced
  bool to_be_fitted = false;  // what the ranks measure replaces these numbers; see tuning_fit.h
  std::array<std::optional<Algorithm>, kCollectives> pinned;

  bool operator==(const Tuning&) const = default;

  // The pinned one, or the fastest by the model. `bytes` is what the formulas call N: all data of a
  // rank (all-reduce, broadcast, reduce), all blocks together (the others).
  Algorithm choose(Collective collective, uint32_t size, uint64_t bytes) const;
  // What the model says that it takes.
  uint64_t cost_ns(Collective collective, Algorithm algorithm, uint32_t size, uint64_t bytes) const;

  void write(std::byte* bytes) const;
  // Errors: kVersion where these are no numbers of this version.
  static Result<Tuning> read(const std::byte* bytes);
};

// "allreduce:ring,alltoall:bruck" into `tuning.pinned`; empty: nothing is pinned. Errors: kInvalid,
// naming what there is.
Result<void> pin_algorithms(std::string_view text, Tuning& tuning);

}  // namespace heddle::collectives
