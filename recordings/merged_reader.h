// MergedReader: the events of several recordings in the order of time, on the job's clock.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "events/recording_reader.h"
#include "insight/clocks.h"

namespace heddle::recordings {

class MergedReader {
 public:
  // Opens those of the files that can be read; the others are unreadable(). False: none can.
  bool open(const std::vector<std::string>& files);

  size_t files() const { return sources_.size(); }
  const events::RecordingFacts& facts(size_t file) const { return sources_[file].reader.facts(); }
  // How its times become those of the job, since 1970.
  const insight::Clock& clock(size_t file) const { return sources_[file].clock; }
  // Of its events' times on the job's clock, at most; -1: unknown.
  int64_t clock_error_ns(size_t file) const { return sources_[file].clock.error_ns; }
  // The next event, of `file`, `at_ns` since the job's beginning; false at the end.
  bool next(size_t& file, events::RecordedEvent& event, int64_t& at_ns);
  // So far everything could be read.
  bool whole() const;
  const std::vector<Error>& unreadable() const { return unreadable_; }
  // So far: a manifest that could not be used, files of which a part is missing.
  const std::vector<std::string>& warnings() const { return warnings_; }
  // Of the job, since 1970.
  int64_t began_ns() const { return began_ns_; }

 private:
  struct Source {
    std::string file;
    events::RecordingReader reader;
    insight::Clock clock;
    events::RecordedEvent event;  // its next
    int64_t at_ns = 0;
  };
  void queue(size_t source);

  std::vector<Source> sources_;
  using Turn = std::pair<int64_t, size_t>;  // when, and which
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns_;
  int64_t began_ns_ = INT64_MAX;
  std::vector<Error> unreadable_;
  std::vector<std::string> warnings_;
};

}  // namespace heddle::recordings
