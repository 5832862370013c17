// See advise_options.h.
#include "apps/cli/plan/advise/advise_options.h"

#include <CLI/CLI.hpp>
#include <string>

#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/command_line/value_checks.h"
#include "topology/quantity.h"
#include "transport/names.h"

namespace heddle::cli {

void add_advise_sources(CLI::App& command, AdviseSources& sources) {
  command
      .add_option("recordings", sources.recordings, "folders or files of the recording of one job")
      ->required()
      ->type_name("RECORDING");
  add_topology_option(command, sources.topology, "the fabric that it ran on")
      ->default_str("one switch");
  command.add_option("--rate", sources.rate, "without --topology: rate of the hosts' links")
      ->type_name("RATE")
      ->check(CLI::Validator(
          [](const std::string& text) -> std::string {
            if (topology::parse_rate(text)) return {};
            return "'" + text + "' is no rate from 1kbit/s to 100Tbit/s, like 400Gbit/s or 1.6T";
          },
          ""))
      ->capture_default_str();
  command
      .add_option("--hosts", sources.hosts,
                  "hosts of the topology that the ranks were on, in the order of the ranks")
      ->type_name("HOST[,HOST]...")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->default_str("as recorded");
  command
      .add_option("--calls-per-step", sources.calls_per_step,
                  "number of calls that a rank makes in a step")
      ->type_name("N")
      ->check(whole_number(1, 1'000'000))
      ->default_str("as marked, or what repeats");
}

void add_step_transport(CLI::App& command, StepTransport& transport) {
  const auto congestions = transport::controller_names();
  const auto selectors = transport::selector_names();
  command.add_option("--cc", transport.congestion, "congestion control that the job had")
      ->type_name(choices_text(congestions))
      ->check(one_of({congestions.begin(), congestions.end()}))
      ->capture_default_str();
  command.add_option("--selector", transport.selector, "path selection that it had")
      ->type_name(choices_text(selectors))
      ->check(one_of({selectors.begin(), selectors.end()}))
      ->capture_default_str();
  command.add_option("--paths", transport.paths, "paths of a connection that it had, 1 to 256")
      ->type_name("N")
      ->check(whole_number(1, 256))
      ->capture_default_str();
}

}  // namespace heddle::cli
