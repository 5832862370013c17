// See recorded_job.h.
#include "apps/cli/workload/recorded_job.h"

#include <utility>

#include "apps/cli/terminal.h"
#include "events/recording_reader.h"
#include "recordings/contents.h"

namespace heddle::cli {

Result<RecordedJob> read_recorded_job(const std::string& path) {
  return read_recorded_job(std::vector<std::string>{path});
}

Result<RecordedJob> read_recorded_job(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    const auto of_path = recordings::recording_files(path);
    if (!of_path) return fail(of_path.error());
    files.insert(files.end(), of_path->begin(), of_path->end());
  }
  insight::JobReplayBuilder builder;
  RecordedJob job;
  for (const std::string& file : files) {
    auto reader = events::RecordingReader::open(file);
    if (!reader) {
      print_error(reader.error());
      job.whole = false;
      continue;
    }
    const uint32_t process = builder.add_process(reader->facts().identity);
    events::RecordedEvent recorded;
    while (reader->next(recorded)) builder.add(process, recorded.event);
    if (reader->sound()) continue;
    job.whole = false;
    print_warning(file + " is damaged: what could be read is there");
  }
  Result<insight::JobReplay> replay = builder.finish();
  if (!replay) return fail(std::move(replay).error());
  job.replay = std::move(*replay);
  return job;
}

}  // namespace heddle::cli
