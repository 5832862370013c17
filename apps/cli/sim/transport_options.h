// The options of `heddle sim` about what carries flows: the production transport, or the model of a
// RoCE NIC to compare it with.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "simulator/flow_run.h"

namespace heddle::cli {

struct TransportOptions {
  simulator::FlowRunOptions* run = nullptr;  // what the options are for
  std::string transport = "heddle";
  std::string initial_window;
  std::string window_limit;
  std::string burst;
  uint32_t rdma_mtu = 4'096;
  std::string ack_timeout;
  const CLI::Option* congestion = nullptr;
  std::vector<const CLI::Option*> of_heddle;  // options that a RoCE NIC has no use for
  std::vector<const CLI::Option*> of_roce;
};

// `options` and `options.run` must outlive the command.
void add_transport_options(CLI::App& sim, TransportOptions& options);

// Reads what was given into `*options.run`. Errors: kInvalid; also for options of the other
// transport.
Result<void> take_transport_options(TransportOptions& options);

}  // namespace heddle::cli
