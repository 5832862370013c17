// `heddle diagnose`: see diagnose_command.h.
#include "apps/cli/diagnose_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/command_line/value_checks.h"
#include "apps/cli/json.h"
#include "apps/cli/terminal.h"
#include "base/printable.h"
#include "base/quantity.h"
#include "insight/diagnosis.h"
#include "monitor/documents.h"
#include "recordings/contents.h"
#include "recordings/merged_reader.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle record -o job -- heddle run -n 4 -- heddle bench allreduce
  heddle diagnose job

Without a verdict, see what could not be judged: too short a recording is not a healthy job.)";

struct DiagnoseOptions {
  std::string path;
  std::string since;
  bool json = false;
};

Json json_of(const insight::Diagnosis& diagnosis, const std::vector<insight::Verdict>& verdicts) {
  Json rows = Json::array();
  for (const insight::Verdict& each : verdicts) {
    std::vector<std::string> processes;
    for (const uint32_t process : each.place.processes) {
      processes.push_back(diagnosis.parties[process].name);
    }
    rows.push_back(monitor::json_of(each, place_text(diagnosis, each.place), processes));
  }
  return rows;
}

std::string text_of(const insight::Diagnosis& diagnosis) {
  std::string text;
  for (const insight::Verdict& each : diagnosis.verdicts) text += monitor::text_of(each, "verdict");
  for (const insight::Verdict& each : diagnosis.notes) text += monitor::text_of(each, "note");
  for (const std::string& each : diagnosis.not_judged) {
    text += fmt::format("not judged: {}\n", printable(each));
  }
  if (!diagnosis.verdicts.empty()) return text;
  return text + (diagnosis.too_little()
                     ? "not enough evidence\n"
                     : fmt::format("no fault found in {} operations\n", diagnosis.operations));
}

int run(const DiagnoseOptions& options) {
  insight::DiagnosisOptions chosen;
  if (!options.since.empty()) {
    const Result<Nanos> since = parse_duration(options.since);
    if (!since) {
      print_error(since.error());
      return kCouldNotRun;
    }
    chosen.since_ns = since->count;
  }
  const auto files = recordings::recording_files(options.path);
  if (!files) {
    print_error(files.error());
    return kCouldNotRun;
  }
  recordings::MergedReader merged;
  const bool any = merged.open(*files);
  for (const Error& error : merged.unreadable()) print_error(error);
  if (!any) return kCouldNotRun;
  insight::DiagnosisBuilder builder(chosen);
  for (size_t i = 0; i < merged.files(); ++i) {
    const events::RecordingFacts& facts = merged.facts(i);
    const bool whole = facts.dropped_events == 0 && facts.blocks_damaged == 0;
    builder.add_process(
        facts.identity,
        {.closed = facts.closed, .complete = whole, .clock_error_ns = merged.clock_error_ns(i)});
  }
  size_t file = 0;
  events::RecordedEvent event;
  int64_t at_ns = 0;
  while (merged.next(file, event, at_ns)) {
    builder.add(static_cast<uint32_t>(file), event.event, at_ns);
  }
  for (const std::string& warning : merged.warnings()) print_warning(warning);
  const insight::Diagnosis diagnosis = builder.finish();
  if (options.json) {
    const Json document = {{"verdicts", json_of(diagnosis, diagnosis.verdicts)},
                           {"notes", json_of(diagnosis, diagnosis.notes)},
                           {"not_judged", diagnosis.not_judged},
                           {"enough_evidence", !diagnosis.too_little()},
                           {"operations", diagnosis.operations},
                           {"began_realtime_ns", merged.began_ns()},
                           {"span_ns", diagnosis.until_ns}};
    print(document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  } else {
    print(text_of(diagnosis));
  }
  if (!diagnosis.verdicts.empty()) return kFoundWrong;
  return diagnosis.too_little() ? kCouldNotRun : kDone;
}

}  // namespace

void add_diagnose_command(CLI::App& root, Invocation& invocation) {
  CLI::App* const command = root.add_subcommand(
      "diagnose", "find the rank or link for which a recorded job hangs or is slow");
  command->footer(kExample + exit_status_help("there are verdicts",
                                              "nothing could be read, or too little to judge"));
  const auto options = std::make_shared<DiagnoseOptions>();
  add_recording(*command, options->path);
  command->add_option("--since", options->since, "slowness: judge operations that end after it")
      ->type_name("DURATION")
      ->check(duration_value(Nanos{}));
  add_json_option(*command, options->json);
  command->callback(
      [options, &invocation] { invocation.run = [options] { return run(*options); }; });
}

}  // namespace heddle::cli
