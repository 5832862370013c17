// See nic_rows.h.
#include "acceptance/nic_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>

#include "acceptance/value_votes.h"
#include "base/quantity.h"

namespace heddle::acceptance {
namespace {

// A NIC of a host, and the host.
struct OfHost {
  const std::string* host;
  const NicFacts* nic;
};
using ByName = std::map<std::string, std::vector<OfHost>>;

// Of a NIC as a text; empty: not known, which has no say and does not differ.
struct Property {
  const char* check;
  std::string (*value)(const NicFacts& nic);
  bool of_tested = false;  // also of NICs that are tested
};

constexpr std::array kProperties = {
    Property{"NIC state",
             [](const NicFacts& nic) { return std::string(nic.carrier ? "up" : "down"); }},
    Property{"NIC MTU",
             [](const NicFacts& nic) {
               return nic.mtu_bytes == 0 ? "" : fmt::format("{} bytes", nic.mtu_bytes);
             }},
    Property{"NIC rate",
             [](const NicFacts& nic) {
               return nic.rate_bits_per_s > 0 ? rate_text(nic.rate_bits_per_s) : "";
             }},
    Property{"NIC offloads",
             [](const NicFacts& nic) {
               return nic.offloads.starts_with("unknown") ? "" : nic.offloads;
             }},
    Property{"NIC rings", [](const NicFacts& nic) { return nic.settings.rings; }, true},
    Property{"NIC coalescing", [](const NicFacts& nic) { return nic.settings.coalescing; }, true},
    Property{"NIC pause", [](const NicFacts& nic) { return nic.settings.pause; }, true},
    Property{"NIC channels", [](const NicFacts& nic) { return nic.settings.channels; }, true},
    Property{"NIC private flags", [](const NicFacts& nic) { return nic.settings.private_flags; },
             true}};

HostValues known_values(const std::vector<OfHost>& nics, const Property& property) {
  HostValues known;
  for (const OfHost& each : nics) {
    const std::string value = property.value(*each.nic);
    if (!value.empty()) known.emplace_back(*each.host, value);
  }
  return known;
}

void add_property(const ByName& all, const Property& property, std::vector<Row>& rows) {
  size_t known = 0;
  size_t named = 0;
  for (const auto& [name, nics] : all) {
    const HostValues values = known_values(nics, property);
    const std::optional<std::string> most = value_of_most(values);
    bool is_judged = false;
    for (const OfHost& each : nics) {
      const std::string value = property.value(*each.nic);
      if (value.empty() || (each.nic->tested && !property.of_tested)) continue;
      is_judged = true;
      ++known;
      if (value == most) continue;
      ++named;
      if (!most) continue;
      rows.push_back(
          {property.check, *each.host, fmt::format("{}: {}", name, value),
           fmt::format("{}, as most hosts have", *most), Grade::kWarn,
           fmt::format("set it on {} as on the other hosts, or mend {} there", *each.host, name)});
    }
    if (!most && is_judged) rows.push_back(split_row(property.check, values, name + ": "));
  }
  if (known == named) return;
  rows.push_back({property.check, fmt::format("{} of {} NICs", known - named, known),
                  "as those of the same name", "the same on all"});
}

// Half of the hosts are not most of them.
void add_missing(const ByName& all, const std::vector<MachineFacts>& machines,
                 std::vector<Row>& rows) {
  const auto sends = std::count_if(machines.begin(), machines.end(),
                                   [](const MachineFacts& each) { return each.nics.has_value(); });
  for (const auto& [name, nics] : all) {
    if (2 * nics.size() <= static_cast<size_t>(sends)) continue;
    for (const MachineFacts& machine : machines) {
      const auto has = [&](const OfHost& each) { return *each.host == machine.name; };
      if (!machine.nics || std::any_of(nics.begin(), nics.end(), has)) continue;
      rows.push_back({"NICs", machine.name, fmt::format("no {}", name),
                      fmt::format("{}, as most hosts have", name), Grade::kWarn,
                      fmt::format("see `lspci` and the kernel's log on {}: the NIC, its driver or "
                                  "its name is missing",
                                  machine.name)});
    }
  }
}

}  // namespace

std::vector<Row> nic_rows(const std::vector<MachineFacts>& machines) {
  static const std::vector<NicFacts> none;
  ByName all;
  for (const MachineFacts& machine : machines) {
    for (const NicFacts& nic : machine.nics ? *machine.nics : none) {
      all[nic.device].push_back({&machine.name, &nic});
    }
  }
  std::vector<Row> rows;
  add_missing(all, machines, rows);
  for (const Property& property : kProperties) add_property(all, property, rows);
  return rows;
}

}  // namespace heddle::acceptance
