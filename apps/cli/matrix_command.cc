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

#include "apps/cli/matrix/fabric.h"
#include "apps/cli/matrix/page.h"
#include "apps/cli/matrix/show.h"
#include "apps/cli/output.h"
#include "apps/cli/record/contents.h"
#include "apps/cli/terminal.h"
#include "insight/matrix.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle record -o job -- heddle run -n 4 -- heddle bench allreduce
  heddle matrix job
  heddle matrix job --by op --expected
  heddle matrix job --by host,phase --unit count --format csv
  heddle matrix job --format html -o job.html
  heddle matrix job --format html -o job.html --topology fabric.toml

Counted is what was delivered: payload, each byte once, whatever was repeated on the way. What
heddle says between ranks to keep calls apart is told beside it. Of NICs and paths, which share
messages, it is what was on the wire: every packet as it left, with all its headers. --by takes what
rows stand for (rank, host, nic), what is shown apart (op, communicator, algorithm, path, phase), or
one of each.

Exit status: 0 done, 1 when some of the recording could not be read, 2 when nothing could.)";

const std::vector<std::string> kRows = {"rank", "host", "nic"};
// As insight::MatrixParts counts them.
const std::vector<std::string> kParts = {"op", "communicator", "algorithm", "path", "phase"};

struct MatrixOptions {
  std::string path;
  std::vector<std::string> by;
  std::string unit = "bytes";
  std::string format = "text";
  std::string output;
  bool expected = false;
  bool wire = false;
  std::string topology;
  std::string counters;
  std::string routers;
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
    const bool apart = view.rows == "nic" || view.parts_of == "path" || !traffic.tells_messages;
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
  if (options.format == "html") return matrix_page(view, "Who sent how much to whom: " + title);
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
std::optional<Error> cannot_tell(const insight::Traffic& traffic, const MatrixOptions& options) {
  const insight::Cell total = insight::make_matrix(traffic, insight::MatrixRows::kHost).total();
  if (asks_for(options, "path") && total.packets + total.memory_messages == 0) {
    return Error{ErrorCode::kUnavailable, "cannot tell what went on which path",
                 "it was recorded by a heddle that did not count it", "record again with this one"};
  }
  if (traffic.tells_messages || total.packets == 0) return std::nullopt;
  // Which calls there were is known above the level counters, and with it what was on the wire.
  const bool by_call = asks_for(options, "op") || asks_for(options, "algorithm");
  if ((!by_call || traffic.calls > 0) && options.unit != "time") return std::nullopt;
  return Error{ErrorCode::kUnavailable, "cannot tell what messages were for",
               "messages were not recorded", "record again with `--level messages`"};
}

int run(const MatrixOptions& options) {
  const auto files = recording_files(options.path);
  if (!files) {
    print_error(files.error());
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
  const insight::Traffic traffic = builder.finish();
  if (traffic.unplaced.messages > 0) {
    print_warning(
        fmt::format("{} messages stand in no cell: the beginning of their connections "
                    "was dropped; give more --mebibytes",
                    traffic.unplaced.messages));
    whole = false;
  }
  if (options.expected && traffic.calls == traffic.calls_without_formula) {
    print_warning("nothing is expected: no call of a collective with a formula was recorded");
  }
  if (const std::optional<Error> refused = cannot_tell(traffic, options); refused) {
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
    return "--by: choose of rank, host, nic, op, communicator, algorithm, path, phase";
  }
  return rows > 1 || parts > 1 ? "--by: rows are one of rank, host and nic, parts of the others"
                               : "";
}

}  // namespace

void add_matrix_command(CLI::App& root, Invocation& invocation) {
  CLI::App* const command =
      root.add_subcommand("matrix", "show who sent how much to whom in a recording");
  command->footer(kExample);
  const auto options = std::make_shared<MatrixOptions>();
  command->add_option("folder", options->path, "the folder of a recording, or one file of it")
      ->required()
      ->type_name("FILE");
  const auto choice = [&](const char* name, std::string& value, const char* doc,
                          const std::vector<std::string>& choices) {
    std::string type;
    for (const std::string& each : choices) type += (type.empty() ? "" : "|") + each;
    command->add_option(name, value, doc)
        ->type_name(type)
        ->check(CLI::IsMember(choices))
        ->capture_default_str();
  };
  command->add_option("--by", options->by, "what rows stand for, and what is shown apart")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("rank|host|nic,op|communicator|algorithm|path|phase");
  choice("--unit", options->unit, "what is counted", {"bytes", "count", "time"});
  choice("--format", options->format, "how it is shown", {"text", "csv", "json", "svg", "html"});
  command->add_flag("--expected", options->expected,
                    "show beside it what the formulas of the algorithms expect");
  command->add_flag("--wire", options->wire,
                    "show beside it what was on the wire, headers and repeats included");
  command->add_option("-o,--output", options->output, "a file to write to")->type_name("FILE");
  command
      ->add_option("--topology", options->topology,
                   "of a page: shows the fabric of this file beside the matrix")
      ->type_name("FILE");
  command
      ->add_option(
          "--counters", options->counters,
          "of its links: what `heddle lab status --json` or `heddle sim --json` has printed")
      ->type_name("FILE");
  command
      ->add_option("--routers", options->routers,
                   "of its links: addresses and names of switches, as /etc/hosts has them, for "
                   "paths that were traced; a lab's are known")
      ->type_name("FILE");
  command->callback([options, &invocation] {
    const std::string wrong = check_by(options->by);
    if (!wrong.empty()) throw CLI::ValidationError(wrong);
    if (!options->counters.empty() && options->topology.empty()) {
      throw CLI::ValidationError("--counters: the links are those of a --topology");
    }
    if (!options->routers.empty() && options->topology.empty()) {
      throw CLI::ValidationError("--routers: the switches are those of a --topology");
    }
    if (!options->topology.empty() && options->format != "html") {
      throw CLI::ValidationError("--topology: only a page (--format html) shows it");
    }
    invocation.run = [options] { return run(*options); };
  });
}

}  // namespace heddle::cli
