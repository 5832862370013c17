// See attribution.h.
#include "insight/traffic/attribution.h"

#include <algorithm>
#include <utility>

namespace heddle::insight {

using events::Direction;
using events::Operation;

uint32_t Purposes::number_of(const Purpose& purpose) {
  const auto [at, fresh] = numbers_.emplace(purpose, static_cast<uint32_t>(all_.size()));
  if (fresh) all_.push_back(purpose);
  return at->second;
}

Cell& ConnectionTraffic::carried_for(uint32_t purpose, Direction direction) {
  auto found = std::find_if(carried.begin(), carried.end(),
                            [purpose](const Carried& each) { return each.purpose == purpose; });
  if (found == carried.end()) {
    carried.push_back({purpose, {}, {}});
    found = carried.end() - 1;
  }
  // Move the current purpose to the front, where the next search finds it first.
  std::iter_swap(carried.begin(), found);
  found = carried.begin();
  return direction == Direction::kSent ? found->sent : found->received;
}

Left& ConnectionTraffic::left_on(const Left& key) {
  auto found = std::find_if(left.begin(), left.end(), [&key](const Left& each) {
    return each.path == key.path && each.purpose == key.purpose && each.nic == key.nic &&
           each.peer_nic == key.peer_nic && each.route == key.route;
  });
  if (found != left.end()) return *found;
  return left.emplace_back(key);
}

uint32_t ConnectionTraffic::latest_route(uint32_t path) const {
  for (size_t i = routes.size(); i-- > 0;) {
    if (routes[i].path == path) return static_cast<uint32_t>(i);
  }
  return kNoRoute;
}

// A trace with the same result as the one before changes nothing. A trace without its first hops
// (events dropped or damaged) is ignored.
void ConnectionTraffic::add_router(const events::PathTraced& event) {
  if (event.hop == 1) looking = {.path = event.path, .routers = {}};
  if (looking.path != event.path || looking.routers.size() + 1 != event.hop) return;
  looking.routers.emplace_back(event.router_high, event.router_low);
  if (event.hop != event.hops) return;
  const uint32_t before = latest_route(event.path);
  if (before == kNoRoute || routes[before].routers != looking.routers) routes.push_back(looking);
}

NicAddress Attribution::address_of(uint32_t writer, uint8_t nic) const {
  const auto found = nics_.find({writer, nic});
  return found == nics_.end() ? NicAddress() : found->second;
}

void Attribution::add(const events::AnyEvent& event, uint32_t writer) {
  if (const auto* message = std::get_if<events::MessageCompleted>(&event)) {
    on(Whole{message->time, message->connection, message->channel, message->bytes,
             message->direction, false});
  } else if (const auto* shared = std::get_if<events::SharedMessageCompleted>(&event)) {
    on(Whole{shared->time, shared->connection, shared->channel, shared->bytes, shared->direction,
             true});
  } else if (const auto* burst = std::get_if<events::BurstSent>(&event)) {
    on(*burst);
  } else if (const auto* bin = std::get_if<events::WireBin>(&event)) {
    on(*bin);
  } else if (const auto* nic = std::get_if<events::NicOpened>(&event)) {
    nics_[{writer, nic->nic}] = {nic->address_high, nic->address_low};
  } else if (const auto* traced = std::get_if<events::PathTraced>(&event)) {
    connection(traced->connection).add_router(*traced);
  } else if (const auto* opened = std::get_if<events::ConnectionOpened>(&event)) {
    on(*opened);
    connection(opened->connection).writer = writer;
  } else if (const auto* made = std::get_if<events::CallMade>(&event)) {
    on(*made);
  } else if (const auto* started = std::get_if<events::CallStarted>(&event)) {
    on(*started);
  } else if (const auto* ended = std::get_if<events::CallEnded>(&event)) {
    on(*ended);
  } else if (const auto* proxied = std::get_if<events::ProxyOp>(&event)) {
    on(*proxied);
  } else if (const auto* linked = std::get_if<events::CommunicatorLinked>(&event)) {
    on(*linked);
  } else if (const auto* joined = std::get_if<events::CommunicatorMade>(&event)) {
    Membership& membership = memberships_[joined->communicator];
    membership.rank = joined->rank;
    membership.size = joined->size;
    membership.ranks.insert(joined->rank);
  } else if (const auto* mark = std::get_if<events::Mark>(&event)) {
    const std::string name(mark->name.view());
    const auto [at, fresh] = phase_numbers_.emplace(name, static_cast<uint32_t>(phases_.size()));
    if (fresh) phases_.push_back(name);
    phase_ = at->second;
  }
}

ConnectionTraffic& Attribution::connection(uint32_t id) {
  if (latest_ != nullptr && latest_->id == id) return *latest_;
  latest_ = &connections_[id];
  latest_->id = id;
  return *latest_;
}

void Attribution::on(const events::ConnectionOpened& event) {
  ConnectionTraffic& made = connection(event.connection);
  made.peer_id = event.peer_connection;
  made.opened = true;
  made.peer_high = event.peer_high;
  made.peer_low = event.peer_low;
  made.peer_port = event.peer_port;
}

void Attribution::on(const events::CommunicatorLinked& event) {
  ConnectionTraffic& linked = connection(event.connection);
  linked.communicator = event.communicator;
  linked.peer_rank = event.peer;
  if (memberships_.find(event.communicator) == memberships_.end()) return;
  for (const auto& [message, purpose] : std::exchange(linked.early, {})) {
    Cell& cell = linked.carried_for(purpose, message.direction);
    cell.bytes -= message.bytes;
    --cell.messages;
    on(message);
  }
}

void Attribution::on(const events::CallMade& event) {
  Membership& membership = memberships_[event.communicator];
  membership.made[event.call] = {.shape = {.operation = event.operation,
                                           .type = event.type,
                                           .size = membership.size,
                                           .root = event.root,
                                           .count = event.count},
                                 .phase = phase_};
  ++calls_;
}

void Attribution::on(const events::CallStarted& event) {
  Membership& membership = memberships_[event.communicator];
  Membership::Live live = {.channel = event.channel,
                           .channels = event.channels,
                           .heading_bytes = event.heading_bytes,
                           .call = event.call,
                           .own = event.call == 0,
                           .started = event.time};
  const auto made = membership.made.find(event.call);
  const bool known = made != membership.made.end();
  const uint32_t phase = known ? made->second.phase : phase_;
  live.purpose =
      live.own ? own_purpose(event.communicator) : purpose_of(event.communicator, event, phase);
  membership.under_way.end(0, event.time);  // the tuning, whose end is not recorded
  membership.under_way.begin(event.call, live.purpose, event.time);
  if (event.protocol != events::Protocol::kNone) {  // NCCL's: no formula, no channels of ours
    ++membership.nccl_calls;
    membership.nccl_purposes[event.call] = live.purpose;
    if (membership.nccl_purposes.size() > Membership::kMostPurposes) {
      membership.nccl_purposes.erase(membership.nccl_purposes.begin());
    }
    return;
  }
  CallShape shape = known ? made->second.shape : CallShape{};
  if (known) {
    shape.algorithm = event.algorithm;
    shape.chunk_bytes = event.chunk_bytes;
    shape.group_ranks = event.group_ranks;
    ++membership.expected[{shape, live.purpose}];
  }
  const bool sends = event.operation == Operation::kSend;
  if (sends || event.operation == Operation::kRecv) {
    const auto direction = sends ? Direction::kSent : Direction::kReceived;
    const uint64_t bytes = shape.count * element_bytes(shape.type);
    if (known) membership.turns[{shape.root, direction}].push_back({live, bytes, false});
    return;
  }
  const auto lane =
      std::find_if(membership.lanes.begin(), membership.lanes.end(),
                   [&live](const Membership::Live& each) { return each.channel == live.channel; });
  if (lane == membership.lanes.end()) {
    membership.lanes.push_back(live);
  } else {
    *lane = live;
  }
}

void Attribution::on(const events::CallEnded& event) {
  Membership& membership = memberships_[event.communicator];
  membership.made.erase(event.call);
  membership.under_way.end(event.call, event.time);
}

uint32_t Attribution::purpose_of(uint64_t communicator, const events::CallStarted& call,
                                 uint32_t phase) {
  // A send and its matching receive are one operation.
  const bool receives = call.operation == Operation::kRecv;
  return purposes_->number_of({.communicator = communicator,
                               .operation = receives ? Operation::kSend : call.operation,
                               .algorithm = call.algorithm,
                               .phase = phases_[phase]});
}

uint32_t Attribution::own_purpose(uint64_t communicator) {
  return purposes_->number_of(
      {.communicator = communicator, .phase = phases_[phase_], .own = true});
}

void Attribution::on(const Whole& message) {
  has_messages_ = true;
  ConnectionTraffic& on = connection(message.connection);
  const auto membership = memberships_.find(on.communicator);
  if (on.communicator == 0 || membership == memberships_.end()) {
    const uint32_t purpose = purposes_->number_of({.phase = phases_[phase_]});
    Cell& cell = on.carried_for(purpose, message.direction);
    cell.bytes += message.bytes;
    ++cell.messages;
    if (on.early.size() < ConnectionTraffic::kMostEarly) on.early.push_back({message, purpose});
    return;
  }
  for (const Membership::Live& lane : membership->second.lanes) {
    if (message.channel < lane.channel || message.channel >= lane.channel + lane.channels) continue;
    const auto state = std::find_if(
        on.channels.begin(), on.channels.end(), [&message](const ConnectionTraffic::Channel& each) {
          return each.channel == message.channel && each.direction == message.direction;
        });
    const bool first = state == on.channels.end() || state->call != lane.call;
    count(on, message, lane, first);
    return;
  }
  const auto turns = membership->second.turns.find({on.peer_rank, message.direction});
  const bool waits = turns != membership->second.turns.end() && !turns->second.empty();
  if (waits && message.channel == turns->second.front().call.channel) {
    Membership::Turn& turn = turns->second.front();
    count(on, message, turn.call, !turn.begun);
    const uint64_t heading = turn.begun || message.through_memory ? 0 : turn.call.heading_bytes;
    turn.left_bytes -= std::min(turn.left_bytes, message.bytes - std::min(message.bytes, heading));
    turn.begun = true;
    if (turn.left_bytes == 0) turns->second.pop_front();
    return;
  }
  Cell& cell = on.carried_for(own_purpose(on.communicator), message.direction);
  cell.bytes += message.bytes;
  ++cell.messages;
}

void Attribution::on(const events::ProxyOp& event) {
  has_messages_ = has_proxy_ = true;
  Membership& membership = memberships_[event.communicator];
  const auto call = membership.nccl_purposes.find(event.call);
  const uint32_t purpose =
      call != membership.nccl_purposes.end()
          ? call->second
          : purposes_->number_of({.communicator = event.communicator, .phase = phases_[phase_]});
  Cell& cell = membership.proxied[{event.rank, event.peer, purpose, event.direction}];
  cell.bytes += event.bytes;
  cell.messages += event.steps;
  if (event.took > Nanos{}) cell.nanos += static_cast<uint64_t>(event.took.count);
}

void Attribution::on(const events::BurstSent& event) {
  ConnectionTraffic& on = connection(event.connection);
  if (on.binned) return;
  const Nanos to = saturating_difference(event.time, nanos(-1));
  Left& left = on.left_on({.path = event.path, .purpose = purpose_between(on, event.time, to)});
  left.cell.packets += event.segments;
  left.cell.sent_bytes += event.bytes;
}

void Attribution::on(const events::WireBin& event) {
  if (event.direction != Direction::kSent) return;
  Cell cell;
  cell.sent_bytes = event.payload_bytes;
  cell.wire_bytes = event.bytes;
  cell.packets = event.packets;
  if (event.connection == 0) {
    astray_ += cell;
    return;
  }
  ConnectionTraffic& on = connection(event.connection);
  if (!on.binned) {  // the bins include what bursts reported
    std::erase_if(on.left, [](const Left& each) { return each.path != kMemoryPath; });
  }
  on.binned = true;
  // A damaged recording contains arbitrary times.
  const Nanos from = saturating_difference(event.time, event.ago);
  const Nanos to = saturating_difference(from, nanos(-int64_t{event.span_ns}));
  on.left_on({.path = event.path,
              .purpose = purpose_between(on, from, to),
              .nic = event.nic,
              .peer_nic = event.peer_nic,
              .route = on.latest_route(event.path)})
      .cell += cell;
}

uint32_t Attribution::purpose_between(const ConnectionTraffic& connection, Nanos from, Nanos to) {
  if (const auto found = memberships_.find(connection.communicator); found != memberships_.end()) {
    if (const auto one = found->second.under_way.only(from, to)) return *one;
  }
  return purposes_->number_of({.communicator = connection.communicator, .phase = phases_[phase_]});
}

// The first message on a channel begins with the call's heading; the rest is payload.
void Attribution::count(ConnectionTraffic& on, const Whole& message, const Membership::Live& call,
                        bool first) {
  const bool headed = first && !message.through_memory;
  const uint64_t heading = headed ? std::min<uint64_t>(message.bytes, call.heading_bytes) : 0;
  const uint64_t payload = call.own ? 0 : message.bytes - heading;
  if (message.through_memory && message.direction == Direction::kSent && payload > 0) {
    Left& left = on.left_on({.path = kMemoryPath, .purpose = call.purpose});
    left.cell.memory_bytes += payload;
    ++left.cell.memory_messages;
  }
  if (call.own || heading > 0 || payload == 0) {
    Cell& own = on.carried_for(own_purpose(on.communicator), message.direction);
    own.bytes += message.bytes - payload;
    if (payload == 0) ++own.messages;
  }
  auto state = std::find_if(
      on.channels.begin(), on.channels.end(), [&message](const ConnectionTraffic::Channel& each) {
        return each.channel == message.channel && each.direction == message.direction;
      });
  if (state == on.channels.end()) {
    on.channels.push_back({message.channel, message.direction, 0, {}});
    state = on.channels.end() - 1;
  }
  const Nanos since = state->call == call.call && !first ? state->last : call.started;
  state->call = call.call;
  state->last = message.time;
  if (payload == 0) return;
  Cell& cell = on.carried_for(call.purpose, message.direction);
  cell.bytes += payload;
  ++cell.messages;
  // A damaged recording contains arbitrary times.
  if (message.time > since) {
    cell.nanos += static_cast<uint64_t>(message.time.count) - static_cast<uint64_t>(since.count);
  }
}

}  // namespace heddle::insight
