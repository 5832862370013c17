// See plugin_names.h.
#include "nccl/plugin_names.h"

#include <dlfcn.h>
#include <link.h>
#include <strings.h>

#include <algorithm>

namespace heddle::nccl {
namespace {

constexpr int kNewestVersion = 24;  // above any that NCCL has; the symbols are looked up one by one

std::vector<int> exported(void* library, const std::string& prefix) {
  std::vector<int> versions;
  for (int version = kNewestVersion; version > 0; --version) {
    if (dlsym(library, (prefix + std::to_string(version)).c_str()) != nullptr) {
      versions.push_back(version);
    }
  }
  return versions;
}

// Every table begins with its name. Empty: there is none of these versions, which begin with the
// newest.
std::string name_of_table(void* library, const std::string& prefix,
                          const std::vector<int>& versions) {
  if (versions.empty()) return {};
  void* const table = dlsym(library, (prefix + std::to_string(versions.front())).c_str());
  const char* const name = *static_cast<const char* const*>(table);
  return name == nullptr ? std::string() : std::string(name);
}

std::string path_of(void* library) {
  link_map* map = nullptr;
  return dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 ? std::string(map->l_name) : std::string();
}

std::string file_prefix(PluginSlot slot) {
  switch (slot) {
    case PluginSlot::kProfiler:
      return "libnccl-profiler";
    case PluginSlot::kTuner:
      return "libnccl-tuner";
    case PluginSlot::kNet:
      break;
  }
  return "libnccl-net";
}

}  // namespace

const char* slot_variable(PluginSlot slot) {
  switch (slot) {
    case PluginSlot::kProfiler:
      return "NCCL_PROFILER_PLUGIN";
    case PluginSlot::kTuner:
      return "NCCL_TUNER_PLUGIN";
    case PluginSlot::kNet:
      break;
  }
  return "NCCL_NET_PLUGIN";
}

std::vector<std::string> plugin_file_names(std::string_view setting, PluginSlot slot) {
  if (setting.empty()) return {file_prefix(slot) + ".so"};
  std::vector<std::string> names = {std::string(setting)};
  const bool is_library = setting.starts_with("lib") && setting.ends_with(".so");
  if (setting.find('/') == std::string_view::npos && !is_library) {
    names.push_back(file_prefix(slot) + "-" + std::string(setting) + ".so");
  }
  return names;
}

std::vector<std::string> plugin_list(std::string_view setting) {
  std::vector<std::string> names;
  if (strcasecmp(std::string(setting).c_str(), "none") == 0) return names;
  while (!setting.empty()) {
    const size_t comma = std::min(setting.find(','), setting.size());
    if (comma > 0) names.emplace_back(setting.substr(0, comma));
    setting.remove_prefix(std::min(comma + 1, setting.size()));
  }
  return names;
}

FoundPlugin look_for_plugin(const std::string& setting, PluginSlot slot) {
  FoundPlugin plugin;
  plugin.setting = setting;
  for (const std::string& name : plugin_file_names(setting, slot)) {
    plugin.tried.push_back(name);
    void* const library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const char* const error = dlerror();
      if (error != nullptr) plugin.error = error;
      continue;
    }
    plugin.error.clear();
    plugin.path = path_of(library);
    plugin.net = exported(library, "ncclNetPlugin_v");
    plugin.profiler = exported(library, "ncclProfiler_v");
    plugin.tuner = exported(library, "ncclTunerPlugin_v");
    plugin.net_name = name_of_table(library, "ncclNetPlugin_v", plugin.net);
    plugin.profiler_name = name_of_table(library, "ncclProfiler_v", plugin.profiler);
    plugin.tuner_name = name_of_table(library, "ncclTunerPlugin_v", plugin.tuner);
    dlclose(library);
    break;
  }
  return plugin;
}

}  // namespace heddle::nccl
