// Vm: runs one command in a small virtual machine that has what this host's kernel may lack: RDMA
// devices (soft-RoCE) and netem. The machine sees this host's files, and nothing that it changes
// stays, except in one folder. `heddle lab vm` calls it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "base/units.h"
#include "lab/run.h"

namespace heddle::lab {

inline constexpr int kTimedOut = 124;  // exit status of a command that ran too long, as timeout(1)

// The machine's one link, between the interfaces h0 and h1; the same in both directions.
struct VmLink {
  uint32_t loss_per_million = 0;
  uint32_t reorder_per_million = 0;  // needs a delay, which the reordered packets do not have
  uint32_t duplicate_per_million = 0;
  Nanos delay{};
  BitsPerSec rate{};  // 0: no limit
  uint32_t mtu_bytes = 9000;
};

struct VmOptions {
  VmLink link;
  Bytes memory = gibibytes(2);
  uint32_t cpus = 2;
  Nanos timeout{};     // for the command, without the boot; 0: none
  std::string kernel;  // a folder or an image; empty: see vm/kernel.h
  std::string out;     // a folder in which what the command writes stays; empty: none
  bool shell = false;  // an interactive shell on this terminal in place of `words`
  std::vector<std::string> words;
};

// Boots the machine, runs the command there with its output on this process's standard streams, and
// stops the machine. exit_status: the command's, 124 if it ran too long, 128 + N if this process
// was stopped by signal N (note_signals() records it); `failure` where the machine could not be
// made, did not boot or died.
CommandEnd run_vm(const VmOptions& options);

}  // namespace heddle::lab
