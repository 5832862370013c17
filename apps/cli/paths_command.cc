// `heddle paths`: see paths_command.h.
#include "apps/cli/paths_command.h"

#include <algorithm>

#include "apps/cli/attachment.h"
#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/command_line/value_types.h"
#include "apps/cli/params.h"
#include "apps/cli/paths/report.h"
#include "apps/cli/settings.h"
#include "apps/cli/terminal.h"
#include "base/interrupt.h"
#include "measure/client.h"
#include "measure/routes.h"

namespace heddle::cli {
namespace {

constexpr const char* kHelp = R"(Example:
  heddle perf --listen              on node2
  heddle paths node2                on node1
  heddle paths node2 --paths 128    where there are more than 8 routes

A route is a sequence of routers; switches choose it by a packet's source port (ECMP). "*" is a
router that does not answer, "LOST" a route on which no message arrives.)";

struct PathsOptions {
  std::string host;
  bool json = false;
};

// The setting `paths`, unless it has its default.
uint16_t paths_to_ask(const Config& config) {
  for (const ConfigEntry& entry : config.entries()) {
    if (entry.key->name != "paths" || entry.origin == "default") continue;
    return static_cast<uint16_t>(config.integer("paths"));
  }
  return params::kUsualPaths;
}

Result<int> show_paths(const Config& config, const PathsOptions& options) {
  catch_interrupts();
  Result<std::unique_ptr<engine::Endpoint>> endpoint = attach_client(config);
  if (!endpoint) return fail(endpoint.error());
  const auto port = static_cast<uint16_t>(config.integer("port"));
  const uint16_t paths = paths_to_ask(config);
  Result<std::unique_ptr<measure::Client>> client =
      measure::Client::connect(**endpoint, options.host, port, "heddle perf", {.paths = paths});
  if (!client && interrupted() != 0) return interrupted_exit_status();
  if (!client) return fail(client.error());
  ProgressLine line;
  const Result<measure::FoundRoutes> found =
      measure::find_routes(**client, paths, [&line](const std::string& text) { line.show(text); });
  line.clear();
  if (!found && interrupted() != 0) return interrupted_exit_status();
  if (!found) return fail(found.error());
  print(options.json ? routes_document(*found).dump(2) + "\n" : routes_text(*found));
  return all_well(*found) ? kDone : kFoundWrong;
}

int run_paths(const Settings& settings, const PathsOptions& options) {
  const Result<Config> config = settings.load();
  if (!config) {
    print_error(config.error());
    return kCouldNotRun;
  }
  const Result<int> status = show_paths(*config, options);
  if (status) return *status;
  print_error(status.error());
  return kCouldNotRun;
}

}  // namespace

void add_paths_command(CLI::App& root, Invocation& invocation) {
  CLI::App* const paths =
      root.add_subcommand("paths", "show the network's routes to a host, and the paths on each");
  paths->footer(
      kHelp + exit_status_help("the routes are not known, or one does not work", "could not run"));
  const auto options = std::make_shared<PathsOptions>();
  const auto settings = std::make_shared<Settings>(*paths);
  paths
      ->add_option("host", options->host,
                   "the host where 'heddle perf --listen' or 'heddle ping --listen' runs")
      ->type_name(kHostType)
      ->required();
  add_json_option(*paths, options->json);
  settings->offer("-p,--port", "port", "PORT");
  settings->offer("--bind", "bind", kAddressListType);
  settings->offer("--paths", "paths", "N");
  paths->callback([options, settings, &invocation] {
    invocation.run = [options, settings] { return run_paths(*settings, *options); };
  });
}

}  // namespace heddle::cli
