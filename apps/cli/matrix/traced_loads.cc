// Loads by traced paths: see traced_loads.h.
#include "apps/cli/matrix/traced_loads.h"

#include <fmt/core.h>

#include <iterator>
#include <optional>
#include <sstream>
#include <vector>

#include "base/document.h"
#include "engine/addresses.h"
#include "lab/layout.h"
#include "topology/names.h"

namespace heddle::cli {
namespace {

using topology::Link;
using topology::Node;
using topology::NodeKind;
using topology::Topology;

std::optional<insight::Router> router_at(const std::string& address) {
  const bool v6 = address.find(':') != std::string::npos;
  const auto found = engine::find_address(v6 ? "[" + address + "]:1" : address, 1);
  if (!found) return std::nullopt;
  return insight::Router(transport::host_part(*found, 0), transport::host_part(*found, 8));
}

// Finds the links of a route by the names of its nodes.
class Routes {
 public:
  Routes(const Topology& fabric, const RouterNames& names) : names_(names) {
    for (const Link& link : fabric.links) {
      for (const auto& [from, to] : {std::pair(link.a, link.b), std::pair(link.b, link.a)}) {
        const std::pair labels(topology::node_label(fabric, from),
                               topology::node_label(fabric, to));
        std::vector<Labels>& beside = links_[{name_of(fabric, from), name_of(fabric, to)}];
        if (beside.empty() || beside.back() != labels) beside.push_back(labels);
      }
    }
  }

  // Links from host to host; nothing where one of them is not known.
  std::optional<std::vector<std::pair<std::string, std::string>>> links_of(
      const std::string& from, const std::vector<insight::Router>& routers,
      const std::string& to) const {
    std::vector<std::string> nodes = {from};
    for (const insight::Router& router : routers) {
      const auto name = names_.find(router);
      if (name == names_.end()) return std::nullopt;
      nodes.push_back(name->second);
    }
    nodes.push_back(to);
    std::vector<Labels> links;
    for (size_t i = 1; i < nodes.size(); ++i) {
      const auto link = links_.find({nodes[i - 1], nodes[i]});
      // With several cables between a host and a switch, the cable is unknown.
      if (link == links_.end() || link->second.size() > 1) return std::nullopt;
      links.push_back(link->second.front());
    }
    return links;
  }

 private:
  using Labels = std::pair<std::string, std::string>;

  static std::string name_of(const Topology& fabric, const Node& node) {
    if (node.kind == NodeKind::kNic) return fabric.hosts[fabric.nics[node.index].host].name;
    return fabric.switches[node.index].name;
  }

  const RouterNames& names_;
  std::map<Labels, std::vector<Labels>> links_;  // by names of hosts and switches
};

}  // namespace

RouterNames lab_routers(const Topology& fabric) {
  RouterNames names;
  for (uint32_t i = 0; i < fabric.switches.size(); ++i) {
    for (const std::string& address : {lab::switch_ipv4(i), lab::switch_ipv6(i)}) {
      if (const auto router = router_at(address)) names[*router] = fabric.switches[i].name;
    }
  }
  return names;
}

Result<void> read_routers(const std::string& file, const Topology& fabric, RouterNames& names) {
  const Result<std::string> text = read_text_file(file, "check the path of the routers' names");
  if (!text) return fail(text.error());
  std::istringstream lines(*text);
  uint32_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::istringstream words(line.substr(0, line.find('#')));
    std::string address;
    if (!(words >> address)) continue;
    const std::vector<std::string> called{std::istream_iterator<std::string>(words), {}};
    const auto router = router_at(address);
    const std::string why = called.empty() ? "there is no name behind the address"
                            : !router      ? "'" + address + "' is no address"
                                           : "";
    if (!why.empty()) {
      return fail(ErrorCode::kInvalid, fmt::format("cannot use {}:{}", file, number), why,
                  "write an address and the name of a switch in a line, as in /etc/hosts");
    }
    // A file of all hosts has others, too.
    for (const std::string& name : called) {
      if (topology::find_switch(fabric, name)) names[*router] = name;
    }
  }
  return {};
}

TracedLoads traced_loads(const insight::Traffic& traffic, const Topology& fabric,
                         const RouterNames& names) {
  const Routes routes(fabric, names);
  TracedLoads traced;
  for (const insight::Flow& flow : traffic.flows) {
    const uint64_t bytes = flow.cell.wire_bytes;
    if (bytes == 0) continue;
    std::optional<std::vector<std::pair<std::string, std::string>>> links;
    if (flow.route != insight::kNoRoute) {
      links = routes.links_of(traffic.parties[flow.from].host, traffic.routes[flow.route],
                              traffic.parties[flow.to].host);
    }
    (links ? traced.traced_bytes : traced.untraced_bytes) += bytes;
    if (!links) continue;
    for (const auto& link : *links) traced.loads[link] += bytes;
  }
  return traced;
}

}  // namespace heddle::cli
