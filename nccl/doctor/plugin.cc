// Checks of the plugin's library, of NCCL's libraries, and of NCCL's variables.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <strings.h>

#include <algorithm>

#include "nccl/doctor/checks.h"

namespace heddle::nccl::doctor {
namespace {

constexpr const char* kEnvCommand = "eval \"$(heddle nccl env)\"";

bool equal(const std::string& one, const std::string& other) {
  return strcasecmp(one.c_str(), other.c_str()) == 0;
}

const NcclSetting* find_setting(const HostFacts& facts, const std::string& name) {
  for (const NcclSetting& setting : facts.settings) {
    if (setting.name == name) return &setting;
  }
  return nullptr;
}

// The newest version that both have; 0: none.
int agreed(const std::vector<int>& asked, const std::vector<int>& offered) {
  int best = 0;
  for (const int version : asked) {
    const bool both = std::find(offered.begin(), offered.end(), version) != offered.end();
    if (both) best = std::max(best, version);
  }
  return best;
}

std::string agreed_text(const std::vector<int>& asked, const std::vector<int>& offered) {
  const int version = agreed(asked, offered);
  return version == 0 ? "none" : fmt::format("v{}", version);
}

void check_one_library(const HostFacts& facts, const NcclLibrary& library, Findings& findings) {
  const std::string name =
      fmt::format("NCCL {} ({}, by {})", library.version.empty() ? "?" : library.version,
                  library.path, library.origin);
  if (library.net.empty()) {
    findings.push_back({Grade::kWarn, "nccl", name + " names no net table",
                        "the file has neither a version nor table names that heddle knows",
                        "heddle supports NCCL 2.18 and newer"});
    return;
  }
  const char* const source = library.from_version ? "inferred from its version" : "as it asks for";
  if (facts.plugin.net.empty()) {
    ok(findings, "nccl",
       fmt::format("{} looks first for net table v{}, {}", name, library.net.front(), source));
    return;
  }
  const int net = agreed(library.net, facts.plugin.net);
  if (net == 0) {
    findings.push_back(
        {Grade::kFail, "nccl",
         fmt::format("{} and {} have no net table in common", name, facts.plugin.path),
         fmt::format("NCCL asks for v{}, the library has v{}", fmt::join(library.net, ", v"),
                     fmt::join(facts.plugin.net, ", v")),
         "install a heddle or an NCCL of a matching version"});
    return;
  }
  ok(findings, "nccl",
     fmt::format("{} picks net table v{} ({}), profiler {}, tuner {}", name, net, source,
                 agreed_text(library.profiler, facts.plugin.profiler),
                 agreed_text(library.tuner, facts.plugin.tuner)));
}

void check_net_plugin(const HostFacts& facts, Findings& findings) {
  const NcclSetting* const plugin = find_setting(facts, "NCCL_NET_PLUGIN");
  if (plugin == nullptr) {
    findings.push_back({Grade::kWarn, "variables", "NCCL_NET_PLUGIN is not set",
                        "NCCL loads libnccl-net.so if there is one, and not heddle", kEnvCommand});
    return;
  }
  const std::vector<std::string> names = plugin_list(plugin->value);
  const std::string text = fmt::format("NCCL_NET_PLUGIN={} ({})", plugin->value, plugin->origin);
  if (names.empty()) {
    findings.push_back(
        {Grade::kFail, "variables", text, "it disables every net plugin", kEnvCommand});
  } else if (names.size() > 1) {
    findings.push_back({Grade::kWarn, "variables", text,
                        "the first plugin of the list that initializes disables the others",
                        fmt::format("'{}' must be heddle", names.front())});
  } else {
    ok(findings, "variables", text);
  }
}

void check_net_name(const HostFacts& facts, Findings& findings) {
  const NcclSetting* const net = find_setting(facts, "NCCL_NET");
  const std::string wanted = facts.plugin.net_name.empty() ? "heddle" : facts.plugin.net_name;
  if (net == nullptr) {
    findings.push_back({Grade::kWarn, "variables", "NCCL_NET is not set",
                        "if heddle cannot start, the job runs over another network and only the "
                        "log says so",
                        kEnvCommand});
  } else if (!equal(net->value, wanted)) {
    findings.push_back(
        {Grade::kFail, "variables", fmt::format("NCCL_NET={} ({})", net->value, net->origin),
         fmt::format("NCCL uses the network of this name, and heddle's is '{}'", wanted),
         kEnvCommand});
  } else {
    ok(findings, "variables", fmt::format("NCCL_NET={} ({})", net->value, net->origin));
  }
}

// The profiler and the tuner come from the net plugin's library where their own variable is unset.
void check_slot(const HostFacts& facts, const std::string& name, const std::string& part,
                Findings& findings) {
  const NcclSetting* const slot = find_setting(facts, name);
  if (slot == nullptr || slot->value.find("heddle") != std::string::npos) return;
  findings.push_back(
      {Grade::kWarn, "variables", fmt::format("{}={} ({})", name, slot->value, slot->origin),
       fmt::format("heddle's {} is not used", part),
       fmt::format("unset {}: NCCL takes the {} of the net plugin's library", name, part)});
}

}  // namespace

void check_plugin(const HostFacts& facts, Findings& findings) {
  const FoundPlugin& plugin = facts.plugin;
  if (plugin.path.empty()) {
    findings.push_back(
        {Grade::kFail, "plugin",
         fmt::format("NCCL does not find the net plugin '{}'", plugin.setting),
         fmt::format("tried {}: {}", fmt::join(plugin.tried, ", "),
                     plugin.error.empty() ? "not found" : plugin.error),
         "put the folder of libnccl-net-heddle.so into LD_LIBRARY_PATH: 'heddle nccl env' prints "
         "it"});
  } else if (plugin.net.empty()) {
    findings.push_back({Grade::kFail, "plugin", fmt::format("{} exports no net table", plugin.path),
                        "NCCL skips a library without ncclNetPlugin_v6 to v12",
                        "correct NCCL_NET_PLUGIN"});
  } else if (!equal(plugin.net_name, "heddle")) {
    findings.push_back({Grade::kFail, "plugin",
                        fmt::format("{} is the plugin '{}'", plugin.path, plugin.net_name),
                        "another library than heddle's is found by this name", kEnvCommand});
  } else {
    ok(findings, "plugin",
       fmt::format("{}, net tables v{}", plugin.path, fmt::join(plugin.net, ", v")));
  }
}

void check_libraries(const HostFacts& facts, Findings& findings) {
  if (facts.libraries.empty()) {
    findings.push_back({Grade::kWarn, "nccl", "no libnccl.so.2 found",
                        "looked in LD_LIBRARY_PATH, Python's packages and ldconfig, so the table "
                        "that NCCL picks is unknown",
                        "run this inside the job's container or virtual environment"});
  }
  for (const NcclLibrary& library : facts.libraries) check_one_library(facts, library, findings);
}

void check_settings(const HostFacts& facts, Findings& findings) {
  check_net_plugin(facts, findings);
  check_net_name(facts, findings);
  check_slot(facts, "NCCL_PROFILER_PLUGIN", "profiler", findings);
  check_slot(facts, "NCCL_TUNER_PLUGIN", "tuner", findings);
}

}  // namespace heddle::nccl::doctor
