// See host_facts.h.
#include "acceptance/host_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <sstream>
#include <utility>

#include "acceptance/agent_numbers.h"
#include "acceptance/machine_texts.h"
#include "acceptance/params.h"
#include "acceptance/value_votes.h"
#include "base/document.h"
#include "base/quantity.h"
#include "lab/tool.h"
#include "lab/worker.h"
#include "topology/names.h"

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

std::string text_at(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool is_known(const std::string& value) {
  return value.rfind("unknown", 0) != 0 && value.rfind("not known", 0) != 0;
}

std::string seconds_text(double seconds) {
  return duration_text(nanos(std::llround(seconds * 1e9)));
}

// As value_of_most() has none: no host is the one that differs. What only shows is no warning.
void add_split_rows(const std::string& name, const NamedFacts& hosts, const HostValues& known,
                    std::vector<Row>& rows) {
  Row row = split_row(name, known);
  if (name == kOtherNics) row = {name, row.where, row.measured, ""};
  rows.push_back(std::move(row));
  for (const auto& [host, value] : hosts) {
    if (!is_known(value)) rows.push_back({name, host, value, ""});
  }
}

// Hosts that do not know a fact have no say in what most have, and do not differ.
void add_fact_rows(const std::string& name, const NamedFacts& hosts, std::vector<Row>& rows) {
  HostValues known;
  std::copy_if(hosts.begin(), hosts.end(), std::back_inserter(known),
               [](const auto& each) { return is_known(each.second); });
  const std::optional<std::string> most = value_of_most(known);
  if (!most && !known.empty()) return add_split_rows(name, hosts, known, rows);
  const std::string& usual = most ? *most : hosts.front().second;
  const auto alike =
      static_cast<size_t>(std::count_if(hosts.begin(), hosts.end(), [&](const auto& each) {
        return known.empty() || each.second == usual;
      }));
  const bool is_judged = name != kOtherNics;
  rows.push_back({name, fmt::format("{} of {} hosts", alike, hosts.size()), usual,
                  is_judged ? "the same on all" : ""});
  for (const auto& [host, value] : hosts) {
    if (value == usual || alike == hosts.size()) continue;
    Row row{name, host, value, is_judged ? usual + ", as most hosts have" : ""};
    if (is_judged && is_known(value)) {
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

// What clocks are compared with: this machine's, or that of most hosts.
struct ClockReference {
  ClockOffset offset;  // from this machine's
  bool of_most = false;
};

// The median, where most of those that are known well are near it: this machine's own clock may be
// the one that is off. Of two it cannot be said which one is.
ClockReference clock_reference(const std::vector<PlaceFacts>& places) {
  std::vector<ClockOffset> known;
  for (const PlaceFacts& place : places) {
    if (place.clock && place.clock->error_s < params::kClockVote) known.push_back(*place.clock);
  }
  if (known.size() < params::kLeastClocks) return {};
  std::sort(known.begin(), known.end(),
            [](const ClockOffset& a, const ClockOffset& b) { return a.ahead_s < b.ahead_s; });
  const ClockOffset median = known[known.size() / 2];
  const auto near = std::count_if(known.begin(), known.end(), [&](const ClockOffset& each) {
    return std::abs(each.ahead_s - median.ahead_s) < params::kClockApart;
  });
  if (2 * static_cast<size_t>(near) <= known.size()) return {};
  return {median, true};
}

// Whether this machine's clock is apart from that of most hosts, and no host's is near it, as its
// own would be.
bool is_apart_itself(const ClockReference& reference, const std::vector<PlaceFacts>& places) {
  const auto is_near = [](const PlaceFacts& place) {
    return place.clock && std::abs(place.clock->ahead_s) < params::kClockApart;
  };
  const auto& [ahead, error] = reference.offset;
  return std::abs(ahead) - error >= params::kClockApart &&
         std::none_of(places.begin(), places.end(), is_near);
}

std::string apart_text(const ClockOffset& clock) {
  const std::string error = seconds_text(clock.error_s);
  return clock.ahead_s < 0 ? fmt::format("{:.1f} s behind, to within {}", -clock.ahead_s, error)
                           : fmt::format("{:.1f} s ahead, to within {}", clock.ahead_s, error);
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
  constexpr std::array<std::pair<const char*, const char*>, 6> kNames = {
      {{"rx-checksumming", "rx checksum"},
       {"tx-checksumming", "tx checksum"},
       {"tcp-segmentation-offload", "tso"},
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
  const Json links = machine_document(document);
  if (!links.is_array()) {
    return fail(ErrorCode::kSystem, "cannot read the ports of a host", "`ip -j link` wrote no list",
                "iproute2 must be able to write JSON");
  }
  std::vector<PortFacts> ports;
  for (const std::string& device : devices) {
    PortFacts port{.device = device};
    for (const Json& link : links) {
      if (!link.is_object() || text_at(link, "ifname") != device) continue;
      port.found = true;
      const auto mtu = link.find("mtu");
      const bool known = mtu != link.end() && mtu->is_number();
      port.mtu_bytes = known ? static_cast<uint32_t>(count_of(mtu->get<double>(), UINT32_MAX)) : 0;
      const auto flags = link.find("flags");
      const auto has = [&](const char* flag) {
        return flags != link.end() && flags->is_array() &&
               std::find(flags->begin(), flags->end(), Json(flag)) != flags->end();
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
    PlaceCounts counts{place.name, place.is_switch, true,
                       nic_counts_of((*texts)[i], devices_of(lab.layout, place))};
    for (const uint32_t at : place.ports) {
      const lab::Port& port = lab.layout.ports[at];
      counts.links[port.device] = topology::link_label(lab.layout.topology, port.link);
    }
    all.push_back(std::move(counts));
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
  const bool is_shared = std::none_of(places.begin(), places.end(), [](const PlaceFacts& place) {
    return place.clock.has_value();
  });
  if (is_shared) return {};
  const ClockReference reference = clock_reference(places);
  const std::string expected =
      reference.of_most ? fmt::format("within {:g} s of most hosts", params::kClockApart)
                        : fmt::format("within {:g} s of this machine's", params::kClockApart);
  std::vector<Row> rows;
  size_t clocks = 0;
  double most = 0;  // of those that are fine
  for (const PlaceFacts& place : places) {
    if (place.is_switch) continue;
    ++clocks;
    if (!place.clock) {
      rows.push_back({"clock", place.name, "not known", expected, Grade::kWarn,
                      fmt::format("install the same version of heddle on {} as on the other hosts",
                                  place.name)});
      continue;
    }
    const double ahead = place.clock->ahead_s - reference.offset.ahead_s;
    const double error = place.clock->error_s + reference.offset.error_s;
    if (std::abs(ahead) + error < params::kClockApart) {
      most = std::max(most, std::abs(ahead) + error);
    } else if (std::abs(ahead) - error < params::kClockApart) {
      rows.push_back(
          {"clock", place.name,
           fmt::format("not known: an answer took {}", seconds_text(2 * place.clock->error_s)),
           expected, Grade::kWarn,
           fmt::format("repeat the test when {} and the network to it are idle", place.name)});
    } else {
      rows.push_back({"clock", place.name, apart_text({ahead, error}), expected, Grade::kWarn,
                      fmt::format("start chrony or ntpd on {}: times of its logs and recordings "
                                  "cannot be compared with others'",
                                  place.name)});
    }
  }
  const size_t fine = clocks - rows.size();
  if (is_apart_itself(reference, places)) {
    rows.push_back(
        {"clock", "this machine", apart_text({-reference.offset.ahead_s, reference.offset.error_s}),
         expected, Grade::kWarn,
         "start chrony or ntpd on this machine: hosts begin flows at times of its clock"});
  }
  if (fine > 0) {
    rows.push_back({"clock", fmt::format("{} of {} hosts", fine, clocks),
                    "apart by at most " + seconds_text(most), expected});
  }
  return rows;
}

}  // namespace heddle::acceptance
