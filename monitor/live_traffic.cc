// See live_traffic.h.
#include "monitor/live_traffic.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>
#include <tuple>

#include "monitor/params.h"

namespace heddle::monitor {

using events::Direction;

namespace {

// A damaged recording has any times.
constexpr int64_t kLatest = INT64_MAX / 4;

double rate_of(uint64_t bytes, int64_t span_ns) {
  return span_ns <= 0 ? 0 : 8e9 * static_cast<double>(bytes) / static_cast<double>(span_ns);
}

}  // namespace

// Makes an interval of what was counted in it.
class LiveTraffic::Cut {
 public:
  Cut(LiveTraffic& traffic, int64_t until_ns) : traffic_(traffic) {
    made_.from_ns = *traffic.from_ns_;
    made_.until_ns = until_ns;
    made_.delivered = traffic.delivered_;
    made_.unplaced_bytes = traffic.unplaced_;
  }

  TrafficInterval make(const std::function<bool(size_t)>& closed) {
    for (size_t i = 0; i < traffic_.processes_.size(); ++i) {
      if (traffic_.processes_[i].party.rank >= 0 && !closed(i)) shown_.insert(i);
      for (const auto& [id, each] : traffic_.processes_[i].connections) take(i, id, each);
    }
    for (const auto& [key, bytes] : traffic_.proxied_) take(key, bytes);
    arrange();
    take_load();
    return std::move(made_);
  }

 private:
  void place(size_t from, size_t to, uint64_t bytes) {
    cells_[{from, to}] += bytes;
    shown_.insert({from, to});
  }

  // The receiver's count, else the sender's where the receiver records no messages. Bytes on the
  // wire are placed only if no process records messages: they are not payload.
  void take(size_t process, uint32_t id, const Connection& counted) {
    const Process& own = traffic_.processes_[process];
    const bool by_proxy = counted.communicator == 0 && own.has_proxy;
    if (by_proxy || counted.received + counted.sent + counted.wire == 0) return;
    const auto peer = traffic_.ends_.find({counted.peer_id, id});
    const bool placed = counted.opened && peer != traffic_.ends_.end();
    if (!placed) {
      made_.unplaced_bytes += own.has_messages ? counted.received + counted.sent : counted.wire;
      return;
    }
    if (counted.received > 0) place(peer->second, process, counted.received);
    if (traffic_.processes_[peer->second].has_messages) return;
    if (own.has_messages) {
      if (counted.sent > 0) place(process, peer->second, counted.sent);
    } else if (made_.delivered) {
      made_.unplaced_bytes += counted.wire;
    } else {
      place(process, peer->second, counted.wire);
    }
  }

  void take(const Proxied& key, uint64_t bytes) {
    const auto from = traffic_.members_.find(key.from);
    const auto to = traffic_.members_.find(key.to);
    const bool placed = from != traffic_.members_.end() && to != traffic_.members_.end();
    if (!placed) {
      made_.unplaced_bytes += bytes;
    } else if (key.direction == Direction::kReceived ||
               !traffic_.processes_[to->second].has_proxy) {
      place(from->second, to->second, bytes);
    }
  }

  // Ranks in their order; hosts where there are too many ranks to be read.
  void arrange() {
    std::vector<size_t> order(shown_.begin(), shown_.end());
    const auto party = [this](size_t process) { return traffic_.processes_[process].party; };
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      const auto key = [&](size_t each) {
        return std::tuple(party(each).rank < 0, party(each).rank, party(each).name);
      };
      return key(a) < key(b);
    });
    made_.by_host = order.size() > params::kMostMatrixRows;
    std::map<size_t, size_t> rows;
    if (made_.by_host) {
      rows = host_rows(order);
    } else {
      for (const size_t process : order) {
        rows.emplace(process, rows.size());
        made_.parties.push_back(party(process));
      }
    }
    const size_t size = made_.parties.size();
    made_.bytes.assign(size, std::vector<uint64_t>(size));
    for (const auto& [ends, bytes] : cells_) {
      made_.bytes[rows[ends.first]][rows[ends.second]] += bytes;
    }
  }

  // Of too many hosts those with the most traffic have rows of their own, and the others the last.
  std::map<size_t, size_t> host_rows(const std::vector<size_t>& order) {
    std::map<std::string, uint64_t> moved;  // by host
    for (const size_t process : order) moved[traffic_.processes_[process].party.host];
    for (const auto& [ends, bytes] : cells_) {
      moved[traffic_.processes_[ends.first].party.host] += bytes;
      moved[traffic_.processes_[ends.second].party.host] += bytes;
    }
    std::vector<std::string> most;
    for (const auto& [host, bytes] : moved) most.push_back(host);
    std::stable_sort(most.begin(), most.end(), [&](const std::string& a, const std::string& b) {
      return moved[a] > moved[b];
    });
    const bool all = most.size() <= params::kMostMatrixRows;
    if (!all) most.resize(params::kMostMatrixRows - 1);
    const std::set<std::string> own_row(most.begin(), most.end());
    std::map<std::string, size_t> hosts;
    std::map<size_t, size_t> rows;
    for (const size_t process : order) {
      const std::string& host = traffic_.processes_[process].party.host;
      if (!own_row.contains(host)) {
        rows[process] = own_row.size();
        continue;
      }
      const auto [at, fresh] = hosts.emplace(host, hosts.size());
      rows[process] = at->second;
      if (fresh) made_.parties.push_back({host, host, -1, true});
    }
    if (!all) {
      made_.parties.push_back(
          {fmt::format("{} other hosts", moved.size() - own_row.size()), "", -1, true});
    }
    return rows;
  }

  void take_load() {
    insight::Load load = traffic_.load_.take(made_.until_ns);
    made_.bin_ns = load.bin_ns;
    made_.nics_in_all = load.nics.size();
    made_.bursts_in_all = load.bursts_in_all;
    for (const insight::NicLoad& nic : load.nics) {
      if (made_.nics.size() == params::kMostShownNics) break;
      made_.nics.push_back({nic.host, nic.name, nic.rate.count, {}});
      for (size_t way = 0; way < 2; ++way) fill(load, nic, way, made_.nics.back().of[way]);
    }
    for (insight::Microburst& burst : load.bursts) {
      if (burst.nic >= made_.nics.size()) continue;
      ++made_.nics[burst.nic].of[static_cast<size_t>(burst.direction)].bursts;
      made_.bursts.push_back(std::move(burst));
    }
    std::stable_sort(made_.bursts.begin(), made_.bursts.end(),
                     [](const auto& a, const auto& b) { return a.peak > b.peak; });
    made_.bursts.resize(std::min(made_.bursts.size(), params::kMostShownBursts));
  }

  void fill(const insight::Load& load, const insight::NicLoad& nic, size_t way, NicWay& made) {
    made.bytes = nic.bytes[way];
    made.peak_bits_per_s = rate_of(nic.peak[way], load.bin_ns);
    made.peaks_bits_per_s.assign(params::kPartsOfInterval, 0);
    for (const insight::LoadColumn& column : nic.columns[way]) {
      double& peak = made.peaks_bits_per_s[part_of(column.index * load.column_ns - made_.from_ns)];
      peak = std::max(peak, rate_of(column.peak, load.bin_ns));
    }
  }

  // Of a time since the interval's beginning. A late one is in the first part.
  size_t part_of(int64_t at_ns) const {
    // An interval is years long where the clock of the first machine was wrong.
    const auto span = static_cast<double>(made_.until_ns - made_.from_ns);
    const double share = std::clamp(static_cast<double>(at_ns) / span, 0.0, 1.0);
    const auto part = static_cast<size_t>(share * static_cast<double>(params::kPartsOfInterval));
    return std::min(part, params::kPartsOfInterval - 1);
  }

  LiveTraffic& traffic_;
  std::set<size_t> shown_;
  std::map<std::pair<size_t, size_t>, uint64_t> cells_;
  TrafficInterval made_;
};

LiveTraffic::LiveTraffic()
    : load_(insight::LoadOptions{.most_columns = params::kMostTrafficColumns}) {}

void LiveTraffic::add_process(const insight::Identity& identity) {
  processes_.push_back({.party = insight::party_of(identity), .connections = {}});
  too_many_ = processes_.size() > params::kMostTrafficProcesses;
  load_.add_process(identity);
}

void LiveTraffic::add(size_t process, const events::AnyEvent& event, uint32_t writer,
                      int64_t at_ns) {
  if (too_many_) return;
  // What is read late, as of a machine that was not heard, is of no interval.
  const bool counts = from_ns_ && at_ns >= *from_ns_ - params::kLateTraffic.count;
  const bool of_bytes = std::holds_alternative<events::MessageCompleted>(event) ||
                        std::holds_alternative<events::SharedMessageCompleted>(event) ||
                        std::holds_alternative<events::ProxyOp>(event) ||
                        std::holds_alternative<events::WireBin>(event);
  if (of_bytes && !counts) return;
  std::visit([&](const auto& each) { on(process, each); }, event);
  add_load(process, event, writer, at_ns);
}

// NICs, calls and marks hold from their event on, whenever that was.
void LiveTraffic::add_load(size_t process, const events::AnyEvent& event, uint32_t writer,
                           int64_t at_ns) {
  // A time far ahead is of a wrong clock: all that comes later would be late.
  if (from_ns_ && at_ns > *from_ns_ + params::kMostAhead.count) return;
  const bool opens = std::holds_alternative<events::NicOpened>(event);
  if (opens && ++opened_nics_ > params::kMostOpenedNics) return;
  load_.add(static_cast<uint32_t>(process), event, writer, at_ns);
}

LiveTraffic::Connection* LiveTraffic::connection(size_t process, uint32_t id) {
  auto& of_process = processes_[process].connections;
  const auto found = of_process.find(id);
  if (found != of_process.end()) return &found->second;
  if (of_process.size() == params::kMostConnections) return nullptr;
  return &of_process[id];
}

void LiveTraffic::count(size_t process, uint32_t id, uint64_t bytes, uint64_t Connection::*to) {
  Connection* const counted = connection(process, id);
  (counted == nullptr ? unplaced_ : counted->*to) += bytes;
}

void LiveTraffic::on(size_t process, const events::ConnectionOpened& event) {
  Connection* const opened = connection(process, event.connection);
  if (opened == nullptr) return;
  forget_end(event.connection, *opened);  // of an earlier one with this number
  opened->peer_id = event.peer_connection;
  opened->opened = true;
  opened->closed = false;
  ends_[{event.connection, event.peer_connection}] = process;
}

void LiveTraffic::on(size_t process, const events::ConnectionClosed& event) {
  auto& connections = processes_[process].connections;
  const auto found = connections.find(event.connection);
  if (found == connections.end()) return;
  found->second.closed = true;
  if (found->second.received + found->second.sent + found->second.wire > 0) return;
  forget_end(event.connection, found->second);
  connections.erase(found);
}

void LiveTraffic::forget_end(uint32_t id, const Connection& connection) {
  if (connection.opened) ends_.erase({id, connection.peer_id});
}

void LiveTraffic::on(size_t process, const events::CommunicatorMade& event) {
  if (members_.size() == params::kMostMembers) members_.clear();  // those of old ones
  members_[{event.communicator, event.rank}] = process;
}

void LiveTraffic::on(size_t process, const events::CommunicatorLinked& event) {
  Connection* const linked = connection(process, event.connection);
  if (linked != nullptr) linked->communicator = event.communicator;
}

void LiveTraffic::delivered(size_t process) {
  delivered_ = processes_[process].has_messages = true;
}

void LiveTraffic::on(size_t process, const events::MessageCompleted& event) {
  delivered(process);
  count(process, event.connection, event.bytes,
        event.direction == Direction::kSent ? &Connection::sent : &Connection::received);
}

void LiveTraffic::on(size_t process, const events::SharedMessageCompleted& event) {
  delivered(process);
  count(process, event.connection, event.bytes,
        event.direction == Direction::kSent ? &Connection::sent : &Connection::received);
}

void LiveTraffic::on(size_t process, const events::ProxyOp& event) {
  delivered_ = processes_[process].has_proxy = true;
  const Member own = {event.communicator, event.rank};
  const Member peer = {event.communicator, event.peer};
  const bool sent = event.direction == Direction::kSent;
  const Proxied key = {sent ? own : peer, sent ? peer : own, event.direction};
  const auto known = proxied_.find(key);
  if (known == proxied_.end() && proxied_.size() == params::kMostMembers) {
    unplaced_ += event.bytes;
    return;
  }
  proxied_[key] += event.bytes;
}

void LiveTraffic::on(size_t process, const events::WireBin& event) {
  if (event.direction != Direction::kSent || event.connection == 0) return;
  count(process, event.connection, event.bytes, &Connection::wire);
}

void LiveTraffic::cut(int64_t now_ns, const std::function<bool(size_t process)>& closed) {
  now_ns = std::min(now_ns, kLatest);
  if (!from_ns_) {
    load_.take(now_ns);
    return begin(now_ns);
  }
  if (now_ns - *from_ns_ < params::kTrafficEvery.count) return;
  if (too_many_) return leave_out(now_ns);
  latest_ = std::make_shared<const TrafficInterval>(Cut(*this, now_ns).make(closed));
  begin(now_ns);
}

void LiveTraffic::begin(int64_t now_ns) {
  from_ns_ = now_ns;
  unplaced_ = 0;
  proxied_.clear();
  for (Process& process : processes_) {
    auto& connections = process.connections;
    for (auto at = connections.begin(); at != connections.end();) {
      Connection& each = at->second;
      each.received = each.sent = each.wire = 0;
      const bool unknown = !each.opened && each.communicator == 0;
      if (each.closed) forget_end(at->first, each);
      at = each.closed || unknown ? connections.erase(at) : std::next(at);
    }
  }
}

void LiveTraffic::leave_out(int64_t now_ns) {
  TrafficInterval made{.from_ns = *from_ns_, .until_ns = now_ns};
  made.left_out = fmt::format(
      "traffic of a job of {} processes is not shown while it runs, only of up to {}: see `heddle "
      "matrix` and `heddle timeline` of its recording",
      processes_.size(), params::kMostTrafficProcesses);
  latest_ = std::make_shared<const TrafficInterval>(std::move(made));
  from_ns_ = now_ns;
}

}  // namespace heddle::monitor
