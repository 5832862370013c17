// LiveRecording: the events of a job that is still recorded, as they are written, on the job's
// clock. MergedReader is its counterpart for recordings that have ended.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "events/recording_reader.h"
#include "insight/clocks.h"

namespace heddle::recordings {

class LiveRecording {
 public:
  // The files are in these folders, which need not be there yet.
  explicit LiveRecording(std::vector<std::string> folders);

  // Files are numbered in the order in which they are found. `at_ns`: since the job's beginning.
  using Take =
      std::function<void(size_t file, const events::RecordedEvent& recorded, int64_t at_ns)>;
  // Takes up new files, and calls `take` with what was written since the last call, of all files in
  // order of time. `now`: a steady clock's.
  void poll(Nanos now, const Take& take);

  size_t files() const { return sources_.size(); }
  const events::RecordingFacts& facts(size_t file) const { return sources_[file].reader.facts(); }
  const std::string& path(size_t file) const { return sources_[file].path; }
  // How its times become those of the job, since 1970; estimates improve while the job runs.
  const insight::Clock& clock(size_t file) const { return sources_[file].clock; }
  // Of its events' times on the job's clock, at most; -1: unknown.
  int64_t clock_error_ns(size_t file) const { return sources_[file].clock.error_ns; }
  // Events that were overwritten before they could be read, since its file was found.
  uint64_t missed_events(size_t file) const { return sources_[file].reader.missed_events(); }
  // Files that were found and cannot be read.
  size_t unreadable() const { return complained_.size(); }
  // From here on nothing is missing, ns since the job's beginning; INT64_MIN: nothing ever was.
  int64_t whole_from_ns() const { return whole_from_ns_; }
  // Of the job, ns since 1970; INT64_MAX: no file was found yet.
  int64_t began_ns() const { return began_ns_; }
  // Why files could not be read, once each.
  std::vector<Error> take_errors() { return std::exchange(errors_, {}); }

 private:
  struct Source {
    std::string path;
    events::RecordingReader reader;
    insight::Clock clock;
    events::RecordedEvent event;  // its next
    uint64_t missed = 0;
    int64_t last_at_ns = 0;
    bool sampled = false;  // its messages are in clocks_
    int64_t sampled_until_ns = INT64_MIN;
    bool ahead = false;  // an error was reported
  };
  void find_files();
  void sample_messages();
  void hand_on(Source& source, size_t file, int64_t at, const Take& take);
  void add_file(const std::string& path);
  void align(Nanos now);
  void queue(size_t source);
  int64_t at_of(const Source& source, int64_t own_ns) const;

  std::vector<std::string> folders_;
  std::vector<Source> sources_;
  std::set<std::string> known_;       // paths that are sources
  std::set<std::string> complained_;  // paths of which an error was reported
  std::vector<Error> errors_;
  insight::ClockBuilder clocks_;
  Nanos aligned_at_;
  int64_t polled_at_ns_ = 0;  // by the wall clock, since 1970
  size_t aligned_files_ = 0;
  using Turn = std::pair<int64_t, size_t>;  // when, and which
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns_;
  int64_t began_ns_ = INT64_MAX;
  int64_t whole_from_ns_ = INT64_MIN;
};

}  // namespace heddle::recordings
