// The processes of a world and the script of their state changes.
#include "simulator/world.h"

#include <algorithm>

#include "base/check.h"

namespace heddle::simulator {

World::World(const WorldOptions& options, uint64_t seed)
    : network_(options.topology, options.network, seed),
      seeds_(seed + 1),
      changes_(options.changes),
      host_changes_(options.topology.host_changes),
      start_(network_.now()),
      agent_(network_.add_agent(*this)) {
  const auto earlier = [](const auto& a, const auto& b) { return a.at < b.at; };
  std::stable_sort(changes_.begin(), changes_.end(), earlier);
  std::stable_sort(host_changes_.begin(), host_changes_.end(), earlier);
  schedule_next_change();
}

World::~World() { network_.remove_agent(agent_); }

template <typename Made, typename Options>
Made& World::add_process(const Options& options) {
  auto made = std::make_unique<Made>(network_, options, seeds_.next());
  Made& process = *made;
  processes_.push_back(std::move(made));
  process.start();
  return process;
}

TransportProcess& World::add(const TransportProcessOptions& options) {
  return add_process<TransportProcess>(options);
}

EngineProcess& World::add(const EngineProcessOptions& options) {
  return add_process<EngineProcess>(options);
}

void World::apply(const ProcessChange& change) {
  CHECK(change.process < processes_.size());
  Process& process = *processes_[change.process];
  switch (change.kind) {
    case ProcessChangeKind::kPause:
      return process.pause();
    case ProcessChangeKind::kResume:
      return process.resume();
    case ProcessChangeKind::kCallerAway:
      return process.set_caller_away(true);
    case ProcessChangeKind::kCallerBack:
      return process.set_caller_away(false);
    case ProcessChangeKind::kKill:
      return process.kill();
    case ProcessChangeKind::kVanish:
      set_host_down(process, true);
      return process.kill();
    case ProcessChangeKind::kStart:
      set_host_down(process, false);
      return process.start();
  }
}

void World::set_host_down(const Process& process, bool down) {
  network_.set_nic_down(process.options().datapath.nic, down);
  for (const NicId nic : process.options().datapath.further_nics) network_.set_nic_down(nic, down);
}

void World::run(Nanos now) {
  while (changes_done_ < changes_.size() && start_ + changes_[changes_done_].at <= now) {
    apply(changes_[changes_done_++]);
  }
  while (host_changes_done_ < host_changes_.size() &&
         start_ + host_changes_[host_changes_done_].at <= now) {
    apply(host_changes_[host_changes_done_++]);
  }
  schedule_next_change();
}

void World::apply(const topology::HostChange& change) {
  for (const std::unique_ptr<Process>& process : processes_) {
    const NicId nic = process->options().datapath.nic;
    if (network_.topology().nics[nic].host != change.host) continue;
    if (change.paused) {
      process->pause();
    } else {
      process->resume();
    }
  }
}

void World::schedule_next_change() {
  Nanos next = Nanos::never();
  if (changes_done_ < changes_.size()) next = start_ + changes_[changes_done_].at;
  if (host_changes_done_ < host_changes_.size()) {
    next = std::min(next, start_ + host_changes_[host_changes_done_].at);
  }
  if (next != Nanos::never()) network_.schedule(agent_, next);
}

}  // namespace heddle::simulator
