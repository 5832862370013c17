// `heddle diagnose`: see diagnose_command.h.
#include "apps/cli/diagnose_command.h"

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
#include "apps/cli/json.h"
#include "apps/cli/params.h"
#include "apps/cli/terminal.h"
#include "base/printable.h"
#include "base/quantity.h"
#include "insight/diagnosis.h"
#include "insight/node_evidence.h"
#include "insight/party.h"
#include "monitor/documents.h"
#include "recordings/contents.h"
#include "recordings/merged_reader.h"
#include "recordings/node_files.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle record -o job -- heddle run -n 4 -- heddle bench allreduce
  heddle diagnose job

Without a verdict, see what could not be judged: too short a recording is not a healthy job.)";

struct DiagnoseOptions {
  std::string path;
  std::string since;
  std::string hung_for;
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

Json json_of(const std::vector<insight::Rhythm>& rhythms) {
  Json rows = Json::array();
  for (const insight::Rhythm& each : rhythms) {
    const auto& change = each.change;
    const bool changed = change.since_ns >= 0;
    rows.push_back({{"communicator", fmt::format("{:016x}", each.communicator)},
                    {"operations_a_step", each.operations_a_step},
                    {"agreement", each.agreement},
                    {"steps", each.steps},
                    {"step_ns", each.step_ns},
                    {"step_spread", each.step_spread},
                    {"regular", each.regular()},
                    {"changed_ns", changed ? Json(change.since_ns) : Json()},
                    {"step_before_ns", changed ? Json(change.before_ns) : Json()},
                    {"step_after_ns", changed ? Json(change.after_ns) : Json()}});
  }
  return rows;
}

Json json_of(const insight::Diagnosis& diagnosis,
             const std::vector<insight::DelayMatrix>& matrices) {
  Json rows = Json::array();
  for (const insight::DelayMatrix& each : matrices) {
    std::vector<std::string> processes;
    for (const uint32_t process : each.processes) {
      processes.push_back(diagnosis.parties[process].name);
    }
    rows.push_back({{"communicator", fmt::format("{:016x}", each.communicator)},
                    {"processes", processes},
                    {"seconds", each.seconds}});  // NaN becomes null
  }
  return rows;
}

// Whether the job's calls are regular enough for what is said of steps.
std::string text_of(const std::vector<insight::Rhythm>& rhythms) {
  std::string text;
  for (size_t i = 0; i < std::min(rhythms.size(), params::diagnose::kMostShown); ++i) {
    const insight::Rhythm& each = rhythms[i];
    text += fmt::format("communicator {:016x}: ", each.communicator);
    if (each.operations_a_step == 0) {
      text += "its calls do not repeat, so steps are not compared\n";
      continue;
    }
    text += fmt::format("{} of {}, {} each (spread {:.1f}%)\n", counted_text(each.steps, "step"),
                        counted_text(each.operations_a_step, "collective"),
                        duration_text({each.step_ns}), 100 * each.step_spread);
  }
  if (rhythms.size() > params::diagnose::kMostShown) {
    text +=
        fmt::format("and {} more, see --json\n",
                    counted_text(rhythms.size() - params::diagnose::kMostShown, "communicator"));
  }
  return text;
}

std::string text_of(const insight::Diagnosis& diagnosis,
                    const std::vector<std::string>& not_sampled) {
  std::string text;
  for (const insight::Verdict& each : diagnosis.verdicts) text += monitor::text_of(each, "verdict");
  for (const insight::Verdict& each : diagnosis.notes) text += monitor::text_of(each, "note");
  for (const std::string& each : diagnosis.not_judged) {
    text += fmt::format("not judged: {}\n", printable(each));
  }
  for (const std::string& each : not_sampled) {
    text += fmt::format("not sampled: {}\n", printable(each));
  }
  text += text_of(diagnosis.rhythms);
  if (!diagnosis.verdicts.empty()) return text;
  return text + (diagnosis.too_little()
                     ? "not enough evidence\n"
                     : fmt::format("no fault found in {} operations\n", diagnosis.operations));
}

// Adds what the machines reported as evidence. Returns what was not sampled.
std::vector<std::string> add_nodes(const std::string& path, const recordings::MergedReader& merged,
                                   insight::Diagnosis& diagnosis) {
  insight::MachineClocks clocks;
  insight::MachineHosts hosts;
  for (size_t i = 0; i < merged.files(); ++i) {
    clocks.add(merged.facts(i).identity, merged.clock(i));
    hosts.add(merged.facts(i).identity);
  }
  const recordings::Nodes nodes(recordings::node_files(path), clocks);
  for (const Error& error : nodes.unreadable()) print_error(error);
  std::vector<std::vector<insight::NodePlace>> places;
  for (size_t i = 0; i < nodes.files(); ++i) {
    places.push_back(recordings::node_places(hosts, nodes.facts(i).identity, i));
  }
  insight::NodeEvidence evidence(diagnosis);
  nodes.read([&](size_t file, const events::AnyEvent& event, int64_t realtime_ns) {
    const Nanos at = saturating_difference({realtime_ns}, {merged.began_ns()});
    for (const insight::NodePlace& each : places[file]) evidence.add(each, event, at.count);
  });
  evidence.finish();
  return nodes.complaints();
}

// Dumps of other tools do not say when they were written, so their last call is their end: a job
// that hung has waited since. Returns whether there are any.
bool add_wait(const recordings::MergedReader& merged, int64_t until_ns,
              insight::DiagnosisBuilder& builder) {
  bool any = false;
  for (size_t i = 0; i < merged.files(); ++i) {
    if (insight::value_of(merged.facts(i).identity, "source").empty()) continue;
    builder.add(static_cast<uint32_t>(i), events::Mark{{}, events::Text("hung"), 0}, until_ns);
    any = true;
  }
  return any;
}

int run(const DiagnoseOptions& options) {
  insight::DiagnosisOptions chosen;
  Nanos hung_for;
  for (const auto& [text, value] : {std::pair{&options.since, &chosen.since_ns},
                                    std::pair{&options.hung_for, &hung_for.count}}) {
    if (text->empty()) continue;
    const Result<Nanos> parsed = parse_duration(*text);
    if (!parsed) {
      print_error(parsed.error());
      return kCouldNotRun;
    }
    *value = parsed->count;
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
  if (hung_for.count > 0 &&
      !add_wait(merged, saturating_difference({at_ns}, {-hung_for.count}).count, builder)) {
    print_error({ErrorCode::kInvalid, "cannot use --hung-for",
                 "these are heddle's recordings, which say how long each rank was silent",
                 "leave it out"});
    return kCouldNotRun;
  }
  insight::Diagnosis diagnosis = builder.finish();
  const std::vector<std::string> not_sampled = add_nodes(options.path, merged, diagnosis);
  if (options.json) {
    const Json document = {{"verdicts", json_of(diagnosis, diagnosis.verdicts)},
                           {"notes", json_of(diagnosis, diagnosis.notes)},
                           {"rhythms", json_of(diagnosis.rhythms)},
                           {"delays", json_of(diagnosis, diagnosis.delays)},
                           {"not_judged", diagnosis.not_judged},
                           {"not_sampled", not_sampled},
                           {"enough_evidence", !diagnosis.too_little()},
                           {"operations", diagnosis.operations},
                           {"began_realtime_ns", merged.began_ns()},
                           {"span_ns", diagnosis.until_ns}};
    print(document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  } else {
    print(text_of(diagnosis, not_sampled));
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
  command
      ->add_option("--hung-for", options->hung_for,
                   "other tools' dumps: how long the job had hung when they were written")
      ->type_name("DURATION")
      ->check(duration_value());
  add_json_option(*command, options->json);
  command->callback(
      [options, &invocation] { invocation.run = [options] { return run(*options); }; });
}

}  // namespace heddle::cli
