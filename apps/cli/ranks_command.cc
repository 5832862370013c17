// `heddle ranks`: see ranks_command.h.
#include "apps/cli/ranks_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>

#include "apps/cli/attachment.h"
#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/command_line/value_types.h"
#include "apps/cli/json.h"
#include "apps/cli/params.h"
#include "apps/cli/ranks/roll_call.h"
#include "apps/cli/settings.h"
#include "apps/cli/terminal.h"
#include "base/interrupt.h"
#include "base/version.h"
#include "collectives/rendezvous.h"
#include "engine/addresses.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle run -n 4 -- heddle ranks
  srun -N 2 -n 4 heddle ranks
  mpirun -x HEDDLE_STORE=udp://node1:18701 -n 4 heddle ranks

Rank 0 prints where each rank runs, and which ranks cannot reach each other.)";

struct RanksOptions {
  bool json = false;
};

std::string table(const collectives::Group& group, const std::string& launcher) {
  size_t widest = 4;
  for (const std::string& host : group.hosts) widest = std::max(widest, host.size());
  std::string text = fmt::format("{:>6}  {:<{}}  {}\n", "rank", "host", widest, "address");
  for (uint32_t rank = 0; rank < group.size; ++rank) {
    text += fmt::format("{:>6}  {:<{}}  {}\n", rank, group.hosts[rank], widest,
                        engine::address_text(group.addresses[rank]));
  }
  return text + fmt::format("{} rank{}, started by {}\n", group.size, group.size == 1 ? "" : "s",
                            launcher);
}

Json document(const collectives::Group& group, const std::string& launcher,
              const Unreached& unreached) {
  Json ranks = Json::array();
  for (uint32_t rank = 0; rank < group.size; ++rank) {
    ranks.push_back({{"rank", rank},
                     {"host", group.hosts[rank]},
                     {"address", engine::address_text(group.addresses[rank])},
                     {"unreached", unreached[rank]}});
  }
  return {{"heddle", std::string(kVersion)},
          {"launcher", launcher},
          {"job", fmt::format("{:016x}", group.job)},
          {"ranks", std::move(ranks)}};
}

void print_unreached(const collectives::Group& group, const Unreached& unreached) {
  const auto name = [&group](uint32_t rank) {
    return fmt::format("rank {} ({}, {})", rank, group.hosts[rank],
                       engine::address_text(group.addresses[rank]));
  };
  for (uint32_t rank = 0; rank < group.size; ++rank) {
    for (const uint32_t other : unreached[rank]) {
      print_error(
          {ErrorCode::kUnavailable, fmt::format("{} does not reach {}", name(rank), name(other)),
           "it did not answer", "let UDP through between them, or choose addresses by bind"});
    }
  }
}

Result<int> meet_and_print(const Config& config, const RanksOptions& options) {
  catch_interrupts();
  const std::vector<std::string> environment = ConfigSources::of_process().environment;
  Result<collectives::MeetOptions> meeting = collectives::meet_options(config, environment);
  if (!meeting) return fail(meeting.error());
  meeting->stopped = [] { return interrupted() != 0; };
  Result<std::unique_ptr<engine::Endpoint>> endpoint = attach_rank(config);
  if (!endpoint) return fail(endpoint.error());
  const Result<collectives::Group> group = collectives::meet(**endpoint, *meeting);
  if (!group && interrupted() != 0) return interrupted_exit_status();
  if (!group) return fail(group.error());
  const Unreached unreached =
      RollCall(**endpoint, *group, meeting->stopped).run(params::ranks::kPatience);
  if (interrupted() != 0) return interrupted_exit_status();
  const bool all_well = std::all_of(unreached.begin(), unreached.end(),
                                    [](const auto& each) { return each.empty(); });
  if (group->rank == 0) {
    const std::string& launcher = meeting->launch.launcher;
    print(options.json ? document(*group, launcher, unreached).dump(2) + "\n"
                       : table(*group, launcher));
    print_unreached(*group, unreached);
    if (all_well && !options.json && group->size > 1) print("each reaches all others\n");
  }
  return all_well ? kDone : kFoundWrong;
}

int run_ranks_command(const Settings& settings, const RanksOptions& options) {
  const Result<Config> config = settings.load();
  const Result<int> status = config ? meet_and_print(*config, options) : fail(config.error());
  if (status) return *status;
  print_error(status.error());
  return kCouldNotRun;
}

}  // namespace

void add_ranks_command(CLI::App& root, Invocation& invocation) {
  CLI::App* const ranks = root.add_subcommand(
      "ranks", "check that the ranks a launcher started find and reach each other");
  ranks->footer(kExample + exit_status_help("some ranks do not reach each other",
                                            "the ranks did not find each other"));
  const auto options = std::make_shared<RanksOptions>();
  const auto settings = std::make_shared<Settings>(*ranks);
  add_json_option(*ranks, options->json);
  settings->offer("--bind", "bind", kAddressListType);
  settings->offer("--store", "store", "URL");
  ranks->callback([options, settings, &invocation] {
    invocation.run = [options, settings] { return run_ranks_command(*settings, *options); };
  });
}

}  // namespace heddle::cli
