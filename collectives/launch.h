// Launch: what a launcher told this process of the run that it belongs to. `heddle run`, torchrun,
// Open MPI and Slurm tell it in environment variables, each in its own; so may anybody by hand.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"

namespace heddle::collectives {

struct Launch {
  std::string launcher;  // "heddle", "torchrun", "Open MPI", "Slurm"
  uint32_t rank = 0;
  uint32_t size = 1;
  uint32_t local_rank = 0;  // among the ranks of this host, where the launcher tells
  std::string store;        // where ranks find each other: "udp://host:port" or "file:///path"
  std::string run;          // what tells this run from others at the same store; may be empty
  // A secret that only the processes of this run know, where the launcher or HEDDLE_TOKEN says one:
  // it proves a registration. Empty: none.
  std::string token;
  std::string private_folder;  // of the store's file, to be made or checked first; empty: none is
};

// From the environment (NAME=value). `store` wins over what the launcher says; empty: none is set.
// Where several launchers have left variables, the innermost counts: HEDDLE_*, then RANK and
// WORLD_SIZE, then Open MPI's, then Slurm's. Errors: kInvalid, naming the variable to set.
Result<Launch> read_launch(std::span<const std::string> environment, const std::string& store);

}  // namespace heddle::collectives
