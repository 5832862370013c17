// Gathers from this machine what `heddle nccl env` and `heddle nccl doctor` judge.
#pragma once

#include <string>
#include <vector>

#include "base/config.h"
#include "base/result.h"
#include "nccl/doctor.h"
#include "nccl/nics.h"

namespace heddle::cli {

// The inputs of find_nics() on this machine with these settings.
nccl::NicSources nic_sources(const Config& config);

// The path of libnccl-net-heddle.so: as dlopen() finds it, else beside this program, as `make
// install` and the build place it; empty: neither.
std::string plugin_path();

// NVIDIA GPUs of this machine, by the files of their driver; 0: none, or no driver.
int gpu_count();

// A variable of the environment; empty: unset.
std::string environment_value(const char* name);

// Takes the HEDDLE_* variables whose values no setting can have out of this process's environment.
// Returns what is wrong with each.
std::vector<Error> drop_wrong_variables();

// Everything that doctor looks at. Opens a UDP endpoint for a moment, loads the plugin's library,
// runs `ldconfig -p` and `ip rule`.
nccl::HostFacts gather_facts(const Config& config);

}  // namespace heddle::cli
