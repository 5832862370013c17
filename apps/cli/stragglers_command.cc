// `heddle stragglers`: see stragglers_command.h.
#include "apps/cli/stragglers_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/command_line/value_checks.h"
#include "apps/cli/params.h"
#include "apps/cli/stragglers/report.h"
#include "apps/cli/terminal.h"
#include "base/document.h"
#include "base/printable.h"
#include "base/quantity.h"
#include "insight/stragglers.h"
#include "recordings/pipeline_timeline.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  gunzip timeline.json.gz
  heddle stragglers timeline.json
  heddle stragglers timeline.json --first-step 20 --rows 3

Reads Chrome trace events of training with pipeline parallelism, whose threads are named by their
stage: forward and backward computations, transfers between stages, and what reduces and applies
gradients. Steps are replayed with durations that are even, which is the mean of their kind
(computation) or the median (communication). The tables show how much longer a step takes if only
one stage, operation, rank or worker is as measured. See docs/how-to/find_stragglers.md.)";

struct StragglersOptions {
  std::string file;
  uint32_t first_step = 0;
  uint32_t last_step = params::stragglers::kMostStep;
  size_t rows = 5;
  bool json = false;
};

void warn_of_left_out(const recordings::PipelineTimeline& timeline) {
  if (timeline.left_out.empty()) return;
  uint64_t operations = 0;
  std::string names;
  size_t named = 0;
  for (const auto& [name, count] : timeline.left_out) {
    operations += count;
    if (++named <= params::stragglers::kNamed)
      names += (names.empty() ? "'" : ", '") + printable(name) + "'";
  }
  if (named > params::stragglers::kNamed) names += ", ...";
  print_warning(counted_text(operations, "operation") +
                " left out, whose place in a step is not known: " + names);
}

// Only the steps that were asked for.
Result<void> choose_steps(const StragglersOptions& options,
                          std::vector<insight::PipelineEvent>& events) {
  const auto [first, last] = std::minmax_element(
      events.begin(), events.end(), [](const auto& a, const auto& b) { return a.step < b.step; });
  const uint32_t begins = first->step;
  const uint32_t ends = last->step;
  std::erase_if(events, [&](const insight::PipelineEvent& event) {
    return event.step < options.first_step || event.step > options.last_step;
  });
  if (!events.empty()) return {};
  return fail(ErrorCode::kInvalid, "cannot find stragglers", "none of its steps is asked for",
              fmt::format("the timeline has steps {} to {}", begins, ends));
}

Result<insight::Stragglers> look(const StragglersOptions& options) {
  const Result<std::string> text = read_text_file(options.file, "see what it is called");
  if (!text) return fail(text.error());
  Result<recordings::PipelineTimeline> timeline =
      recordings::read_pipeline_timeline(*text, options.file);
  if (!timeline) return fail(timeline.error());
  warn_of_left_out(*timeline);
  if (Result<void> chosen = choose_steps(options, timeline->events); !chosen) {
    return fail(chosen.error());
  }
  return insight::find_stragglers(std::move(timeline->events));
}

int run(const StragglersOptions& options) {
  const Result<insight::Stragglers> found = look(options);
  if (!found) {
    print_error(found.error());
    return kCouldNotRun;
  }
  if (found->steps_left_out > 0) {
    print_warning(counted_text(found->steps_left_out, "step") +
                  " left out: incomplete, or with other operations than most");
  }
  print(options.json ? stragglers_document(*found).dump(2) + "\n"
                     : stragglers_text(*found, options.rows));
  return found->is_slow() ? kFoundWrong : kDone;
}

}  // namespace

void add_stragglers_command(CLI::App& root, Invocation& invocation) {
  CLI::App* const command = root.add_subcommand(
      "stragglers", "find what the slowest operations of pipelined training cost");
  command->footer(kExample +
                  exit_status_help("a step takes a tenth longer, or more, than with even "
                                   "operations",
                                   "the timeline could not be read"));
  const auto options = std::make_shared<StragglersOptions>();
  command->add_option("timeline", options->file, "Chrome trace events (JSON)")
      ->required()
      ->type_name("FILE");
  command->add_option("--first-step", options->first_step, "leave out steps before this one")
      ->type_name("STEP")
      ->check(whole_number(0, params::stragglers::kMostStep));
  command->add_option("--last-step", options->last_step, "leave out steps after this one")
      ->type_name("STEP")
      ->check(whole_number(0, params::stragglers::kMostStep));
  command
      ->add_option("--rows", options->rows,
                   "stages, ranks and workers to show at most, the slowest first (default: 5)")
      ->type_name("N")
      ->check(whole_number(1, params::stragglers::kMostRows));
  add_json_option(*command, options->json);
  command->callback(
      [options, &invocation] { invocation.run = [options] { return run(*options); }; });
}

}  // namespace heddle::cli
