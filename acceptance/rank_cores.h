// Rank cores: the hosts of an emulated fabric share this machine, so the rank of each of them keeps
// to one core in training. Else one host alone would have the help of all cores, and be compared
// with hosts that share them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "acceptance/report.h"
#include "base/exec.h"

namespace heddle::acceptance {

struct RankCores {
  std::vector<int> cores;  // of ranks in turn; empty: ranks are not pinned
  std::string why_not;     // then; empty where hosts are machines with cores of their own
};

// Those that this process may use, of an emulated fabric.
RankCores rank_cores(bool is_emulated);

// The command of each rank: it runs on its core. Unchanged without cores.
std::vector<std::string> on_cores(const RankCores& cores, const std::vector<std::string>& words);

// What ranks of these hosts have; nothing where hosts are machines. `check`: "ResNet-18, cores".
std::optional<Row> cores_row(const std::string& check, size_t hosts, const RankCores& cores);

// `heddle agent on-core`, which on_cores() begins commands with: becomes the program on the core of
// this rank, by HEDDLE_RANK. `cores`: "0,1". Returns only failures.
ExecFailure run_on_core(const std::string& cores, const std::vector<std::string>& words);

}  // namespace heddle::acceptance
