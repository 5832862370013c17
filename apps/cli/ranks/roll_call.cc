// RollCall: see roll_call.h. Lower ranks connect to higher ones.
#include "apps/cli/ranks/roll_call.h"

#include <algorithm>
#include <utility>

#include "apps/cli/params.h"

namespace heddle::cli {
namespace {

constexpr engine::Channel kGreetings = 0;
constexpr engine::Channel kReports = 1;

}  // namespace

RollCall::RollCall(engine::Endpoint& endpoint, const collectives::Group& group,
                   std::function<bool()> stopped)
    : endpoint_(endpoint),
      group_(group),
      stopped_(std::move(stopped)),
      by_rank_(group.size, nullptr) {}

// Running operations end with their connection, which must happen before their memory is freed.
RollCall::~RollCall() {
  for (const Peer& peer : peers_) endpoint_.abort(peer.connection);
  for (const Peer& peer : peers_) {
    for (const engine::Operation operation : {peer.sending, peer.receiving, peer.reporting}) {
      if (operation) endpoint_.wait(operation, Nanos::never());
    }
  }
}

Unreached RollCall::run(Nanos patience) {
  const Nanos until = endpoint_.now() + patience;
  greet_higher();
  wait_until([this] { return all_reached(); }, until);
  Unreached unreached(group_.size);
  for (uint32_t rank = 0; rank < group_.size; ++rank) {
    if (rank != group_.rank && by_rank_[rank] == nullptr) unreached[group_.rank].push_back(rank);
  }
  // The slowest rank may need all of the time before it reports.
  if (group_.rank == 0) {
    collect(unreached, until + patience);
  } else {
    tell(until + patience);
  }
  return unreached;
}

template <typename Done>
void RollCall::wait_until(Done done, Nanos until) {
  while (true) {
    take_lower();
    for (Peer& peer : peers_) look_at(peer);
    const Nanos left = until - endpoint_.now();
    if (done() || left.count <= 0 || stopped_()) return;
    endpoint_.progress(std::min(left, params::ranks::kSlice));
  }
}

bool RollCall::all_reached() const {
  return std::count(by_rank_.begin(), by_rank_.end(), nullptr) == 1;  // this one
}

RollCall::Peer& RollCall::add(engine::Connection connection) {
  Peer& peer = peers_.emplace_back();
  peer.connection = connection;
  peer.sent = {group_.job, group_.rank, group_.size};
  const auto receiving = endpoint_.receive(connection, kGreetings, &peer.heard, sizeof(Greeting));
  if (receiving) peer.receiving = *receiving;
  const auto sending = endpoint_.send(connection, kGreetings, &peer.sent, sizeof(Greeting));
  if (sending) peer.sending = *sending;
  return peer;
}

void RollCall::greet_higher() {
  for (uint32_t rank = group_.rank + 1; rank < group_.size; ++rank) {
    const Result<engine::Connection> connection = endpoint_.connect(group_.addresses[rank]);
    if (connection) add(*connection);
  }
}

void RollCall::take_lower() {
  while (const auto connection = endpoint_.accept(Nanos{})) add(*connection);
}

void RollCall::look_at(Peer& peer) {
  if (peer.greeted || !peer.receiving) return;
  const engine::Outcome outcome = endpoint_.peek(peer.receiving);
  if (!outcome.done) return;
  peer.receiving = {};
  peer.greeted = outcome.ok && outcome.bytes == sizeof(Greeting) && peer.heard.job == group_.job &&
                 peer.heard.size == group_.size && peer.heard.rank < group_.size;
  if (peer.greeted) by_rank_[peer.heard.rank] = &peer;
}

void RollCall::collect(Unreached& unreached, Nanos until) {
  for (Peer* peer : by_rank_) {
    if (peer == nullptr) continue;
    peer->report.resize(group_.size);
    const auto receiving =
        endpoint_.receive(peer->connection, kReports, peer->report.data(), peer->report.size());
    if (receiving) peer->reporting = *receiving;
  }
  std::vector<bool> told(group_.size, false);
  told[0] = true;
  const auto all_reported = [&] {
    bool all = true;
    for (uint32_t rank = 1; rank < group_.size; ++rank) {
      Peer* const peer = by_rank_[rank];
      if (told[rank] || peer == nullptr || !peer->reporting) continue;
      const engine::Outcome outcome = endpoint_.peek(peer->reporting);
      all = all && outcome.done;
      if (!outcome.done) continue;
      peer->reporting = {};
      told[rank] = outcome.ok && outcome.bytes == group_.size;
    }
    return all;
  };
  wait_until(all_reported, until);
  for (uint32_t rank = 1; rank < group_.size; ++rank) {
    for (uint32_t other = 0; other < group_.size; ++other) {
      const bool reached = told[rank] && by_rank_[rank]->report[other] != 0;
      if (other != rank && !reached) unreached[rank].push_back(other);
    }
  }
  for (Peer* peer : by_rank_) {
    if (peer != nullptr)
      static_cast<void>(endpoint_.close(peer->connection, params::ranks::kSlice));
  }
}

// And waits until rank 0 has it all: till then others may still come here.
void RollCall::tell(Nanos until) {
  Peer* const first = by_rank_[0];
  if (first == nullptr) return;
  for (const Peer* peer : by_rank_) first->report.push_back(peer != nullptr ? 1 : 0);
  const auto sending =
      endpoint_.send(first->connection, kReports, first->report.data(), first->report.size());
  if (sending) first->reporting = *sending;
  wait_until(
      [&] { return endpoint_.status(first->connection).state == engine::ConnectionState::kClosed; },
      until);
}

}  // namespace heddle::cli
