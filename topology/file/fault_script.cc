// The fault script: see fault_script.h. Faults of one direction of a link add up over time: a loss
// that begins at 2 s stays when corruption begins at 3 s.
#include "topology/file/fault_script.h"

#include <algorithm>
#include <string>
#include <vector>

#include "topology/file/shapes.h"
#include "topology/names.h"

namespace heddle::topology {
namespace {

constexpr const char* kKinds =
    "give down, up, blackhole, rate, loss, corrupt, reorder or clear for a link, pause or resume "
    "for a host";

struct Fault {
  Nanos at;
  std::string kind;
  LinkEnds ends;
  bool one_way = false;
  BitsPerSec rate;
  uint32_t per_million = 0;
};

LinkDirection direction_of(const Fault& fault) {
  if (!fault.one_way) return LinkDirection::kBoth;
  return fault.ends.forward ? LinkDirection::kForward : LinkDirection::kBackward;
}

// One direction's faults as they are after what the script did so far.
struct DirectionFaults {
  LinkFaults forward;
  LinkFaults backward;
};

class Script {
 public:
  explicit Script(Topology& topology) : topology_(topology) {
    for (const Link& link : topology.links) now_.push_back({link.forward, link.backward});
  }

  void add(const Fault& fault) {
    if (fault.kind == "down") {
      push(fault, LinkChangeKind::kDown);
      push(fault, LinkChangeKind::kNotice);
    } else if (fault.kind == "blackhole") {
      push(fault, LinkChangeKind::kDown);
    } else if (fault.kind == "up") {
      push(fault, LinkChangeKind::kUp);
    } else if (fault.kind == "rate") {
      push(fault, LinkChangeKind::kRate);
      topology_.changes.back().rate = fault.rate;
    } else if (fault.kind == "clear") {
      clear(fault);
    } else {
      set_faults(fault);
    }
  }

 private:
  void push(const Fault& fault, LinkChangeKind kind) {
    LinkChange change;
    change.at = fault.at;
    change.link = fault.ends.link;
    change.direction = direction_of(fault);
    change.kind = kind;
    topology_.changes.push_back(change);
  }

  void push_faults(const Fault& fault, LinkDirection direction, const LinkFaults& faults) {
    push(fault, LinkChangeKind::kFaults);
    topology_.changes.back().direction = direction;
    topology_.changes.back().faults = faults;
  }

  void set_faults(const Fault& fault) {
    const LinkDirection direction = direction_of(fault);
    for (const LinkDirection each : {LinkDirection::kForward, LinkDirection::kBackward}) {
      if (direction != LinkDirection::kBoth && direction != each) continue;
      DirectionFaults& now = now_[fault.ends.link];
      LinkFaults& faults = each == LinkDirection::kForward ? now.forward : now.backward;
      if (fault.kind == "loss") faults.loss_per_million = fault.per_million;
      if (fault.kind == "corrupt") set_corruption(faults, fault.per_million);
      if (fault.kind == "reorder") set_reordering(faults, fault.per_million);
      push_faults(fault, each, faults);
    }
  }

  // Everything is again as the file says the link is.
  void clear(const Fault& fault) {
    const Link& link = topology_.links[fault.ends.link];
    push(fault, LinkChangeKind::kUp);
    push(fault, LinkChangeKind::kRate);
    topology_.changes.back().rate = link.shape.rate;
    now_[fault.ends.link] = {link.forward, link.backward};
    push_faults(fault, LinkDirection::kForward, link.forward);
    push_faults(fault, LinkDirection::kBackward, link.backward);
  }

  Topology& topology_;
  std::vector<DirectionFaults> now_;
};

bool is_share_kind(const std::string& kind) {
  return kind == "loss" || kind == "corrupt" || kind == "reorder";
}

bool is_link_kind(const std::string& kind) {
  return kind == "down" || kind == "up" || kind == "blackhole" || kind == "rate" ||
         kind == "clear" || is_share_kind(kind);
}

void read_host_fault(TableReader& table, const std::string& kind, Nanos at, Topology& topology) {
  table.need("host", "say which host it is");
  const std::string name = table.text("host", "");
  const auto host = find_host(topology, name);
  if (table.has("host") && !host) {
    table.wrong("host", "there is no host '" + name + "'", "use a host of this topology, like h0");
  }
  if (host) topology.host_changes.push_back({at, *host, kind == "pause"});
}

void read_link_fault(TableReader& table, Fault& fault, const Topology& topology) {
  table.need("link", "say which link it is, like [\"leaf0\", \"spine1\"]");
  const auto names = table.pair("link");
  const auto number = static_cast<uint32_t>(table.integer("number", 0, 0, 4'095));
  fault.one_way = table.boolean("one_way", fault.kind == "blackhole");
  if (fault.one_way && (fault.kind == "down" || fault.kind == "clear")) {
    table.wrong("one_way", "'" + fault.kind + "' takes both directions", "remove 'one_way'");
  }
  if (fault.kind == "rate") {
    table.need("rate", "say which rate it has from then on");
    fault.rate = table.rate("rate", {});
  }
  if (is_share_kind(fault.kind)) {
    table.need(fault.kind, "say which share of the packets, like \"1%\"; \"0%\" ends it");
    fault.per_million = table.share_per_million(fault.kind, 0);
  }
  if (!names) return;
  const Result<LinkEnds> ends = find_link(topology, names->first, names->second, number);
  if (ends) {
    fault.ends = *ends;
  } else {
    table.wrong("link", ends.error().why, ends.error().todo);
  }
}

}  // namespace

void read_fault_script(const DocumentValue& faults, FileErrors& errors, Topology& topology) {
  std::vector<Fault> script;
  for (const DocumentValue& item : faults.items) {
    TableReader table(item, errors);
    Fault fault;
    table.need("at", "say when it begins, like \"2s\" after the start");
    fault.at = table.time("at", {});
    table.need("kind", kKinds);
    fault.kind = table.text("kind", "");
    if (fault.kind == "pause" || fault.kind == "resume") {
      read_host_fault(table, fault.kind, fault.at, topology);
    } else if (is_link_kind(fault.kind)) {
      read_link_fault(table, fault, topology);
      script.push_back(fault);
    } else {
      table.wrong("kind", "there is no fault \"" + fault.kind + "\"", kKinds);
    }
    table.finish();
  }
  if (errors.any()) return;
  std::stable_sort(script.begin(), script.end(),
                   [](const Fault& a, const Fault& b) { return a.at < b.at; });
  Script played(topology);
  for (const Fault& fault : script) played.add(fault);
}

}  // namespace heddle::topology
