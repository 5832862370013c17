// See traffic.h. The two ends of a connection are matched by ids: each end knows its own and its
// peer's.
#include "insight/traffic.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "insight/nccl_expected.h"
#include "insight/traffic/attribution.h"
#include "topology/nccl_graph.h"

namespace heddle::insight {
namespace {

struct Process {
  Party party;
  Attribution attribution;
};

using Ids = std::pair<uint32_t, uint32_t>;  // of a connection: own id and the peer's

// Combines the processes' traffic after all events have been read.
class Joining {
 public:
  Joining(const std::vector<Process>& processes, const Purposes& purposes,
          const topology::NcclGraphs* graphs)
      : processes_(processes), graphs_(graphs) {
    traffic_.purposes = purposes.all();
    for (const Process& process : processes) traffic_.parties.push_back(process.party);
    for (uint32_t i = 0; i < processes_.size(); ++i) note(i);
  }

  Traffic join() {
    for (uint32_t i = 0; i < processes_.size(); ++i) {
      std::map<uint32_t, const ConnectionTraffic*> in_order;
      for (const auto& [id, connection] : processes_[i].attribution.connections()) {
        in_order[id] = &connection;
      }
      linked_.clear();
      for (const auto& [id, connection] : in_order) {
        add_measured(i, *connection);
        if (!connection->opened || connection->communicator == 0) continue;
        linked_[{connection->communicator, connection->peer_rank}] = connection;
      }
      for (const auto& [number, membership] : processes_[i].attribution.memberships()) {
        add_expected(i, number, membership);
        add_proxied(number, membership);
      }
      traffic_.unplaced += processes_[i].attribution.astray();
      traffic_.has_messages |= processes_[i].attribution.has_messages();
      traffic_.calls += processes_[i].attribution.calls();
    }
    for (const auto& [number, size] : sizes_) traffic_.communicators.push_back({number, size});
    sort_parties();
    return std::move(traffic_);
  }

 private:
  struct Ends {
    uint32_t peer = 0;  // index into parties
    uint32_t own_nic = 0;
    uint32_t peer_nic = 0;
    bool recorded = false;  // whether the peer was recorded
  };

  void note(uint32_t process) {
    const Attribution& attribution = processes_[process].attribution;
    for (const auto& [id, connection] : attribution.connections()) {
      if (!connection.opened) continue;
      by_ids_[{connection.id, connection.peer_id}] = {process, &connection};
    }
    for (const auto& [number, membership] : attribution.memberships()) {
      if (membership.size > 0) sizes_[number] = membership.size;
      for (const uint32_t rank : membership.ranks) {
        members_[{number, rank}] = process;
        if (!membership.proxied.empty()) proxied_.insert({number, rank});
      }
    }
  }

  uint32_t nic(uint64_t high, uint64_t low, const std::string& host) {
    const auto [at, fresh] =
        nics_.emplace(std::pair(high, low), static_cast<uint32_t>(traffic_.nics.size()));
    if (fresh) {
      traffic_.nics.push_back(host_text(high, low));
      traffic_.nic_hosts.emplace_back();
    }
    if (traffic_.nic_hosts[at->second].empty()) traffic_.nic_hosts[at->second] = host;
    return at->second;
  }

  uint32_t stranger(const ConnectionTraffic& connection) {
    const auto [at, fresh] = strangers_.emplace(
        std::tuple(connection.peer_high, connection.peer_low, connection.peer_port),
        static_cast<uint32_t>(traffic_.parties.size()));
    if (fresh) {
      const std::string host = host_text(connection.peer_high, connection.peer_low);
      const std::string name = host + ":" + std::to_string(connection.peer_port);
      traffic_.parties.push_back({name, name, -1, false});
    }
    return at->second;
  }

  // A NIC is identified by the address that the other end sees.
  Ends ends_of(uint32_t process, const ConnectionTraffic& connection) {
    Ends ends;
    const auto peer = by_ids_.find({connection.peer_id, connection.id});
    ends.recorded = peer != by_ids_.end();
    ends.peer = ends.recorded ? peer->second.first : stranger(connection);
    const std::string host = ends.recorded ? traffic_.parties[ends.peer].host : "";
    ends.peer_nic = nic(connection.peer_high, connection.peer_low, host);
    if (ends.recorded) {
      const ConnectionTraffic& theirs = *peer->second.second;
      ends.own_nic = nic(theirs.peer_high, theirs.peer_low, traffic_.parties[process].host);
    } else {
      ends.own_nic = nic(0, 0, "");
      traffic_.nics[ends.own_nic] = "unknown";
    }
    return ends;
  }

  void add_measured(uint32_t process, const ConnectionTraffic& connection) {
    // Of NCCL's transfers over heddle its proxy recorded the delivered bytes by rank.
    const bool counted =
        connection.communicator == 0 && processes_[process].attribution.has_proxy();
    const std::vector<Carried> none;
    const std::vector<Carried>& carried = counted ? none : connection.carried;
    if (!connection.opened) {
      for (const Carried& each : carried) {
        traffic_.unplaced += each.sent;
        traffic_.unplaced += each.received;
      }
      for (const Left& left : connection.left) traffic_.unplaced += left.cell;
      return;
    }
    const Ends ends = ends_of(process, connection);
    for (const Carried& each : carried) {
      if (each.received != Cell{}) {
        traffic_.flows.push_back({ends.peer, process, ends.peer_nic, ends.own_nic, each.purpose,
                                  kAnyPath, each.received});
      }
      if (!ends.recorded && each.sent != Cell{}) {
        traffic_.flows.push_back(
            {process, ends.peer, ends.own_nic, ends.peer_nic, each.purpose, kAnyPath, each.sent});
      }
    }
    for (const Left& left : connection.left) {
      const uint32_t own = nic_of(process, connection.writer, left.nic, ends.own_nic);
      uint32_t peer = ends.peer_nic;
      if (ends.recorded) {
        const uint32_t writer = by_ids_.at({connection.peer_id, connection.id}).second->writer;
        peer = nic_of(ends.peer, writer, left.peer_nic, ends.peer_nic);
      } else if (left.peer_nic > 0) {
        peer = unseen_nic(ends.peer, left.peer_nic);
      }
      traffic_.flows.push_back({process, ends.peer, own, peer, left.purpose, left.path, left.cell,
                                route_of(connection, left)});
    }
  }

  // Bytes sent before their path was traced are counted on the first route found for it.
  uint32_t route_of(const ConnectionTraffic& connection, const Left& left) {
    const std::vector<PathRoute>& routes = connection.routes;
    auto found = routes.end();
    if (left.route < routes.size()) {
      found = routes.begin() + left.route;
    } else {
      found = std::find_if(routes.begin(), routes.end(),
                           [&left](const PathRoute& each) { return each.path == left.path; });
    }
    if (found == routes.end()) return kNoRoute;
    const auto [at, fresh] =
        routes_.emplace(found->routers, static_cast<uint32_t>(traffic_.routes.size()));
    if (fresh) traffic_.routes.push_back(found->routers);
    return at->second;
  }

  // One of an endpoint's NICs; `seen` where its own address is unknown.
  uint32_t nic_of(uint32_t process, uint32_t writer, uint8_t number, uint32_t seen) {
    const NicAddress address = processes_[process].attribution.address_of(writer, number);
    if (address == NicAddress()) return seen;
    return nic(address.first, address.second, traffic_.parties[process].host);
  }

  // Of a peer that was not recorded, only the first NIC's address is known.
  uint32_t unseen_nic(uint32_t party, uint8_t number) {
    const auto [at, fresh] =
        unseen_nics_.emplace(std::pair(party, number), static_cast<uint32_t>(traffic_.nics.size()));
    if (fresh) {
      traffic_.nics.push_back(fmt::format("NIC {} of {}", number, traffic_.parties[party].host));
      traffic_.nic_hosts.emplace_back();
    }
    return at->second;
  }

  // What a receiver's proxy recorded, and what a sender's did where no receiver's was recorded.
  void add_proxied(uint64_t number, const Membership& membership) {
    for (const auto& [key, cell] : membership.proxied) {
      const bool sent = key.direction == events::Direction::kSent;
      if (sent && proxied_.contains({number, key.peer})) continue;
      const uint32_t own = process_of_rank(number, key.rank);
      const uint32_t peer = process_of_rank(number, key.peer);
      const uint32_t unknown = nic(0, 0, "");
      traffic_.nics[unknown] = "unknown";
      traffic_.flows.push_back(
          {sent ? own : peer, sent ? peer : own, unknown, unknown, key.purpose, kAnyPath, cell});
    }
  }

  void add_expected(uint32_t process, uint64_t number, const Membership& membership) {
    traffic_.calls_without_formula += membership.nccl_calls;
    for (const auto& [call, count] : membership.expected) {
      const auto shares = sends_of(call.first, membership.rank);
      if (!shares) {
        traffic_.calls_without_formula += count;
        continue;
      }
      for (const Share& share : *shares) {
        const Ends ends = ends_of_rank(process, number, share.peer);
        Cell cell;
        cell.expected_bytes = share.bytes * count;
        traffic_.flows.push_back(
            {process, ends.peer, ends.own_nic, ends.peer_nic, call.second, kAnyPath, cell});
      }
    }
  }

  std::optional<std::vector<Share>> sends_of(const CallShape& shape, uint32_t rank) const {
    const topology::NcclGraph* const graph = graphs_ == nullptr ? nullptr : graphs_->of(shape.size);
    return graph == nullptr ? expected_sends(shape, rank)
                            : nccl_expected_sends(shape, rank, *graph);
  }

  Ends ends_of_rank(uint32_t process, uint64_t number, uint32_t rank) {
    const auto link = linked_.find({number, rank});
    if (link != linked_.end()) return ends_of(process, *link->second);
    Ends ends;
    ends.own_nic = ends.peer_nic = nic(0, 0, "");
    traffic_.nics[ends.own_nic] = "unknown";
    ends.peer = process_of_rank(number, rank);
    return ends;
  }

  uint32_t process_of_rank(uint64_t number, uint32_t rank) {
    const auto member = members_.find({number, rank});
    return member != members_.end() ? member->second : unknown_rank(number, rank);
  }

  // A rank of which only its number in a communicator is known.
  uint32_t unknown_rank(uint64_t number, uint32_t rank) {
    const auto [at, fresh] = unknown_ranks_.emplace(std::pair(number, rank),
                                                    static_cast<uint32_t>(traffic_.parties.size()));
    if (fresh) {
      const std::string name = "rank " + std::to_string(rank) + " of a communicator";
      traffic_.parties.push_back({name, name, -1, false});
    }
    return at->second;
  }

  void sort_parties() {
    std::vector<uint32_t> order(traffic_.parties.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [this](uint32_t a, uint32_t b) {
      const Party& x = traffic_.parties[a];
      const Party& y = traffic_.parties[b];
      if ((x.rank < 0) != (y.rank < 0)) return y.rank < 0;
      return std::tie(x.rank, x.name) < std::tie(y.rank, y.name);
    });
    std::vector<uint32_t> place(order.size());
    std::vector<Party> sorted;
    for (uint32_t i = 0; i < order.size(); ++i) {
      place[order[i]] = i;
      sorted.push_back(std::move(traffic_.parties[order[i]]));
    }
    traffic_.parties = std::move(sorted);
    for (Flow& flow : traffic_.flows) {
      flow.from = place[flow.from];
      flow.to = place[flow.to];
    }
  }

  const std::vector<Process>& processes_;
  const topology::NcclGraphs* graphs_;
  Traffic traffic_;
  std::map<Ids, std::pair<uint32_t, const ConnectionTraffic*>> by_ids_;
  std::map<std::pair<uint64_t, uint32_t>, uint32_t> members_;
  std::map<uint64_t, uint32_t> sizes_;
  std::set<std::pair<uint64_t, uint32_t>> proxied_;  // ranks whose proxy was recorded
  std::map<std::pair<uint64_t, uint64_t>, uint32_t> nics_;
  std::map<std::tuple<uint64_t, uint64_t, uint16_t>, uint32_t> strangers_;
  std::map<std::pair<uint64_t, uint32_t>, uint32_t> unknown_ranks_;
  std::map<std::pair<uint32_t, uint8_t>, uint32_t> unseen_nics_;
  std::map<std::vector<Router>, uint32_t> routes_;
  // Of the process being joined: by communicator and rank.
  std::map<std::pair<uint64_t, uint32_t>, const ConnectionTraffic*> linked_;
};

}  // namespace

class TrafficBuilder::Body {
 public:
  Purposes purposes;
  std::vector<Process> processes;
};

TrafficBuilder::TrafficBuilder() : body_(std::make_unique<Body>()) {}
TrafficBuilder::~TrafficBuilder() = default;

uint32_t TrafficBuilder::add_process(const Identity& identity) {
  body_->processes.push_back({party_of(identity), Attribution(body_->purposes)});
  return static_cast<uint32_t>(body_->processes.size() - 1);
}

void TrafficBuilder::add(uint32_t process, const events::AnyEvent& event, uint32_t writer) {
  body_->processes[process].attribution.add(event, writer);
}

Traffic TrafficBuilder::finish(const topology::NcclGraphs* graphs) const {
  return Joining(body_->processes, body_->purposes, graphs).join();
}

Cell& Cell::operator+=(const Cell& more) {
  bytes += more.bytes;
  messages += more.messages;
  nanos += more.nanos;
  sent_bytes += more.sent_bytes;
  wire_bytes += more.wire_bytes;
  packets += more.packets;
  memory_bytes += more.memory_bytes;
  memory_messages += more.memory_messages;
  expected_bytes += more.expected_bytes;
  return *this;
}

}  // namespace heddle::insight
