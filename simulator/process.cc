// Scheduling of one process: turns, their duration, and its lifetime.
#include "simulator/process.h"

#include <algorithm>

#include "base/check.h"

namespace heddle::simulator {

Process::Process(Network& network, const ProcessOptions& options, uint64_t seed)
    : network_(network), options_(options), random_(seed), agent_(network.add_agent(*this)) {}

// The derived class has called kill(), because it owns the endpoint.
Process::~Process() {
  CHECK(datapath_ == nullptr);
  network_.remove_agent(agent_);
}

void Process::start() {
  if (running()) return;
  ++lives_;
  paused_ = away_ = false;
  datapath_ = &begin_life(random_.next());
  datapath_->set_wakeup(this);
  poke();
}

void Process::kill() {
  if (!running()) return;
  datapath_ = nullptr;
  end_life();
}

void Process::pause() { paused_ = true; }

void Process::resume() {
  if (!paused_) return;
  paused_ = false;
  poke();
}

void Process::set_caller_away(bool away) {
  away_ = away;
  poke();
}

void Process::poke() { schedule(network_.now()); }

transport::Address Process::address() const {
  return address_of(options_.datapath.nic, options_.datapath.port);
}

void Process::schedule(Nanos at) {
  if (running() && at != Nanos::never()) network_.schedule(agent_, std::max(at, busy_until_));
}

void Process::handle_ready() {
  const auto most = static_cast<uint64_t>(options_.wake_delay_most.count);
  const uint64_t delay = most == 0 ? 0 : random_.below(most + 1);
  schedule(network_.now() + nanos(static_cast<int64_t>(delay)));
}

void Process::run(Nanos now) {
  if (!running() || paused_) return;
  ++turns_;
  const uint64_t before = datagrams();
  Nanos wanted = away_ ? helper_look() : caller_turn();
  if (!running()) return;  // the program may kill its own process
  const auto moved = static_cast<int64_t>(datagrams() - before);
  busy_until_ = now + std::max(options_.turn_time, nanos(1)) + options_.datagram_time * moved;
  if (wanted != Nanos::never()) wanted -= options_.datapath.clock_offset;
  schedule(wanted);
}

uint64_t Process::datagrams() const {
  const datapath::DatapathStatistics& statistics = datapath_->statistics();
  return statistics.datagrams_sent + statistics.datagrams_received;
}

}  // namespace heddle::simulator
