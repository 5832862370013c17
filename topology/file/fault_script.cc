// See fault_script.h. Faults of one direction of a link accumulate: loss that begins at 2 s
// continues when corruption begins at 3 s.
#include "topology/file/fault_script.h"

#include <algorithm>
#include <string>
#include <vector>

#include "topology/fault_order.h"
#include "topology/names.h"

namespace heddle::topology {
namespace {

void read_host_fault(TableReader& table, const std::string& kind, Nanos at, Topology& topology) {
  table.need("host", "say which host it is");
  const std::string name = table.text("host", "");
  const auto host = find_host(topology, name);
  if (table.has("host") && !host) {
    table.wrong("host", "there is no host '" + name + "'", "use a host of this topology, like h0");
  }
  if (host) topology.host_changes.push_back({at, *host, kind == "pause"});
}

void read_link_fault(TableReader& table, FaultOrder& order, const Topology& topology) {
  table.need("link", "say which link it is, like [\"leaf0\", \"spine1\"]");
  const auto names = table.pair("link");
  const auto number = static_cast<uint32_t>(table.integer("number", 0, 0, 4'095));
  order.one_way = table.boolean("one_way", order.kind == "blackhole");
  if (order.one_way && !may_be_one_way(order.kind)) {
    table.wrong("one_way", "'" + order.kind + "' takes both directions", "remove 'one_way'");
  }
  if (order.kind == "rate") {
    table.need("rate", "say which rate it has from then on");
    order.rate = table.rate("rate", {});
  }
  if (is_share_fault(order.kind)) {
    table.need(order.kind, "say which share of the packets, like \"1%\"; \"0%\" ends it");
    order.per_million = table.share_per_million(order.kind, 0);
  }
  if (!names) return;
  const Result<LinkEnds> ends = find_link(topology, names->first, names->second, number);
  if (ends) {
    order.ends = *ends;
  } else {
    table.wrong("link", ends.error().why, ends.error().todo);
  }
}

template <typename T>
void sort_by_time(std::vector<T>& list) {
  std::stable_sort(list.begin(), list.end(), [](const T& a, const T& b) { return a.at < b.at; });
}

void play(const std::vector<FaultOrder>& script, Topology& topology) {
  std::vector<DirectionFaults> now;
  for (const Link& link : topology.links) now.push_back({link.forward, link.backward});
  for (const FaultOrder& order : script) {
    const uint32_t link = order.ends.link;
    for (LinkChange& change : changes_of(order, topology.links[link], now[link])) {
      topology.changes.push_back(change);
    }
  }
}

}  // namespace

void read_fault_script(const DocumentValue& faults, FileErrors& errors, Topology& topology) {
  std::vector<FaultOrder> script;
  for (const DocumentValue& item : faults.items) {
    TableReader table(item, errors);
    FaultOrder order;
    table.need("at", "say when it begins, like \"2s\" after the start");
    order.at = table.time("at", {});
    table.need("kind", kFaultKinds);
    order.kind = table.text("kind", "");
    if (is_host_fault(order.kind)) {
      read_host_fault(table, order.kind, order.at, topology);
    } else if (is_link_fault(order.kind)) {
      read_link_fault(table, order, topology);
      script.push_back(order);
    } else {
      table.wrong("kind", "there is no fault \"" + order.kind + "\"", kFaultKinds);
    }
    table.finish();
  }
  if (errors.any()) return;
  sort_by_time(script);
  sort_by_time(topology.host_changes);
  play(script, topology);
}

}  // namespace heddle::topology
