// NCCL RAS: what `ncclras -f json` prints of a job (NVIDIA/nccl, src/ras/client_support.cc): of
// each rank of a communicator how many operations of a kind it has called so far. Times are those
// of the snapshots alone, so two of them show what stands still: a call that only some ranks have
// made.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "recordings/import/bounded_json.h"
#include "recordings/import/foreign_job.h"

namespace heddle::recordings {

bool looks_like_ras(const ForeignJson& document);

class RasReader {
 public:
  // A snapshot, in any order. Errors: kInvalid.
  Result<void> add(const ForeignJson& document, const std::string& file);
  // By rank. Ranks that NCCL misses are in it if a snapshot has them.
  std::vector<ForeignProcess> take();
  // Sentences for the user: what NCCL itself says of ranks, or that one snapshot shows no time.
  const std::set<std::string>& notes() const { return notes_; }

 private:
  static constexpr size_t kOperations = 5;
  using Counts = std::array<uint64_t, kOperations>;
  using Process = std::tuple<std::string, uint64_t, uint64_t>;  // host, pid, GPU
  struct Rank {
    Process process;
    std::map<int64_t, Counts> counts;  // by the time of the snapshot
  };
  struct Communicator {
    uint32_t size = 0;
    std::map<uint32_t, Rank> ranks;
  };

  void add_communicator(const ForeignJson& about, int64_t at_ns);
  void add_calls(uint64_t number, const Communicator& communicator);

  std::map<uint64_t, Communicator> communicators_;
  std::map<Process, ForeignProcess> processes_;
  std::map<int64_t, std::string> snapshots_;  // files by time
  std::set<std::string> notes_;
};

}  // namespace heddle::recordings
