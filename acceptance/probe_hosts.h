// ProbeHosts: rounds of probes between hosts of a fabric. In a round a receiver runs on every host,
// and senders beside it (measure/probe_sender.h), all started as `heddle agent` by Commands.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "acceptance/commands.h"
#include "acceptance/fabric.h"
#include "base/result.h"
#include "probing/observations.h"
#include "probing/tasks.h"

namespace heddle::acceptance {

struct ProbeHostsOptions {
  uint64_t run = 0;            // drawn for the run
  uint16_t port = 0;           // at which NICs receive
  uint32_t packets_per_s = 0;  // of each host, that expire at routers
  std::function<bool()> interrupted = [] { return false; };
};

class ProbeHosts {
 public:
  // `fabric` must outlive it.
  ProbeHosts(const Fabric& fabric, ProbeHostsOptions options)
      : fabric_(fabric), options_(std::move(options)) {}

  // Carries out the tasks and adds what was observed; `all` has the NICs. `in_turn`: one sender
  // after the other, so that trains do not meet. Errors: kUnavailable where a host does not start
  // or end its part, with the host's reason; kCancelled.
  Result<void> run(const std::vector<probing::Task>& tasks, bool in_turn,
                   probing::Observations& all) const;

 private:
  struct Part {
    std::string host;
    Commands::Id id = 0;
  };

  Result<std::vector<Part>> start_receivers(Commands& commands, const probing::RoundSpec& round,
                                            const std::vector<std::string>& hosts) const;
  Result<void> run_senders(Commands& commands, const std::vector<Part>& senders, Nanos limit,
                           probing::Observations& all) const;
  // How long a sender of these may take, and the round.
  Nanos limit_of(const std::vector<probing::Task>& tasks) const;
  Nanos round_time(const std::vector<std::string>& hosts, const std::vector<probing::Task>& tasks,
                   bool in_turn, const probing::Observations& all) const;

  const Fabric& fabric_;
  ProbeHostsOptions options_;
};

}  // namespace heddle::acceptance
