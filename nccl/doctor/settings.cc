// Checks of variables: those of heddle that have no valid value, and NCCL's that name the network,
// the profiler and the tuner.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "nccl/doctor/checks.h"

namespace heddle::nccl::doctor {
namespace {

const NcclSetting* find_setting(const HostFacts& facts, const std::string& name) {
  for (const NcclSetting& setting : facts.settings) {
    if (setting.name == name) return &setting;
  }
  return nullptr;
}

std::string text_of(const NcclSetting& setting) {
  return fmt::format("{}={} ({})", setting.name, setting.value, setting.origin);
}

// NCCL skips libraries of another name than NCCL_NET, so then their order does not matter.
void check_order(const HostFacts& facts, const std::string& text, Findings& findings) {
  const NcclSetting* const net = find_setting(facts, "NCCL_NET");
  const bool named = net != nullptr && equal(net->value, facts.plugin.net_name);
  std::vector<std::string> usable;
  for (const FoundPlugin& other : facts.ahead) {
    if (!other.net.empty()) usable.push_back(other.setting);
  }
  if (usable.empty() || named) {
    ok(findings, "variables", text);
    return;
  }
  findings.push_back(
      {Grade::kWarn, "variables", text,
       fmt::format("NCCL tries {} first and uses heddle only where that has no device",
                   fmt::join(usable, ", ")),
       fmt::format("name '{}' first, or set NCCL_NET=heddle", facts.plugin.setting)});
}

void check_net_plugin(const HostFacts& facts, Findings& findings) {
  const NcclSetting* const plugin = find_setting(facts, "NCCL_NET_PLUGIN");
  if (plugin == nullptr) {
    findings.push_back({Grade::kWarn, "variables", "NCCL_NET_PLUGIN is not set",
                        "NCCL loads libnccl-net.so if there is one, and not heddle", kEnvCommand});
  } else if (plugin_list(plugin->value).empty()) {
    findings.push_back(
        {Grade::kFail, "variables", text_of(*plugin), "it disables every net plugin", kEnvCommand});
  } else {
    check_order(facts, text_of(*plugin), findings);
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
  } else if (equal(net->value, wanted)) {
    ok(findings, "variables", text_of(*net));
  } else if (equal(net->value, "Socket")) {
    findings.push_back({Grade::kWarn, "variables", text_of(*net),
                        "this job does not use heddle: NCCL's own sockets carry it",
                        std::string("to use heddle: ") + kEnvCommand});
  } else {
    findings.push_back(
        {Grade::kFail, "variables", text_of(*net),
         fmt::format("NCCL uses the network of this name, and heddle's is '{}'", wanted),
         kEnvCommand});
  }
}

// Where a slot's own library is not found, NCCL takes profiler and tuner from the net plugin's.
struct Slot {
  PluginSlot slot;
  const char* part;  // "profiler"
  const FoundPlugin& found;
  const std::string& name;  // of the table in what was found; empty: it has none
};

void check_slot(const HostFacts& facts, const Slot& slot, Findings& findings) {
  const std::string variable = slot_variable(slot.slot);
  const NcclSetting* const setting = find_setting(facts, variable);
  const std::string text = setting == nullptr ? variable + " is not set" : text_of(*setting);
  const auto warn = [&](const std::string& why, const std::string& todo) {
    findings.push_back({Grade::kWarn, "variables", text, why, todo});
  };
  const std::string unused = fmt::format("heddle's {} is not used", slot.part);
  const std::string unset =
      fmt::format("unset {}: NCCL takes the {} of the net plugin's library", variable, slot.part);
  if (setting != nullptr && equal(setting->value, "none")) {
    warn(unused, unset);
  } else if (slot.found.path.empty()) {
    if (setting == nullptr || setting->value.empty()) return;
    warn(fmt::format("NCCL finds no library by it (tried {}), and takes the {} of the net "
                     "plugin's, if it loads one",
                     fmt::join(slot.found.tried, ", "), slot.part),
         unset);
  } else if (!equal(slot.name, "heddle")) {
    warn(fmt::format("{}: NCCL takes the {} of {}", unused, slot.part, slot.found.path),
         setting == nullptr ? fmt::format("set {}=heddle", variable) : unset);
  } else if (setting != nullptr) {
    ok(findings, "variables", fmt::format("{}: {}", text, slot.found.path));
  }
}

}  // namespace

void check_settings(const HostFacts& facts, Findings& findings) {
  for (const Error& error : facts.wrong_settings) fail(findings, "variables", error);
  check_net_plugin(facts, findings);
  check_net_name(facts, findings);
  check_slot(facts,
             {PluginSlot::kProfiler, "profiler", facts.profiler, facts.profiler.profiler_name},
             findings);
  check_slot(facts, {PluginSlot::kTuner, "tuner", facts.tuner, facts.tuner.tuner_name}, findings);
}

}  // namespace heddle::nccl::doctor
