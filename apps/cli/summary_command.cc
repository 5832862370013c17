// `heddle summary`: see summary_command.h.
#include "apps/cli/summary_command.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>

#include "apps/cli/record/contents.h"
#include "apps/cli/summary/show.h"
#include "apps/cli/terminal.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle record -o job -- heddle run -n 4 -- heddle bench allreduce
  heddle summary job

Exposed is the time in which a caller did nothing but wait for a call; the rest of the time in which
calls were under way was hidden behind something else.

Exit status: 0 done, 1 when some of the recording could not be read, 2 when nothing could.)";

struct SummaryOptions {
  std::string path;
  bool json = false;
};

// Adds all events of a file. False: some of it could not be read.
bool add_file(const std::string& file, insight::SummaryBuilder& summary,
              insight::TrafficBuilder& traffic, JobSummary& job) {
  auto reader = events::RecordingReader::open(file);
  if (!reader) {
    print_error(reader.error());
    return false;
  }
  const events::RecordingFacts& facts = reader->facts();
  const uint32_t process = summary.add_process(facts.identity);
  traffic.add_process(facts.identity);
  events::RecordedEvent recorded;
  while (reader->next(recorded)) {
    summary.add(process, recorded.event);
    traffic.add(process, recorded.event, recorded.writer);
  }
  job.files.push_back({insight::value_of(facts.identity, "command"), facts.closed, reader->sound(),
                       facts.dropped_events, insight::value_of(facts.identity, "source"),
                       insight::value_of(facts.identity, "level")});
  return reader->sound();
}

int run(const SummaryOptions& options) {
  const auto files = recording_files(options.path);
  if (!files) {
    print_error(files.error());
    return kCouldNotRun;
  }
  insight::SummaryBuilder summary;
  insight::TrafficBuilder traffic;
  JobSummary job;
  bool whole = true;
  for (const std::string& file : *files) whole = add_file(file, summary, traffic, job) && whole;
  if (job.files.empty()) return kCouldNotRun;
  job.summary = summary.finish();
  job.traffic = traffic.finish();
  job.findings = findings_of_files(job);
  for (insight::Finding& finding : insight::findings_of(job.summary, job.traffic)) {
    job.findings.push_back(std::move(finding));
  }
  print(options.json ? summary_json(job).dump(2, ' ', false, Json::error_handler_t::replace) + "\n"
                     : summary_text(job));
  return whole ? kDone : kFoundWrong;
}

}  // namespace

void add_summary_command(CLI::App& root, Invocation& invocation) {
  CLI::App* const command =
      root.add_subcommand("summary", "one page on what a recorded job's communication came to");
  command->footer(kExample);
  const auto options = std::make_shared<SummaryOptions>();
  command->add_option("folder", options->path, "the folder of a recording, or one file of it")
      ->required()
      ->type_name("FILE");
  command->add_flag("--json", options->json, "print one JSON document");
  command->callback(
      [options, &invocation] { invocation.run = [options] { return run(*options); }; });
}

}  // namespace heddle::cli
