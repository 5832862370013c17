// Launch: the launcher's description of the run that this process belongs to. `heddle run`,
// torchrun, Open MPI and Slurm each set environment variables of their own; users may set them,
// too.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "collectives/members.h"

namespace heddle::collectives {

struct Launch {
  std::string launcher;  // "heddle", "torchrun", "Open MPI", "Slurm"
  uint32_t rank = 0;
  uint32_t size = 1;
  uint32_t local_rank = 0;  // among the ranks of this host, if the launcher sets it
  std::string store;        // where ranks find each other: "udp://host:port" or "file:///path"
  std::string run;          // identifies this run among others at the same store; may be empty
  // A secret that only the processes of this run know, where the launcher or HEDDLE_TOKEN says one:
  // it proves a registration. Empty: none.
  std::string token;
  std::string private_folder;  // of the store's file, to be made or checked first; empty: none is
};

// From the environment (NAME=value). `store` wins over what the launcher says; empty: none is set.
// Where several launchers have left variables, the innermost counts: HEDDLE_*, then RANK and
// WORLD_SIZE, then Open MPI's, then Slurm's. Errors: kInvalid, naming the variable to set.
Result<Launch> read_launch(std::span<const std::string> environment, const std::string& store);

// Whether a launcher has set the variables of a rank, or the user has.
bool is_launched(std::span<const std::string> environment);

// Lets a launcher that asks for it (HEDDLE_MEMBER_FILE) know which communicator of all ranks this
// process is in now. Where the file cannot be written nothing happens: the run has ended, or the
// launcher waits for a time instead.
void report_members(const Members& members);

}  // namespace heddle::collectives
