// Environment: the variables with which a job's NCCL runs over heddle on this machine, as data and
// as lines of a shell. `heddle nccl env` prints them.
#pragma once

#include <string>
#include <vector>

#include "nccl/nics.h"

namespace heddle::nccl {

struct EnvironmentFacts {
  std::string library;      // path of libnccl-net-heddle.so; empty: not found
  std::string search_path;  // LD_LIBRARY_PATH as it is
  std::vector<Nic> chosen;  // find_nics()
  std::string selection;    // HEDDLE_IFNAME as it is
  std::string nics_file;    // HEDDLE_NCCL_NICS as it is
  std::string profiler;     // NCCL_PROFILER_PLUGIN and NCCL_TUNER_PLUGIN as they are
  std::string tuner;
  int threads = 0;       // HEDDLE_NCCL_THREADS as it is; 0: not set
  int usable_cores = 1;  // by affinity and the control group's quota
  int gpus = 0;          // of the machine, a process for each
};

struct Variable {
  std::string name;
  std::string value;
  std::string about;  // what it does, for a reader
};

// HEDDLE_NCCL_THREADS for these facts; 0: none. The user's choice stands. Otherwise up to 4, half
// of a process's cores, where a NIC is too fast for one thread.
int threads_for(const EnvironmentFacts& facts);

// In the order in which they are best read. LD_LIBRARY_PATH is among them unless the library lies
// in a folder that the loader searches anyway.
std::vector<Variable> nccl_variables(const EnvironmentFacts& facts);

// What a user should know beside them: variables that take a slot of the library from heddle.
std::vector<std::string> nccl_notes(const EnvironmentFacts& facts);

// What a shell that evaluates the output takes as failure: its last line where something is
// missing.
inline constexpr const char* kShellFailure = "false\n";

// `export NAME='value'` lines with a comment above each, and the notes as comments. LD_LIBRARY_PATH
// extends what the shell has.
std::string shell_text(const EnvironmentFacts& facts);

// A word in single quotes, as a POSIX shell reads it.
std::string shell_quoted(const std::string& word);

}  // namespace heddle::nccl
