// Fuzz target: messages of any bytes on a site's subjects, as any client of the server may publish
// them. What is kept of a job stays bounded, and a job that is shown has a name of its own.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "monitor/overview.h"
#include "monitor/params.h"

using heddle::monitor::Overview;
using heddle::monitor::OverviewJob;

namespace params = heddle::monitor::params;

namespace {

void check(const OverviewJob& job) {
  CHECK(!job.head.id.empty());
  CHECK(job.alarms.size() <= params::kMostPublishedAlarms);
  CHECK(job.last.alarms.empty());
  for (const auto& [number, alarm] : job.alarms) {
    CHECK(number == alarm.number);
    CHECK(alarm.summary.size() <= params::kLongestText);
    CHECK(alarm.confidence >= 0 && alarm.confidence <= 1);
  }
}

}  // namespace

// Lines are messages, one after the other; the first byte of each says of which kind.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  Overview overview;
  heddle::Nanos now = heddle::seconds(1);
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(line.size() < rest.size() ? line.size() + 1 : line.size());
    const bool change = line.starts_with('c');
    const std::string_view text = line.substr(line.empty() ? 0 : 1);
    overview.take(change ? "site.a.b.change" : "site.a.b.state", text, now);
    now = now + heddle::seconds(1);
    overview.tick(now);
    for (const auto& [id, job] : overview.jobs()) check(job);
  }
  return 0;
}
