// `heddle matrix`: see matrix_command.h.
#include "apps/cli/matrix_command.h"

#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <memory>
#include <string>

#include "apps/cli/matrix/show.h"
#include "apps/cli/record/contents.h"
#include "apps/cli/terminal.h"
#include "insight/matrix.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle record -o job -- heddle run -n 4 -- heddle ranks
  heddle matrix job
  heddle matrix job --by host --unit count --format csv

Counted is what was delivered: whole messages, once, whatever was repeated on the way.

Exit status: 0 done, 1 when some of the recording could not be read, 2 when nothing could.)";

struct MatrixOptions {
  std::string path;
  std::string by = "rank";
  std::string unit = "bytes";
  std::string format = "text";
};

// Adds all events of a file. False: some of it could not be read.
bool add_file(const std::string& file, insight::MatrixBuilder& builder, size_t& read) {
  auto reader = events::RecordingReader::open(file);
  if (!reader) {
    print_error(reader.error());
    return false;
  }
  ++read;
  const uint32_t process = builder.add_process(reader->facts().identity);
  events::RecordedEvent recorded;
  while (reader->next(recorded)) builder.add(process, recorded.event);
  const events::RecordingFacts& facts = reader->facts();
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

int run(const MatrixOptions& options) {
  const auto files = recording_files(options.path);
  if (!files) {
    print_error(files.error());
    return kCouldNotRun;
  }
  insight::MatrixBuilder builder;
  bool whole = true;
  size_t read = 0;
  for (const std::string& file : *files) whole = add_file(file, builder, read) && whole;
  if (read == 0) return kCouldNotRun;
  insight::Matrix matrix = builder.finish();
  if (matrix.unplaced.messages > 0) {
    print_warning(
        fmt::format("{} messages stand in no cell: the beginning of their connections "
                    "was dropped; give more --mebibytes",
                    matrix.unplaced.messages));
    whole = false;
  }
  if (options.by == "host") matrix = insight::by_host(matrix);
  const MatrixUnit unit = options.unit == "count" ? MatrixUnit::kCount : MatrixUnit::kBytes;
  if (options.format == "json") {
    print(matrix_json(matrix, unit).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  } else {
    print(options.format == "csv" ? matrix_csv(matrix)
                                  : matrix_text(matrix, unit, shows_colours()));
  }
  return whole ? kDone : kFoundWrong;
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
  choice("--by", options->by, "a row and column for each", {"rank", "host"});
  choice("--unit", options->unit, "what is counted", {"bytes", "count"});
  choice("--format", options->format, "how it is shown", {"text", "csv", "json"});
  command->callback(
      [options, &invocation] { invocation.run = [options] { return run(*options); }; });
}

}  // namespace heddle::cli
