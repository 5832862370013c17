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

// What an algorithm costs its busiest rank: messages one after the other, further ones that leave
// together with one of them, bytes sent and reduced.
struct Work {
  uint64_t messages = 0;
  uint64_t following = 0;
  uint64_t sent = 0;
  uint64_t reduced = 0;
  // Bytes that the network could move while it waits, in calls of more than a small message: never
  // are all ranks in the same round, so what one peer sends meets what the next one does at the
  // receiver, each round begins with another connection's window, and chunks of a tree wait for
  // each other. Of a ring there are none. How many is what fits fabrics in simulation, which lose
  // nothing; what ranks measure of a network is fitted without.
  uint64_t delayed = 0;
  bool to_neighbours = false;  // of a ring: hosts side by side may share switches
  bool granted_ahead = false;  // its messages were seen to wait no longer than small ones

  // Messages of up to so many bytes need no grant.
  static constexpr uint64_t kSmallMessageBytes = 32 << 10;
  bool waits_for_grants() const {
    return !granted_ahead && sent > (messages + following) * kSmallMessageBytes;
  }
};
// `bytes` as in Tuning::choose(); for at least two ranks.
Work work_of(Collective collective, Algorithm algorithm, uint64_t size, uint64_t bytes);

struct Tuning {
  // All-reduces of these sizes have been measured: around them one algorithm overtakes the other.
  static constexpr std::array<uint64_t, 3> kMeasuredBytes = {16 << 10, 64 << 10, 256 << 10};
  // What one took beside what the numbers say, for each of the sizes.
  using Measured = std::array<uint16_t, kMeasuredBytes.size()>;
  static constexpr uint16_t kAsSaid = 1024;

  static constexpr size_t kBytes = 33 + sizeof(Measured) * kAlgorithms + kCollectives;
  uint32_t latency_ns = 20'000;        // of a small message
  uint32_t large_latency_ns = 30'000;  // of one that waits for a grant
  uint32_t following_ns = 5'000;       // what each more takes of small ones that leave at once
  uint32_t send_ps_per_byte = 400;     // 2.5 GB/s
  uint32_t ring_ps_per_byte = 400;     // the same where all send to their neighbours
  uint32_t reduce_ps_per_byte = 150;   // 6.7 GB/s
  uint32_t chunk_bytes = 256 << 10;    // of what is forwarded or reduced
  uint32_t burst_payload_bytes = 0;    // of rank 0's network: chunks end where a burst does
  std::array<Measured, kAlgorithms> all_reduces = as_said();
  bool to_be_fitted = false;  // what the ranks measure replaces these numbers; see tuning_fit.h
  std::array<std::optional<Algorithm>, kCollectives> pinned;

  bool operator==(const Tuning&) const = default;

  // The pinned one, or the fastest by the model. `bytes` is what the formulas call N: all data of a
  // rank (all-reduce, broadcast, reduce), all blocks together (the others).
  Algorithm choose(Collective collective, uint32_t size, uint64_t bytes) const;
  // What the model says that it takes, corrected by what was measured at sizes near this one.
  uint64_t cost_ns(Collective collective, Algorithm algorithm, uint32_t size, uint64_t bytes) const;

  void write(std::byte* bytes) const;
  // Errors: kVersion where these are no numbers of this version.
  static Result<Tuning> read(const std::byte* bytes);

 private:
  static constexpr std::array<Measured, kAlgorithms> as_said() {
    std::array<Measured, kAlgorithms> all{};
    for (Measured& each : all) each.fill(kAsSaid);
    return all;
  }
};

// "allreduce:ring,alltoall:bruck" into `tuning.pinned`; empty: nothing is pinned. Errors: kInvalid,
// naming what there is.
Result<void> pin_algorithms(std::string_view text, Tuning& tuning);

}  // namespace heddle::collectives
