// See overview_documents.h.
#include "apps/cli/monitor/overview_documents.h"

#include <fmt/format.h>

#include <utility>

#include "base/printable.h"
#include "base/quantity.h"

namespace heddle::cli {
namespace {

using monitor::JobState;
using monitor::OverviewEvent;
using monitor::OverviewJob;
using monitor::PublishedAlarm;

double seconds_of(int64_t ns) { return 1e-9 * static_cast<double>(ns); }

std::string meaning_of(const OverviewEvent& event) {
  using Kind = OverviewEvent::Kind;
  switch (event.kind) {
    case Kind::kAppeared:
      return "is watched on " + event.head.monitor;
    case Kind::kBack:
      return "is watched again on " + event.head.monitor;
    case Kind::kRaised:
      return fmt::format("alarm {}: {}: {}", event.alarm.number, event.alarm.what,
                         event.alarm.summary);
    case Kind::kCleared:
      return fmt::format("over: alarm {}, {} of {}", event.alarm.number, event.alarm.what,
                         event.alarm.place);
    case Kind::kStale:
      return fmt::format("its monitor on {} is silent: it has ended, or does not reach the server",
                         event.head.monitor);
    case Kind::kStopped:
      return fmt::format("its monitor on {} was ended", event.head.monitor);
    case Kind::kOver:
      return fmt::format("the job is over after {:.1f} s", seconds_of(event.head.job_ns));
    case Kind::kGone:
      break;
  }
  return "is forgotten";
}

Json head_json(const monitor::PublishedHead& head) {
  return {{"job", head.job},
          {"id", head.id},
          {"monitor", head.monitor},
          {"folder", head.folder},
          {"job_ns", head.job_ns}};
}

Json alarm_json(const PublishedAlarm& alarm) {
  return {{"number", alarm.number},       {"class", alarm.what},
          {"place_text", alarm.place},    {"host", alarm.host},
          {"raised_ns", alarm.raised_ns}, {"confidence", alarm.confidence},
          {"summary", alarm.summary},     {"try", alarm.action}};
}

Json job_json(const OverviewJob& job, double heard_seconds_ago) {
  Json made = head_json(job.head);
  Json alarms = Json::array();
  for (const auto& [number, alarm] : job.alarms) alarms.push_back(alarm_json(alarm));
  made.update(Json{{"state", name_of(job.state)},
                   {"heard_seconds_ago", heard_seconds_ago},
                   {"whole", job.last.whole},
                   {"operations", job.last.operations},
                   {"alarms_raised", job.last.alarms_raised},
                   {"all_alarms", job.all_alarms},
                   {"alarms", std::move(alarms)},
                   {"processes",
                    {{"running", job.last.running},
                     {"ended", job.last.ended},
                     {"not_heard", job.last.not_heard}}},
                   {"hosts", job.last.hosts},
                   {"hosts_not_heard", job.last.hosts_not_heard},
                   {"dropped", job.last.dropped}});
  return made;
}

// Families whose samples have the job as labels.
class Families {
 public:
  explicit Families(const OverviewDocument& document) : document_(document) {}

  std::vector<metrics::Family> make() {
    add("connected", "1: the server of NATS is connected.", document_.server.connected ? 1 : 0);
    add("received_total", "Messages of monitors that came.",
        static_cast<double>(document_.server.received), metrics::Type::kCounter);
    add("dropped_total", "Messages that came while too many waited.",
        static_cast<double>(document_.server.dropped), metrics::Type::kCounter);
    add("not_read_total", "Messages that are no monitor's, or of one job too many.",
        static_cast<double>(document_.not_read), metrics::Type::kCounter);
    of_jobs("job_heard", "0: the job's monitor is silent, and the job is not over.",
            [](const OverviewJob& job) { return job.state == JobState::kStale ? 0.0 : 1.0; });
    of_jobs("job_alarms", "Faults of the job that last.",
            [](const OverviewJob& job) { return static_cast<double>(job.alarms.size()); });
    of_jobs("job_processes", "Processes of the job.", [](const OverviewJob& job) {
      return static_cast<double>(job.last.running + job.last.ended + job.last.not_heard);
    });
    return std::move(families_);
  }

 private:
  void add(const char* name, const char* help, double value,
           metrics::Type type = metrics::Type::kGauge) {
    families_.push_back({std::string("heddle_overview_") + name, help, type, {{{}, value}}});
  }

  template <typename Value>
  void of_jobs(const char* name, const char* help, Value value) {
    families_.push_back({std::string("heddle_overview_") + name, help, metrics::Type::kGauge, {}});
    for (const OverviewJob& job : document_.jobs) {
      families_.back().samples.push_back(
          {{{"recording", job.head.job}, {"id", job.head.id}, {"monitor", job.head.monitor}},
           value(job)});
    }
  }

  const OverviewDocument& document_;
  std::vector<metrics::Family> families_;
};

}  // namespace

std::string text_of(const OverviewEvent& event) {
  std::string text = printable(fmt::format("{}: {}", event.head.job, meaning_of(event))) + "\n";
  if (event.kind == OverviewEvent::Kind::kRaised && !event.alarm.action.empty()) {
    text += "  try: " + printable(event.alarm.action) + "\n";
  }
  return text;
}

Json json_of(const OverviewEvent& event) {
  Json made = {{"event", name_of(event.kind)}};
  made.update(head_json(event.head));
  const bool has_alarm =
      event.kind == OverviewEvent::Kind::kRaised || event.kind == OverviewEvent::Kind::kCleared;
  if (has_alarm) made.update(alarm_json(event.alarm));
  return made;
}

std::string table_of(const OverviewDocument& document) {
  std::string text = fmt::format("{:<24} {:<16} {:<8} {:>9} {:>9} {:>6}  {}\n", "job", "monitor",
                                 "state", "job's s", "processes", "faults", "worst");
  for (const OverviewJob& job : document.jobs) {
    const std::string worst = job.alarms.empty() ? "" : job.alarms.begin()->second.summary;
    text += printable(fmt::format("{:<24} {:<16} {:<8} {:>9.0f} {:>9} {:>6}  {}", job.head.job,
                                  job.head.monitor, name_of(job.state), seconds_of(job.head.job_ns),
                                  job.last.running + job.last.ended + job.last.not_heard,
                                  job.alarms.size(), worst)) +
            "\n";
  }
  return text;
}

Json json_of(const OverviewDocument& document) {
  Json jobs = Json::array();
  for (size_t i = 0; i < document.jobs.size(); ++i) {
    jobs.push_back(job_json(document.jobs[i], document.heard_seconds_ago[i]));
  }
  return {{"connected", document.server.connected}, {"complaint", document.server.complaint},
          {"received", document.server.received},   {"dropped", document.server.dropped},
          {"not_read", document.not_read},          {"jobs", std::move(jobs)}};
}

std::vector<metrics::Family> families_of(const OverviewDocument& document) {
  return Families(document).make();
}

}  // namespace heddle::cli
