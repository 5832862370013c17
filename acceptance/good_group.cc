// See good_group.h.
#include "acceptance/good_group.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "acceptance/fabric_bounds.h"
#include "acceptance/host_cover.h"
#include "acceptance/link_names.h"
#include "acceptance/params.h"
#include "topology/names.h"

namespace heddle::acceptance {
namespace {

// The host that a link is of; nothing for one between switches.
std::optional<uint32_t> host_of(const topology::Topology& topology, uint32_t link) {
  for (const topology::Node& node : {topology.links[link].a, topology.links[link].b}) {
    if (node.kind == topology::NodeKind::kNic) return topology.nics[node.index].host;
  }
  return std::nullopt;
}

struct BadPair {
  HostPair pair;
  std::string why;
  bool over_further_nics = false;  // the row is of one of these
};

// What rows may call the links and hosts of a topology.
class Names {
 public:
  explicit Names(const topology::Topology& topology) : topology_(topology) {
    for (uint32_t i = 0; i < topology.links.size(); ++i) {
      const std::string label = topology::link_label(topology, i);
      links_.emplace(label, i);
      for (const bool forward : {true, false}) links_.emplace(direction_name(label, forward), i);
    }
  }

  std::optional<uint32_t> link(const std::string& where) const {
    const auto found = links_.find(where);
    return found == links_.end() ? std::nullopt : std::optional(found->second);
  }

  std::optional<HostPair> pair(const std::string& where) const {
    const size_t at = where.find(" to ");
    if (at == std::string::npos) return std::nullopt;
    const auto from = topology::find_host(topology_, where.substr(0, at));
    const auto to = topology::find_host(topology_, where.substr(at + 4));
    if (!from || !to || *from == *to) return std::nullopt;
    return HostPair{*from, *to};
  }

 private:
  const topology::Topology& topology_;
  std::map<std::string, uint32_t> links_;
};

class Search {
 public:
  explicit Search(const topology::Topology& topology)
      : topology_(topology), routes_(topology), names_(topology) {}

  GoodGroup run(const std::vector<std::vector<Row>>& tests) {
    for (const std::vector<Row>& rows : tests) note_all(rows);
    leave_out_by_pairs();
    leave_out_unreachable();
    for (uint32_t i = 0; i < topology_.hosts.size(); ++i) {
      if (hosts_out_.count(i) == 0) group_.hosts.push_back(i);
    }
    group_.links.assign(links_out_.begin(), links_out_.end());
    return std::move(group_);
  }

 private:
  void leave_host_out(uint32_t host, const std::string& why) {
    if (hosts_out_.insert(host).second) {
      group_.left_out.push_back({topology_.hosts[host].name, why});
    }
  }

  // Rows of one test. Of its failed pairs those count that no link explains which it names.
  void note_all(const std::vector<Row>& rows) {
    const std::set<uint32_t> links_before = links_out_;
    const size_t pairs_before = bad_pairs_.size();
    for (const Row& row : rows) {
      if (row.grade == Grade::kFail) note(row);
    }
    const auto is_named = [&](const auto& used) {
      return links_out_.contains(used.first.link) && !links_before.contains(used.first.link);
    };
    const auto takes_named_link = [&](const BadPair& bad) {
      HostPair pair = bad.pair;
      if (!bad.over_further_nics) return std::ranges::any_of(routes_.links(pair), is_named);
      for (pair.nics = {1, 1}; routes_.length(pair) > 0; ++pair.nics.from, ++pair.nics.to) {
        if (std::ranges::any_of(routes_.links(pair), is_named)) return true;
      }
      return false;
    };
    const auto first = bad_pairs_.begin() + static_cast<std::ptrdiff_t>(pairs_before);
    bad_pairs_.erase(std::remove_if(first, bad_pairs_.end(), takes_named_link), bad_pairs_.end());
  }

  void note(const Row& row) {
    const std::string why = row.check + ": " + row.measured;
    if (const auto link = names_.link(row.where)) {
      const auto host = host_of(topology_, *link);
      if (host) {
        leave_host_out(*host, why);
      } else if (links_out_.insert(*link).second) {
        group_.left_out.push_back({topology::link_label(topology_, *link), why});
        group_.links_carry |= row.check != "link state";  // of one that is down nothing is carried
      }
    } else if (const auto pair = names_.pair(row.where)) {
      const bool further = row.check.ends_with(" of NIC");
      if (row.check != "routes") bad_pairs_.push_back({*pair, why, further});
    } else if (const auto host = topology::find_host(topology_, row.where)) {
      leave_host_out(*host, why);
    }
  }

  void leave_out_by_pairs() {
    std::vector<HostPair> left;
    std::map<uint32_t, std::string> whys;  // by host: the last of its pairs
    for (const auto& [pair, why, further] : bad_pairs_) {
      if (hosts_out_.count(pair.from) + hosts_out_.count(pair.to) > 0) continue;
      left.push_back(pair);
      for (const uint32_t host : {pair.to, pair.from}) {
        whys[host] =
            topology_.hosts[pair.from].name + " to " + topology_.hosts[pair.to].name + ", " + why;
      }
    }
    const HostCover cover = cover_of(left, params::kMostCoveredHosts);
    for (const uint32_t host : cover.hosts) leave_host_out(host, whys[host]);
    group_.largest = cover.least;
  }

  // Without its links a switch may have cut off hosts: those outside the largest part go.
  void leave_out_unreachable() {
    if (links_out_.empty()) return;
    std::vector<uint32_t> left;
    for (uint32_t i = 0; i < topology_.hosts.size(); ++i) {
      if (hosts_out_.count(i) == 0) left.push_back(i);
    }
    const GoodGroup all{
        .hosts = left, .links = {links_out_.begin(), links_out_.end()}, .left_out = {}};
    const PartOfTopology part = part_of(topology_, all);
    std::vector<std::vector<uint32_t>> islands;
    for (uint32_t i = 0; i < left.size(); ++i) {
      const auto joined = std::find_if(islands.begin(), islands.end(), [&](const auto& island) {
        return routes_between(part.topology, {island.front(), i}).routes > 0;
      });
      if (joined == islands.end()) {
        islands.push_back({i});
      } else {
        joined->push_back(i);
      }
    }
    const auto largest =
        std::max_element(islands.begin(), islands.end(),
                         [](const auto& a, const auto& b) { return a.size() < b.size(); });
    for (auto island = islands.begin(); island != islands.end(); ++island) {
      if (island == largest) continue;
      for (const uint32_t host : *island) {
        leave_host_out(left[host], "no route to the others without the links that are left out");
      }
    }
  }

  const topology::Topology& topology_;
  Routes routes_;
  Names names_;
  std::vector<BadPair> bad_pairs_;
  std::set<uint32_t> hosts_out_;
  std::set<uint32_t> links_out_;
  GoodGroup group_;
};

}  // namespace

GoodGroup good_group(const topology::Topology& topology, const std::vector<Row>& rows) {
  return Search(topology).run({rows});
}

Result<ProvedGroup> prove_group(const topology::Topology& topology, std::vector<Row> rows,
                                const GroupTest& test) {
  std::vector<std::vector<Row>> tests = {std::move(rows)};
  ProvedGroup proved{.group = Search(topology).run(tests), .works = false, .tried = {}};
  for (int again = 0;; ++again) {
    Result<std::vector<Row>> found = test(proved.group);
    if (!found) return fail(std::move(found).error());
    const auto failed = std::count_if(found->begin(), found->end(),
                                      [](const Row& row) { return row.grade == Grade::kFail; });
    proved.works = failed == 0;
    if (proved.works || again == params::kMostRegroupings) return proved;
    tests.push_back(std::move(*found));
    GoodGroup next = Search(topology).run(tests);
    const bool same = next.hosts == proved.group.hosts && next.links == proved.group.links;
    if (same || next.hosts.size() < 2) return proved;
    proved.tried.push_back(std::exchange(proved.group, std::move(next)));
  }
}

PartOfTopology part_of(const topology::Topology& topology, const GoodGroup& group) {
  PartOfTopology part{.topology = {}, .hosts = group.hosts, .links = {}};
  part.topology.switches = topology.switches;
  std::vector<std::optional<uint32_t>> host_at(topology.hosts.size());
  for (const uint32_t host : group.hosts) {
    host_at[host] = static_cast<uint32_t>(part.topology.hosts.size());
    part.topology.hosts.push_back(topology.hosts[host]);
  }
  std::vector<std::optional<uint32_t>> nic_at(topology.nics.size());
  for (uint32_t i = 0; i < topology.nics.size(); ++i) {
    const auto host = host_at[topology.nics[i].host];
    if (!host) continue;
    nic_at[i] = static_cast<uint32_t>(part.topology.nics.size());
    part.topology.nics.push_back({*host});
  }
  const auto take = [&](topology::Node& node) {
    if (node.kind != topology::NodeKind::kNic) return true;
    if (!nic_at[node.index]) return false;
    node.index = *nic_at[node.index];
    return true;
  };
  for (uint32_t i = 0; i < topology.links.size(); ++i) {
    topology::Link link = topology.links[i];
    const bool out = std::find(group.links.begin(), group.links.end(), i) != group.links.end();
    if (out || !take(link.a) || !take(link.b)) continue;
    part.topology.links.push_back(std::move(link));
    part.links.push_back(i);
  }
  return part;
}

}  // namespace heddle::acceptance
