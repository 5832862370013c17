// `heddle timeline`: see timeline_command.h.
#include "apps/cli/timeline_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/command_line/value_checks.h"
#include "apps/cli/output.h"
#include "apps/cli/params.h"
#include "apps/cli/terminal.h"
#include "apps/cli/timeline/load_page.h"
#include "apps/cli/timeline/writer.h"
#include "base/quantity.h"
#include "recordings/alignment.h"
#include "recordings/contents.h"
#include "recordings/merged_reader.h"
#include "recordings/node_files.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle record -o job -- heddle run -n 4 -- heddle bench allreduce
  heddle timeline job -o job.json        # open it at ui.perfetto.dev or chrome://tracing
  heddle timeline job --since 0.5 --until 0.6 --format csv
  heddle timeline job --format html -o job.html    # each NIC's load, and microbursts

--since and --until count from the beginning of the recording. Hosts' clocks are aligned;
`heddle record info` prints how well.)";

struct TimelineOptions {
  std::string path;
  std::string format = "perfetto";
  std::string output;
  std::vector<std::string> only;
  std::string from;
  std::string to;
  double from_s = -std::numeric_limits<double>::infinity();
  double to_s = std::numeric_limits<double>::infinity();
};

// Where the text goes; many pieces a system call.
class Output {
 public:
  explicit Output(const std::string& file) : file_(file) {
    if (file.empty()) return;
    errno = 0;
    out_.open(file, std::ios::binary | std::ios::trunc);
    note_failure();
  }
  void put(const std::string& text) {
    held_ += text;
    if (held_.size() >= params::timeline::kWrittenAtOnce) flush();
  }
  // Errors: kSystem.
  Result<void> close() {
    flush();
    if (file_.empty()) return {};
    out_.close();
    note_failure();
    if (out_) return {};
    return fail(ErrorCode::kSystem, "cannot write " + file_, std::strerror(why_),
                "choose another file, or make room there");
  }

 private:
  void flush() {
    if (file_.empty()) {
      print(held_);
    } else {
      out_ << held_;
      note_failure();
    }
    held_.clear();
  }
  // Later ones only follow from the first.
  void note_failure() {
    if (!out_ && why_ == 0) why_ = errno;
  }

  const std::string file_;
  std::ofstream out_;
  int why_ = 0;
  std::string held_;
};

// Prints the moments of the files between two times.
class TimelinePrinter {
 public:
  TimelinePrinter(const TimelineOptions& options, TimelineWriter& writer)
      : options_(options),
        writer_(writer),
        builder_([this](const insight::Moment& moment) { pass_on(moment); }) {}

  // False: none could be read.
  bool open(const std::vector<std::string>& files) {
    const recordings::Alignment alignment = recordings::alignment_of(files);
    print_warning(alignment.warning);
    std::vector<insight::Party> parties;
    insight::MachineClocks clocks;
    for (const std::string& file : files) {
      auto reader = events::RecordingReader::open(file);
      if (!reader) {
        print_error(reader.error());
        whole_ = false;
        continue;
      }
      const events::RecordingFacts& facts = reader->facts();
      insight::Clock own;
      own.offset_from_ns = own.offset_to_ns = facts.first_offset_ns;
      const insight::Clock* const known = alignment.clock(file);
      const insight::Clock& clock = known == nullptr ? own : *known;
      began_ns_ = std::min(began_ns_, clock.to_job(facts.first_ns));
      parties.push_back(insight::party_of(facts.identity));
      clocks.add(facts.identity, clock);
      builder_.add_process([clock](int64_t ns) { return clock.to_job(ns); });
      files_.push_back(file);
    }
    add_nodes(clocks, parties);
    writer_.begin(parties);
    return !files_.empty();
  }

  // False: some could not be read.
  bool print_all() {
    for (uint32_t process = 0; process < files_.size(); ++process) {
      auto reader = events::RecordingReader::open(files_[process]);
      if (!reader) {
        print_error(reader.error());
        whole_ = false;
        continue;
      }
      events::RecordedEvent recorded;
      while (reader->next(recorded)) builder_.add(process, recorded.event);
      whole_ = whole_ && reader->sound();
      if (!reader->sound())
        print_warning(files_[process] + " is damaged: what could be read is there");
    }
    for (const auto& [node, event] : of_nodes_) builder_.add(node, event);
    builder_.finish();
    writer_.end();
    return whole_;
  }
  bool printed_any() const { return printed_any_; }

 private:
  // A machine is there, behind the processes, if it reported anything.
  void add_nodes(const insight::MachineClocks& clocks, std::vector<insight::Party>& parties) {
    const recordings::Nodes nodes(recordings::node_files(options_.path), clocks);
    for (const Error& error : nodes.unreadable()) print_error(error);
    std::map<size_t, uint32_t> numbers;
    nodes.read([&](size_t file, const events::AnyEvent& event, int64_t /*realtime_ns*/) {
      const bool shown = std::holds_alternative<events::KernelMessage>(event) ||
                         std::holds_alternative<events::NicLinkChanged>(event);
      if (!shown) return;
      const auto [number, fresh] = numbers.emplace(file, 0);
      if (fresh) {
        const std::string host = nodes.host(file);
        parties.push_back({.name = "machine " + host, .host = host});
        const insight::Clock clock = nodes.clock(file);
        number->second = builder_.add_process([clock](int64_t ns) { return clock.to_job(ns); });
      }
      of_nodes_.emplace_back(number->second, event);
    });
  }

  void pass_on(const insight::Moment& moment) {
    const int64_t begin = since_beginning(moment.begin_ns);
    const int64_t end = since_beginning(moment.end_ns);
    if (static_cast<double>(end) * 1e-9 < options_.from_s) return;
    if (static_cast<double>(begin) * 1e-9 > options_.to_s) return;
    const auto& only = options_.only;
    if (!only.empty() && std::find(only.begin(), only.end(), kind_name(moment.kind)) == only.end())
      return;
    writer_.write(moment, begin, end);
    printed_any_ = true;
  }
  // Times of a damaged recording may be any.
  int64_t since_beginning(int64_t ns) const {
    return static_cast<int64_t>(static_cast<uint64_t>(ns) - static_cast<uint64_t>(began_ns_));
  }

  const TimelineOptions& options_;
  TimelineWriter& writer_;
  insight::TimelineBuilder builder_;
  std::vector<std::string> files_;
  std::vector<std::pair<uint32_t, events::AnyEvent>> of_nodes_;
  int64_t began_ns_ = INT64_MAX;
  bool whole_ = true;
  bool printed_any_ = false;
};

int64_t nanos_of(double seconds) {
  constexpr double kMost = 9e9;
  return static_cast<int64_t>(std::clamp(seconds, -kMost, kMost) * 1e9);
}

// The page of each NIC's load.
int show_load(const TimelineOptions& options, const std::vector<std::string>& files) {
  recordings::MergedReader merged;
  const bool any = merged.open(files);
  for (const Error& error : merged.unreadable()) print_error(error);
  if (!any) return kCouldNotRun;
  insight::LoadBuilder builder(
      {.from_ns = nanos_of(options.from_s), .to_ns = nanos_of(options.to_s)});
  for (size_t i = 0; i < merged.files(); ++i) builder.add_process(merged.facts(i).identity);
  size_t file = 0;
  events::RecordedEvent event;
  int64_t at_ns = 0;
  while (merged.next(file, event, at_ns)) {
    builder.add(static_cast<uint32_t>(file), event.event, event.writer, at_ns);
  }
  for (const std::string& warning : merged.warnings()) print_warning(warning);
  const insight::Load load = builder.finish();
  if (load.end_ns == 0) {
    print_error({ErrorCode::kUnavailable, "cannot show the load",
                 "nothing of it was recorded in that time",
                 "choose other times, or record again with this heddle"});
    return kCouldNotRun;
  }
  std::filesystem::path path(options.path);
  if (!path.has_filename()) path = path.parent_path();
  const std::string title = "Load over time: " + path.filename().string();
  if (auto written = write_output(options.output, load_page(load, title)); !written) {
    print_error(written.error());
    return kCouldNotRun;
  }
  return merged.whole() ? kDone : kFoundWrong;
}

Result<void> take_times(TimelineOptions& options) {
  const auto take = [](const std::string& text, double& time_s) -> Result<void> {
    if (text.empty()) return {};
    const Result<Nanos> duration = parse_duration(text);
    if (!duration) return fail(duration.error());
    time_s = to_seconds(*duration);
    return {};
  };
  if (Result<void> taken = take(options.from, options.from_s); !taken) return taken;
  return take(options.to, options.to_s);
}

int run(TimelineOptions options) {
  if (Result<void> taken = take_times(options); !taken) {
    print_error(taken.error());
    return kCouldNotRun;
  }
  const auto files = recordings::recording_files(options.path);
  if (!files) {
    print_error(files.error());
    return kCouldNotRun;
  }
  if (options.format == "html") return show_load(options, *files);
  Output output(options.output);
  const auto out = [&output](const std::string& text) { output.put(text); };
  const std::unique_ptr<TimelineWriter> writer =
      options.format == "csv" ? make_csv_writer(out) : make_trace_writer(out);
  TimelinePrinter printer(options, *writer);
  if (!printer.open(*files)) return kCouldNotRun;
  const bool whole = printer.print_all();
  if (Result<void> closed = output.close(); !closed) {
    print_error(closed.error());
    return kCouldNotRun;
  }
  if (!whole) return kFoundWrong;
  const bool all = std::isinf(options.from_s) && std::isinf(options.to_s);
  if (printer.printed_any() || all) return kDone;
  print_error({ErrorCode::kUnavailable, "cannot say what happened",
               "no operation, message or wait was recorded in that time",
               "choose other times: seconds since the recording began"});
  return kCouldNotRun;
}

}  // namespace

void add_timeline_command(CLI::App& root, Invocation& invocation) {
  CLI::App* const command =
      root.add_subcommand("timeline", "show what each rank of a recorded job did, and when");
  command->footer(kExample + exit_status_help(
                                 "some of the recording could not be read",
                                 "none of it could be read, or nothing was recorded in that time"));
  const auto options = std::make_shared<TimelineOptions>();
  add_recording(*command, options->path);
  command->add_option("--format", options->format, "format of the output; perfetto is JSON")
      ->type_name("perfetto|csv|html")
      ->check(one_of({"perfetto", "csv", "html"}))
      ->capture_default_str();
  command->add_option("--only", options->only, "leave out other kinds of moments; not for html")
      ->type_name("KIND,...")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(one_of(
          {"call", "wait", "phase", "message", "recovery", "transfer", "kernel", "host", "node"}));
  command->add_option("--since", options->from, "leave out what ended before this time")
      ->type_name("DURATION")
      ->check(duration_value(Nanos{}));
  command->add_option("--until", options->to, "leave out what began after this time")
      ->type_name("DURATION")
      ->check(duration_value(Nanos{}));
  add_output_option(*command, options->output);
  command->callback(
      [options, &invocation] { invocation.run = [options] { return run(*options); }; });
}

}  // namespace heddle::cli
