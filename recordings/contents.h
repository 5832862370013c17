// The files of a recording, and what each holds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "events/recording_reader.h"

namespace heddle::recordings {

// Of the files in a folder that are recordings.
inline constexpr const char* kRecordingSuffix = ".heddle";

// The recordings in a folder, or the one file, by name. Errors: kUnavailable, kPermission.
Result<std::vector<std::string>> recording_files(const std::string& path);

struct RecordingSummary {
  std::string file;
  events::RecordingFacts facts;
  std::map<std::string, uint64_t> events_by_kind;
  std::vector<std::string> endpoints;  // "10.0.0.1:18700"
  std::vector<events::CommunicatorMade> memberships;
  // Largest error of call times that were read from the processor's counter; -1: none were.
  int64_t stamps_off_ns = -1;
  int64_t first_ns = 0;
  int64_t last_ns = 0;
  uint64_t unknown_events = 0;
  uint64_t blocks_broken = 0;
  bool sound = true;  // nothing is missing but what the ring's size dropped

  uint64_t events() const;
  // Events that block headers count and that could not be read; blocks with damaged headers are not
  // included.
  uint64_t missing_events() const { return facts.events - std::min(facts.events, events()); }
  double seconds() const { return static_cast<double>(last_ns - first_ns) * 1e-9; }
  std::string identity(const std::string& name) const;
};

// Reads it to its end. Errors: those of RecordingReader::open().
Result<RecordingSummary> summarize_recording(const std::string& file);

}  // namespace heddle::recordings
