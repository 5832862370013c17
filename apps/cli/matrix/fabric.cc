// See fabric.h. Nodes are ordered in tiers: hosts, their neighbors, the neighbors of these, …
#include "apps/cli/matrix/fabric.h"

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "apps/cli/matrix/traced_loads.h"
#include "base/document.h"
#include "insight/matrix.h"
#include "topology/file.h"
#include "topology/names.h"

namespace heddle::cli {
namespace {

using topology::Link;
using topology::Node;
using topology::NodeKind;
using topology::Topology;

// Hosts first, then switches.
uint32_t place_of(const Topology& fabric, const Node& node) {
  if (node.kind == NodeKind::kNic) return fabric.nics[node.index].host;
  return static_cast<uint32_t>(fabric.hosts.size()) + node.index;
}

std::vector<uint32_t> tiers_of(const Topology& fabric) {
  constexpr uint32_t kUnknown = UINT32_MAX;
  std::vector<uint32_t> tiers(fabric.hosts.size() + fabric.switches.size(), kUnknown);
  for (size_t i = 0; i < fabric.hosts.size(); ++i) tiers[i] = 0;
  for (uint32_t tier = 0;; ++tier) {
    bool found = false;
    for (const Link& link : fabric.links) {
      const uint32_t a = place_of(fabric, link.a);
      const uint32_t b = place_of(fabric, link.b);
      for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
        if (tiers[from] != tier || tiers[to] != kUnknown) continue;
        tiers[to] = tier + 1;
        found = true;
      }
    }
    if (!found) break;
  }
  for (uint32_t& tier : tiers) tier = tier == kUnknown ? 0 : tier;
  return tiers;
}

// Parallel links count together: the link of each payload is unknown.
void add_direction(LinkLoads& loads, const Json& direction) {
  loads[{direction.at("from").get<std::string>(), direction.at("to").get<std::string>()}] +=
      direction.at("bytes").get<uint64_t>();
}

// A lab reports both directions of a link together, a simulation one by one.
Result<LinkLoads> read_counters(const std::string& path) {
  const char* const todo =
      "keep there what `heddle lab status --json` or `heddle sim --json` prints";
  const Result<std::string> text = read_text_file(path, todo);
  if (!text) return fail(text.error());
  const Json document = Json::parse(*text, nullptr, false);
  if (document.is_discarded()) {
    return fail(ErrorCode::kInvalid, "cannot use " + path, "it is no JSON", todo);
  }
  LinkLoads loads;
  try {
    const Json& links = document.at("links");
    if (links.is_object()) {
      for (const Json& direction : links.at("counters")) add_direction(loads, direction);
    } else {
      for (const Json& link : links) {
        for (const char* way : {"forward", "backward"}) add_direction(loads, link.at(way));
      }
    }
  } catch (const Json::exception&) {
    return fail(ErrorCode::kInvalid, "cannot use " + path,
                "its \"links\" do not have from, to and bytes of each direction", todo);
  }
  return loads;
}

// What each host of the recording sent to and got from others.
std::map<std::string, std::pair<uint64_t, uint64_t>> loads_of(const insight::Matrix& by_host) {
  std::map<std::string, std::pair<uint64_t, uint64_t>> loads;
  const bool wire = by_host.total().wire_bytes > 0;
  for (const insight::Party& party : by_host.parties) {
    if (party.recorded) loads[party.name];
  }
  for (const auto& [pair, cell] : by_host.cells) {
    if (pair.first == pair.second) continue;
    const uint64_t bytes = wire ? cell.wire_bytes : cell.bytes;
    loads[by_host.parties[pair.first].name].first += bytes;
    loads[by_host.parties[pair.second].name].second += bytes;
  }
  return loads;
}

Json known(std::optional<uint64_t> bytes) { return bytes ? Json(*bytes) : Json(nullptr); }

std::optional<uint64_t> find(const LinkLoads& loads, const std::string& from,
                             const std::string& to) {
  const auto at = loads.find({from, to});
  return at == loads.end() ? std::nullopt : std::optional(at->second);
}

// The loads of both directions of a link, and their source.
struct LinkLoad {
  std::optional<uint64_t> there;
  std::optional<uint64_t> back;
  const char* source = nullptr;

  bool take(const LinkLoads& loads, const std::string& a, const std::string& b, const char* name) {
    there = find(loads, a, b);
    back = find(loads, b, a);
    if (there || back) source = name;
    return source != nullptr;
  }
};

// Of links of hosts that have one and were recorded.
LinkLoads host_loads(const Topology& fabric, const insight::Matrix& by_host) {
  std::map<uint32_t, int> nics;
  for (const topology::Nic& nic : fabric.nics) ++nics[nic.host];
  const auto recorded = loads_of(by_host);
  LinkLoads loads;
  for (const Link& link : fabric.links) {
    const std::string a = node_label(fabric, link.a);
    const std::string b = node_label(fabric, link.b);
    for (const bool host_first : {true, false}) {
      const Node& end = host_first ? link.a : link.b;
      if (end.kind != NodeKind::kNic || loads.contains({a, b})) continue;
      const uint32_t host = fabric.nics[end.index].host;
      const auto load = recorded.find(fabric.hosts[host].name);
      if (nics[host] != 1 || load == recorded.end()) continue;
      loads[{a, b}] = host_first ? load->second.first : load->second.second;
      loads[{b, a}] = host_first ? load->second.second : load->second.first;
    }
  }
  return loads;
}

Json nodes_json(const Topology& fabric) {
  const std::vector<uint32_t> tiers = tiers_of(fabric);
  Json nodes = Json::array();
  for (size_t i = 0; i < tiers.size(); ++i) {
    const size_t hosts = fabric.hosts.size();
    nodes.push_back({{"name", i < hosts ? fabric.hosts[i].name : fabric.switches[i - hosts].name},
                     {"tier", tiers[i]}});
  }
  return nodes;
}

}  // namespace

Result<Json> fabric_json(const FabricSources& sources, const insight::Traffic& traffic) {
  const auto fabric = topology::read_topology_file(sources.topology);
  if (!fabric) return fail(fabric.error());
  Result<LinkLoads> counted = LinkLoads();
  if (!sources.counters.empty()) counted = read_counters(sources.counters);
  if (!counted) return fail(counted.error());
  RouterNames names = lab_routers(*fabric);
  if (!sources.routers.empty()) {
    if (Result<void> read = read_routers(sources.routers, *fabric, names); !read) {
      return fail(read.error());
    }
  }
  const TracedLoads traced = traced_loads(traffic, *fabric, names);
  const LinkLoads hosts =
      host_loads(*fabric, insight::make_matrix(traffic, insight::MatrixRows::kHost));
  Json links = Json::array();
  for (const Link& link : fabric->links) {
    const std::string a = node_label(*fabric, link.a);
    const std::string b = node_label(*fabric, link.b);
    LinkLoad load;
    if (!load.take(*counted, a, b, "counters") && !load.take(hosts, a, b, "recorded")) {
      load.take(traced.loads, a, b, "traced");
    }
    links.push_back({{"a", place_of(*fabric, link.a)},
                     {"b", place_of(*fabric, link.b)},
                     {"there", known(load.there)},
                     {"back", known(load.back)},
                     {"source", load.source != nullptr ? Json(load.source) : Json(nullptr)},
                     {"rate_bits_per_s", link.shape.rate.count}});
  }
  return Json{{"nodes", nodes_json(*fabric)},
              {"links", links},
              {"traced_bytes", traced.traced_bytes},
              {"untraced_bytes", traced.untraced_bytes}};
}

}  // namespace heddle::cli
