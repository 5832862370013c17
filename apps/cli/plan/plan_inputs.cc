// See plan_inputs.h.
#include "apps/cli/plan/plan_inputs.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/command_line/value_checks.h"
#include "apps/cli/plan/plan_file.h"
#include "base/quantity.h"
#include "topology/file.h"

namespace heddle::cli {
namespace {

void add_sources(CLI::App& command, DemandSources& sources) {
  auto* const workload =
      command
          .add_option(
              "--workload", sources.workload,
              "what to place: flows and jobs of a workload file, htsim's .cm, a folder of Chakra "
              "traces, or AICB's .txt")
          ->type_name("FILE");
  auto* const matrix =
      command
          .add_option("--matrix", sources.matrix,
                      "or bytes from host to host: CSV with columns from, to, bytes")
          ->type_name("FILE");
  command.add_option("--recording", sources.recording, "or what a recorded job sent")
      ->type_name("DIR")
      ->excludes(workload)
      ->excludes(matrix);
  matrix->excludes(workload);
}

Result<NamedAddresses> addresses_of(const PlanInputs& inputs, const topology::Topology& topology) {
  if (inputs.lab) return lab_addresses(topology);
  if (inputs.addresses.empty()) return NamedAddresses();
  return read_addresses(inputs.addresses, topology);
}

}  // namespace

void add_plan_inputs(CLI::App& command, PlanInputs& inputs) {
  add_topology_option(command, inputs.topology, "the fabric: a topology file (required)");
  add_sources(command, inputs.sources);
  command.add_option("--paths", inputs.plan.paths, "paths of a connection, 1 to 256")
      ->type_name("N")
      ->check(whole_number(1, 256))
      ->capture_default_str();
  command
      .add_option("--split", inputs.plan.most_parts,
                  "most paths that a flow's bytes are divided among, on each of its NICs")
      ->type_name("N")
      ->check(whole_number(1, 64))
      ->capture_default_str();
  command.add_option("--failed", inputs.failed, "a cable that is down, like leaf0:spine1")
      ->type_name("LINK")
      ->allow_extra_args(false);
  auto* const addresses =
      command
          .add_option("--addresses", inputs.addresses,
                      "addresses and names of hosts and switches, as in /etc/hosts: real "
                      "transports can then follow the plan")
          ->type_name("FILE");
  command
      .add_flag("--lab-addresses", inputs.lab,
                "the same with the addresses of a lab of the topology")
      ->excludes(addresses);
  command
      .add_option("--background", inputs.background,
                  "counters of links, whose forecast loads count beside the plan: CSV with columns "
                  "time, link, bytes")
      ->type_name("FILE");
  command
      .add_option("--period", inputs.period,
                  "time in which the bytes are sent, to compare them with --background and with "
                  "leases that have a period")
      ->type_name("DURATION")
      ->check(duration_value(micros(1)))
      ->default_str("as fast as links allow");
  add_seed_option(command, inputs.sources.seed);
}

Result<void> check_output(const PlanInputs& inputs, const std::string& output) {
  if (output.empty()) return {};
  for (const auto& [option, input] : {std::pair("--topology", &inputs.topology),
                                      {"--workload", &inputs.sources.workload},
                                      {"--matrix", &inputs.sources.matrix},
                                      {"--recording", &inputs.sources.recording},
                                      {"--addresses", &inputs.addresses},
                                      {"--background", &inputs.background}}) {
    std::error_code missing;
    if (input->empty() || !std::filesystem::equivalent(*input, output, missing)) continue;
    return fail(ErrorCode::kInvalid, "cannot write the plan to " + output,
                std::string("it is what ") + option + " names", "give another file with -o");
  }
  return {};
}

Result<ReadPlanInputs> read_plan_inputs(const PlanInputs& inputs) {
  const DemandSources& sources = inputs.sources;
  if (sources.workload.empty() && sources.matrix.empty() && sources.recording.empty()) {
    return fail(ErrorCode::kInvalid, "cannot plan paths", "it is not said what is sent",
                "give --workload, --matrix or --recording");
  }
  Result<topology::Topology> topology = topology::read_topology_file(inputs.topology);
  if (!topology) return fail(topology.error());
  Result<PlanDemand> demand = read_demand(sources, *topology);
  if (!demand) return fail(demand.error());
  planner::PathPlanOptions options = inputs.plan;
  options.failed_links = demand->failed_links;
  for (const std::string& each : inputs.failed) {
    const Result<uint32_t> link = link_named(each, *topology);
    if (!link) return fail(link.error());
    options.failed_links.push_back(*link);
  }
  Result<NamedAddresses> addresses = addresses_of(inputs, *topology);
  if (!addresses) return fail(addresses.error());
  const Result<Nanos> period =
      inputs.period.empty() ? Result<Nanos>(Nanos{}) : parse_duration(inputs.period);
  if (!period) return fail(period.error());
  return ReadPlanInputs{std::move(*topology),     std::move(demand->demand),
                        std::move(demand->notes), std::move(options),
                        std::move(*addresses),    {inputs.background, *period}};
}

}  // namespace heddle::cli
