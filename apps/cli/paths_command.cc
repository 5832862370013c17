// `heddle paths`: see paths_command.h.
#include "apps/cli/paths_command.h"

#include <algorithm>

#include "apps/cli/attachment.h"
#include "apps/cli/interrupt.h"
#include "apps/cli/paths/look.h"
#include "apps/cli/paths/report.h"
#include "apps/cli/service/client.h"
#include "apps/cli/settings.h"
#include "apps/cli/terminal.h"

namespace heddle::cli {
namespace {

constexpr const char* kHelp = R"(Example:
  heddle perf --listen              on node2
  heddle paths node2                on node1
  heddle paths node2 --paths 128    where there are more than 8 ways

A way is a row of routers; which of them a packet takes is decided by its source port. "*" is a
router that does not answer, "LOST" a way that messages do not come through.

Exit status: 0 the ways are known and work, 1 they are not known or one does not work, 2 could not
run; stopped by a signal: 128 and its number (130 for Ctrl-C, 143 for SIGTERM).)";

// Enough for 8 ways.
constexpr uint16_t kUsualPaths = 64;

struct PathsOptions {
  std::string host;
  bool json = false;
};

// What the setting `paths` says, where anybody set it.
uint16_t paths_to_ask(const Config& config) {
  for (const ConfigEntry& entry : config.entries()) {
    if (entry.key->name != "paths" || entry.origin == "default") continue;
    return static_cast<uint16_t>(config.integer("paths"));
  }
  return kUsualPaths;
}

Result<int> show_paths(const Config& config, const PathsOptions& options) {
  catch_interrupts();
  Result<std::unique_ptr<engine::Endpoint>> endpoint = attach_client(config);
  if (!endpoint) return fail(endpoint.error());
  const auto port = static_cast<uint16_t>(config.integer("port"));
  const uint16_t paths = paths_to_ask(config);
  Result<std::unique_ptr<Client>> client =
      Client::connect(**endpoint, options.host, port, "heddle perf", {.paths = paths});
  if (!client && interrupted() != 0) return interrupted_exit_status();
  if (!client) return fail(client.error());
  const Result<FoundWays> found = look_for_ways(**client, paths);
  if (!found && interrupted() != 0) return interrupted_exit_status();
  if (!found) return fail(found.error());
  print(options.json ? ways_document(*found).dump(2) + "\n" : ways_text(*found));
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
  CLI::App* const paths = root.add_subcommand(
      "paths", "show how many ways the network has to a host, and which paths take which");
  paths->footer(kHelp);
  const auto options = std::make_shared<PathsOptions>();
  const auto settings = std::make_shared<Settings>(*paths);
  paths
      ->add_option("host", options->host,
                   "where 'heddle perf --listen' or 'heddle ping --listen' runs")
      ->type_name("HOST[:PORT]")
      ->required();
  paths->add_flag("--json", options->json, "print one JSON document");
  settings->offer("-p,--port", "port", "PORT");
  settings->offer("--bind", "bind", "ADDRESS[,...]");
  settings->offer("--paths", "paths", "N");
  paths->callback([options, settings, &invocation] {
    invocation.run = [options, settings] { return run_paths(*settings, *options); };
  });
}

}  // namespace heddle::cli
