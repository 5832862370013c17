// Store: see store.h.
#include "collectives/rendezvous/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "collectives/params.h"
#include "collectives/rendezvous/rank_list.h"
#include "engine/addresses.h"
#include "events/events.h"

namespace heddle::collectives {
namespace {

constexpr engine::Channel kChannel = 0;

constexpr const char* kNoGroup = "cannot find all ranks";
constexpr const char* kOwnRank = "give each process a rank of its own, from 0 on";

// Takes as long wherever they differ.
bool same_secret(const std::string& one, const std::string& other) {
  unsigned difference = one.size() == other.size() ? 0 : 1;
  for (size_t i = 0; i < std::min(one.size(), other.size()); ++i) {
    difference |= static_cast<unsigned char>(one[i]) ^ static_cast<unsigned char>(other[i]);
  }
  return difference == 0;
}

}  // namespace

Store::Store(engine::Endpoint& endpoint, Registration self, uint64_t job)
    : endpoint_(endpoint), self_(std::move(self)), job_(job) {
  if (self_.size == 1) complete();
}

void Store::turn() {
  take_visitors();
  leaving_.remove_if([this](Visitor& visitor) { return settled(visitor); });
  send_away_idlers();
  for (auto it = visitors_.begin(); it != visitors_.end();) {
    if (look_at(it->first, it->second)) {
      ++it;
      continue;
    }
    leave(it->second);
    endpoint_.abort(it->first);
    it = visitors_.erase(it);
  }
  if (!outcome_ && all_are_here()) complete();
}

void Store::take_visitors() {
  while (const std::optional<engine::Connection> connection = endpoint_.accept(Nanos{})) {
    Visitor& visitor = visitors_[*connection];
    visitor.since = endpoint_.now();
    listen(*connection, visitor);
  }
}

void Store::send_away_idlers() {
  const Nanos now = endpoint_.now();
  size_t idlers = 0;
  for (auto it = visitors_.begin(); it != visitors_.end();) {
    const auto each = it++;
    if (each->second.registration) continue;
    const bool silent =
        each->second.receiving && now - each->second.since >= params::kRegisterWithin;
    if (silent) {
      send_away(each);
    } else {
      ++idlers;
    }
  }
  for (; idlers > params::kUnregisteredConnections; --idlers) {
    auto oldest = visitors_.end();
    for (auto it = visitors_.begin(); it != visitors_.end(); ++it) {
      if (it->second.registration) continue;
      if (oldest == visitors_.end() || it->second.since < oldest->second.since) oldest = it;
    }
    send_away(oldest);
  }
}

void Store::send_away(std::map<engine::Connection, Visitor>::iterator visitor) {
  endpoint_.abort(visitor->first);
  leaving_.push_back(std::move(visitor->second));
  visitors_.erase(visitor);
}

void Store::listen(engine::Connection connection, Visitor& visitor) {
  visitor.asked.resize(params::kMaxRegistrationBytes);
  const Result<engine::Operation> posted =
      endpoint_.receive(connection, kChannel, visitor.asked.data(), visitor.asked.size());
  visitor.receiving = posted ? *posted : engine::Operation{};
}

bool Store::look_at(engine::Connection connection, Visitor& visitor) {
  if (endpoint_.status(connection).state == engine::ConnectionState::kClosed) {
    return !settled(visitor);
  }
  if (visitor.answered) return true;
  if (visitor.claim) {
    settle_claim(connection, visitor);
    return true;
  }
  if (visitor.registration) {
    if (endpoint_.now() < visitor.until) return true;
    const Nanos waited = visitor.registration->patience;
    gone_.insert(visitor.registration->rank);
    leave(visitor);
    answer(connection, visitor, {.kind = AnswerKind::kRefused, .error = missing(waited)});
    return true;
  }
  const engine::Outcome heard = endpoint_.peek(visitor.receiving);
  if (!heard.done) return true;
  visitor.receiving = {};
  if (!heard.ok) return false;
  const auto registration =
      decode_registration(std::span<const std::byte>(visitor.asked).first(heard.bytes));
  if (!registration) return false;  // it speaks something else
  hear(connection, visitor, *registration);
  return true;
}

bool Store::settled(Visitor& visitor) {
  if (visitor.receiving && !endpoint_.peek(visitor.receiving).done) return false;
  visitor.receiving = {};
  return std::all_of(visitor.said.begin(), visitor.said.end(), [this](const Said& each) {
    return !each.sending || endpoint_.peek(each.sending).done;
  });
}

void Store::hear(engine::Connection connection, Visitor& visitor,
                 const Registration& registration) {
  if (const auto error = not_now(registration)) {
    if (error->code == ErrorCode::kPermission) {
      ++refused_;
      latest_refusal_ = fmt::format("a process that {}", error->why.substr(3));
    }
    answer(connection, visitor, {.kind = AnswerKind::kLater, .error = *error});
    return;
  }
  if (is_mistake()) {
    answer(connection, visitor, {.kind = AnswerKind::kRefused, .error = outcome_->error()});
    return;
  }
  if (const auto error = impossible(registration)) {
    if (!is_proven(connection)) return refuse(connection, visitor, *error);
    visitor.registration = registration;
    fail_all(*error);
    return;
  }
  if (const auto before = registered_.find(registration.rank); before != registered_.end()) {
    Visitor& other = visitors_.at(before->second);
    if (other.registration->process != registration.process) {
      visitor.claim = registration;
      visitor.claimed_at = endpoint_.now();
      return;
    }
    // It has lost its connection, which this side may not have noticed.
    other.registration.reset();
    endpoint_.begin_close(before->second);
  }
  visitor.registration = registration;
  visitor.until = endpoint_.now() + std::max(registration.patience / 2,
                                             registration.patience - params::kReportBeforeTimeout);
  visitor.proven_at = endpoint_.now();
  registered_[registration.rank] = connection;
  gone_.erase(registration.rank);
  say(connection, visitor, encode(Answer{.kind = AnswerKind::kWelcome}));
  listen(connection,
         visitor);  // no message follows; a posted receive makes the transport probe the peer
}

// Who has the rank may be dead without a sign: only what it acknowledges shows that two claim it.
void Store::settle_claim(engine::Connection connection, Visitor& visitor) {
  const Registration claim = *visitor.claim;
  const auto found = registered_.find(claim.rank);
  if (outcome_ || found == registered_.end()) {
    visitor.claim.reset();
    hear(connection, visitor, claim);
    return;
  }
  Visitor& holder = visitors_.at(found->second);
  if (!alive_since(found->second, holder, visitor.claimed_at)) return;
  const Error error{ErrorCode::kInvalid, kNoGroup,
                    fmt::format("two processes claim rank {}, one on {} and one on {}", claim.rank,
                                holder.registration->host, claim.host),
                    kOwnRank};
  if (!is_proven(connection)) {
    visitor.claim.reset();
    return refuse(connection, visitor, error);
  }
  visitor.registration = claim;
  fail_all(error);
}

bool Store::is_proven(engine::Connection connection) const {
  // not_now() has compared them.
  if (self_.ticket != 0 || !self_.token.empty()) return true;
  const auto known = endpoint_.statistics(connection);
  return known && known->protection.has_value();
}

void Store::refuse(engine::Connection connection, Visitor& visitor, const Error& error) {
  ++refused_;
  latest_refusal_ = error.why.substr(0, params::kRefusalTextBytes);
  answer(connection, visitor, {.kind = AnswerKind::kRefused, .error = error});
}

bool Store::alive_since(engine::Connection connection, Visitor& visitor, Nanos when) {
  if (visitor.proven_at >= when) return true;
  if (!visitor.proof) {
    visitor.proof = say(connection, visitor, encode(Answer{.kind = AnswerKind::kWelcome}));
    return false;
  }
  const engine::Outcome outcome = endpoint_.peek(visitor.proof);
  if (!outcome.done) return false;
  visitor.proof = {};
  if (!outcome.ok) return false;
  visitor.proven_at = endpoint_.now();
  return true;
}

bool Store::all_are_here() {
  bool all = registered_.size() + 1 == self_.size;
  for (const auto& [connection, visitor] : visitors_) {
    all = all && !(visitor.claim && is_proven(connection));
  }
  if (!all) return false;
  const Nanos lately = endpoint_.now() - params::kProbeRankAfter;
  for (const auto& [rank, connection] : registered_) {
    all = alive_since(connection, visitors_.at(connection), lately) && all;
  }
  return all;
}

std::optional<Error> Store::not_now(const Registration& registration) const {
  const std::string what = "the store at the given place serves others";
  if (registration.version != kRendezvousVersion) {
    const bool older = registration.version < kRendezvousVersion;
    return Error{
        ErrorCode::kVersion, "the store speaks another version",
        fmt::format("it speaks version {} of the rendezvous of ranks, this process version {}",
                    kRendezvousVersion, registration.version),
        older ? "upgrade heddle on the host of this process"
              : "upgrade heddle on the host of the store"};
  }
  if (registration.run != self_.run) {
    return Error{
        ErrorCode::kInUse, what,
        fmt::format("its run is '{}', that of this process '{}'", self_.run, registration.run),
        "give each run a store of its own"};
  }
  if (registration.ticket != self_.ticket) {
    return Error{ErrorCode::kInUse, what, "the file is of an earlier run", ""};
  }
  if (!same_secret(registration.token, self_.token)) {
    return Error{ErrorCode::kPermission, "the store does not take this process for one of its run",
                 registration.token.empty() ? "it shows no token" : "it shows another token",
                 "start all ranks with the same HEDDLE_TOKEN, or none with any"};
  }
  if (outcome_ && !is_mistake()) return Error{ErrorCode::kInUse, what, "it is over", ""};
  return std::nullopt;
}

std::optional<Error> Store::impossible(const Registration& registration) const {
  if (registration.size != self_.size) {
    return Error{ErrorCode::kInvalid, kNoGroup,
                 fmt::format("rank {} on {} was started with {} ranks, rank 0 on {} with {}",
                             registration.rank, registration.host, registration.size, self_.host,
                             self_.size),
                 "start all ranks with the same size"};
  }
  if (registration.rank >= 1 && registration.rank < self_.size) return std::nullopt;
  return Error{ErrorCode::kInvalid, kNoGroup,
               fmt::format("a process on {} claims rank {} of {}", registration.host,
                           registration.rank, self_.size) +
                   (registration.rank == 0 ? ", which one on " + self_.host + " has" : ""),
               kOwnRank};
}

void Store::leave(const Visitor& visitor) {
  if (!visitor.registration) return;
  const auto found = registered_.find(visitor.registration->rank);
  if (found != registered_.end() && &visitors_.at(found->second) == &visitor) {
    registered_.erase(found);
  }
}

engine::Operation Store::say(engine::Connection connection, Visitor& visitor,
                             std::vector<std::byte> message) {
  const auto over = [&](const Said& each) {
    if (visitor.proof && each.sending.id == visitor.proof.id) return false;  // still asked for
    return !each.sending || endpoint_.peek(each.sending).done;
  };
  while (!visitor.said.empty() && over(visitor.said.front())) visitor.said.pop_front();
  Said& kept = visitor.said.emplace_back(Said{std::move(message), {}});
  // A failed send belongs to a closed connection, which the next turn() finds.
  const Result<engine::Operation> sending =
      endpoint_.send(connection, kChannel, kept.message.data(), kept.message.size());
  if (sending) kept.sending = *sending;
  return kept.sending;
}

void Store::answer(engine::Connection connection, Visitor& visitor, const Answer& answer) {
  visitor.answered = true;
  say(connection, visitor, encode(answer));
  if (answer.kind != AnswerKind::kGroup) endpoint_.begin_close(connection);
}

void Store::complete() {
  Group group{.rank = 0, .size = self_.size, .job = job_};
  group.addresses.resize(self_.size);
  group.hosts.resize(self_.size);
  const transport::Address own_host = address_of_own_host();
  group.addresses[0] = self_.bound;
  if (engine::is_any(self_.bound)) group.addresses[0].host = own_host.host;
  group.hosts[0] = self_.host;
  for (const auto& [rank, connection] : registered_) {
    const Registration& registration = *visitors_.at(connection).registration;
    transport::Address seen = endpoint_.status(connection).peer;
    // A rank that came by loopback is on this host; others need the host's address.
    if (engine::is_loopback(seen)) seen.host = own_host.host;
    if (!engine::is_any(registration.bound)) seen = registration.bound;
    group.addresses[rank] = seen;
    group.hosts[rank] = registration.host;
  }
  const std::vector<std::byte> body = encode(group);
  for (const auto& [rank, connection] : registered_) {
    Visitor& visitor = visitors_.at(connection);
    answer(connection, visitor,
           {.kind = AnswerKind::kGroup, .body_bytes = static_cast<uint32_t>(body.size())});
    say(connection, visitor, body);
    endpoint_.begin_close(connection);
  }
  outcome_ = std::move(group);
}

// As another host reaches it, where there is one.
transport::Address Store::address_of_own_host() const {
  transport::Address found = self_.bound;
  bool from_outside = !engine::is_any(found) && !engine::is_loopback(found);
  for (const auto& [rank, connection] : registered_) {
    const transport::Address& reached = visitors_.at(connection).registration->reached;
    if (from_outside) break;
    found = reached;
    from_outside = !engine::is_loopback(reached);
  }
  return found;
}

void Store::fail_all(const Error& error) {
  if (outcome_) return;
  outcome_ = fail(error);
  ended_at_ = endpoint_.now();
  for (auto& [connection, visitor] : visitors_) {
    if (!visitor.registration || visitor.answered) continue;
    answer(connection, visitor, {.kind = AnswerKind::kRefused, .error = error});
  }
  registered_.clear();
}

bool Store::done() const {
  if (!outcome_ || (is_mistake() && endpoint_.now() < ended_at_ + params::kServeAfterEnd))
    return false;
  return std::none_of(visitors_.begin(), visitors_.end(),
                      [](const auto& each) { return each.second.answered; });
}

bool Store::is_mistake() const {
  return outcome_ && !*outcome_ && outcome_->error().code == ErrorCode::kInvalid;
}

Error Store::missing(Nanos waited) const {
  std::vector<uint32_t> ranks;
  for (uint32_t rank = 1; rank < self_.size; ++rank) {
    if (!registered_.contains(rank) && !gone_.contains(rank)) ranks.push_back(rank);
  }
  if (ranks.empty()) ranks.assign(gone_.begin(), gone_.end());  // they were never all there at once
  std::string why = fmt::format("{} of {} did not come to {} within {:.3g} s", rank_list(ranks),
                                self_.size, self_.host, to_seconds(waited));
  if (refused_ > 0) {
    why += fmt::format("; {} registration{} refused, the latest: {}", refused_,
                       refused_ == 1 ? " was" : "s were", latest_refusal_);
  }
  std::string todo = "see why they do not start, or cannot reach this host over UDP";
  constexpr auto kForeign = static_cast<size_t>(events::DropReason::kBadVersion);
  if (const uint64_t count = endpoint_.statistics().drops_by_reason[kForeign]; count > 0) {
    why += fmt::format("; {} packet{} of another version of the wire protocol came", count,
                       count == 1 ? "" : "s");
    todo = "install the same version of heddle on all hosts; else " + todo;
  }
  return {ErrorCode::kTimeout, kNoGroup, why, todo};
}

}  // namespace heddle::collectives
