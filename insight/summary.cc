// See summary.h. Differences saturate, because a damaged recording contains arbitrary times.
#include "insight/summary.h"

#include <algorithm>

#include "insight/expected.h"

namespace heddle::insight {
namespace {

// `more` as span_of() returns it.
void add_to(Nanos& sum, Nanos more) { sum = {std::min(sum.count, INT64_MAX / 4) + more.count}; }

}  // namespace

ProxyWork& ProxyWork::operator+=(const ProxyWork& more) {
  operations += more.operations;
  transfers += more.transfers;
  bytes += more.bytes;
  retransmitted_bytes += more.retransmitted_bytes;
  add_to(gpu_wait, more.gpu_wait);
  add_to(peer_wait, more.peer_wait);
  add_to(network_wait, more.network_wait);
  return *this;
}

Nanos span_of(Nanos begin, Nanos end) {
  if (end <= begin) return {};
  const uint64_t span = static_cast<uint64_t>(end.count) - static_cast<uint64_t>(begin.count);
  return {static_cast<int64_t>(std::min<uint64_t>(span, INT64_MAX / 4))};
}

uint32_t SummaryBuilder::add_process(const Identity& identity) {
  ProcessSummary process;
  process.party = party_of(identity);
  summary_.processes.push_back(std::move(process));
  states_.emplace_back();
  return static_cast<uint32_t>(states_.size() - 1);
}

void SummaryBuilder::add(uint32_t process, const events::AnyEvent& event) {
  std::visit(
      [this, process](const auto& each) {
        ProcessSummary& summary = summary_.processes[process];
        if (summary.events++ == 0) summary.first = each.time;
        summary.first = std::min(summary.first, each.time);
        summary.last = std::max(summary.last, each.time);
        on(process, each);
      },
      event);
}

// Calls and waits in progress at the end count up to the last event.
Summary SummaryBuilder::finish() const {
  Summary summary = summary_;
  for (size_t i = 0; i < states_.size(); ++i) {
    ProcessSummary& process = summary.processes[i];
    const State& state = states_[i];
    if (!state.under_way.empty()) {
      add_to(process.communicating, span_of(state.busy_since, process.last));
    }
    if (state.waits > 0) add_to(process.exposed, span_of(state.waits_since, process.last));
    process.exposed = std::min(process.exposed, process.communicating);
  }
  return summary;
}

void SummaryBuilder::on(uint32_t process, const events::CallMade& event) {
  State& state = states_[process];
  if (state.under_way.empty()) state.busy_since = event.time;
  state.under_way[{event.communicator, event.call}] = {event};
  ++summary_.processes[process].calls;
}

void SummaryBuilder::on(uint32_t process, const events::CallStarted& event) {
  const auto made = states_[process].under_way.find({event.communicator, event.call});
  if (made != states_[process].under_way.end()) made->second.algorithm = event.algorithm;
}

void SummaryBuilder::on(uint32_t process, const events::CallEnded& event) {
  State& state = states_[process];
  const auto made = state.under_way.find({event.communicator, event.call});
  if (made == state.under_way.end()) return;
  ProcessSummary& summary = summary_.processes[process];
  if (!event.ok) ++summary.calls_failed;
  note_end(process, made->second, event.time);
  state.under_way.erase(made);
  if (state.under_way.empty()) add_to(summary.communicating, span_of(state.busy_since, event.time));
}

void SummaryBuilder::note_end(uint32_t process, const Made& made, Nanos at) {
  const Nanos took = span_of(made.call.time, at);
  const uint64_t bytes = made.call.count * element_bytes(made.call.type);
  OperationSummary& operation = summary_.operations[made.call.operation];
  ++operation.calls;
  operation.bytes += bytes;
  add_to(operation.total, took);
  operation.longest = std::max(operation.longest, took);
  auto& slowest = summary_.slowest;
  // A call is slow on all of its ranks: it is listed once, for the rank where it took longest.
  const auto same = std::find_if(slowest.begin(), slowest.end(), [&made](const SlowCall& each) {
    return each.communicator == made.call.communicator && each.number == made.call.number &&
           each.operation == made.call.operation;
  });
  if (same != slowest.end()) {
    if (same->took >= took) return;
    slowest.erase(same);
  } else if (slowest.size() == kSlowest && slowest.back().took >= took) {
    return;
  }
  slowest.push_back({process, made.call.communicator, made.call.number, made.call.operation,
                     made.algorithm, bytes, took, made.call.time});
  std::stable_sort(slowest.begin(), slowest.end(),
                   [](const SlowCall& a, const SlowCall& b) { return a.took > b.took; });
  if (slowest.size() > kSlowest) slowest.pop_back();
}

void SummaryBuilder::on(uint32_t process, const events::WaitBegun& event) {
  State& state = states_[process];
  if (state.waits++ == 0) state.waits_since = event.time;
}

void SummaryBuilder::on(uint32_t process, const events::WaitEnded& event) {
  State& state = states_[process];
  if (state.waits == 0) return;
  if (--state.waits > 0) return;
  add_to(summary_.processes[process].exposed, span_of(state.waits_since, event.time));
}

void SummaryBuilder::on(uint32_t process, const events::BurstLost& event) {
  ++summary_.processes[process].bursts_lost;
  summary_.processes[process].segments_lost += event.segments;
}

void SummaryBuilder::on(uint32_t process, const events::SegmentDropped& /*event*/) {
  ++summary_.processes[process].segments_dropped;
}

void SummaryBuilder::on(uint32_t process, const events::Recovery& event) {
  const auto step = static_cast<size_t>(event.step);
  if (step < events::kRecoveryStepCount) ++summary_.processes[process].recovery[step];
}

void SummaryBuilder::on(uint32_t process, const events::ConnectionClosed& event) {
  ProcessSummary& summary = summary_.processes[process];
  if (event.cause == events::CloseCause::kPeerDead) {
    ++summary.peers_dead;
  } else if (event.cause != events::CloseCause::kGraceful &&
             event.cause != events::CloseCause::kAborted) {
    ++summary.connections_failed;
  }
}

void SummaryBuilder::on(uint32_t process, const events::PathSized& event) {
  ProcessSummary& summary = summary_.processes[process];
  if (event.refused_bytes <= summary.refused_datagram_bytes) return;
  summary.refused_datagram_bytes = event.refused_bytes;
  summary.passed_datagram_bytes = event.datagram_bytes;
}

void SummaryBuilder::on(uint32_t process, const events::ProxyOp& event) {
  const auto direction = static_cast<size_t>(event.direction);
  ProcessSummary& summary = summary_.processes[process];
  if (direction >= summary.proxy.size()) return;
  summary.proxy[direction] += {1,
                               event.steps,
                               event.bytes,
                               event.retransmitted_bytes,
                               span_of({}, event.gpu_wait),
                               span_of({}, event.peer_wait),
                               span_of({}, event.network_wait)};
}

void SummaryBuilder::on(uint32_t process, const events::ProfileDropped& event) {
  summary_.processes[process].profile_dropped +=
      event.calls + event.proxy_ops + event.steps + event.others + event.writes;
}

void SummaryBuilder::on(uint32_t /*process*/, const events::CommunicatorMade& event) {
  summary_.communicators[event.communicator] = event.size;
  ++summary_.members[event.communicator];
}

}  // namespace heddle::insight
