// See host_facts.h.
#include "acceptance/host_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <sstream>
#include <utility>

#include "acceptance/params.h"
#include "base/document.h"
#include "lab/tool.h"
#include "lab/worker.h"

namespace heddle::acceptance {
namespace {

// What a process in this namespace finds; "unknown" where the kernel does not show it there.
std::string kernel_value(const std::string& name) {
  const Result<std::string> text = read_text_file("/proc/sys/" + name, "");
  if (!text) return "unknown";
  return text->substr(0, text->find_last_not_of(" \n\t") + 1);
}

Result<std::string> read_place(const lab::Place& place, const std::vector<std::string>& devices) {
  if (Result<void> in = lab::enter_namespace(place.netns, false); !in) return fail(in.error());
  Result<Json> facts = read_own_facts(devices);
  if (!facts) return fail(std::move(facts).error());
  if (place.is_switch) {
    facts->erase("facts");
    facts->erase("firewall");
  }
  return facts->dump();
}

// Of the namespace that this process is in.
std::optional<Firewall> own_firewall() {
  const Result<std::string> ruleset = lab::run_tool({"nft", "-j", "list", "ruleset"});
  if (!ruleset) return std::nullopt;
  const std::string tables = read_text_file("/proc/self/net/ip_tables_names", "").value_or("") +
                             read_text_file("/proc/self/net/ip6_tables_names", "").value_or("");
  return firewall_of(*ruleset, tables);
}

std::vector<std::string> devices_of(const lab::Layout& layout, const lab::Place& place) {
  std::vector<std::string> devices;
  for (const uint32_t port : place.ports) devices.push_back(layout.ports[port].device);
  return devices;
}

bool is_known(const std::string& value) {
  return value.rfind("unknown", 0) != 0 && value.rfind("not known", 0) != 0;
}

// Hosts that do not know a fact have no say in what most have, and do not differ.
void add_fact_rows(const std::string& name, const NamedFacts& hosts, std::vector<Row>& rows) {
  std::map<std::string, size_t> votes;
  for (const auto& [host, value] : hosts) votes[value] += is_known(value) ? 1 : 0;
  const auto most = std::max_element(
      votes.begin(), votes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  const size_t alike = is_known(most->first) ? most->second : hosts.size();
  rows.push_back(
      {name, fmt::format("{} of {} hosts", alike, hosts.size()), most->first, "the same on all"});
  for (const auto& [host, value] : hosts) {
    if (value == most->first || alike == hosts.size()) continue;
    Row row{name, host, value, most->first + ", as most hosts have"};
    if (is_known(value)) {
      row.grade = Grade::kWarn;
      row.todo = fmt::format(
          "set it on {} as on the other hosts: a job runs at the pace of its slowest host", host);
    }
    rows.push_back(std::move(row));
  }
}

void add_missing_rows(const std::vector<PlaceFacts>& places, const std::vector<std::string>& names,
                      std::vector<Row>& rows) {
  for (const PlaceFacts& place : places) {
    if (place.is_switch) continue;
    std::vector<std::string> missing;
    for (const std::string& name : names) {
      const auto has = [&](const auto& fact) { return fact.first == name; };
      if (std::none_of(place.facts.begin(), place.facts.end(), has)) missing.push_back(name);
    }
    if (missing.empty()) continue;
    rows.push_back({"facts", place.name, fmt::format("not known: {}", fmt::join(missing, ", ")),
                    "known, as of the other hosts", Grade::kWarn,
                    fmt::format("install the same version of heddle on {} as on the other hosts",
                                place.name)});
  }
}

}  // namespace

Result<Json> read_own_facts(const std::vector<std::string>& devices) {
  const Result<std::string> links = lab::run_tool({"ip", "-j", "link", "show"});
  if (!links) return fail(links.error());
  std::string offloads;
  for (const std::string& device : devices) {
    const Result<std::string> features = lab::run_tool({"ethtool", "-k", device});
    const std::string text = features ? offloads_of(*features) : "unknown";
    if (offloads.empty() || offloads == text) {
      offloads = text;
    } else {
      offloads += "; " + device + ": " + text;
    }
  }
  const std::optional<Firewall> firewall = own_firewall();
  Json found{
      {"links", *links},
      {"facts",
       {{"offloads", offloads},
        {"TCP congestion control", kernel_value("net/ipv4/tcp_congestion_control")},
        {"largest receive buffer", kernel_value("net/core/rmem_max") + " bytes"},
        {"path MTU discovery", kernel_value("net/ipv4/ip_no_pmtu_disc") == "0" ? "on" : "off"},
        {"firewall", firewall_text(firewall)}}}};
  if (firewall) found["firewall"] = json_of(*firewall);
  return found;
}

std::string offloads_of(const std::string& features) {
  constexpr std::array<std::pair<const char*, const char*>, 4> kNames = {
      {{"tcp-segmentation-offload", "tso"},
       {"generic-segmentation-offload", "gso"},
       {"generic-receive-offload", "gro"},
       {"large-receive-offload", "lro"}}};
  std::string text;
  std::istringstream lines(features);
  for (std::string line; std::getline(lines, line);) {
    for (const auto& [name, word] : kNames) {
      const std::string start = std::string(name) + ": ";
      if (line.rfind(start, 0) != 0) continue;
      const bool on = line.compare(start.size(), 2, "on") == 0;
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", word, on ? "on" : "off");
    }
  }
  return text;
}

Result<std::vector<PortFacts>> ports_of(const std::string& document,
                                        const std::vector<std::string>& devices) {
  const Json links = Json::parse(document, nullptr, false);
  if (!links.is_array()) {
    return fail(ErrorCode::kSystem, "cannot read the ports of a host", "`ip -j link` wrote no list",
                "iproute2 must be able to write JSON");
  }
  std::vector<PortFacts> ports;
  for (const std::string& device : devices) {
    PortFacts port{.device = device};
    for (const Json& link : links) {
      if (link.value("ifname", "") != device) continue;
      port.found = true;
      port.mtu_bytes = link.value("mtu", 0U);
      const Json flags = link.value("flags", Json::array());
      const auto has = [&](const char* flag) {
        return std::find(flags.begin(), flags.end(), Json(flag)) != flags.end();
      };
      // LOWER_UP is the carrier itself; ip derives NO-CARRIER from a state that may be a second
      // old.
      port.carrier = has("UP") && has("LOWER_UP");
    }
    ports.push_back(port);
  }
  return ports;
}

Result<std::vector<PlaceFacts>> read_lab_facts(const lab::Lab& lab) {
  lab::Workers workers;
  for (const lab::Place& place : lab.layout.places) {
    workers.start([&] { return read_place(place, devices_of(lab.layout, place)); });
  }
  const Result<std::vector<std::string>> texts = workers.finish();
  if (!texts) return fail(texts.error());
  std::vector<PlaceFacts> places;
  for (size_t i = 0; i < texts->size(); ++i) {
    const lab::Place& place = lab.layout.places[i];
    const Json found = Json::parse((*texts)[i], nullptr, false);
    Result<std::vector<PortFacts>> ports =
        ports_of(found.value("links", ""), devices_of(lab.layout, place));
    if (!ports) return fail(std::move(ports).error());
    for (size_t at = 0; at < ports->size(); ++at) {
      (*ports)[at].link = lab.layout.ports[place.ports[at]].link;
    }
    PlaceFacts facts{place.name, place.is_switch, std::move(*ports)};
    facts.firewall = firewall_in(found.value("firewall", Json()));
    const Json named = found.value("facts", Json::object());
    for (const auto& [name, value] : named.items()) {
      facts.facts.emplace_back(name, value.get<std::string>());
    }
    places.push_back(std::move(facts));
  }
  return places;
}

Result<std::vector<PlaceCounts>> read_lab_counts(const lab::Lab& lab) {
  lab::Workers workers;
  for (const lab::Place& place : lab.layout.places) {
    workers.start([&]() -> Result<std::string> {
      if (Result<void> in = lab::enter_namespace(place.netns, false); !in) return fail(in.error());
      return lab::run_tool({"ip", "-j", "-s", "-s", "link", "show"});
    });
  }
  const Result<std::vector<std::string>> texts = workers.finish();
  if (!texts) return fail(texts.error());
  std::vector<PlaceCounts> all;
  for (size_t i = 0; i < texts->size(); ++i) {
    const lab::Place& place = lab.layout.places[i];
    all.push_back({place.name, place.is_switch, true,
                   nic_counts_of((*texts)[i], devices_of(lab.layout, place))});
  }
  all.push_back({"this machine", false, true, rdma_counts("/sys")});
  return all;
}

std::vector<Row> compare_facts(const std::vector<PlaceFacts>& places) {
  std::vector<std::string> names;             // in the order in which hosts list them
  std::map<std::string, NamedFacts> by_fact;  // host and value
  for (const PlaceFacts& place : places) {
    for (const auto& [name, value] : place.facts) {
      if (by_fact[name].empty()) names.push_back(name);
      by_fact[name].emplace_back(place.name, value);
    }
  }
  std::vector<Row> rows;
  for (const std::string& name : names) add_fact_rows(name, by_fact[name], rows);
  add_missing_rows(places, names, rows);
  return rows;
}

std::vector<Row> compare_clocks(const std::vector<PlaceFacts>& places) {
  const std::string expected = fmt::format("within {:g} s of this machine's", params::kClockApart);
  std::vector<Row> rows;
  size_t clocks = 0;
  for (const PlaceFacts& place : places) {
    if (!place.clock_ahead_s) continue;
    ++clocks;
    const double apart = *place.clock_ahead_s;
    if (std::abs(apart) < params::kClockApart) continue;
    rows.push_back({"clock", place.name,
                    fmt::format("{:.1f} s {}", std::abs(apart), apart < 0 ? "behind" : "ahead"),
                    expected, Grade::kWarn,
                    fmt::format("start chrony or ntpd on {}: times of its logs and recordings "
                                "cannot be compared with others'",
                                place.name)});
  }
  const size_t fine = clocks - rows.size();
  if (fine > 0)
    rows.push_back({"clock", fmt::format("{} of {} hosts", fine, clocks), "right", expected});
  return rows;
}

}  // namespace heddle::acceptance
