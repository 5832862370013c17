// See recorded_question.h.
#include "apps/cli/size/recorded_question.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "apps/cli/workload/recorded_job.h"
#include "base/quantity.h"
#include "insight/summary.h"
#include "recordings/contents.h"

namespace heddle::cli {
namespace {

// Of files that read_recorded_job() has read: what it could not read was printed.
Result<planner::RecordedWaits> waits_of(const std::string& path) {
  const auto files = recordings::recording_files(path);
  if (!files) return fail(files.error());
  insight::SummaryBuilder builder;
  for (const std::string& file : *files) {
    auto reader = events::RecordingReader::open(file);
    if (!reader) continue;
    const uint32_t process = builder.add_process(reader->facts().identity);
    events::RecordedEvent recorded;
    while (reader->next(recorded)) builder.add(process, recorded.event);
  }
  planner::RecordedWaits waits;
  for (const insight::ProcessSummary& process : builder.finish().processes) {
    if (process.calls == 0) continue;  // of no rank
    waits.exposed_s += to_seconds(process.exposed);
    waits.recorded_s += to_seconds(process.span());
  }
  return waits;
}

}  // namespace

bool is_recording(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) {
    return path.ends_with(recordings::kRecordingSuffix);
  }
  const auto files = recordings::recording_files(path);
  return files && !files->empty();
}

Result<RecordedQuestion> recorded_question(const std::string& path) {
  Result<RecordedJob> recorded = read_recorded_job(path);
  if (!recorded) return fail(std::move(recorded).error());
  const auto waits = waits_of(path);
  if (!waits) return fail(waits.error());
  RecordedQuestion made{.question = {}, .whole = recorded->whole};
  made.question.waits = *waits;
  made.question.recording = path;
  made.question.notes = std::move(recorded->replay.notes);
  size_t steps = 0;
  for (const insight::RecordedTimes& rank : recorded->replay.times) {
    steps = std::max(steps, rank.steps.size());
  }
  made.question.notes.push_back(
      steps == 0
          ? "a step is all that was recorded: the recording marks none"
          : "a step is all that was recorded: " + counted_text(steps, "step") + " of the job");
  made.question.job = std::move(recorded->replay.job);
  return made;
}

}  // namespace heddle::cli
