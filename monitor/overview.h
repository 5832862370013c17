// Overview: the jobs of a site and their faults, from what their monitors publish. It holds a
// bounded state of each job, and forgets jobs that have gone. A pure function of messages and time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/nanos.h"
#include "monitor/published_reader.h"

namespace heddle::monitor {

enum class JobState : uint8_t {
  kWatched,
  kStale,    // its monitor is silent: it has died, or cannot reach the server
  kStopped,  // its monitor was ended before the job
  kOver,     // the job is over
};
const char* name_of(JobState state);

struct OverviewJob {
  PublishedHead head;
  JobState state = JobState::kWatched;
  PublishedState last;                        // as it was published last; its alarms are below
  std::map<uint64_t, PublishedAlarm> alarms;  // that last, by number
  bool all_alarms = true;                     // false: there are more
  Nanos heard_at;                             // by the overview's steady clock
  Nanos changed_at;                           // its state
};

struct OverviewEvent {
  enum class Kind : uint8_t { kAppeared, kBack, kRaised, kCleared, kStale, kStopped, kOver, kGone };
  Kind kind = Kind::kAppeared;
  PublishedHead head;
  PublishedAlarm alarm;  // of kRaised and kCleared
};
const char* name_of(OverviewEvent::Kind kind);

// What is known of the server, by the overview's steady clock.
struct ServerHeard {
  Nanos connected_at;  // since when the overview is connected
  Nanos answered_at;   // until when all that the server had has come; it stands still without one
};

class Overview {
 public:
  // A message of a subject that ends in "change" or "state". It speaks of the job that its subject
  // names, or counts as not read: a server may allow a client the subjects of its own jobs only.
  std::vector<OverviewEvent> take(std::string_view subject, std::string_view text, Nanos now);
  // What follows from time alone, of which only that with the server counts: without it no monitor
  // is silent.
  std::vector<OverviewEvent> tick(Nanos now, const ServerHeard& server);

  const std::map<std::string, OverviewJob>& jobs() const { return jobs_; }  // by name and id
  uint64_t not_read() const { return not_read_; }  // messages that are none, or of one job too many
  // Messages of a monitor that began before the one that watches the job: two watch it.
  uint64_t ignored() const { return ignored_; }
  size_t lasting_alarms() const;

 private:
  // Null: the message is old, or there are too many jobs.
  OverviewJob* job_of(const PublishedHead& head, Nanos now, std::vector<OverviewEvent>& events);
  static void hear(OverviewJob& job, Nanos now, std::vector<OverviewEvent>& events);
  void take(const PublishedChange& change, Nanos now, std::vector<OverviewEvent>& events);
  void take(PublishedState state, Nanos now, std::vector<OverviewEvent>& events);
  static void compare(OverviewJob& job, const PublishedState& state,
                      std::vector<OverviewEvent>& events);
  static void raise(OverviewJob& job, const PublishedAlarm& alarm,
                    std::vector<OverviewEvent>& events);

  std::map<std::string, OverviewJob> jobs_;
  uint64_t not_read_ = 0;
  uint64_t ignored_ = 0;
};

}  // namespace heddle::monitor
