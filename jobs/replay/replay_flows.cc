// The flows of a real host: see replay_flows.h.
#include "jobs/replay/replay_flows.h"

#include <algorithm>
#include <utility>

#include "base/interrupt.h"
#include "engine/process_recording.h"
#include "jobs/params.h"

namespace heddle::jobs {
namespace {

using topology::Flow;
using topology::kNoTrigger;
using topology::TriggerKind;

// The first message on it is the sender's number, which identifies it to the receiver.
constexpr engine::Channel kHelloChannel = 0;

}  // namespace

Result<std::unique_ptr<ReplayFlows>> ReplayFlows::create(
    const topology::Workload& workload, uint32_t host, engine::Endpoint& endpoint,
    std::vector<transport::Address> addresses) {
  std::unique_ptr<ReplayFlows> made(
      new ReplayFlows(workload, host, endpoint, std::move(addresses)));
  for (const Flow& flow : workload.flows) {
    if (flow.from != host && flow.to != host) continue;
    const uint64_t message = std::min(flow.bytes.count, topology::kMaxMessageBytes);
    made->half_bytes_ = std::max(made->half_bytes_, message);
  }
  Result<MirroredMemory> memory = MirroredMemory::create(2 * made->half_bytes_);
  if (!memory) return fail(memory.error());
  made->memory_ = std::move(*memory);
  return made;
}

ReplayFlows::ReplayFlows(const topology::Workload& workload, uint32_t host,
                         engine::Endpoint& endpoint, std::vector<transport::Address> addresses)
    : workload_(workload),
      host_(host),
      endpoint_(endpoint),
      addresses_(std::move(addresses)),
      fuses_(workload.triggers.size(), 1),
      waiting_(workload.triggers.size()),
      outcomes_(workload.flows.size()),
      channels_(workload.flows.size()),
      messages_left_(workload.flows.size()) {
  std::map<std::pair<uint32_t, uint32_t>, uint16_t> next;
  for (uint32_t i = 0; i < workload_.flows.size(); ++i) {
    const Flow& flow = workload_.flows[i];
    channels_[i] = next[{flow.from, flow.to}]++;
    messages_left_[i] = topology::messages_of(flow.bytes);
    if (flow.to == host_) to_come_[flow.from].push_back(i);
    if (flow.from != host_) continue;
    receivers_[flow.to].host = flow.to;
    receivers_[flow.to].flows.push_back(i);
    if (flow.waits_for == kNoTrigger) {
      by_start_.push_back(i);
    } else {
      waiting_[flow.waits_for].push_back(i);
    }
  }
  std::stable_sort(by_start_.begin(), by_start_.end(), [this](uint32_t a, uint32_t b) {
    return workload_.flows[a].start < workload_.flows[b].start;
  });
  for (size_t i = 0; i < fuses_.size(); ++i) {
    const topology::Trigger& trigger = workload_.triggers[i];
    if (trigger.kind == TriggerKind::kBarrier) fuses_[i] = trigger.count;
    std::reverse(waiting_[i].begin(), waiting_[i].end());
  }
}

ReplayFlows::~ReplayFlows() {
  for (const auto& [host, peer] : receivers_) {
    if (peer.connection != 0) endpoint_.abort(peer.connection);
  }
  for (const auto& peer : senders_) endpoint_.abort(peer->connection);
}

// --- connections ---

Result<void> ReplayFlows::open() {
  engine::mark("opening", 0);
  const Nanos began = endpoint_.now();
  connect();
  while (open_more(began)) {
    if (Result<void> slept = sleep(endpoint_.now() + params::kSignalLook); !slept) return slept;
  }
  return {};
}

void ReplayFlows::connect() {
  for (auto& [host, to] : receivers_) {
    const Result<engine::Connection> made = endpoint_.connect(addresses_[host]);
    if (!made) {
      fail_flows(to, made.error().code);
      continue;
    }
    to.connection = *made;
    to.word = host_;
    const auto hello = endpoint_.send(to.connection, kHelloChannel, &to.word, sizeof to.word);
    if (hello) to.hello = *hello;
  }
}

// False: all that can be there is.
bool ReplayFlows::open_more(Nanos began) {
  const Nanos at = endpoint_.now();
  bool some_missing = false;
  for (auto& [host, to] : receivers_) {
    if (to.over) continue;
    const engine::ConnectionStatus status = endpoint_.status(to.connection);
    if (status.state == engine::ConnectionState::kClosed) {
      fail_flows(to, status.error.code);
      continue;
    }
    if (!to.open && status.state == engine::ConnectionState::kOpen) {
      to.open = true;
      for (const uint32_t flow : to.flows) outcomes_[flow].handshake = at - began;
    }
    some_missing |= !endpoint_.peek(to.hello).done;
  }
  while (const auto accepted = endpoint_.take_accepted()) {
    Peer& from = *senders_.emplace_back(std::make_unique<Peer>());
    from.connection = *accepted;
    const auto hello =
        endpoint_.receive(from.connection, kHelloChannel, &from.word, sizeof from.word);
    if (hello) from.hello = *hello;
  }
  for (const auto& from : senders_) greet(*from);
  return (some_missing || !to_come_.empty()) && at - began < params::kOpenPatience;
}

// Whether it is known who it is.
bool ReplayFlows::greet(Peer& from) {
  if (from.open || from.over) return from.open;
  const engine::Outcome outcome = endpoint_.peek(from.hello);
  if (!outcome.done) return false;
  const auto flows = to_come_.find(from.word);
  if (!outcome.ok || flows == to_come_.end()) {
    from.over = true;
    return false;
  }
  from.open = true;
  from.host = from.word;
  from.flows = std::move(flows->second);
  to_come_.erase(flows);
  post_receives(from);
  return true;
}

void ReplayFlows::post_receives(Peer& from) {
  for (const uint32_t flow : from.flows) {
    for (uint32_t message = 0; message < messages_left_[flow]; ++message) {
      const auto posted =
          endpoint_.receive(from.connection, channels_[flow], memory_.start() + half_bytes_,
                            message_bytes(flow, message));
      if (!note_posted(flow, posted, false)) break;
    }
  }
}

uint64_t ReplayFlows::message_bytes(uint32_t flow, uint32_t message) const {
  const uint64_t before = message * topology::kMaxMessageBytes;
  return std::min(workload_.flows[flow].bytes.count - before, topology::kMaxMessageBytes);
}

bool ReplayFlows::note_posted(uint32_t flow, const Result<engine::Operation>& posted, bool sends) {
  if (posted) {
    under_way_.push_back({*posted, flow, sends});
    return true;
  }
  outcomes_[flow].failed = true;
  outcomes_[flow].error = posted.error().code;
  return false;
}

void ReplayFlows::fail_flows(Peer& to, ErrorCode error) {
  to.over = true;
  for (const uint32_t flow : to.flows) {
    simulator::FlowOutcome& outcome = outcomes_[flow];
    if (outcome.acked != Nanos::never() || outcome.failed) continue;
    outcome.failed = true;
    outcome.error = error;
  }
}

// --- flows ---

Result<void> ReplayFlows::run(Nanos zero) {
  zero_ = zero;
  engine::mark("flows", 0);
  bool closing = false;
  while (true) {
    const bool ended = reap();
    if (start_due() || ended) continue;
    const bool sends = std::any_of(under_way_.begin(), under_way_.end(),
                                   [](const UnderWay& each) { return each.sends; });
    const bool all_begun = started_ == by_start_.size();
    if (all_begun && !sends && !std::exchange(closing, true)) {
      // Notifies hosts that wait for flows whose trigger can no longer fire.
      for (const auto& [host, to] : receivers_) {
        if (!to.over) endpoint_.begin_close(to.connection);
      }
    }
    if (all_begun && under_way_.empty()) break;
    const Nanos next =
        all_begun ? Nanos::never() : zero_ + workload_.flows[by_start_[started_]].start;
    if (Result<void> slept = sleep(next); !slept) return slept;
  }
  engine::mark("results", 0);
  return {};
}

Result<void> ReplayFlows::sleep(Nanos until) {
  if (interrupted() != 0) {
    return fail(ErrorCode::kCancelled, "the workload was stopped", "by a signal");
  }
  const Nanos at = endpoint_.now();
  const Nanos wake = std::min(until, at + params::kSignalLook);
  if (wake > at) endpoint_.progress(wake - at);
  return {};
}

bool ReplayFlows::start_due() {
  bool some = false;
  for (; started_ < by_start_.size(); some = true) {
    const uint32_t flow = by_start_[started_];
    if (workload_.flows[flow].start > now()) break;
    ++started_;
    start(flow);
  }
  return some;
}

void ReplayFlows::start(uint32_t flow) {
  simulator::FlowOutcome& outcome = outcomes_[flow];
  outcome.started = now();
  if (outcome.failed) return;
  const Flow& what = workload_.flows[flow];
  for (uint32_t message = 0; message < topology::messages_of(what.bytes); ++message) {
    const auto posted = endpoint_.send(receivers_[what.to].connection, channels_[flow],
                                       memory_.start(), message_bytes(flow, message));
    if (!note_posted(flow, posted, true)) return;
  }
}

// Takes what has ended; true: something had.
bool ReplayFlows::reap() {
  std::vector<UnderWay> ended;
  std::vector<engine::Outcome> outcomes;
  std::erase_if(under_way_, [&](const UnderWay& each) {
    const engine::Outcome outcome = endpoint_.peek(each.operation);
    if (!outcome.done) return false;
    ended.push_back(each);
    outcomes.push_back(outcome);
    return true;
  });
  for (size_t i = 0; i < ended.size(); ++i) {
    if (ended[i].sends) {
      end_sent(ended[i], outcomes[i]);
    } else if (outcomes[i].ok && --messages_left_[ended[i].flow] == 0) {
      outcomes_[ended[i].flow].received = now();
    }
  }
  return !ended.empty();
}

void ReplayFlows::end_sent(const UnderWay& each, const engine::Outcome& ended) {
  simulator::FlowOutcome& outcome = outcomes_[each.flow];
  if (!ended.ok) {
    outcome.failed = true;
    outcome.error = ended.error;
    return;
  }
  if (--messages_left_[each.flow] > 0) return;
  outcome.acked = now();
  // Of what arrived a sender knows when it is acknowledged.
  fire(workload_.flows[each.flow].when_received);
  fire(workload_.flows[each.flow].when_sent);
}

void ReplayFlows::fire(uint32_t trigger) {
  if (trigger == kNoTrigger) return;
  if (fuses_[trigger] > 1) {
    --fuses_[trigger];
    return;
  }
  const bool one = workload_.triggers[trigger].kind == TriggerKind::kEach;
  while (!waiting_[trigger].empty()) {
    const uint32_t flow = waiting_[trigger].back();
    waiting_[trigger].pop_back();
    start(flow);
    if (one) break;
  }
}

}  // namespace heddle::jobs
