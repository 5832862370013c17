// `heddle tune`: see tune_command.h.
#include "apps/cli/tune_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "apps/cli/attachment.h"
#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/command_line/value_checks.h"
#include "apps/cli/command_line/value_types.h"
#include "apps/cli/json.h"
#include "apps/cli/settings.h"
#include "apps/cli/terminal.h"
#include "base/interrupt.h"
#include "base/quantity.h"
#include "base/version.h"
#include "collectives/configured.h"
#include "collectives/links.h"
#include "collectives/rendezvous.h"
#include "collectives/table_file.h"
#include "collectives/tune.h"

namespace heddle::cli {
namespace {

using collectives::CostTable;
constexpr const char* kExample = R"(Example:
  heddle run -n 4 -- heddle tune
  srun -N 8 -n 64 heddle tune --largest 64M
  mpirun -x HEDDLE_STORE=udp://node1:18701 -n 4 heddle tune --json

Rank 0 prints the time of each algorithm and stores the table of costs. Later runs with as many
ranks on as many hosts of the same network choose by it. Without a table a communicator makes a
short measurement of its own.)";

struct TuneCommandOptions {
  std::string largest = "16M";
  std::string time = "60s";
  bool json = false;
};

struct TuneOutcome {
  collectives::TuneResult measured;
  std::string path;
  std::string fabric;
  bool stored = false;
};

// Among a prime number of ranks there are no groups to measure.
bool was_measured(const CostTable::Row& row, const collectives::Tuning& tuning) {
  const uint32_t ranks = tuning.costs.ranks;
  return row.algorithm != collectives::Algorithm::kTwoLevel ||
         tuning.group_ranks_among(ranks) != ranks;
}

std::vector<size_t> rows_of(collectives::Collective collective, const collectives::Tuning& tuning) {
  std::vector<size_t> rows;
  for (size_t row = 0; row < CostTable::kRows.size(); ++row) {
    const CostTable::Row& each = CostTable::kRows[row];
    if (each.collective == collective && was_measured(each, tuning)) rows.push_back(row);
  }
  return rows;
}

// "ring", "two_level/4".
std::string label_of(collectives::Algorithm algorithm, const collectives::Tuning& tuning) {
  const std::string name(name_of(algorithm));
  if (algorithm != collectives::Algorithm::kTwoLevel) return name;
  return fmt::format("{}/{}", name, tuning.group_ranks_among(tuning.costs.ranks));
}

// "allreduce", a column an algorithm, the fastest of each size marked.
std::string collective_table(const collectives::TuneResult& result,
                             collectives::Collective collective) {
  const std::vector<size_t> rows = rows_of(collective, result.tuning);
  std::string text = fmt::format("{:<14}", name_of(collective));
  for (const size_t row : rows)
    text += fmt::format("{:>21}", label_of(CostTable::kRows[row].algorithm, result.tuning));
  text += '\n';
  for (size_t column = 0; column < CostTable::kSizes.size(); ++column) {
    if (CostTable::kSizes[column] > result.largest_bytes) break;
    const auto& ns = result.tuning.costs.ns;
    const size_t best = *std::min_element(rows.begin(), rows.end(), [&](size_t a, size_t b) {
      return ns[a][column] < ns[b][column];
    });
    text += fmt::format("{:>14}", size_text(CostTable::kSizes[column]));
    for (const size_t row : rows) {
      text += fmt::format("{:>20}{}", duration_text(nanos(static_cast<int64_t>(ns[row][column]))),
                          row == best ? '*' : ' ');
    }
    text += '\n';
  }
  return text;
}

std::string report(const TuneOutcome& outcome) {
  const collectives::TuneResult& result = outcome.measured;
  std::string text;
  collectives::Collective last = collectives::Collective::kBarrier;
  for (const CostTable::Row& row : CostTable::kRows) {
    if (row.collective == last) continue;
    last = row.collective;
    text += collective_table(result, row.collective) + '\n';
  }
  text += fmt::format("{} of up to {} took {}; * the fastest, which calls of that size take\n",
                      counted_text(result.calls, "call"), size_text(result.largest_bytes),
                      duration_text(result.took));
  return text + (outcome.stored ? fmt::format("stored in {}\n", outcome.path) : "not stored\n");
}

Json document(const TuneOutcome& outcome) {
  const collectives::TuneResult& result = outcome.measured;
  Json costs = Json::array();
  for (size_t row = 0; row < CostTable::kRows.size(); ++row) {
    if (!was_measured(CostTable::kRows[row], result.tuning)) continue;
    for (size_t column = 0; column < CostTable::kSizes.size(); ++column) {
      if (CostTable::kSizes[column] > result.largest_bytes) break;
      costs.push_back({{"collective", name_of(CostTable::kRows[row].collective)},
                       {"algorithm", name_of(CostTable::kRows[row].algorithm)},
                       {"bytes", CostTable::kSizes[column]},
                       {"time_ns", result.tuning.costs.ns[row][column]}});
    }
  }
  return {{"heddle", std::string(kVersion)},
          {"ranks", result.tuning.costs.ranks},
          {"group_ranks", result.tuning.group_ranks_among(result.tuning.costs.ranks)},
          {"calls", result.calls},
          {"took_ns", result.took.count},
          {"stored", outcome.stored},
          {"path", outcome.stored ? Json(outcome.path) : Json(nullptr)},
          {"fabric", outcome.fabric},
          {"costs", std::move(costs)}};
}

Result<collectives::TuneOptions> tune_options(const TuneCommandOptions& options) {
  const Result<Bytes> largest = parse_size(options.largest);
  if (!largest) return fail(largest.error());
  const Result<Nanos> time = parse_duration(options.time);
  if (!time) return fail(time.error());
  collectives::TuneOptions tune;
  tune.largest_bytes = largest->count;
  tune.time = *time;
  tune.stopped = [] { return interrupted() != 0; };
  return tune;
}

// What this run's ranks store, and where.
struct Place {
  std::string path;
  collectives::Fabric fabric;
};

Result<Place> place_of(const engine::Endpoint& endpoint, const collectives::Members& members,
                       const collectives::CommunicatorOptions& options) {
  if (options.table_folder.empty()) {
    return fail(ErrorCode::kInvalid, "cannot store a table of costs", "there is no folder for it",
                "set tuning_folder, or XDG_CACHE_HOME or HOME");
  }
  Place place;
  place.fabric = fabric_of(endpoint, members, options);
  place.path = table_path(options.table_folder, place.fabric);
  return place;
}

Result<int> finish(const collectives::TuneResult& measured, const Place& place, bool json) {
  TuneOutcome outcome = {measured, place.path, place.fabric.text, false};
  if (measured.sound) {
    const Result<void> written =
        write_table(place.path, place.fabric, measured.tuning, collectives::TableSource::kTune);
    if (!written) return fail(written.error());
    outcome.stored = true;
  }
  print(json ? document(outcome).dump(2) + "\n" : report(outcome));
  if (outcome.stored) return kDone;
  print_error({ErrorCode::kUnavailable, "the measurement is of no use",
               "large calls took no longer than small ones: the ranks wait for cores",
               "measure while nothing else runs on these hosts"});
  return kFoundWrong;
}

Result<int> run_tune(const Config& config, const TuneCommandOptions& options) {
  catch_interrupts();
  const std::vector<std::string> environment = ConfigSources::of_process().environment;
  Result<collectives::TuneOptions> tune = tune_options(options);
  if (!tune) return fail(tune.error());
  Result<collectives::MeetOptions> meeting = collectives::meet_options(config, environment);
  if (!meeting) return fail(meeting.error());
  meeting->stopped = tune->stopped;
  auto configured = collectives::configured_communicator_options(config);
  if (!configured) return fail(configured.error());
  configured->tuning.to_be_measured = false;
  Result<std::unique_ptr<engine::Endpoint>> endpoint = attach_rank(config);
  if (!endpoint) return fail(endpoint.error());
  const Result<collectives::Group> group = collectives::meet(**endpoint, *meeting);
  if (!group && interrupted() != 0) return interrupted_exit_status();
  if (!group) return fail(group.error());
  const collectives::Members members = collectives::members_of(*group);
  const Result<Place> place =
      members.rank == 0 ? place_of(**endpoint, members, *configured) : Result<Place>(Place());
  if (!place) return fail(place.error());
  auto world = collectives::Communicator::create(std::make_shared<collectives::Links>(**endpoint),
                                                 members, *configured);
  if (!world) return fail(world.error());
  ProgressLine line;
  if (members.rank == 0) {
    tune->on_size = [&line](uint64_t bytes) { line.show("measuring " + size_text(bytes)); };
  }
  const auto measured = collectives::tune(**world, **endpoint, *tune);
  line.clear();
  if (!measured && interrupted() != 0) return interrupted_exit_status();
  if (!measured) return fail(measured.error());
  return members.rank == 0 ? finish(*measured, *place, options.json) : kDone;
}

int run_tune_command(const Settings& settings, const TuneCommandOptions& options) {
  const Result<Config> config = settings.load();
  const Result<int> status = config ? run_tune(*config, options) : fail(config.error());
  if (status) return *status;
  print_error(status.error());
  return kCouldNotRun;
}

}  // namespace

void add_tune_command(CLI::App& root, Invocation& invocation) {
  CLI::App* const tune = root.add_subcommand(
      "tune", "measure collectives into the table that ranks choose algorithms by");
  tune->footer(kExample + exit_status_help("the hosts were too busy for a useful table",
                                           "nothing was measured"));
  const auto options = std::make_shared<TuneCommandOptions>();
  const auto settings = std::make_shared<Settings>(*tune);
  tune->add_option("--largest", options->largest, "the largest size, at most 64M")
      ->type_name("SIZE")
      ->check(size_value(1))
      ->capture_default_str();
  tune->add_option("--within", options->time, "no size begins that would not end within this")
      ->type_name("DURATION")
      ->check(duration_value())
      ->capture_default_str();
  add_json_option(*tune, options->json);
  settings->offer("--folder", "tuning_folder", "FOLDER");
  settings->offer("--bind", "bind", kAddressListType);
  settings->offer("--store", "store", "URL");
  tune->callback([options, settings, &invocation] {
    invocation.run = [options, settings] { return run_tune_command(*settings, *options); };
  });
}

}  // namespace heddle::cli
