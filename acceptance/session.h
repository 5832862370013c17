// Session: what the stages of an acceptance test share: the fabric, commands on its hosts, a server
// on each host, and the counters of the links. acceptance.cc makes one; the stages in stages/ use
// it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "acceptance/acceptance.h"
#include "acceptance/commands.h"
#include "acceptance/fabric.h"
#include "acceptance/fabric_bounds.h"
#include "acceptance/link_watch.h"
#include "acceptance/params.h"
#include "acceptance/processor_time.h"

namespace heddle::acceptance {

class Session {
 public:
  // Errors: as Fabric::watch_links().
  static Result<std::unique_ptr<Session>> open(const Fabric& fabric,
                                               const AcceptanceOptions& options);

  const topology::Topology& topology() const { return expected_; }
  const Fabric& fabric() const { return fabric_; }
  const AcceptanceOptions& options() const { return options_; }
  const Expectations& expectations() const { return options_.expectations; }
  Commands& commands() { return commands_; }
  LinkWatch& links() { return *links_; }

  uint32_t hosts() const { return static_cast<uint32_t>(expected_.hosts.size()); }
  const std::string& host(uint32_t index) const { return expected_.hosts[index].name; }
  std::vector<uint32_t> all_hosts() const;
  std::string pair_name(const HostPair& pair) const;  // "h0 to h2"
  // How `heddle perf` and `heddle paths` name the other host of a pair, and the options by which
  // they keep to the pair's own NIC; none for the first one.
  std::string target(const HostPair& pair) const;
  std::vector<std::string> bind_options(const HostPair& pair) const;
  Coverage coverage() const;
  // Pairs that this coverage measures, in rounds.
  std::vector<std::vector<HostPair>> rounds(bool both) const;
  // Time of one bandwidth test; of TCP's and RC's; and of UDP's. Of heddle's latency on the idle
  // fabric; of that of TCP, UDP and RC; and of one beside a load that takes `load`.
  Nanos flow_time() const;
  Nanos stream_time() const { return part(flow_time(), params::kStreamPart); }
  Nanos datagram_time() const { return part(flow_time(), params::kDatagramPart); }
  Nanos latency_time() const { return part(flow_time(), params::kLatencyPart); }
  Nanos plain_latency_time() const { return part(flow_time(), params::kPlainLatencyPart); }
  Nanos latency_time_beside(Nanos load) const { return part(load, params::kBesidePart); }
  // The payload's rate of each flow if all run at once; 0: unlimited.
  std::vector<double> payload_rates(const std::vector<HostPair>& flows) const;

  bool interrupted() const { return options_.interrupted(); }
  void progress(const std::string& text) const { options_.progress(text); }

  // Called before each stage: what other programs use is counted from now on.
  void restart_processor_time();
  // The grade of a speed: a speed on a machine whose processors others use fails only if it is
  // far below what is expected.
  Grade grade_of_speed(double reached, double expected) const;

  // Whether other programs use more of the processors than kDisturbed: then a speed says little.
  bool disturbed() const;
  // Whether there is time to measure once more what was below its expectation.
  bool may_repeat(int repeats_done) const;

  // Starts `heddle perf --listen` on each host that has none; hosts where it does not listen are
  // returned. None is where the test is interrupted: servers had no time to start.
  Result<std::vector<uint32_t>> start_servers();
  bool server_is_stopped(uint32_t host) const;
  // What the server of a host wrote where it has ended; nothing where it runs.
  std::string server_complaint(uint32_t host);
  // When commands that are to begin together begin, by the wall clock; zero where they begin at
  // once.
  Nanos common_start() const;
  // Waits for children while it watches the links.
  void wait(const std::vector<Commands::Id>& ids, Nanos measuring);
  // Loads since the session began or links() was restarted, kept for the report's fabric.
  Result<std::vector<CarriedLoad>> take_loads();
  const std::vector<CarriedLoad>& seen_loads() const { return seen_; }
  // Adds what a stage of an earlier test has seen, by link.
  void add_seen(const std::vector<BothLoads>& loads);
  // What links have carried since the last call.
  std::vector<BothLoads> take_stage_loads();
  // Reads what links have carried for the options' live figures, if there are any.
  void show_loads();

  // Folder for recordings of this session.
  const std::string& folder() const { return options_.folder; }
  // What stages recorded, for the stage traffic.
  struct Recording {
    std::string name;  // "all-reduces"
    std::string folder;
    bool disturbed = false;  // see disturbed(), when it was made
    bool overlaps = false;   // it has computation beside calls
  };
  std::vector<Recording> recordings;

 private:
  Session(const Fabric& fabric, const AcceptanceOptions& options);

  // The whole of it in a full test.
  Nanos part(Nanos time, int64_t divisor) const {
    return options_.depth == Depth::kFull ? time : time / divisor;
  }

  const Fabric& fabric_;
  const AcceptanceOptions& options_;
  const topology::Topology& expected_;  // of the options, else the fabric's
  Commands commands_;
  std::unique_ptr<LinkWatch> links_;
  std::vector<std::optional<Commands::Id>> servers_;  // by host
  std::vector<CarriedLoad> seen_;
  std::vector<BothLoads> of_stage_;  // since take_stage_loads()
  ProcessorTime processors_;
  Nanos start_ = lab::meter_now();
  Nanos next_show_;  // when show_loads() is due
};

// A document that a command printed; nothing if it printed none.
std::optional<Json> document_of(const CommandEnd& end);
// The first test of a document of `heddle perf`; nothing if it has none or broke off.
std::optional<Json> first_test(const std::optional<Json>& document);
// A number of a document; 0 where it has none, as of a test that a signal ended.
double number_of(const Json& document, const char* name);

}  // namespace heddle::acceptance
