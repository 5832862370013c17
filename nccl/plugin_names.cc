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

// Every net table begins with its name.
std::string name_of_table(void* library, int version) {
  void* const table = dlsym(library, ("ncclNetPlugin_v" + std::to_string(version)).c_str());
  const char* const name = *static_cast<const char* const*>(table);
  return name == nullptr ? std::string() : std::string(name);
}

std::string path_of(void* library) {
  link_map* map = nullptr;
  return dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 ? std::string(map->l_name) : std::string();
}

}  // namespace

std::vector<std::string> plugin_file_names(std::string_view setting) {
  if (setting.empty()) return {"libnccl-net.so"};
  std::vector<std::string> names = {std::string(setting)};
  const bool is_library = setting.starts_with("lib") && setting.ends_with(".so");
  if (setting.find('/') == std::string_view::npos && !is_library) {
    names.push_back("libnccl-net-" + std::string(setting) + ".so");
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

FoundPlugin look_for_plugin(const std::string& setting) {
  FoundPlugin plugin;
  plugin.setting = setting;
  for (const std::string& name : plugin_file_names(setting)) {
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
    if (!plugin.net.empty()) plugin.net_name = name_of_table(library, plugin.net.front());
    dlclose(library);
    break;
  }
  return plugin;
}

}  // namespace heddle::nccl
