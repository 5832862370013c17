// AgreedTuning: the tuning of a communicator: which one this rank offers, the ranks' agreement on
// one (agreement.h), and the shapes that calls get by it. Of rank 0 it reads and writes the table
// of costs on disk. The communicator's body makes the calls of the agreement.
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "base/result.h"
#include "collectives/communicator.h"
#include "collectives/communicator/agreement.h"
#include "collectives/schedule/schedule.h"
#include "collectives/table_file.h"

namespace heddle::collectives {

class AgreedTuning {
 public:
  // All must outlive it.
  AgreedTuning(engine::Endpoint& endpoint, const Members& members,
               const CommunicatorOptions& options);

  // --- until the ranks agree ---
  Agreement::Step begin_step();
  // The step's call has ended. True: the ranks agree. Errors: as Agreement::end_step().
  Result<bool> end_step();
  // Rank 0's sizes of chunks and bursts are known: after the first step.
  bool has_sizes() const { return has_sizes_; }
  // Of the longest chunk, bytes.
  uint64_t slot_bytes() const { return in_bursts(chunk_bytes_, burst_payload_bytes_); }

  // Nothing until the ranks agree.
  const std::optional<Tuning>& tuning() const { return tuning_; }
  // `algorithm`: instead of what the tuning chooses.
  Shape shape_of(const Call& call, std::optional<Algorithm> algorithm);
  // Of the communicator of those that are left: as these agreed, without costs of other ranks.
  CommunicatorOptions options_of_next() const;

 private:
  // The latest choice for a collective: programs repeat their calls.
  struct Choice {
    uint64_t bytes = UINT64_MAX;
    Algorithm algorithm = Algorithm::kRing;
  };

  Tuning offered();
  void keep_table();
  Algorithm choose(Collective collective, uint64_t bytes);

  engine::Endpoint& endpoint_;
  const Members& members_;
  const CommunicatorOptions& options_;
  std::optional<Tuning> tuning_;
  std::optional<Fabric> fabric_;          // of rank 0, where its table is read from or written to
  std::unique_ptr<Agreement> agreement_;  // until the ranks agree
  bool has_sizes_ = false;
  uint64_t chunk_bytes_;  // this rank's until rank 0 has sent its own
  uint64_t burst_payload_bytes_ = 0;
  std::array<Choice, kCollectives> choices_{};
};

}  // namespace heddle::collectives
