// The names by which NCCL looks for a plugin's library, and what such a library exports.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::nccl {

// The slots of a job for which NCCL looks for a library.
enum class PluginSlot : uint8_t { kNet, kProfiler, kTuner };
const char* slot_variable(PluginSlot slot);  // "NCCL_NET_PLUGIN", ...

// What dlopen() is asked for, in NCCL's order, where the slot's variable is `setting` (of
// NCCL_NET_PLUGIN one name of its list; empty: unset): the name itself, and behind it
// libnccl-net-NAME.so (libnccl-profiler-, libnccl-tuner-) unless it is a path or the name of a
// library.
std::vector<std::string> plugin_file_names(std::string_view setting,
                                           PluginSlot slot = PluginSlot::kNet);

// The names of a comma-separated NCCL_NET_PLUGIN; empty for "none".
std::vector<std::string> plugin_list(std::string_view setting);

// A library that was looked for, and what it exports; versions newest first.
struct FoundPlugin {
  std::string setting;             // the name that was looked for
  std::vector<std::string> tried;  // names given to dlopen()
  std::string path;                // of the library that was loaded; empty: none
  std::string error;               // of the last dlopen()
  std::string net_name;            // what NCCL_NET must be; empty: it has no net table
  std::string profiler_name;       // empty: it has no profiler
  std::string tuner_name;          // empty: it has no tuner
  std::vector<int> net;
  std::vector<int> profiler;
  std::vector<int> tuner;
};

// Loads the library as NCCL would, reads its symbols and closes it. dlopen() looks in the folders
// of this process: its LD_LIBRARY_PATH must be that of the job. Runs the library's constructors.
FoundPlugin look_for_plugin(const std::string& setting, PluginSlot slot = PluginSlot::kNet);

}  // namespace heddle::nccl
