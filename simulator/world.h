// World: a simulated network with processes on its hosts, and scheduled changes of their state.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "simulator/engine_process.h"
#include "simulator/network.h"
#include "simulator/process.h"
#include "simulator/transport_process.h"
#include "topology/topology.h"

namespace heddle::simulator {

enum class ProcessChangeKind : uint8_t {
  kPause,       // SIGSTOP
  kResume,      // SIGCONT
  kCallerAway,  // computes or sleeps and makes no calls
  kCallerBack,
  kKill,    // the process ends; its host refuses packets
  kVanish,  // the host disappears; nothing replies
  kStart,   // a new process, on a host that is up
};

struct ProcessChange {
  Nanos at;  // since the start of the run
  uint32_t process = 0;
  ProcessChangeKind kind = ProcessChangeKind::kPause;
};

// The topology's host changes pause and resume every process on that host.
struct WorldOptions {
  topology::Topology topology;
  NetworkOptions network;
  std::vector<ProcessChange> changes;
};

class World : private Agent {
 public:
  World(const WorldOptions& options, uint64_t seed);
  ~World() override;
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  Network& network() { return network_; }
  Nanos now() const { return network_.now(); }

  // Creates and starts a process; its index is the number of processes before it.
  TransportProcess& add(const TransportProcessOptions& options);
  EngineProcess& add(const EngineProcessOptions& options);
  Process& process(uint32_t index) { return *processes_[index]; }
  uint32_t processes() const { return static_cast<uint32_t>(processes_.size()); }
  void apply(const ProcessChange& change);

  void run_until(Nanos until) { network_.run_until(until); }
  void run_for(Nanos span) { network_.run_until(network_.now() + span); }
  // Runs until `done()`, which is checked after every event, or until `limit` has passed; true:
  // done.
  template <typename Done>
  bool run_until_done(Done done, Nanos limit) {
    const Nanos end = network_.now() + limit;
    while (!done()) {
      if (network_.next_event_at() > end) {
        network_.run_until(end);
        return done();
      }
      network_.step();
    }
    return true;
  }

 private:
  template <typename Made, typename Options>
  Made& add_process(const Options& options);
  void run(Nanos now) override;
  void apply(const topology::HostChange& change);
  void set_host_down(const Process& process, bool down);
  void schedule_next_change();

  Network network_;
  Random seeds_;
  std::vector<ProcessChange> changes_;  // by time
  size_t changes_done_ = 0;
  std::vector<topology::HostChange> host_changes_;  // by time
  size_t host_changes_done_ = 0;
  Nanos start_;
  AgentId agent_;
  std::vector<std::unique_ptr<Process>> processes_;
};

}  // namespace heddle::simulator
