// See export_command.h. Rows are sent as they are read, so that a long recording needs no memory.
#include "apps/cli/export/export_command.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/export/clickhouse.h"
#include "apps/cli/record/alignment.h"
#include "apps/cli/record/contents.h"
#include "apps/cli/terminal.h"
#include "base/interrupt.h"
#include "events/recording_reader.h"
#include "insight/summary.h"
#include "insight/timeline.h"
#include "insight/traffic.h"

namespace heddle::cli {
namespace {

using Table = ClickHouse::Table;
using insight::Moment;
using insight::MomentKind;

constexpr const char* kExample = R"(Example:
  heddle record export job --clickhouse http://localhost:8123/
  HEDDLE_CLICKHOUSE_USER=me HEDDLE_CLICKHOUSE_PASSWORD=$(cat secret) \
    heddle record export job --clickhouse https://ch.example:8443/ --job run-17

User and password are read from HEDDLE_CLICKHOUSE_USER and HEDDLE_CLICKHOUSE_PASSWORD, because
other users can read a command line.

Creates the tables processes, flows and moments in the database where they are missing; a column
"job" distinguishes jobs. docs/how-to/record_a_job.md has queries for a matrix and a summary. The
program curl sends the data.

An export that fails changes nothing in the database. --replace replaces the three tables' rows
one table after the other when all rows have arrived, and reports a failure between them.)";

constexpr std::array kKinds = {"call",     "wait",     "phase",  "message",
                               "recovery", "transfer", "kernel", "host"};

struct ExportOptions {
  std::string path;
  std::string url;
  std::string database = "heddle";
  std::string job;
  bool replace = false;
};

class Export {
 public:
  Export(std::string job, ClickHouse& server) : job_(std::move(job)), server_(server) {}

  // Errors: those of the server; kCancelled.
  Result<void> read(const std::vector<std::string>& files) {
    const Alignment alignment = alignment_of(files);
    for (const std::string& file : files) {
      if (Result<void> sent = read_file(file, alignment); !sent) return sent;
    }
    timeline_.finish();
    if (Result<void> sent = add_processes(); !sent) return sent;
    if (Result<void> sent = add_flows(); !sent) return sent;
    return error_ ? fail(*error_) : server_.finish();
  }
  bool whole() const { return whole_; }
  size_t processes() const { return facts_.size(); }
  uint64_t moments() const { return moments_; }

 private:
  Result<void> read_file(const std::string& file, const Alignment& alignment) {
    auto reader = events::RecordingReader::open(file);
    if (!reader) {
      print_error(reader.error());
      whole_ = false;
      return {};
    }
    insight::Clock own;
    own.offset_from_ns = own.offset_to_ns = reader->facts().first_offset_ns;
    own.error_ns = -1;
    const insight::Clock* const known = alignment.clock(file);
    clocks_.push_back(known == nullptr ? own : *known);
    const insight::Clock clock = clocks_.back();
    const uint32_t process = summary_.add_process(reader->facts().identity);
    traffic_.add_process(reader->facts().identity);
    timeline_.add_process([clock](int64_t ns) { return clock.to_job(ns); });
    events::RecordedEvent recorded;
    while (!error_ && reader->next(recorded)) {
      summary_.add(process, recorded.event);
      traffic_.add(process, recorded.event, recorded.writer);
      timeline_.add(process, recorded.event);
    }
    facts_.push_back(reader->facts());
    whole_ = whole_ && reader->sound();
    if (interrupted() != 0) {
      return fail(ErrorCode::kCancelled, "nothing was exported", "it was interrupted",
                  "start again");
    }
    return error_ ? fail(*error_) : Result<void>();
  }

  void add_moment(const Moment& moment) {
    if (error_) return;
    ++moments_;
    Row row;
    row << job_ << moment.process << kKinds.at(static_cast<size_t>(moment.kind)) << moment.name
        << moment.begin_ns << moment.end_ns << moment.bytes << moment.communicator << moment.number
        << moment.algorithm << moment.ok << moment.ended;
    Result<void> sent = server_.add(Table::kMoments, row);
    if (!sent) error_ = sent.error();
  }

  Result<void> add_processes() {
    const insight::Summary summary = summary_.finish();
    for (uint32_t i = 0; i < summary.processes.size(); ++i) {
      const insight::ProcessSummary& process = summary.processes[i];
      Row row;
      row << job_ << i << process.party.rank << process.party.name << process.party.host
          << insight::value_of(facts_[i].identity, "command") << process.events
          << facts_[i].dropped_events << clocks_[i].to_job(process.first.count)
          << clocks_[i].to_job(process.last.count) << clocks_[i].error_ns << process.calls
          << process.calls_failed << process.communicating.count << process.exposed.count
          << process.segments_lost << facts_[i].closed;
      if (Result<void> sent = server_.add(Table::kProcesses, row); !sent) return sent;
    }
    return {};
  }

  Result<void> add_flows() {
    const insight::Traffic traffic = traffic_.finish();
    for (const insight::Flow& flow : traffic.flows) {
      const insight::Party& from = traffic.parties[flow.from];
      const insight::Party& to = traffic.parties[flow.to];
      const insight::Purpose& purpose = traffic.purposes[flow.purpose];
      const insight::Cell& cell = flow.cell;
      const bool any_path = flow.path == insight::kAnyPath;
      Row row;
      row << job_ << from.rank << to.rank << from.name << to.name << from.host << to.host
          << traffic.nics[flow.from_nic] << traffic.nics[flow.to_nic]
          << (purpose.operation ? std::string(name_of(*purpose.operation)) : "")
          << (purpose.algorithm ? std::string(name_of(*purpose.algorithm)) : "")
          << purpose.communicator << purpose.phase << (any_path ? int64_t{-1} : int64_t{flow.path})
          << purpose.own << cell.bytes << cell.messages << cell.nanos << cell.sent_bytes
          << cell.wire_bytes << cell.packets << cell.expected_bytes;
      if (Result<void> sent = server_.add(Table::kFlows, row); !sent) return sent;
    }
    return {};
  }

  const std::string job_;
  ClickHouse& server_;
  insight::SummaryBuilder summary_;
  insight::TrafficBuilder traffic_;
  insight::TimelineBuilder timeline_{[this](const Moment& moment) { add_moment(moment); }};
  std::vector<insight::Clock> clocks_;
  std::vector<events::RecordingFacts> facts_;
  std::optional<Error> error_;
  uint64_t moments_ = 0;
  bool whole_ = true;
};

// Not settings, which `heddle config show` prints.
Credentials credentials_of_environment() {
  const char* const user = std::getenv("HEDDLE_CLICKHOUSE_USER");
  const char* const password = std::getenv("HEDDLE_CLICKHOUSE_PASSWORD");
  Credentials made{user == nullptr ? "" : user, password == nullptr ? "" : password};
  if (made.user.empty() && !made.password.empty()) made.user = "default";  // the server's
  return made;
}

std::string name_of_job(const ExportOptions& options) {
  if (!options.job.empty()) return options.job;
  std::error_code unknown;
  const auto path = std::filesystem::absolute(options.path, unknown).lexically_normal();
  return path.has_filename() ? path.filename().string() : path.parent_path().filename().string();
}

int run(const ExportOptions& options) {
  const auto files = recording_files(options.path);
  if (!files) {
    print_error(files.error());
    return kCouldNotRun;
  }
  const auto server = HttpPost::to(options.url, credentials_of_environment());
  if (!server) {
    print_error(server.error());
    return kCouldNotRun;
  }
  signal(SIGPIPE, SIG_IGN);  // curl may end before it has read all
  catch_interrupts();
  const std::string job = name_of_job(options);
  ClickHouse database(*server, options.database, job);
  Result<void> begun = database.begin(options.replace);
  Export exported(job, database);
  Result<void> sent = begun ? exported.read(*files) : std::move(begun);
  if (!sent) {
    print_error(sent.error());
    return interrupted() != 0 ? interrupted_exit_status() : kCouldNotRun;
  }
  print(fmt::format("{} processes and {} moments of the job {} are in {} on {}\n",
                    exported.processes(), exported.moments(), job, options.database,
                    server->shown()));
  return exported.whole() ? kDone : kFoundWrong;
}

std::string check_name(const std::string& name) {
  const bool plain = !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char each) {
    return std::isalnum(each) != 0 || each == '_';
  });
  return plain ? "" : "'" + name + "' has other characters than letters, digits and '_'";
}

}  // namespace

void add_export_command(CLI::App& record, Invocation& invocation) {
  CLI::App* const command = record.add_subcommand("export", "export a recording to ClickHouse");
  command->footer(kExample + exit_status_help("some of the recording could not be read",
                                              "nothing was exported"));
  const auto options = std::make_shared<ExportOptions>();
  add_recording(*command, options->path);
  command->add_option("--clickhouse", options->url, "address of ClickHouse's HTTP interface")
      ->required()
      ->type_name("URL");
  command->add_option("--database", options->database, "database of the tables")
      ->check(check_name)
      ->type_name("NAME")
      ->capture_default_str();
  command->add_option("--job", options->job, "name of the job in the tables")
      ->type_name("NAME")
      ->default_str("the folder's name");
  command->add_flag("--replace", options->replace, "replace a job of the same name");
  command->callback(
      [options, &invocation] { invocation.run = [options] { return run(*options); }; });
}

}  // namespace heddle::cli
