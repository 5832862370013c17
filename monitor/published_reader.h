// Reader of what monitors publish (publication.h). The bytes come from a network: whatever they
// are, what is kept of them is bounded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/nanos.h"

namespace heddle::monitor {

struct PublishedAlarm {
  uint64_t number = 0;
  std::string what;  // its class
  std::string place;
  std::string host;
  std::string summary;
  std::string action;
  double confidence = 0;
  int64_t raised_ns = 0;    // since the job's beginning
  int64_t cleared_ns = -1;  // -1: it lasts
};

// Of each message.
struct PublishedHead {
  std::string job;
  std::string id;
  std::string monitor;  // its host
  std::string folder;
  int64_t run_ns = 0;     // when the monitor began
  uint64_t sequence = 0;  // of its messages
  int64_t job_ns = 0;
};

struct PublishedChange {
  PublishedHead head;
  bool raised = true;
  PublishedAlarm alarm;
};

struct PublishedState {
  PublishedHead head;
  Nanos every;
  bool last = false;
  bool over = false;
  bool whole = true;
  uint64_t operations = 0;
  uint64_t alarms_raised = 0;
  uint64_t alarms_lasting = 0;  // `alarms` may be fewer
  std::vector<PublishedAlarm> alarms;
  uint64_t running = 0;  // processes
  uint64_t ended = 0;
  uint64_t not_heard = 0;
  uint64_t hosts = 0;
  uint64_t hosts_not_heard = 0;
  uint64_t dropped = 0;  // messages that the monitor could not publish
};

// Nothing: it is no such message, or of another version.
std::optional<PublishedChange> read_published_change(std::string_view text);
std::optional<PublishedState> read_published_state(std::string_view text);

}  // namespace heddle::monitor
