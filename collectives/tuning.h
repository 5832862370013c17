// Tuning: which algorithm a collective takes. Where there is a table of measured costs for the
// communicator's ranks, the cheapest row of it; else the cheapest by the closed forms of
// choice/estimate.h. All ranks compute with rank 0's, so all choose alike.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "collectives/collective.h"
#include "collectives/cost_table.h"
#include "collectives/params.h"

namespace heddle::collectives {

struct Tuning {
  static constexpr size_t kBytes =
      9 * sizeof(uint32_t) + 1 + sizeof(uint32_t) + sizeof(CostTable::ns) + kCollectives;

  // The network of the closed forms.
  uint32_t latency_ns = params::kLatencyNs;             // of a small message
  uint32_t large_latency_ns = params::kLargeLatencyNs;  // of one that waits for a grant
  uint32_t following_ns = params::kFollowingNs;  // of each further message that leaves with one
  uint32_t send_ps_per_byte = params::kSendPsPerByte;
  uint32_t reduce_ps_per_byte = params::kReducePsPerByte;

  uint32_t chunk_bytes = params::kChunkBytes;  // of what is forwarded or reduced
  uint32_t burst_payload_bytes = 0;            // of rank 0's network: chunks end where a burst does
  uint32_t group_ranks = 1;                    // of kTwoLevel, as measured; 1: not measured
  uint32_t pinned_group_ranks = 0;             // counts instead; 0: none
  bool to_be_measured = false;                 // the ranks fill `costs` before their first call
  CostTable costs;
  std::array<std::optional<Algorithm>, kCollectives> pinned;

  bool operator==(const Tuning&) const = default;

  // The pinned one, or the one of least cost_ns(). `bytes` is what the formulas call N: all data of
  // a rank (all-reduce, broadcast, reduce), all blocks together (the others).
  Algorithm choose(Collective collective, uint32_t size, uint64_t bytes) const;
  // Ranks of a group of kTwoLevel among `size`. All, and so a ring, where the number that counts
  // does not divide them.
  uint32_t group_ranks_among(uint32_t size) const;
  // By the table where it is of `size` ranks, else by the closed form.
  uint64_t cost_ns(Collective collective, Algorithm algorithm, uint32_t size, uint64_t bytes) const;

  void write(std::byte* bytes) const;
  // Errors: kVersion where this is no tuning of this version.
  static Result<Tuning> read(const std::byte* bytes);
};

// "allreduce:ring,alltoall:bruck" into `tuning.pinned`; empty: nothing is pinned.
// "allreduce:two_level/4": in groups of 4 ranks. Errors: kInvalid, naming what there is.
Result<void> pin_algorithms(std::string_view text, Tuning& tuning);

}  // namespace heddle::collectives
