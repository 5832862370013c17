// `heddle nccl drive`: see drive_command.h.
#include "apps/cli/nccl/drive_command.h"

#include <fmt/format.h>
#include <signal.h>
#include <time.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/command_line/value_checks.h"
#include "apps/cli/nccl/drive_report.h"
#include "apps/cli/nccl/facts.h"
#include "apps/cli/nccl/launcher.h"
#include "apps/cli/params.h"
#include "apps/cli/terminal.h"
#include "base/interrupt.h"
#include "base/quantity.h"
#include "launch/own_command.h"
#include "launch/supervisor.h"
#include "nccl/drive.h"
#include "nccl/exchange.h"
#include "nccl/net_library.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle nccl drive heddle                          two ranks on this machine
  heddle nccl drive ./libnccl-net-x.so --ranks 4 --pattern tree --check
  heddle nccl drive heddle --rank 0 --ranks 2 --exchange /shared/drive     on node1
  heddle nccl drive heddle --rank 1 --ranks 2 --exchange /shared/drive     on node2

PLUGIN is a path or a name as in NCCL_NET_PLUGIN. No GPU and no NCCL is needed:
messages move in host memory, in NCCL's sizes, by NCCL's calls and threads. Without
--rank all ranks run on this machine; under a launcher (heddle run) each process is one
rank. Rank 0 prints the results of all.

All ranks must have the same options but --rank, --device, --table, --exchange and
--json.

Columns: GB/s are 1e9 bytes sent by the rank in a second; p50 to max: from isend until
done; CPU s/GB is CPU time of the process for 1e9 bytes sent; no request counts calls of
isend and irecv that posted nothing.)";

struct DriveCommandOptions {
  std::string plugin;
  int table_version = 0;
  std::optional<int> rank;
  std::optional<int> size;
  std::string exchange;
  std::string pattern = "ring";
  std::string protocol = "simple";
  std::string bytes = "64M";
  std::string message;
  std::string time = "2";
  nccl::DriveOptions drive;
  bool json = false;
};

Result<nccl::DriveOptions> parse(const DriveCommandOptions& options) {
  constexpr std::array kPatterns = {nccl::TrafficPattern::kRing, nccl::TrafficPattern::kTree,
                                    nccl::TrafficPattern::kP2p, nccl::TrafficPattern::kRegistered};
  constexpr std::array kProtocols = {nccl::WireProtocol::kSimple, nccl::WireProtocol::kLl,
                                     nccl::WireProtocol::kLl128};
  nccl::DriveOptions parsed = options.drive;
  for (const nccl::TrafficPattern each : kPatterns) {
    if (options.pattern == nccl::name_of(each)) parsed.pattern = each;
  }
  for (const nccl::WireProtocol each : kProtocols) {
    if (options.protocol == nccl::name_of(each)) parsed.protocol = each;
  }
  const Result<Bytes> bytes = parse_size(options.bytes);
  if (!bytes) return fail(bytes.error());
  parsed.bytes = bytes->count;
  if (!options.message.empty()) {
    const Result<Bytes> message = parse_size(options.message);
    if (!message) return fail(message.error());
    parsed.message_bytes = message->count;
  }
  const Result<Nanos> span = parse_duration(options.time);
  if (!span) return fail(span.error());
  parsed.duration = *span;
  parsed.rank = options.rank.value_or(environment_number("HEDDLE_RANK").value_or(0));
  parsed.size = options.size.value_or(environment_number("HEDDLE_SIZE").value_or(2));
  parsed.stopped = [] { return interrupted() != 0; };
  parsed.waiting = [](const std::string& ranks) { print_progress("waiting for " + ranks); };
  const Result<void> possible = nccl::check_options(parsed);
  if (!possible) return fail(possible.error());
  return parsed;
}

// All results, on rank 0; others publish theirs and have nothing to print.
Result<DriveJson> gather(nccl::Exchange& exchange, const nccl::DriveOptions& options,
                         const nccl::DriveResult& result) {
  const DriveJson own = drive_rank_json(options.rank, result);
  const auto result_key = [&](int rank) { return fmt::format("{}.result.{}", result.run, rank); };
  DriveJson all = DriveJson::array();
  if (options.rank > 0) {
    const Result<void> put = exchange.put(result_key(options.rank), own.dump());
    if (!put) return fail(put.error());
    return all;
  }
  all.push_back(own);
  int64_t polls = params::nccl::kResultPatience / params::nccl::kPollPause;
  for (int rank = 1; rank < options.size;) {
    const auto text = exchange.get(result_key(rank));
    if (!text) return fail(text.error());
    if (*text) {
      DriveJson other = DriveJson::parse(**text, nullptr, false);
      if (other.is_discarded()) {
        return fail(ErrorCode::kInvalid, fmt::format("cannot read the result of rank {}", rank),
                    "'" + result_key(rank) + "' in the exchange folder is damaged",
                    "look whether the disk is full, and start again with a new folder");
      }
      all.push_back(std::move(other));
      ++rank;
      continue;
    }
    if (interrupted() != 0) return fail(ErrorCode::kCancelled, "the results of the ranks");
    if (--polls < 0) {
      return fail(ErrorCode::kTimeout, fmt::format("the result of rank {}", rank),
                  "it has not published one", "look at its standard error");
    }
    const timespec pause{0, params::nccl::kPollPause.count};
    nanosleep(&pause, nullptr);
  }
  return all;
}

// heddle's own plugin is also found beside this program.
std::string plugin_file(const std::string& name) {
  if (name != "heddle") return name;
  const std::string own = plugin_path();
  return own.empty() ? name : own;
}

Result<int> run_rank(const DriveCommandOptions& options, const nccl::DriveOptions& drive) {
  const std::string folder = options.exchange.empty() ? launcher_folder() : options.exchange;
  if (folder.empty()) {
    return fail(ErrorCode::kInvalid, "cannot find the other ranks", "there is no exchange folder",
                "name one that all ranks share with --exchange");
  }
  Result<nccl::ExchangeFolder> exchange = nccl::ExchangeFolder::open(folder);
  if (!exchange) return fail(exchange.error());
  Result<nccl::NetLibrary> library =
      nccl::NetLibrary::open(plugin_file(options.plugin), options.table_version);
  if (!library) return fail(library.error());
  const Result<nccl::DriveResult> result = nccl::drive(library->plugin(), *exchange, drive);
  if (!result) return fail(result.error());
  const Result<DriveJson> ranks = gather(*exchange, drive, *result);
  if (!ranks) return fail(ranks.error());
  if (drive.rank > 0) return kDone;
  print(options.json ? drive_document(drive, *ranks).dump(2) + "\n" : drive_text(drive, *ranks));
  return kDone;
}

Result<int> start_ranks(const nccl::DriveOptions& drive) {
  launch::RunPlan plan;
  plan.places = launch::place_ranks(static_cast<uint32_t>(drive.size), {""});
  plan.words = launch::own_words();
  plan.file = launch::own_file();
  plan.ranks_report = true;
  plan.own_failure = kCouldNotRun;
  return launch::run_ranks(plan, {print_error, print_warning});
}

// The text that is the same on the rank that failed first and on those that report its failure.
std::string cause_of(const Error& error) {
  constexpr std::string_view kFailed = " failed: ";
  const std::string text = error.message();
  const size_t failed = text.find(kFailed);
  const bool of_other = text.starts_with("rank ") && failed != std::string::npos;
  return of_other ? text.substr(failed + kFailed.size()) : text;
}

// The exit status. The supervisor ends the other ranks by SIGTERM, of which these print nothing.
int report_end(const Error& error) {
  if (error.code == ErrorCode::kCancelled && interrupted() != 0) {
    if (interrupted() == SIGINT && first_to_report("stopped")) print_progress("stopped");
    return interrupted_exit_status();
  }
  if (first_to_report(cause_of(error))) print_error(error);
  return nccl::is_plugin_failure(error.code) ? kFoundWrong : kCouldNotRun;
}

int run_drive(const DriveCommandOptions& options) {
  const Result<nccl::DriveOptions> drive = parse(options);
  const bool starts = !options.rank && !environment_number("HEDDLE_RANK");
  if (!starts) catch_interrupts();
  const Result<int> status = !drive   ? fail(drive.error())
                             : starts ? start_ranks(*drive)
                                      : run_rank(options, *drive);
  return status ? *status : report_end(status.error());
}

void add_rank_options(CLI::App& command, DriveCommandOptions& options) {
  command.add_option("--rank", options.rank, "run this rank only")
      ->type_name("R")
      ->check(whole_number(0, 1'023))
      ->default_str("HEDDLE_RANK, else all ranks on this machine");
  command.add_option("--ranks", options.size, "number of ranks")
      ->type_name("N")
      ->check(whole_number(2, 1'024))
      ->default_str("HEDDLE_SIZE, else 2");
  command
      .add_option("--exchange", options.exchange,
                  "an empty or new folder that all ranks share, for handles")
      ->type_name("FOLDER")
      ->default_str("that of the launcher's run");
  command.add_option("--device", options.drive.device, "device of the plugin")
      ->type_name("N")
      ->check(whole_number(0, 1'023))
      ->capture_default_str();
  command.add_option("--table", options.table_version, "version of the net table")
      ->type_name("N")
      ->check(whole_number(6, 12))
      ->default_str("the newest that the plugin exports");
}

void add_traffic_options(CLI::App& command, DriveCommandOptions& options) {
  command.add_option("--pattern", options.pattern, "which messages go where")
      ->type_name("ring|tree|p2p|registered")
      ->check(one_of({"ring", "tree", "p2p", "registered"}))
      ->capture_default_str();
  command.add_option("--protocol", options.protocol, "NCCL's protocol, which bounds messages")
      ->type_name("simple|ll|ll128")
      ->check(one_of({"simple", "ll", "ll128"}))
      ->capture_default_str();
  command.add_option("--bytes", options.bytes, "size of a rank's buffer in one iteration")
      ->type_name("SIZE")
      ->check(size_value(1))
      ->capture_default_str();
  command.add_option("--message", options.message, "the most of one message")
      ->type_name("SIZE")
      ->check(size_value(1))
      ->default_str("the most that NCCL sends at once");
  command.add_option("--channels", options.drive.channels, "comms to each neighbor")
      ->type_name("N")
      ->check(whole_number(1, 32))
      ->capture_default_str();
  command.add_option("-t,--time", options.time, "duration")
      ->type_name("DURATION")
      ->check(duration_value(millis(1)))
      ->default_str("2s");
  command
      .add_option("-i,--iterations", options.drive.iterations,
                  "number of iterations, in place of a duration")
      ->type_name("N")
      ->check(whole_number(1));
  command.add_option("--zero-every", options.drive.zero_every, "send each N-th message empty")
      ->type_name("N")
      ->check(whole_number(1))
      ->default_str("none");
  command.add_flag("--check", options.drive.check, "compare every byte received");
}

}  // namespace

void add_nccl_drive_command(CLI::App& group, Invocation& invocation) {
  CLI::App* const command =
      group.add_subcommand("drive", "move NCCL's traffic over a net plugin, without a GPU");
  command->footer(kExample + exit_status_help("the plugin failed, or data arrived changed",
                                              "could not begin, or the exchange folder failed"));
  const auto options = std::make_shared<DriveCommandOptions>();
  command->add_option("plugin", options->plugin, "the plugin's file or name")
      ->required()
      ->type_name("PLUGIN");
  add_rank_options(*command, *options);
  add_traffic_options(*command, *options);
  add_json_option(*command, options->json);
  command->callback(
      [options, &invocation] { invocation.run = [options] { return run_drive(*options); }; });
}

}  // namespace heddle::cli
