// The phases of a run and their requirements: see run.h.
#include "tests/vopr/run.h"

#include <memory>
#include <string>
#include <vector>

#include "events/tee_sink.h"
#include "simulator/checks/nonce_check.h"
#include "tests/vopr/byzantine.h"
#include "tests/vopr/checkers/accounts.h"
#include "tests/vopr/checkers/ledger.h"
#include "tests/vopr/checkers/outcomes.h"
#include "tests/vopr/checkers/refusals.h"
#include "tests/vopr/checkers/room.h"
#include "tests/vopr/hostile.h"
#include "tests/vopr/machine.h"
#include "tests/vopr/program.h"
#include "tests/vopr/script.h"

namespace heddle::vopr {
namespace {

constexpr uint16_t kNobodysPort = 7;
constexpr Nanos kSlice = millis(5);
// Once faults have stopped, everything must end within this time: detecting a dead peer takes 5 s,
// an idle one two rounds of keep-alives, and a close times out after 3 s.
constexpr Nanos kSettleMost = seconds(40);
constexpr Nanos kCloseMost = seconds(4);
// Limit of events in the simulated network; more indicates an endless loop.
constexpr uint64_t kEventsMost = 20'000'000;

class Run {
 public:
  Run(const Options& options, events::Sink* trace)
      : options_(options),
        topology_(make_topology(options)),
        script_(make_script(options, topology_)),
        random_(options.seed ^ 0x72756e),
        world_(world_options(options, topology_, script_), options.seed),
        network_(world_.network()),
        ledger_(findings_.report, options.byzantine()),
        outcomes_(options, ledger_, findings_.report),
        stage_{options, findings_.report, ledger_, outcomes_, findings_.reached, {}, {}, 0, 0},
        foreign_(network_, 0),
        hostile_(network_, ledger_, options_),
        byzantine_(network_, ledger_, options_, findings_.reached) {
    sink_.add(&counts_);
    if (trace != nullptr) sink_.add(trace);
    stage_.reconnects_left = options.workload.reconnects;
    const auto hosts = static_cast<uint32_t>(options.hosts.size());
    for (uint32_t host = 0; host < hosts; ++host) add_host(host);
    stage_.addresses.push_back(foreign_.address());
    stage_.addresses.push_back(simulator::address_of(0, kNobodysPort));
    stage_.addresses.push_back(byzantine_.address());
    if (options.faults.foreign_peer) {
      for (uint32_t other = hosts; other < hosts + 2; ++other) {
        programs_[random_.below(hosts)]->connect_to(other);
      }
    }
    for (uint32_t i = 0; i < options.faults.byzantine.asked; ++i) {
      programs_[i % hosts]->connect_to(options.byzantine());
    }
    for (uint32_t i = 0; i < options.workload.conversations; ++i) {
      const auto from = static_cast<uint32_t>(random_.below(hosts));
      const auto to = static_cast<uint32_t>((from + random_.between(1, hosts - 1)) % hosts);
      programs_[from]->connect_to(to);
    }
  }

  Findings go() {
    make_faults();
    settle();
    if (options_.idle_for.count > 0) idle();
    close();
    outcomes_.judge_pairs();
    outcomes_.judge_kept();
    judge_refusals(options_, ledger_, counts_, findings_.report);
    judge_capacity(options_, network_.fates(), findings_.report);
    room_judged_ = judge_room(options_, network_, findings_.report);
    for (auto& machine : machines_) machine->apply(simulator::ProcessChangeKind::kKill);
    check_given_back();
    finish();
    return std::move(findings_);
  }

 private:
  static simulator::WorldOptions world_options(const Options& options,
                                               const topology::Topology& topology,
                                               const Script& script) {
    simulator::WorldOptions world;
    world.topology = topology;
    world.topology.changes = script.links;
    world.network.nic_queue = options.fabric.nic_queue;
    world.network.reports_errors = options.fabric.reports_errors;
    world.network.time_exceeded_apart = options.fabric.time_exceeded_apart;
    if (options.fabric.silent_switch) world.network.silent_switches = {0};
    return world;
  }

  void add_host(uint32_t host) {
    MachineOptions options;
    options.host = host;
    options.host_options = options_.hosts[host];
    options.chunks = options_.chunks;
    options.virtual_memory = options_.workload.virtual_memory;
    options.named = options_.faults.byzantine.posted;
    options.sink = &sink_;
    options.encryption_observer = &nonces_;
    machines_.push_back(std::make_unique<Machine>(world_, options, findings_.report));
    programs_.push_back(std::make_unique<Program>(*machines_.back(), network_, host, stage_));
    stage_.addresses.push_back(machines_.back()->address());
  }

  // Returns false if the event limit was exceeded.
  bool run_until(Nanos until) {
    while (network_.now() < until && findings_.report.good()) {
      network_.run_until(std::min(network_.now() + kSlice, until));
      if (network_.events_handled() > kEventsMost) {
        findings_.report.fail("more than " + std::to_string(kEventsMost) + " events by " +
                              std::to_string(network_.now().count) + " ns");
      }
    }
    return findings_.report.good();
  }

  void make_faults() {
    const Nanos start = network_.now();
    for (const simulator::ProcessChange& change : script_.hosts) {
      run_until(start + change.at);
      apply(change);
    }
    run_until(start + options_.faults_for);
    byzantine_.fall_silent();
  }

  void apply(const simulator::ProcessChange& change) {
    using Kind = simulator::ProcessChangeKind;
    Machine& machine = *machines_[change.process];
    if (change.kind == Kind::kKill || change.kind == Kind::kVanish) {
      if (!machine.up()) return;
      programs_[change.process]->on_crash();
      findings_.reached.add("process killed");
    }
    machine.apply(change.kind);
  }

  const Operation* still_posted() const {
    for (const auto& operation : ledger_.operations()) {
      if (!operation->done && !operation->side->crashed) return operation.get();
    }
    return nullptr;
  }

  const Side* still_connected() const {
    for (const auto& side : ledger_.sides()) {
      if (!side->ended()) return side.get();
    }
    return nullptr;
  }

  // Waits until every posted operation has ended.
  void settle() {
    stage_.phase = Phase::kSettle;
    for (auto& machine : machines_) machine->poke();
    const Nanos limit = network_.now() + kSettleMost;
    while (still_posted() != nullptr && network_.now() < limit) {
      if (!run_until(network_.now() + kSlice)) return;
    }
    if (const Operation* left = still_posted(); left != nullptr) {
      findings_.report.fail(describe(*left) + " has not ended " +
                            std::to_string(kSettleMost / seconds(1)) + " s after the faults");
      report_outstanding();
    }
  }

  // Lists pending operations, to diagnose a run that hangs.
  void report_outstanding() {
    for (const auto& side : ledger_.sides()) {
      if (side->ended()) continue;
      std::string text = describe(*side) + " has ended, of posted:";
      for (const auto* posted_by_channel : {&side->sends, &side->receives}) {
        for (size_t channel = 0; channel < posted_by_channel->size(); ++channel) {
          const PostedOperations& posted = (*posted_by_channel)[channel];
          if (posted.operations.empty()) continue;
          text += (posted_by_channel == &side->sends ? " send " : " receive ") +
                  std::to_string(channel) + ": " + std::to_string(posted.done) + "/" +
                  std::to_string(posted.operations.size());
        }
      }
      findings_.report.fail(text);
    }
  }

  void idle() {
    stage_.phase = Phase::kIdle;
    run_until(network_.now() + options_.idle_for);
  }

  // Waits until every connection has ended.
  void await_ends() {
    for (auto& machine : machines_) machine->poke();
    const Nanos limit = network_.now() + kCloseMost;
    while (still_connected() != nullptr && network_.now() < limit) {
      if (!run_until(network_.now() + kSlice)) return;
    }
    if (const Side* left = still_connected(); left != nullptr) {
      findings_.report.fail(describe(*left) + " has not closed within " +
                            std::to_string(kCloseMost / seconds(1)) + " s");
    }
  }

  void close() {
    stage_.phase = Phase::kClose;
    // An init may still be in flight although its initiator has ended: then its acceptor has a
    // connection afterwards, whose close takes its own time.
    do {
      await_ends();
      // A hostile peer may have connected last: it is silent now, and is declared dead.
      run_until(network_.now() + seconds(options_.faults.byzantine.there() ? 60 : 1));
    } while (still_connected() != nullptr && findings_.report.good());
    for (auto& machine : machines_) check_empty(*machine);
  }

  // A machine that has closed everything must have released everything.
  void check_empty(Machine& machine) {
    if (!findings_.report.good()) return;
    const transport::Endpoint& endpoint = machine.endpoint();
    if (endpoint.connections() != 0 || endpoint.records_lent() != 0) {
      findings_.report.fail("after everything was closed, a host has " +
                            std::to_string(endpoint.connections()) + " connections and " +
                            std::to_string(endpoint.records_lent()) + " records");
    }
    findings_.held_most = std::max(findings_.held_most, machine.held().most());
    findings_.idle_turns_most = std::max(findings_.idle_turns_most, machine.turns().most());
  }

  // Everything that an endpoint's turns allocated must be freed once it is destroyed.
  void check_given_back() {
    if (!findings_.report.good()) return;
    for (uint32_t host = 0; host < machines_.size(); ++host) {
      const int64_t left = bytes_on(Machine::account_of(host)) - machines_[host]->before();
      if (left == 0) continue;
      findings_.report.fail("host " + std::to_string(host) + " is gone, and " +
                            std::to_string(left) + " bytes of it are still allocated");
    }
  }

  void finish() {
    if (findings_.report.good()) {
      network_.run_until(network_.now() + seconds(1));
      if (network_.packets_alive() != 0) {
        findings_.report.fail(std::to_string(network_.packets_alive()) + " packets are left");
      }
    }
    for (const std::string& violation : nonces_.violations()) findings_.report.fail(violation);
    findings_.reached.add("packets sealed", nonces_.encrypted());
    findings_.reached.add("path moved between NICs", counts_.count(events::EventKind::kPathMoved));
    findings_.reached.add(std::string("shape ") + name_of(options_.chunks.shape));
    uint64_t pauses = 0;
    for (simulator::LinkId link = 0; link < 2 * network_.topology().links.size(); ++link) {
      pauses += network_.counters(link).pauses;
    }
    findings_.reached.add("link paused", pauses);
    findings_.reached.add("lossless fabric judged", room_judged_ ? 1 : 0);
    findings_.reached.add(counts_);
    findings_.reached.add(network_.fates());
    findings_.events = network_.events_handled();
    findings_.operations = ledger_.operations().size();
    findings_.bytes = stage_.bytes_posted;
    findings_.lasted = network_.now();
    findings_.trace_hash = network_.trace_hash();
  }

  Options options_;
  topology::Topology topology_;
  Script script_;
  Random random_;
  simulator::World world_;
  simulator::Network& network_;
  events::CountingSink counts_;
  events::TeeSink sink_;
  Findings findings_;
  Ledger ledger_;
  Outcomes outcomes_;
  Stage stage_;
  Foreign foreign_;
  Hostile hostile_;
  Byzantine byzantine_;
  simulator::NonceCheck nonces_;
  bool room_judged_ = false;
  std::vector<std::unique_ptr<Machine>> machines_;
  std::vector<std::unique_ptr<Program>> programs_;
};

}  // namespace

Findings run(const Options& options, events::Sink* trace) { return Run(options, trace).go(); }

}  // namespace heddle::vopr
