// See job_facts.h.
#include "insight/diagnosis/job_facts.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "insight/diagnosis/params.h"
#include "insight/diagnosis/transits.h"

namespace heddle::insight {
namespace {

// A damaged recording has any times.
constexpr int64_t kLatest = int64_t{1} << 60;

bool between_two(events::Operation operation) {
  return operation == events::Operation::kSend || operation == events::Operation::kRecv;
}

bool is_collective(const Operation& operation) {
  return !operation.between_two() && !operation.differs && operation.parts.size() >= 2;
}

}  // namespace

Inflow& Part::from(uint32_t rank) {
  const auto at =
      std::lower_bound(inflows.begin(), inflows.end(), rank,
                       [](const Inflow& inflow, uint32_t value) { return inflow.from < value; });
  if (at != inflows.end() && at->from == rank) return *at;
  return *inflows.insert(at, {.from = rank});
}

void Part::forget_messages() {
  departures = {};
  for (Inflow& inflow : inflows) inflow.arrivals = {};
}

bool Operation::has_rank(uint32_t rank) const {
  return between_two() ? rank == key.from || rank == key.to : rank < parts.size();
}

uint32_t Operation::rank_of(size_t part) const {
  if (!between_two()) return static_cast<uint32_t>(part);
  return part == 0 ? key.from : key.to;
}

bool within_host(const std::vector<ProcessFacts>& processes, const Operation& operation,
                 uint32_t one, uint32_t other) {
  const std::string& host = processes[operation.parts[one].process].party.host;
  return !host.empty() && host == processes[operation.parts[other].process].party.host;
}

void OperationIndex::add(const Operation& operation) {
  unfinished_.emplace(operation.key, &operation);
}

void OperationIndex::differ(const Operation& operation) {
  different_.emplace(operation.key, &operation);
}

void OperationIndex::end(const Operation& operation) {
  unfinished_.erase(operation.key);
  if (is_collective(operation)) {
    collectives_[operation.key.communicator].emplace(std::pair(operation.ended, operation.key),
                                                     &operation);
  }
  spans_ns_.insert(operation.ended - operation.began);
}

void OperationIndex::forget(const Operation& operation) {
  unfinished_.erase(operation.key);
  different_.erase(operation.key);
  if (operation.ended == kNever) return;
  spans_ns_.erase(spans_ns_.find(operation.ended - operation.began));
  const auto of_communicator = collectives_.find(operation.key.communicator);
  if (of_communicator == collectives_.end()) return;
  of_communicator->second.erase({operation.ended, operation.key});
  if (of_communicator->second.empty()) collectives_.erase(of_communicator);
}

uint32_t JobFacts::add_process(const Identity& identity, const FileEnd& end) {
  ProcessFacts& process = processes_.emplace_back();
  process.party = party_of(identity);
  process.end = end;
  process.of_heddle = value_of(identity, "source").empty();
  courses_.push_back({.calls = RecentCalls(params::kMostCalls)});
  return static_cast<uint32_t>(processes_.size() - 1);
}

void JobFacts::add(uint32_t process, const events::AnyEvent& event, int64_t at_ns) {
  ProcessFacts& facts = processes_[process];
  const int64_t at = std::max(facts.last, std::clamp<int64_t>(at_ns, 0, kLatest));
  if (facts.first == kNever) facts.first = at;
  facts.last = at;
  last_ = std::max(last_, at);
  std::visit([this, process, at](const auto& each) { on(process, each, at); }, event);
}

uint32_t JobFacts::process_of(uint64_t communicator, uint32_t rank) const {
  const auto found = members_.find({communicator, rank});
  return found == members_.end() ? kNobody : found->second;
}

uint32_t JobFacts::size_of(uint64_t communicator) const {
  const auto found = sizes_.find(communicator);
  return found == sizes_.end() ? 0 : found->second;
}

void JobFacts::on(uint32_t process, const events::CommunicatorMade& event, int64_t /*at*/) {
  if (event.size > params::kMostRanks || event.rank >= event.size) return;
  processes_[process].communicators[event.communicator] = {event.rank, event.size, kNever, 0};
  members_[{event.communicator, event.rank}] = process;
  sizes_[event.communicator] = std::max(sizes_[event.communicator], event.size);
}

void JobFacts::on(uint32_t process, const events::CommunicatorLinked& event, int64_t /*at*/) {
  ConnectionFacts& connection = processes_[process].connections[event.connection];
  connection.communicator = event.communicator;
  connection.peer = event.peer;
}

void JobFacts::on(uint32_t process, const events::CommunicatorEnded& event, int64_t at) {
  const auto found = processes_[process].communicators.find(event.communicator);
  if (found != processes_[process].communicators.end()) found->second.left = at;
  for (auto& [id, connection] : processes_[process].connections) {
    if (connection.communicator == event.communicator) connection.paths.close(at);
  }
}

Operation& JobFacts::operation(const OperationKey& key, const events::CallMade& event) {
  Operation*& known = by_key_[key];
  if (known != nullptr) return *known;
  Operation& operation = operations_[key];
  known = &operation;
  operation.key = key;
  operation.what = event.operation;
  operation.type = event.type;
  operation.count = event.count;
  operation.root = event.root;
  operation.parts.resize(key.from == kNobody ? size_of(key.communicator) : 2);
  operation.missing = operation.open = static_cast<uint32_t>(operation.parts.size());
  parts_ += operation.parts.size();
  order_.push_back(key);
  index_.add(operation);
  return operation;
}

void JobFacts::on(uint32_t process, const events::CallMade& event, int64_t at) {
  const auto member = processes_[process].communicators.find(event.communicator);
  if (member == processes_[process].communicators.end() || event.call == 0) return;
  const uint32_t rank = member->second.rank;
  OperationKey key{event.communicator, event.number};
  uint32_t place = rank;
  if (between_two(event.operation)) {
    const bool sends = event.operation == events::Operation::kSend;
    key.from = sends ? rank : event.root;
    key.to = sends ? event.root : rank;
    place = sends ? 0 : 1;
  }
  if (member->second.size > params::kMostUnrecorded * processes_.size()) {
    sparse_.insert(event.communicator);
    return;
  }
  if (is_of_the_past(key, at)) return;
  Operation& operation = this->operation(key, event);
  if (place >= operation.parts.size()) return;
  Part& part = operation.parts[place];
  if (part.made != kNever) return;  // a second one of this number: the recording is damaged
  part.process = process;
  part.made = at;
  part.count = event.count;
  --operation.missing;
  ++operation.in_flight;
  if (operation.began == kNever || at < operation.began) operation.began = at;
  operation.due = std::max(operation.due, at);
  const bool counts_differ =
      event.count != operation.count && event.operation != events::Operation::kAlltoallv;
  if (!operation.between_two()) {
    operation.differs |= event.operation != operation.what || event.type != operation.type ||
                         event.root != operation.root || counts_differ;
    if (operation.differs) index_.differ(operation);
  }
  ++member->second.calls;
  Course& course = courses_[process];
  const int64_t own = at - course.waited_ns;
  if (course.last_made_own != kNever)
    part.computed_ns = std::max<int64_t>(0, own - course.last_made_own);
  course.last_made_own = own;
  const auto forgotten =
      course.calls.add(event.communicator, event.call, {key.number, key.from, key.to, place});
  if (forgotten) forget_messages(*forgotten);
  forget_old();
}

// Of a part that has not ended by now, and will not.
void JobFacts::forget_messages(const RecentCalls::Forgotten& call) {
  const CallPart& of = call.part;
  Operation* const operation = find({call.communicator, of.number, of.from, of.to});
  if (operation == nullptr || of.part >= operation->parts.size()) return;
  operation->parts[of.part].forget_messages();
}

size_t JobFacts::KeyHash::operator()(const OperationKey& key) const {
  const uint64_t pair = uint64_t{key.from} << 32 | key.to;
  return mix_bits(key.communicator ^ mix_bits(key.number ^ mix_bits(pair + 1)));
}

Operation* JobFacts::find(const OperationKey& key) {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : found->second;
}

Operation* JobFacts::find(uint32_t process, CallId call, uint32_t& part) {
  const CallPart* const known = courses_[process].calls.find(call.first, call.second);
  if (known == nullptr) return nullptr;
  part = known->part;
  Operation* const operation = find({call.first, known->number, known->from, known->to});
  // Of a damaged recording it may have been forgotten, and made anew by others.
  if (operation == nullptr || part >= operation->parts.size()) return nullptr;
  return operation->parts[part].process == process ? operation : nullptr;
}

void JobFacts::on(uint32_t process, const events::CallStarted& event, int64_t at) {
  uint32_t place = 0;
  Operation* const operation = find(process, {event.communicator, event.call}, place);
  if (operation == nullptr) return;
  operation->figures = nullptr;  // of a damaged recording it has ended
  Part& part = operation->parts[place];
  part.started = at;
  Course& course = courses_[process];
  if (course.last_ended != kNever) part.idle_ns = std::max<int64_t>(0, at - course.last_ended);
  if (operation->between_two()) return;
  operation->algorithm = event.algorithm;
  operation->group_ranks = event.group_ranks;
  if (event.protocol != events::Protocol::kNone) return;  // NCCL's channels
  course.live[{event.communicator, event.channel}] = {event.channels, operation->key, place};
}

void JobFacts::on(uint32_t process, const events::CallEnded& event, int64_t at) {
  uint32_t place = 0;
  Operation* const operation = find(process, {event.communicator, event.call}, place);
  if (operation == nullptr) return;
  Part& part = operation->parts[place];
  if (part.ended != kNever) return;
  part.ended = at;
  part.failed = !event.ok;
  --operation->in_flight;
  courses_[process].last_ended = at;
  if (part.failed) return;
  if (--operation->open > 0) return;
  for (const Part& each : operation->parts)
    operation->ended = std::max(operation->ended, each.ended);
  index_.end(*operation);
  if (!operation->between_two()) measure_transits(processes_, *operation);
}

void JobFacts::on(uint32_t process, const events::WaitBegun& /*event*/, int64_t at) {
  if (!std::exchange(processes_[process].has_waits, true)) ++waiting_;
  if (processes_[process].waits++ == 0) courses_[process].waited_since = at;
}

void JobFacts::on(uint32_t process, const events::WaitEnded& /*event*/, int64_t at) {
  if (processes_[process].waits == 0) return;
  if (--processes_[process].waits > 0) return;
  courses_[process].waited_ns += std::max<int64_t>(0, at - courses_[process].waited_since);
}

Part* JobFacts::part_of(uint32_t process, const Message& message, uint32_t& peer) {
  const auto found = processes_[process].connections.find(message.connection);
  if (found == processes_[process].connections.end()) return nullptr;
  const ConnectionFacts& facts = found->second;
  const Course& course = courses_[process];
  auto live = course.live.upper_bound({facts.communicator, message.channel});
  if (live == course.live.begin()) return nullptr;
  --live;
  const auto& [communicator, first] = live->first;
  if (communicator != facts.communicator || message.channel - first >= live->second.channels)
    return nullptr;
  Operation* const operation = find(live->second.key);
  if (operation == nullptr || !operation->has_rank(facts.peer)) return nullptr;
  if (operation->ended != kNever) return nullptr;  // its messages are measured
  Part& part = operation->parts[live->second.part];
  if (part.process != process) return nullptr;
  peer = facts.peer;
  return &part;
}

void JobFacts::arrived(uint32_t process, const Message& message, int64_t at) {
  uint32_t from = 0;
  Part* const part = part_of(process, message, from);
  if (part == nullptr) return;
  Inflow& inflow = part->from(from);
  ++inflow.messages;
  inflow.bytes += message.bytes;
  if (inflow.arrivals.size() >= params::kMostArrivals) return;
  inflow.arrivals.push_back({at, message.posted, message.bytes, message.sequence, message.channel});
}

void JobFacts::departed(uint32_t process, const Message& message) {
  uint32_t to = 0;
  Part* const part = part_of(process, message, to);
  if (part == nullptr || part->departures.size() >= params::kMostDepartures) return;
  part->departures.push_back({message.posted, to, message.sequence, message.channel});
}

void JobFacts::on(uint32_t process, const events::MessageCompleted& event, int64_t at) {
  processes_[process].connections[event.connection].paths.on_message(at);
  const int64_t posted = at - std::clamp<int64_t>(event.since_posted.count, 0, kLatest);
  const Message message{event.connection, event.channel, event.sequence, event.bytes, posted};
  if (event.direction == events::Direction::kReceived) {
    arrived(process, message, at);
  } else if (event.since_posted.count > 0) {  // 0: of a recording that did not say
    departed(process, message);
  }
}

void JobFacts::on(uint32_t process, const events::SharedMessageCompleted& event, int64_t at) {
  if (event.direction != events::Direction::kReceived) return;
  arrived(process, {event.connection, event.channel, event.sequence, event.bytes, at}, at);
}

void JobFacts::trouble(uint32_t process, uint32_t connection, const Trouble& trouble) {
  using Kind = Trouble::Kind;
  if (trouble.kind == Kind::kSetAside || trouble.kind == Kind::kPeerDead) {
    troubled_.insert({process, connection});
  }
  std::vector<Trouble>& troubles = processes_[process].connections[connection].troubles;
  if (troubles.size() < params::kMostTroubles) troubles.push_back(trouble);
}

void JobFacts::on(uint32_t process, const events::BurstLost& event, int64_t at) {
  processes_[process].connections[event.connection].lost += event.segments;
  const bool timeout = event.cause == events::LossCause::kTimeout;
  trouble(
      process, event.connection,
      {at, event.path, timeout ? Trouble::Kind::kTimeout : Trouble::Kind::kLost, event.segments});
}

void JobFacts::on(uint32_t process, const events::Recovery& event, int64_t at) {
  using events::RecoveryStep;
  Trouble::Kind kind{};
  switch (event.step) {
    case RecoveryStep::kTimeoutRetransmit:
      kind = Trouble::Kind::kTimeout;
      break;
    case RecoveryStep::kPathSetAside:
      processes_[process].connections[event.connection].paths.begin(event.path, at);
      kind = Trouble::Kind::kSetAside;
      break;
    case RecoveryStep::kPathReturned:
      processes_[process].connections[event.connection].paths.end(event.path, at);
      kind = Trouble::Kind::kReturned;
      break;
    case RecoveryStep::kPeerProbe:
      kind = Trouble::Kind::kPeerProbe;
      break;
    case RecoveryStep::kPeerDeclaredDead:
      kind = Trouble::Kind::kPeerDead;
      break;
    default:
      return;
  }
  trouble(process, event.connection, {at, event.path, kind, 0});
}

void JobFacts::on(uint32_t process, const events::ConnectionClosed& event, int64_t at) {
  processes_[process].connections[event.connection].paths.close(at);
  if (event.cause != events::CloseCause::kPeerDead) return;
  processes_[process].connections[event.connection].peer_died = true;
  trouble(process, event.connection, {at, UINT16_MAX, Trouble::Kind::kPeerDead, 0});
}

void JobFacts::on(uint32_t process, const events::PathTraced& event, int64_t /*at*/) {
  processes_[process].connections[event.connection].paths.trace(
      event.path, {event.hop, event.hops, {event.router_high, event.router_low}});
}

void JobFacts::on(uint32_t process, const events::WireBin& event, int64_t /*at*/) {
  if (event.direction != events::Direction::kSent || event.connection == 0) return;
  processes_[process].connections[event.connection].packets += event.packets;
}

void JobFacts::on(uint32_t process, const events::ProxyOp& event, int64_t /*at*/) {
  if (event.direction != events::Direction::kSent || event.steps == 0) return;
  uint32_t place = 0;
  Operation* const operation = find(process, {event.communicator, event.call}, place);
  if (operation == nullptr || event.peer >= operation->parts.size()) return;
  if (!operation->has_rank(event.rank)) return;
  Inflow& inflow = operation->parts[event.peer].from(event.rank);
  const double mean = static_cast<double>(event.network_wait.count) / event.steps;
  inflow.network_wait_ns = std::max(inflow.network_wait_ns, mean);
  operation->figures = nullptr;
}

// The oldest go, but of those in which a rank waits only where there are too many of them: they are
// what a hang is found by.
void JobFacts::forget_old() {
  const size_t most = std::max(most_parts_, parts_a_process_ * processes_.size());
  size_t kept = 0;
  while (parts_ > most && order_.size() > 1 && kept < 2) {
    const auto oldest = operations_.find(order_.front());
    order_.pop_front();
    if (oldest->second.in_flight > 0 && parts_ <= 2 * most) {
      order_.push_back(oldest->first);
      ++kept;
      continue;
    }
    parts_ -= oldest->second.parts.size();
    index_.forget(oldest->second);
    by_key_.erase(oldest->first);
    operations_.erase(oldest);
    ++dropped_;
  }
}

bool JobFacts::is_of_the_past(const OperationKey& key, int64_t at) {
  if (whole_from_ == kNever) return false;
  uint64_t& highest = past_[{key.communicator, 0, key.from, key.to}];
  if (at >= whole_from_) return key.number <= highest;
  highest = std::max(highest, key.number);
  return true;
}

void JobFacts::set_whole_from(int64_t at_ns) {
  if (at_ns <= whole_from_) return;
  whole_from_ = at_ns;
  std::erase_if(order_, [this](const OperationKey& key) {
    const auto found = operations_.find(key);
    const Operation& operation = found->second;
    if (operation.ended != kNever || operation.began >= whole_from_) return false;
    uint64_t& highest = past_[{key.communicator, 0, key.from, key.to}];
    highest = std::max(highest, key.number);
    parts_ -= operation.parts.size();
    index_.forget(operation);
    by_key_.erase(key);
    operations_.erase(found);
    return true;
  });
}

}  // namespace heddle::insight
