// `heddle summary`: see summary_command.h.
#include "apps/cli/summary_command.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/record/nccl_graphs.h"
#include "apps/cli/summary/show.h"
#include "apps/cli/terminal.h"
#include "recordings/alignment.h"
#include "recordings/contents.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle record -o job -- heddle run -n 4 -- heddle bench allreduce
  heddle summary job

Exposed is the time in which a caller only waited for a call. The rest of the calls' time overlapped
with computation or other calls.)";

struct SummaryOptions {
  std::string path;
  bool json = false;
  std::vector<std::string> nccl_graph;
};

// What is made of the events, in one pass.
struct Builders {
  insight::SummaryBuilder summary;
  insight::TrafficBuilder traffic;
  recordings::AlignmentBuilder alignment;
  std::vector<std::string> read;  // files
};

// Adds all events of a file, which is known by its place. False: some of it could not be read.
bool add_file(const std::string& file, size_t place, Builders& builders, JobSummary& job) {
  auto reader = events::RecordingReader::open(file);
  if (!reader) {
    print_error(reader.error());
    return false;
  }
  const events::RecordingFacts& facts = reader->facts();
  const uint32_t process = builders.summary.add_process(facts.identity);
  builders.traffic.add_process(facts.identity);
  const bool aligns = builders.alignment.needs_events();
  events::RecordedEvent recorded;
  while (reader->next(recorded)) {
    builders.summary.add(process, recorded.event);
    builders.traffic.add(process, recorded.event, recorded.writer);
    if (aligns) builders.alignment.add(place, recorded.event);
  }
  job.files.push_back({insight::value_of(facts.identity, "command"),
                       facts.closed,
                       reader->sound(),
                       facts.dropped_events,
                       insight::value_of(facts.identity, "source"),
                       insight::value_of(facts.identity, "level"),
                       {}});
  insight::Clock& clock = job.files.back().clock;  // its own wall clock's, until more is known
  clock.offset_from_ns = clock.offset_to_ns = facts.first_offset_ns;
  builders.read.push_back(file);
  return reader->sound();
}

int run(const SummaryOptions& options) {
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
  Builders builders{
      .summary = {}, .traffic = {}, .alignment = recordings::AlignmentBuilder(*files), .read = {}};
  JobSummary job;
  bool whole = true;
  for (size_t i = 0; i < files->size(); ++i) {
    whole = add_file((*files)[i], i, builders, job) && whole;
  }
  if (job.files.empty()) return kCouldNotRun;
  job.summary = builders.summary.finish();
  job.traffic = builders.traffic.finish(&*graphs);
  note_unused_graphs(*graphs, job.traffic);
  const recordings::Alignment alignment = builders.alignment.finish();
  print_warning(alignment.warning);
  for (size_t i = 0; i < builders.read.size(); ++i) {
    const insight::Clock* const known = alignment.clock(builders.read[i]);
    if (known != nullptr) job.files[i].clock = *known;
  }
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
      root.add_subcommand("summary", "summarize a recorded job's communication on one page");
  command->footer(kExample + exit_status_help("some of the recording could not be read",
                                              "none of it could be read"));
  const auto options = std::make_shared<SummaryOptions>();
  add_recording(*command, options->path);
  add_nccl_graph_option(*command, options->nccl_graph);
  add_json_option(*command, options->json);
  command->callback(
      [options, &invocation] { invocation.run = [options] { return run(*options); }; });
}

}  // namespace heddle::cli
