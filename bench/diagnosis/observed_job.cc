// See observed_job.h.
#include "bench/diagnosis/observed_job.h"

#include <algorithm>

namespace heddle::bench {

void ObservedJob::sort() {
  std::stable_sort(events.begin(), events.end(),
                   [](const TimedEvent& a, const TimedEvent& b) { return a.at_ns < b.at_ns; });
}

insight::Identity identity_of(const FaultCase& job, uint32_t rank) {
  insight::Identity identity = {{"host", "h" + std::to_string(job.host_of(rank))},
                                {"rank", std::to_string(rank)}};
  if (!job.waits) identity.emplace_back("source", "calls alone");
  return identity;
}

insight::Diagnosis diagnose(const ObservedJob& job, int64_t until_ns, double least_errors) {
  insight::DiagnosisBuilder builder(
      {.alive_until_ns = std::min(until_ns, job.until_ns), .least_errors = least_errors});
  for (size_t i = 0; i < job.processes.size(); ++i) {
    // While it runs, no file is closed.
    insight::FileEnd end = job.ends[i];
    end.closed = end.closed && until_ns >= job.until_ns;
    builder.add_process(job.processes[i], end);
  }
  for (const TimedEvent& each : job.events) {
    if (each.at_ns > until_ns) break;
    builder.add(each.process, each.event, each.at_ns);
  }
  return builder.finish();
}

}  // namespace heddle::bench
