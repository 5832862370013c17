// Checks of the plugin's library and of NCCL's libraries.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <strings.h>

#include <algorithm>

#include "nccl/doctor/checks.h"

namespace heddle::nccl::doctor {
namespace {

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
  const char* const source =
      library.from_version ? "inferred from its version" : "read from libnccl";
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

}  // namespace

bool equal(const std::string& one, const std::string& other) {
  return strcasecmp(one.c_str(), other.c_str()) == 0;
}

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

}  // namespace heddle::nccl::doctor
