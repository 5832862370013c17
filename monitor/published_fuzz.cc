// Fuzz target: messages of any bytes on a site's subjects, as any client of the server may publish
// them. What is kept of a job stays bounded, and a job that is shown has a name of its own.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "metrics/exposition.h"
#include "monitor/overview.h"
#include "monitor/params.h"
#include "monitor/publication.h"
#include "monitor/published_reader.h"

using heddle::monitor::Overview;
using heddle::monitor::OverviewJob;

namespace params = heddle::monitor::params;

namespace {

void check(const OverviewJob& job) {
  CHECK(job.head.id.size() == 16);
  CHECK(job.alarms.size() <= params::kMostPublishedAlarms);
  CHECK(job.last.alarms.empty());
  for (const auto& [number, alarm] : job.alarms) {
    CHECK(number == alarm.number);
    CHECK(alarm.summary.size() <= params::kLongestText);
    CHECK(alarm.confidence >= 0 && alarm.confidence <= 1);
  }
}

std::string subject_of(std::string_view text, bool change) {
  heddle::monitor::PublishedHead head;
  if (change) {
    if (const auto read = heddle::monitor::read_published_change(text)) head = read->head;
  } else {
    if (const auto read = heddle::monitor::read_published_state(text)) head = read->head;
  }
  return "site." +
         heddle::monitor::published_subject(head.job, head.id, change ? "change" : "state");
}

// As an overview shows them: labels of two jobs that are one would end all of /metrics.
void check_metrics(const Overview& overview) {
  heddle::metrics::Family family{"heddle_overview_job_heard", "", {}, {}};
  for (const auto& [key, job] : overview.jobs()) {
    family.samples.push_back(
        {{{"recording", job.head.job}, {"id", job.head.id}, {"monitor", job.head.monitor}}, 1});
  }
  CHECK(heddle::metrics::exposition_of({family}).has_value());
}

}  // namespace

// Lines are messages, one after the other; the first byte of each says of which kind. Those that
// can be read come on their job's subject.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  Overview overview;
  heddle::Nanos now = heddle::seconds(1);
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(line.size() < rest.size() ? line.size() + 1 : line.size());
    const bool change = line.starts_with('c');
    const std::string_view text = line.substr(line.empty() ? 0 : 1);
    overview.take(subject_of(text, change), text, now);
    now = now + heddle::seconds(1);
    overview.tick(now, {heddle::Nanos{}, now});
    for (const auto& [key, job] : overview.jobs()) check(job);
    check_metrics(overview);
  }
  return 0;
}
