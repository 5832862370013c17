// See recorded_question.h.
#include "apps/cli/size/recorded_question.h"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <utility>
#include <vector>

#include "apps/cli/plan/advise/recorded.h"
#include "apps/cli/workload/recorded_job.h"
#include "base/quantity.h"
#include "insight/summary.h"
#include "planner/recorded_steps.h"
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

// The step of median length is the one that is sized.
void take_steps(planner::RecordedSteps steps, planner::WorkloadQuestion& question) {
  const std::vector<double> shares = planner::waiting_shares(steps);
  std::vector<size_t> order(shares.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&steps](size_t one, size_t other) {
    return steps.took[one] < steps.took[other];
  });
  for (size_t i = 0; i < shares.size(); ++i) {
    const double took_s = to_seconds(steps.took[i]);
    question.waits.exposed_s += shares[i] * took_s;
    question.waits.recorded_s += took_s;
  }
  question.waits.steps = shares.size();
  question.notes.push_back(
      "the step is the median of " + counted_text(shares.size(), "recorded step") + " alike, " +
      std::to_string(steps.left_out) + " left out" +
      (steps.marked ? ""
                    : "; the program marks none: the shortest sequence of calls that repeats"));
  question.job = std::move(steps.jobs[order[(order.size() - 1) / 2]]);
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
  RecordedQuestion made{.question = {}, .whole = recorded->whole};
  made.question.recording = path;
  made.question.notes = recorded->replay.notes;
  Result<planner::RecordedSteps> steps =
      planner::cut_steps(recorded->replay.job, trails_of(recorded->replay), 0);
  if (steps) {
    take_steps(std::move(*steps), made.question);
    return made;
  }
  const auto waits = waits_of(path);
  if (!waits) return fail(waits.error());
  made.question.waits = *waits;
  made.question.notes.push_back("a step is all that was recorded: " + steps.error().why);
  made.question.job = std::move(recorded->replay.job);
  return made;
}

}  // namespace heddle::cli
