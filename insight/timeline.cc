// See timeline.h.
#include "insight/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "insight/expected.h"
#include "insight/node_evidence.h"

namespace heddle::insight {

uint32_t TimelineBuilder::add_process(ToJob to_job) {
  states_.emplace_back();
  states_.back().to_job = std::move(to_job);
  return static_cast<uint32_t>(states_.size() - 1);
}

void TimelineBuilder::add(uint32_t process, const events::AnyEvent& event) {
  std::visit(
      [this, process](const auto& each) {
        State& state = states_[process];
        state.latest_ns = std::max(state.latest_ns, time_of(state, each.time));
        on(process, each);
      },
      event);
}

int64_t TimelineBuilder::time_of(const State& state, Nanos time) {
  return state.to_job(time.count);
}

Moment TimelineBuilder::moment(uint32_t process, MomentKind kind, Nanos at) {
  Moment made;
  made.process = process;
  made.kind = kind;
  made.begin_ns = made.end_ns = time_of(states_[process], at);
  return made;
}

void TimelineBuilder::add_message(uint32_t process, Nanos at, std::string name, uint64_t bytes) {
  Moment message = moment(process, MomentKind::kMessage, at);
  message.name = std::move(name);
  message.bytes = bytes;
  sink_(message);
}

void TimelineBuilder::close(Moment& moment, int64_t end_ns) {
  moment.end_ns = std::max(moment.begin_ns, end_ns);
  sink_(moment);
}

void TimelineBuilder::finish() {
  for (State& state : states_) {
    for (auto& [key, call] : state.calls) {
      call.ended = false;
      close(call, state.latest_ns);
    }
    for (auto& [key, wait] : state.waits) {
      wait.ended = false;
      close(wait, state.latest_ns);
    }
    if (!state.phase.name.empty()) close(state.phase, state.latest_ns);
    state.calls.clear();
    state.waits.clear();
    state.phase = {};
  }
}

void TimelineBuilder::on(uint32_t process, const events::CallMade& event) {
  State& state = states_[process];
  Moment call = moment(process, MomentKind::kCall, event.time);
  call.name = name_of(event.operation);
  call.bytes = event.count * element_bytes(event.type);
  call.communicator = event.communicator;
  call.number = event.number;
  const auto free = std::find(state.rows.begin(), state.rows.end(), false);
  call.row = static_cast<uint32_t>(free - state.rows.begin());
  if (free == state.rows.end()) state.rows.push_back(false);
  state.rows[call.row] = true;
  state.calls.insert_or_assign({event.communicator, event.call}, std::move(call));
}

void TimelineBuilder::on(uint32_t process, const events::CallStarted& event) {
  const auto call = states_[process].calls.find({event.communicator, event.call});
  if (call == states_[process].calls.end()) return;
  call->second.algorithm = name_of(event.algorithm);
}

void TimelineBuilder::on(uint32_t process, const events::CallEnded& event) {
  State& state = states_[process];
  const auto call = state.calls.find({event.communicator, event.call});
  if (call == state.calls.end()) return;
  call->second.ok = event.ok;
  close(call->second, time_of(state, event.time));
  state.rows[call->second.row] = false;
  state.calls.erase(call);
}

void TimelineBuilder::on(uint32_t process, const events::WaitBegun& event) {
  Moment wait = moment(process, MomentKind::kWait, event.time);
  wait.name = "wait";
  const auto call = states_[process].calls.find({event.communicator, event.call});
  if (call != states_[process].calls.end()) wait.name += " for " + call->second.name;
  states_[process].waits.insert_or_assign({event.communicator, event.call}, std::move(wait));
}

void TimelineBuilder::on(uint32_t process, const events::WaitEnded& event) {
  State& state = states_[process];
  const auto wait = state.waits.find({event.communicator, event.call});
  if (wait == state.waits.end()) return;
  close(wait->second, time_of(state, event.time));
  state.waits.erase(wait);
}

void TimelineBuilder::on(uint32_t process, const events::Mark& event) {
  State& state = states_[process];
  if (!state.phase.name.empty()) close(state.phase, time_of(state, event.time));
  state.phase = moment(process, MomentKind::kPhase, event.time);
  state.phase.name = std::string(event.name.view()) + " " + std::to_string(event.step);
}

void TimelineBuilder::on(uint32_t process, const events::MessageCompleted& event) {
  add_message(process, event.time, std::string(name_of(event.direction)), event.bytes);
}

void TimelineBuilder::on(uint32_t process, const events::SharedMessageCompleted& event) {
  const std::string direction(name_of(event.direction));
  add_message(process, event.time, direction + " in shared memory", event.bytes);
}

// The caller is in the library and does nothing else.
void TimelineBuilder::on(uint32_t process, const events::LibraryCall& event) {
  Moment call = moment(process, MomentKind::kWait, saturating_difference(event.time, event.took));
  call.name = event.function.view();
  call.bytes = event.bytes;
  call.ok = event.status == 0;
  close(call, time_of(states_[process], event.time));
}

void TimelineBuilder::on(uint32_t process, const events::Recovery& event) {
  Moment step = moment(process, MomentKind::kRecovery, event.time);
  step.name = name_of(event.step);
  sink_(step);
}

void TimelineBuilder::on(uint32_t process, const events::BurstLost& event) {
  Moment lost = moment(process, MomentKind::kRecovery, event.time);
  lost.name = std::to_string(event.segments) + " segments lost: ";
  lost.name += name_of(event.cause);
  sink_(lost);
}

// A moment that ends at its event, and began `took` before.
void TimelineBuilder::report_span(Moment moment, Nanos took) {
  if (took > Nanos{}) moment.begin_ns = saturating_difference({moment.end_ns}, took).count;
  sink_(moment);
}

template <typename Event>
void TimelineBuilder::report_transfer(uint32_t process, const Event& event,
                                      const std::string& what) {
  Moment transfer = moment(process, MomentKind::kTransfer, event.time);
  const bool sent = event.direction == events::Direction::kSent;
  transfer.name =
      fmt::format("{} {} {}, channel {}", what, sent ? "to" : "from", event.peer, event.channel);
  transfer.bytes = event.bytes;
  transfer.communicator = event.communicator;
  const auto micros_of = [](Nanos span) { return static_cast<double>(span.count) * 1e-3; };
  transfer.detail =
      fmt::format("GPU {:.1f} us, peer {:.1f} us, network {:.1f} us", micros_of(event.gpu_wait),
                  micros_of(event.peer_wait), micros_of(event.network_wait));
  report_span(std::move(transfer), event.took);
}

void TimelineBuilder::on(uint32_t process, const events::ProxyOp& event) {
  report_transfer(process, event, fmt::format("{} transfers", event.steps));
}

void TimelineBuilder::on(uint32_t process, const events::ProxyStep& event) {
  report_transfer(process, event, fmt::format("transfer {}", event.step));
}

void TimelineBuilder::on(uint32_t process, const events::KernelChannel& event) {
  Moment kernel = moment(process, MomentKind::kKernel, event.time);
  kernel.name = fmt::format("kernel, channel {}", event.channel);
  kernel.communicator = event.communicator;
  report_span(std::move(kernel), event.took);
}

void TimelineBuilder::on(uint32_t process, const events::KernelPhase& event) {
  Moment phase = moment(process, MomentKind::kKernel, event.time);
  phase.name = fmt::format("{}, channel {}", name_of(event.phase), event.channel);
  phase.communicator = event.communicator;
  report_span(std::move(phase), event.gpu_took);
}

void TimelineBuilder::on(uint32_t process, const events::HostWork& event) {
  Moment work = moment(process, MomentKind::kHost, event.time);
  work.name = name_of(event.task);
  work.bytes = event.bytes;
  work.communicator = event.communicator;
  report_span(std::move(work), event.took);
}

void TimelineBuilder::on(uint32_t process, const events::KernelMessage& event) {
  Moment message = moment(process, MomentKind::kNode, event.time);
  message.name = kernel_message_text(event);
  sink_(message);
}

void TimelineBuilder::on(uint32_t process, const events::NicLinkChanged& event) {
  Moment change = moment(process, MomentKind::kNode, event.time);
  change.name = fmt::format("{} {}", event.interface.view(),
                            event.up ? "has its carrier" : "lost its carrier");
  sink_(change);
}

}  // namespace heddle::insight
