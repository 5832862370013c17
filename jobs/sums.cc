// See sums.h.
#include "jobs/sums.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/check.h"
#include "collectives/bus_bandwidth.h"

namespace heddle::jobs {

std::vector<Nanos> step_times(const topology::Job& job, const JobOutcome& outcome) {
  std::vector<Nanos> times;
  Nanos before = outcome.steps.empty() ? Nanos{} : outcome.steps.front().begun;
  for (const StepOutcome& step : outcome.steps) {
    if (step.ranks_ended < job.ranks.size()) break;
    times.push_back(step.ended - before);
    before = step.ended;
  }
  return times;
}

Nanos median(std::vector<Nanos> times) {
  CHECK(!times.empty());
  std::sort(times.begin(), times.end());
  return times[(times.size() - 1) / 2];
}

std::vector<CallsAlike> calls_alike(const topology::Job& job, const JobOutcome& outcome) {
  using Kind = std::tuple<topology::CallKind, topology::CallAlgorithm, uint64_t, uint32_t>;
  std::map<Kind, std::vector<const CallOutcome*>> alike;
  for (const auto& calls : outcome.calls) {
    for (const CallOutcome& call : calls) {
      const auto ranks = static_cast<uint32_t>(job.communicators[call.communicator].ranks.size());
      const Kind kind{call.call, call.algorithm.value_or(topology::CallAlgorithm::kRing),
                      call.bytes, ranks};
      if (call.ranks_ended == ranks) alike[kind].push_back(&call);
    }
  }
  std::vector<CallsAlike> all;
  for (const auto& [kind, calls] : alike) {
    const uint32_t ranks = std::get<uint32_t>(kind);
    std::vector<Nanos> took;
    for (const CallOutcome* call : calls) took.push_back(call->ended - call->called);
    const auto [least, most] = std::minmax_element(took.begin(), took.end());
    CallOutcome middle = *calls.front();
    middle.called = {};
    middle.ended = median(took);
    all.push_back({.call = middle.call,
                   .algorithm = middle.algorithm,
                   .bytes = middle.bytes,
                   .ranks = ranks,
                   .count = calls.size(),
                   .least = *least,
                   .median = middle.ended,
                   .most = *most,
                   .bus_bytes_per_s = bus_bytes_per_s(middle, ranks)});
  }
  return all;
}

double bus_bytes_per_s(const CallOutcome& call, uint32_t ranks) {
  if (call.ranks_ended != ranks || call.ended <= call.called) return 0;
  const double factor =
      collectives::bus_factor(static_cast<collectives::Collective>(call.call), ranks);
  return factor * static_cast<double>(call.bytes) / to_seconds(call.ended - call.called);
}

}  // namespace heddle::jobs
