// See driver_settings.h.
#include "acceptance/machine/driver_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "acceptance/machine_texts.h"
#include "lab/tool.h"

namespace heddle::acceptance {
namespace {

// What ethtool has printed: names and values, in its order.
using Lines = std::vector<std::pair<std::string, std::string>>;

std::string trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t\r") - first + 1));
}

Lines lines_of(const std::string& printed) {
  Lines found;
  std::istringstream lines(printed);
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    found.emplace_back(trimmed(line.substr(0, colon)), trimmed(line.substr(colon + 1)));
  }
  return found;
}

// By name, the last of each: ethtool prints the largest possible values before those in use.
class Values {
 public:
  explicit Values(const std::string& printed) {
    for (auto& [name, text] : lines_of(printed)) values_[name] = std::move(text);
  }

  bool has(const std::string& name) const { return values_.contains(name); }
  std::string value(const std::string& name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? "" : found->second;
  }
  std::string number_of(const std::string& name) const {
    const std::string number = value(name);
    return number.empty() || number == "n/a" ? "0" : number;
  }

 private:
  std::map<std::string, std::string> values_;
};

// "on" or "off"; what the driver does not have is off.
const char* state_of(const std::string& value) { return value == "on" ? "on" : "off"; }

struct Setting {
  const char* name;    // in documents
  const char* option;  // of ethtool
  std::string (*read)(const std::string& printed);
  std::string DriverSettings::*value;
};

constexpr std::array kSettings = {
    Setting{"rings", "-g", rings_of, &DriverSettings::rings},
    Setting{"coalescing", "-c", coalescing_of, &DriverSettings::coalescing},
    Setting{"pause", "-a", pause_of, &DriverSettings::pause},
    Setting{"channels", "-l", channels_of, &DriverSettings::channels},
    Setting{"private_flags", "--show-priv-flags", private_flags_of,
            &DriverSettings::private_flags}};

}  // namespace

DriverSettings driver_settings(const std::string& device) {
  DriverSettings settings;
  for (const Setting& each : kSettings) {
    const Result<std::string> printed = lab::run_tool({"ethtool", each.option, device});
    if (printed) settings.*each.value = each.read(*printed);
  }
  return settings;
}

std::string rings_of(const std::string& printed) {
  const Values values(printed);
  if (!values.has("RX") || !values.has("TX")) return {};
  return fmt::format("rx {}, tx {}", values.number_of("RX"), values.number_of("TX"));
}

// While a delay is adaptive, the driver chooses it, and the fixed one is not in use.
std::string coalescing_of(const std::string& printed) {
  const Values values(printed);
  constexpr std::string_view kSecond = "TX:";
  const std::string states = values.value("Adaptive RX");  // "on  TX: off"
  const size_t second = states.find(kSecond);
  if (second == std::string::npos) return {};
  const auto direction = [&](const std::string& name, const std::string& state) {
    if (state == "on") return name + " adaptive";
    const std::string delay = values.number_of(name + "-usecs");
    const std::string frames = values.number_of(name + "-frames");
    return fmt::format("{} {} us, {} frames", name, delay, frames);
  };
  const std::string rx = direction("rx", trimmed(states.substr(0, second)));
  const std::string tx = direction("tx", trimmed(states.substr(second + kSecond.size())));
  return fmt::format("{}; {}", rx, tx);
}

std::string pause_of(const std::string& printed) {
  const Values values(printed);
  if (!values.has("RX") || !values.has("TX")) return {};
  return fmt::format("autonegotiate {}, rx {}, tx {}", state_of(values.value("Autonegotiate")),
                     state_of(values.value("RX")), state_of(values.value("TX")));
}

std::string channels_of(const std::string& printed) {
  const Values values(printed);
  if (!values.has("Combined")) return {};
  return fmt::format("combined {}, rx {}, tx {}", values.number_of("Combined"),
                     values.number_of("RX"), values.number_of("TX"));
}

// A flag that only a newer driver has, and that is off, is no difference.
std::string private_flags_of(const std::string& printed) {
  if (!printed.starts_with("Private flags for ")) return {};
  std::vector<std::string> on;
  bool known = false;
  for (const auto& [name, value] : lines_of(printed)) {
    known = known || value == "on" || value == "off";
    if (value == "on") on.push_back(name);
  }
  if (!known) return {};
  return on.empty() ? "none is on" : fmt::format("on: {}", fmt::join(on, ", "));
}

Json json_of(const DriverSettings& settings) {
  Json document = Json::object();
  for (const Setting& each : kSettings) {
    const std::string& value = settings.*each.value;
    document[each.name] = value.empty() ? "not known" : value;
  }
  return document;
}

DriverSettings settings_in(const Json& document) {
  DriverSettings settings;
  if (!document.is_object()) return settings;
  for (const Setting& each : kSettings) {
    const auto found = document.find(each.name);
    if (found == document.end() || !found->is_string()) continue;
    const std::string value = machine_text(found->get<std::string>());
    if (value != "not known") settings.*each.value = value;
  }
  return settings;
}

}  // namespace heddle::acceptance
