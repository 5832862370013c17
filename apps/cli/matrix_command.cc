// `heddle matrix`: see matrix_command.h.
#include "apps/cli/matrix_command.h"

#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/command_line/value_checks.h"
#include "apps/cli/matrix/fabric.h"
#include "apps/cli/matrix/page.h"
#include "apps/cli/matrix/show.h"
#include "apps/cli/output.h"
#include "apps/cli/record/nccl_graphs.h"
#include "apps/cli/terminal.h"
#include "insight/matrix.h"
#include "recordings/contents.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle record -o job -- heddle run -n 4 -- heddle bench allreduce
  heddle matrix job
  heddle matrix job --by op --expected
  heddle matrix job --by host,phase --unit count --format csv
  heddle matrix job --format html -o job.html
  heddle matrix job --format html -o job.html --topology fabric.toml
  heddle matrix job --expected --nccl-graph nccl.log

Counted is delivered payload, each byte once, without retransmissions. heddle's own messages
between ranks are shown separately. NICs and paths share messages, so for them bytes on the wire
are counted: every packet sent, with its headers.

--by takes what a row stands for (rank, host, nic), what is shown separately (op, communicator,
algorithm, path, phase), or one of each with a comma between.)";

const std::vector<std::string> kRows = {"rank", "host", "nic"};
// As insight::MatrixParts counts them.
const std::vector<std::string> kParts = {"op", "communicator", "algorithm", "path", "phase"};

struct MatrixOptions {
  std::string path;
  std::vector<std::string> by;
  std::string unit = "bytes";
  std::string format = "text";
  bool json = false;  // as the format
  std::string output;
  bool expected = false;
  bool wire = false;
  std::string topology;
  std::string counters;
  std::string routers;
  std::vector<std::string> nccl_graph;
};

// Adds all events of a file. False: some of it could not be read.
bool add_file(const std::string& file, insight::TrafficBuilder& builder, size_t& read,
              uint64_t& dropped_events) {
  auto reader = events::RecordingReader::open(file);
  if (!reader) {
    print_error(reader.error());
    return false;
  }
  ++read;
  const uint32_t process = builder.add_process(reader->facts().identity);
  events::RecordedEvent recorded;
  while (reader->next(recorded)) builder.add(process, recorded.event, recorded.writer);
  const events::RecordingFacts& facts = reader->facts();
  dropped_events += facts.dropped_events;
  if (facts.dropped_events > 0) {
    print_warning(fmt::format("{}: {} older events were dropped, their messages are not counted",
                              file, facts.dropped_events));
  }
  if (!reader->sound()) print_warning(file + " is damaged: what could be read of it is counted");
  return reader->sound();
}

bool shows_colours() {
  const char* refused = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) != 0 && (refused == nullptr || refused[0] == '\0');
}

size_t place_of(const std::vector<std::string>& names, const std::string& name) {
  return static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

// Messages are neither a NIC's nor a path's: what left on each of those is known.
MatrixCount counted_of(const insight::Traffic& traffic, const MatrixView& view) {
  const insight::Cell total = view.whole.total();
  if (total.wire_bytes > 0) {
    const bool apart = view.rows == "nic" || view.parts_of == "path" || !traffic.has_messages;
    return apart ? MatrixCount::kWire : MatrixCount::kDelivered;
  }
  return view.parts_of == "path" ? MatrixCount::kSent : MatrixCount::kDelivered;
}

MatrixView view_of(const insight::Traffic& traffic, const MatrixOptions& options) {
  MatrixView view;
  for (const std::string& each : options.by) {
    (place_of(kRows, each) < kRows.size() ? view.rows : view.parts_of) = each;
  }
  // A page lets choose among operations where nothing else was asked for.
  if (options.format == "html" && view.parts_of.empty()) view.parts_of = "op";
  const auto rows = static_cast<insight::MatrixRows>(place_of(kRows, view.rows));
  view.whole = insight::make_matrix(traffic, rows);
  if (!view.parts_of.empty()) {
    const auto parts = static_cast<insight::MatrixParts>(place_of(kParts, view.parts_of));
    view.parts = insight::matrix_parts(traffic, rows, parts);
  }
  if (options.unit == "count") view.unit = MatrixUnit::kCount;
  if (options.unit == "time" && view.parts_of != "path") view.unit = MatrixUnit::kTime;
  view.counted = counted_of(traffic, view);
  view.expected = options.expected;
  view.wire = options.wire;
  view.calls = traffic.calls;
  view.calls_without_formula = traffic.calls_without_formula;
  return view;
}

std::string shown(const MatrixView& view, const MatrixOptions& options) {
  const std::string title = std::filesystem::path(options.path).filename().string();
  if (options.format == "json") {
    return matrix_json(view).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }
  if (options.format == "csv") return matrix_csv(view);
  if (options.format == "html")
    return matrix_page(view, "Bytes from each sender to each receiver: " + title);
  if (options.format == "svg") return matrix_svg(view, title);
  return matrix_text(view, options.output.empty() && shows_colours());
}

Result<void> add_fabric(const insight::Traffic& traffic, const MatrixOptions& options,
                        MatrixView& view) {
  if (options.topology.empty()) return {};
  Result<Json> fabric = fabric_json({options.topology, options.counters, options.routers}, traffic);
  if (!fabric) return fail(fabric.error());
  view.fabric = std::move(*fabric);
  return {};
}

bool asks_for(const MatrixOptions& options, const std::string& what) {
  return place_of(options.by, what) < options.by.size();
}

// What the recording does not hold.
std::optional<Error> cannot_show(const insight::Traffic& traffic, const MatrixOptions& options) {
  const insight::Cell total = insight::make_matrix(traffic, insight::MatrixRows::kHost).total();
  if (asks_for(options, "path") && total.packets + total.memory_messages == 0) {
    return Error{ErrorCode::kUnavailable, "cannot say what went on which path",
                 "it was recorded by a heddle that did not count it", "record again with this one"};
  }
  if (traffic.has_messages || total.packets == 0) return std::nullopt;
  // Which calls there were is known above the level counters, and with it what was on the wire.
  const bool by_call = asks_for(options, "op") || asks_for(options, "algorithm");
  if ((!by_call || traffic.calls > 0) && options.unit != "time") return std::nullopt;
  return Error{ErrorCode::kUnavailable, "cannot say what messages were for",
               "messages were not recorded", "record again with `--level messages`"};
}

int run(const MatrixOptions& options) {
  const auto files = recordings::recording_files(options.path);
  if (!files) {
    print_error(files.error());
    return kCouldNotRun;
  }
  const auto graphs = read_nccl_graphs(options.nccl_graph);
  if (!graphs) {
    print_error(graphs.error());
    return kCouldNotRun;
  }
  insight::TrafficBuilder builder;
  bool whole = true;
  size_t read = 0;
  uint64_t dropped_events = 0;
  for (const std::string& file : *files) {
    whole = add_file(file, builder, read, dropped_events) && whole;
  }
  if (read == 0) return kCouldNotRun;
  const insight::Traffic traffic = builder.finish(&*graphs);
  note_unused_graphs(*graphs, traffic);
  if (traffic.unplaced.messages > 0) {
    print_warning(
        fmt::format("{} messages are in no cell: the beginning of their connections "
                    "was dropped; give `heddle record` a larger --max-size",
                    traffic.unplaced.messages));
    whole = false;
  }
  if (options.expected && traffic.calls == traffic.calls_without_formula) {
    print_warning(
        "nothing is expected: no call of a collective with a formula was recorded (NCCL's calls "
        "have one where its graph is given: --nccl-graph)");
  }
  if (const std::optional<Error> refused = cannot_show(traffic, options); refused) {
    print_error(*refused);
    return kCouldNotRun;
  }
  MatrixView view = view_of(traffic, options);
  view.dropped_events = dropped_events;
  Result<void> written = add_fabric(traffic, options, view);
  if (written) written = write_output(options.output, shown(view, options));
  if (!written) {
    print_error(written.error());
    return kCouldNotRun;
  }
  return whole ? kDone : kFoundWrong;
}

// Errors as the command line wants them: empty is none.
std::string check_by(const std::vector<std::string>& by) {
  size_t rows = 0;
  size_t parts = 0;
  for (const std::string& each : by) {
    rows += place_of(kRows, each) < kRows.size() ? 1 : 0;
    parts += place_of(kParts, each) < kParts.size() ? 1 : 0;
  }
  if (rows + parts < by.size()) {
    return "--by: choose among rank, host, nic, op, communicator, algorithm, path, phase";
  }
  return rows > 1 || parts > 1 ? "--by: rows are one of rank, host and nic, parts of the others"
                               : "";
}

}  // namespace

void add_matrix_command(CLI::App& root, Invocation& invocation) {
  CLI::App* const command =
      root.add_subcommand("matrix", "show how much each rank, host or NIC sent to each other one");
  command->footer(kExample + exit_status_help("some of the recording could not be read",
                                              "none of it could be read"));
  const auto options = std::make_shared<MatrixOptions>();
  add_recording(*command, options->path);
  const auto choice = [&](const char* name, std::string& value, const char* doc,
                          const std::vector<std::string>& choices) {
    return command->add_option(name, value, doc)
        ->type_name(choices_text(choices))
        ->check(one_of(choices))
        ->capture_default_str();
  };
  command->add_option("--by", options->by, "what a row stands for, and what is shown separately")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("rank|host|nic,op|communicator|algorithm|path|phase")
      ->default_str("rank");
  choice("--unit", options->unit, "what is counted", {"bytes", "count", "time"});
  auto* const format = choice("--format", options->format, "format of the output",
                              {"text", "csv", "json", "svg", "html"});
  auto* const json = add_json_option(*command, options->json);
  json->excludes(format);
  command->add_flag("--expected", options->expected,
                    "also show what the formulas of the algorithms expect");
  add_nccl_graph_option(*command, options->nccl_graph);
  command->add_flag("--wire", options->wire,
                    "also show bytes on the wire, with headers and retransmissions");
  add_output_option(*command, options->output);
  auto* const topology = add_topology_option(
      *command, options->topology, "with --format html: also show the fabric of this file");
  command
      ->add_option("--counters", options->counters,
                   "counters of its links: output of heddle lab status --json or heddle sim --json")
      ->type_name("FILE")
      ->needs(topology);
  command
      ->add_option("--routers", options->routers,
                   "addresses and names of its switches, in the format of /etc/hosts; not needed "
                   "for a lab")
      ->type_name("FILE")
      ->needs(topology);
  command->callback([options, &invocation] {
    const std::string wrong = check_by(options->by);
    if (!wrong.empty()) throw CLI::ValidationError(wrong);
    if (options->json) options->format = "json";
    if (!options->topology.empty() && options->format != "html") {
      throw CLI::ValidationError("--topology: only a page (--format html) shows it");
    }
    invocation.run = [options] { return run(*options); };
  });
}

}  // namespace heddle::cli
