// See overview.h.
#include "monitor/overview.h"

#include <algorithm>
#include <utility>

#include "monitor/params.h"
#include "monitor/publication.h"

namespace heddle::monitor {
namespace {

Nanos stale_after(const OverviewJob& job) {
  return std::max(params::kLeastStale, job.head.every * params::kStaleIntervals);
}

bool is_of(std::string_view subject, const PublishedHead& head, std::string_view kind) {
  return subject.ends_with("." + published_subject(head.job, head.id, kind));
}

}  // namespace

const char* name_of(JobState state) {
  switch (state) {
    case JobState::kWatched:
      return "watched";
    case JobState::kStale:
      return "stale";
    case JobState::kStopped:
      return "stopped";
    case JobState::kOver:
      break;
  }
  return "over";
}

const char* name_of(OverviewEvent::Kind kind) {
  using Kind = OverviewEvent::Kind;
  switch (kind) {
    case Kind::kAppeared:
      return "appeared";
    case Kind::kBack:
      return "back";
    case Kind::kRaised:
      return "raised";
    case Kind::kCleared:
      return "cleared";
    case Kind::kStale:
      return "stale";
    case Kind::kStopped:
      return "stopped";
    case Kind::kOver:
      return "over";
    case Kind::kGone:
      break;
  }
  return "gone";
}

size_t Overview::lasting_alarms() const {
  size_t all = 0;
  for (const auto& [id, job] : jobs_) all += job.alarms.size();
  return all;
}

std::vector<OverviewEvent> Overview::take(std::string_view subject, std::string_view text,
                                          Nanos now) {
  std::vector<OverviewEvent> events;
  if (subject.ends_with(".change")) {
    const auto change = read_published_change(text);
    if (change && is_of(subject, change->head, "change")) {
      take(*change, now, events);
      return events;
    }
  } else if (subject.ends_with(".state")) {
    auto state = read_published_state(text);
    if (state && is_of(subject, state->head, "state")) {
      take(std::move(*state), now, events);
      return events;
    }
  }
  ++not_read_;
  return events;
}

OverviewJob* Overview::job_of(const PublishedHead& head, Nanos now,
                              std::vector<OverviewEvent>& events) {
  const std::string key = published_subject(head.job, head.id, "");
  auto found = jobs_.find(key);
  if (found == jobs_.end()) {
    if (jobs_.size() == params::kMostJobs) {
      ++not_read_;
      return nullptr;
    }
    found = jobs_.try_emplace(key).first;
    found->second.changed_at = now;
    events.push_back({OverviewEvent::Kind::kAppeared, head, {}});
  }
  OverviewJob& job = found->second;
  if (head.run_ns < job.head.run_ns && job.state == JobState::kWatched) {
    ++ignored_;
    return nullptr;
  }
  if (head.run_ns != job.head.run_ns) {
    // Another monitor of the same recordings counts its alarms anew.
    for (const auto& [number, alarm] : job.alarms) {
      events.push_back({OverviewEvent::Kind::kCleared, job.head, alarm});
    }
    job.alarms.clear();
  } else if (head.sequence <= job.head.sequence) {
    // It says nothing new, but that its monitor is there: a busy one sends its last state again.
    if (job.state == JobState::kWatched || job.state == JobState::kStale) hear(job, now, events);
    return nullptr;
  }
  job.head = head;
  hear(job, now, events);
  return &job;
}

void Overview::hear(OverviewJob& job, Nanos now, std::vector<OverviewEvent>& events) {
  job.heard_at = now;
  if (job.state == JobState::kWatched) return;
  events.push_back({OverviewEvent::Kind::kBack, job.head, {}});
  job.state = JobState::kWatched;
  job.changed_at = now;
}

void Overview::raise(OverviewJob& job, const PublishedAlarm& alarm,
                     std::vector<OverviewEvent>& events) {
  if (alarm.cleared_ns >= 0) return;
  const auto [at, fresh] = job.alarms.try_emplace(alarm.number, alarm);
  if (!fresh) {
    at->second = alarm;
  } else if (job.alarms.size() > params::kMostPublishedAlarms) {
    job.alarms.erase(at);
    job.all_alarms = false;
  } else {
    events.push_back({OverviewEvent::Kind::kRaised, job.head, alarm});
  }
}

void Overview::take(const PublishedChange& change, Nanos now, std::vector<OverviewEvent>& events) {
  OverviewJob* const job = job_of(change.head, now, events);
  if (job == nullptr) return;
  if (change.raised) return raise(*job, change.alarm, events);
  if (job->alarms.erase(change.alarm.number) == 0) return;
  events.push_back({OverviewEvent::Kind::kCleared, job->head, change.alarm});
}

void Overview::compare(OverviewJob& job, const PublishedState& state,
                       std::vector<OverviewEvent>& events) {
  job.all_alarms = state.alarms_lasting <= state.alarms.size();
  for (auto each = job.alarms.begin(); each != job.alarms.end();) {
    const bool lasts = std::any_of(state.alarms.begin(), state.alarms.end(),
                                   [&](const auto& now) { return now.number == each->first; });
    if (lasts || !job.all_alarms) {
      ++each;
      continue;
    }
    events.push_back({OverviewEvent::Kind::kCleared, job.head, each->second});
    each = job.alarms.erase(each);
  }
  for (const PublishedAlarm& alarm : state.alarms) raise(job, alarm, events);
}

void Overview::take(PublishedState state, Nanos now, std::vector<OverviewEvent>& events) {
  OverviewJob* const job = job_of(state.head, now, events);
  if (job == nullptr) return;
  compare(*job, state, events);
  if (state.over || state.last) {
    job->state = state.over ? JobState::kOver : JobState::kStopped;
    job->changed_at = now;
    events.push_back(
        {state.over ? OverviewEvent::Kind::kOver : OverviewEvent::Kind::kStopped, job->head, {}});
  }
  state.alarms.clear();
  job->last = std::move(state);
}

std::vector<OverviewEvent> Overview::tick(Nanos now, const ServerHeard& server) {
  std::vector<OverviewEvent> events;
  // Before this connection nothing could be heard, and monitors have lost the server too.
  const auto silent_for = [&server](Nanos since) {
    const bool before = since < server.connected_at;
    return server.answered_at - (before ? server.connected_at + params::kMonitorsReturn : since);
  };
  for (auto each = jobs_.begin(); each != jobs_.end();) {
    OverviewJob& job = each->second;
    if (job.state == JobState::kWatched && silent_for(job.heard_at) >= stale_after(job)) {
      job.state = JobState::kStale;
      job.changed_at = now;
      events.push_back({OverviewEvent::Kind::kStale, job.head, {}});
    }
    const Nanos kept = job.state == JobState::kStale ? params::kForgetStale : params::kForgetOver;
    if (job.state == JobState::kWatched || silent_for(job.changed_at) < kept) {
      ++each;
      continue;
    }
    events.push_back({OverviewEvent::Kind::kGone, job.head, {}});
    each = jobs_.erase(each);
  }
  return events;
}

}  // namespace heddle::monitor
