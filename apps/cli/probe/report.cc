// Report: see report.h.
#include "apps/cli/probe/report.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "apps/cli/params.h"
#include "base/quantity.h"
#include "base/version.h"

namespace heddle::cli {
namespace {

using probing::Finding;
using probing::FlowKey;
using probing::FoundFabric;
using probing::FoundLink;
using probing::FoundSwitch;

// Routes of a pair of NICs, with the source ports that take each.
struct RouteGroup {
  uint32_t from = 0;
  uint32_t to = 0;
  std::vector<std::string> switches;  // "?" for one that is not known
  bool arrives = false;
  std::vector<uint16_t> ports;
};

std::vector<RouteGroup> route_groups(const FoundFabric& found) {
  std::vector<RouteGroup> groups;
  std::map<std::tuple<uint32_t, uint32_t, bool, std::vector<std::string>>, size_t> numbers;
  for (const auto& [key, route] : found.routes) {
    RouteGroup group{key.from, key.to, {}, route.arrives, {}};
    for (const auto& each : route.switches) {
      group.switches.push_back(each ? found.switches[*each].name : "?");
    }
    const auto [at, is_new] = numbers.emplace(
        std::tuple(group.from, group.to, group.arrives, group.switches), groups.size());
    if (is_new) groups.push_back(std::move(group));
    groups[at->second].ports.push_back(key.source_port);
  }
  return groups;
}

std::string nic_name(const FoundFabric& found, uint32_t nic) {
  return name_of(found, probing::nic_place(nic));
}

std::string rate_cell(const probing::DirectionState& state) {
  if (state.rate.count == 0) return "-";
  return (state.rate_is_exact ? "" : ">= ") + rate_text(static_cast<double>(state.rate.count));
}

std::string joined(const std::vector<std::string>& words, const char* between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

std::string places_text(const FoundFabric& found, const Finding& finding) {
  std::vector<std::string> names;
  for (const probing::Hop& hop : finding.places) {
    names.push_back(hop.from == hop.to ? name_of(found, hop.from) : name_of(found, hop));
  }
  return names.empty() ? "-" : joined(names, " or ");
}

std::string switches_text(const FoundFabric& found) {
  std::string text =
      fmt::format("\n{:<12} {:>4}  {:<8}  {}\n", "switch", "tier", "grouped", "addresses");
  for (const FoundSwitch& each : found.switches) {
    const std::string addresses = joined(each.addresses, " ");
    text += fmt::format("{:<12} {:>4}  {:<8}  {}\n", each.name, each.tier, name_of(each.certainty),
                        addresses.empty() ? "does not answer" : addresses);
  }
  return text;
}

std::string links_text(const FoundFabric& found) {
  std::string text = fmt::format("\n{:<24} {:>6} {:>10}  {:>14} {:>14}  {}\n", "link", "flows",
                                 "flows back", "rate", "rate back", "certainty");
  for (const FoundLink& link : found.links) {
    std::string name = name_of(found, link.a) + " - " + name_of(found, link.b);
    if (link.cables > 1) name += fmt::format(" x{}", link.cables);
    text += fmt::format("{:<24} {:>6} {:>10}  {:>14} {:>14}  {}\n", name, link.forward.flows,
                        link.backward.flows, rate_cell(link.forward), rate_cell(link.backward),
                        name_of(link.certainty));
  }
  return text;
}

std::string ports_text(const std::vector<uint16_t>& ports) {
  std::string text;
  for (size_t i = 0; i < ports.size() && i < params::probe::kMostPortsShown; ++i) {
    text += fmt::format("{}{}", text.empty() ? "" : ",", ports[i]);
  }
  return text + (ports.size() > params::probe::kMostPortsShown ? ",..." : "");
}

std::string routes_text(const FoundFabric& found) {
  const std::vector<RouteGroup> groups = route_groups(found);
  std::string text =
      fmt::format("\n{:<16} {:<28} {:>9}  {}\n", "from - to", "route", "entropies", "source ports");
  for (size_t i = 0; i < groups.size() && i < params::probe::kMostRoutes; ++i) {
    const RouteGroup& group = groups[i];
    const std::string route = group.switches.empty() ? "none" : joined(group.switches, " ");
    text += fmt::format("{:<16} {:<28} {:>9}  {}\n",
                        nic_name(found, group.from) + " - " + nic_name(found, group.to),
                        route + (group.arrives ? "" : " LOST"), group.ports.size(),
                        ports_text(group.ports));
  }
  if (groups.size() > params::probe::kMostRoutes) {
    text +=
        fmt::format("... and {} more: see --json\n", groups.size() - params::probe::kMostRoutes);
  }
  return text;
}

std::string findings_text(const FoundFabric& found) {
  if (found.findings.empty()) return "\nNo fault was found.\n";
  std::string text =
      fmt::format("\n{:<9} {:<28} {:<9} {}\n", "found", "place", "certainty", "evidence");
  for (const Finding& finding : found.findings) {
    std::string what;
    if (finding.kind == probing::FindingKind::kLossy) {
      what = fmt::format("{:.2g}% lost; ", finding.loss * 100);
    }
    text +=
        fmt::format("{:<9} {:<28} {:<9} {}{}\n", name_of(finding.kind), places_text(found, finding),
                    name_of(finding.certainty), what, finding.evidence);
  }
  return text;
}

std::string comparison_text(const ProbeReport& report) {
  if (!report.comparison) return "";
  const probing::Comparison& comparison = *report.comparison;
  std::string text = fmt::format("\nCompared with {}: {}, {}\n", report.compared_with,
                                 counted_text(comparison.links, "equal link"),
                                 comparison.differences.empty()
                                     ? "no difference"
                                     : counted_text(comparison.differences.size(), "difference"));
  for (const probing::Difference& each : comparison.differences) {
    text += fmt::format("{:<9} {:<28} {}\n", name_of(each.kind), each.subject, each.why);
  }
  for (const std::string& note : comparison.notes) text += "note: " + note + "\n";
  return text;
}

Json direction_json(const probing::DirectionState& state) {
  return {{"flows", state.flows},
          {"rate_bits_per_s", state.rate.count > 0 ? Json(state.rate.count) : Json()},
          {"rate_is_exact", state.rate_is_exact}};
}

Json links_json(const FoundFabric& found) {
  Json links = Json::array();
  for (const FoundLink& link : found.links) {
    links.push_back({{"a", name_of(found, link.a)},
                     {"b", name_of(found, link.b)},
                     {"cables", link.cables},
                     {"certainty", std::string(name_of(link.certainty))},
                     {"forward", direction_json(link.forward)},
                     {"backward", direction_json(link.backward)}});
  }
  return links;
}

Json routes_json(const FoundFabric& found) {
  Json routes = Json::array();
  for (const RouteGroup& group : route_groups(found)) {
    Json switches = Json::array();
    for (const std::string& each : group.switches) {
      switches.push_back(each == "?" ? Json() : Json(each));
    }
    routes.push_back({{"from", nic_name(found, group.from)},
                      {"to", nic_name(found, group.to)},
                      {"switches", std::move(switches)},
                      {"arrives", group.arrives},
                      {"source_ports", group.ports}});
  }
  return routes;
}

Json findings_json(const FoundFabric& found) {
  Json findings = Json::array();
  for (const Finding& finding : found.findings) {
    Json places = Json::array();
    for (const probing::Hop& hop : finding.places) {
      places.push_back({{"from", name_of(found, hop.from)}, {"to", name_of(found, hop.to)}});
    }
    Json row = {{"kind", std::string(name_of(finding.kind))},
                {"places", std::move(places)},
                {"certainty", std::string(name_of(finding.certainty))},
                {"bad_flows", finding.bad_flows},
                {"good_flows", finding.good_flows},
                {"evidence", finding.evidence}};
    if (finding.kind == probing::FindingKind::kLossy) row["loss"] = finding.loss;
    if (finding.kind == probing::FindingKind::kSlow) {
      row["rate_bits_per_s"] = finding.rate.count;
      row["usual_rate_bits_per_s"] = finding.usual_rate.count;
    }
    findings.push_back(std::move(row));
  }
  return findings;
}

Json comparison_json(const ProbeReport& report) {
  if (!report.comparison) return {};
  Json differences = Json::array();
  for (const probing::Difference& each : report.comparison->differences) {
    differences.push_back(
        {{"kind", std::string(name_of(each.kind))}, {"subject", each.subject}, {"why", each.why}});
  }
  return {{"with", report.compared_with},
          {"equal_links", report.comparison->links},
          {"invisible_links", report.comparison->invisible},
          {"differences", std::move(differences)},
          {"notes", report.comparison->notes}};
}

}  // namespace

std::string probe_text(const ProbeReport& report) {
  const FoundFabric& found = report.probed.found;
  return fmt::format("{}, {}, {}, {}: {} probes in {}\n", counted_text(found.nics.size(), "NIC"),
                     found.switches.size() == 1 ? "1 switch"
                                                : count_text(found.switches.size()) + " switches",
                     counted_text(found.links.size(), "link"),
                     counted_text(route_groups(found).size(), "route"),
                     count_text(report.probed.packets), duration_text(report.probed.took)) +
         findings_text(found) + comparison_text(report) + switches_text(found) + links_text(found) +
         routes_text(found);
}

Json probe_document(const ProbeReport& report) {
  const FoundFabric& found = report.probed.found;
  Json nics = Json::array();
  for (uint32_t i = 0; i < found.nics.size(); ++i) {
    nics.push_back({{"name", nic_name(found, i)},
                    {"host", found.nics[i].host},
                    {"nic", found.nics[i].number},
                    {"address", found.nics[i].address}});
  }
  Json switches = Json::array();
  for (const FoundSwitch& each : found.switches) {
    switches.push_back({{"name", each.name},
                        {"tier", each.tier},
                        {"addresses", each.addresses},
                        {"certainty", std::string(name_of(each.certainty))}});
  }
  return {{"heddle", std::string(kVersion)},  {"packets", report.probed.packets},
          {"rounds", report.probed.rounds},   {"seconds", to_seconds(report.probed.took)},
          {"nics", std::move(nics)},          {"switches", std::move(switches)},
          {"links", links_json(found)},       {"routes", routes_json(found)},
          {"findings", findings_json(found)}, {"comparison", comparison_json(report)}};
}

bool is_sound(const ProbeReport& report) {
  const auto& findings = report.probed.found.findings;
  const bool has_fault = std::any_of(findings.begin(), findings.end(),
                                     [](const Finding& finding) { return finding.is_fault(); });
  return !has_fault && (!report.comparison || report.comparison->differences.empty());
}

}  // namespace heddle::cli
