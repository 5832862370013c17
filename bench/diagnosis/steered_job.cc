// See steered_job.h.
#include "bench/diagnosis/steered_job.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "bench/diagnosis/judge.h"

namespace heddle::bench {
namespace {

using steering::Decision;
using steering::Outcome;

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kBegan = 1'700'000'000 * kSecond;  // the job, since 1970
constexpr int64_t kQuestionNs = 200'000'000;         // scontrol answers

// What a scheduler says of a node that runs a job.
std::string scheduler_answer(const std::string& host) {
  return "NodeName=" + host + " Arch=x86_64 State=ALLOCATED ThreadsPerCore=1\n";
}

// The host that has the fault; none where a link has it.
std::optional<uint32_t> faulty_host(const FaultCase& job) {
  const Fault fault = job.truth.fault;
  const bool of_host = fault != Fault::kNone && fault != Fault::kMismatch &&
                       fault != Fault::kSlowLink && fault != Fault::kCollision;
  if (!of_host) return std::nullopt;
  return job.host_of(job.truth.rank);
}

}  // namespace

SteeredJob::SteeredJob(const FaultCase& job, const ObservedJob& observed, const WatchedJob& watched,
                       const SteeredOptions& options)
    : job_(job),
      observed_(observed),
      watched_(watched),
      options_(options),
      steering_(options.policy, {"job", "/job"}, true),
      test_(job, observed, options.test) {
  for (const insight::Party& each : watched.parties) hosts_.push_back(each.host);
}

SteeredOutcome SteeredJob::run() {
  for (const WatchedLook& each : watched_.looks) {
    advance(each.at_ns);
    look(each, each.at_ns);
  }
  // What the last look asked for is brought to its end, as the monitor does.
  while (stage_ != Stage::kNone) {
    const int64_t at_ns = ends_ns_;
    advance(at_ns);
    if (stage_ == Stage::kNone) look(watched_.looks.back(), at_ns);
  }
  return outcome_;
}

void SteeredJob::look(const WatchedLook& look, int64_t at_ns) {
  const bool was_busy = steering_.task().has_value();
  const auto decisions = steering_.look({options_.each_verdict ? look.verdicts : look.lasting,
                                         hosts_, Nanos{at_ns}, kBegan + at_ns, kBegan});
  for (const Decision& each : decisions) count(each);
  if (!was_busy && steering_.task()) begin(at_ns);
}

// Stages that end until then.
void SteeredJob::advance(int64_t until_ns) {
  while (stage_ != Stage::kNone && ends_ns_ <= until_ns) {
    const int64_t at_ns = ends_ns_;
    const bool tested = stage_ == Stage::kTest;
    const auto ended = tested ? steering_.tested(result_, kBegan + at_ns)
                              : steering_.asked(result_, kBegan + at_ns);
    if (ended) {
      stage_ = Stage::kNone;
      count(*ended);
    } else if (tested && !steering_.task()->question.empty()) {
      stage_ = Stage::kQuestion;
      ends_ns_ = at_ns + kQuestionNs;
      result_ = {.output = scheduler_answer(steering_.task()->base.target)};
    } else {
      start(at_ns);
    }
  }
}

void SteeredJob::begin(int64_t at_ns) {
  const steering::Task& task = *steering_.task();
  if (!task.test.empty()) {
    steering_.testing(kBegan + at_ns);
    ++outcome_.tests;
    const SimulatedProbe::Run run = test_.run(task.test, at_ns);
    stage_ = Stage::kTest;
    ends_ns_ = at_ns + run.took_ns;
    result_ = run.result;
  } else if (!task.question.empty()) {
    stage_ = Stage::kQuestion;
    ends_ns_ = at_ns + kQuestionNs;
    result_ = {.output = scheduler_answer(task.base.target)};
  } else {
    start(at_ns);
  }
}

void SteeredJob::start(int64_t at_ns) {
  stage_ = Stage::kNone;
  const steering::Task task = *steering_.task();
  const Decision decision = steering_.start(kBegan + at_ns);
  count(decision);
  if (decision.outcome != Outcome::kStarted) return;
  outcome_.actions.push_back({decision.rule, decision.target, is_right(task), 1e-9 * at_ns,
                              1e-9 * static_cast<double>(at_ns - observed_.onset_ns),
                              task.alarm.number >= kNumbersEach});
  count(steering_.ended({}, kBegan + at_ns));
}

void SteeredJob::count(const Decision& decision) {
  if (decision.outcome == Outcome::kRefused) ++outcome_.refused;
  if (!decision.test) return;
  switch (*decision.test) {
    case steering::TestResult::kConfirmed:
      ++outcome_.confirmed;
      return;
    case steering::TestResult::kNotConfirmed:
      ++outcome_.not_confirmed;
      return;
    case steering::TestResult::kNotTested:
      ++outcome_.not_tested;
      return;
  }
}

// A host is right whichever part of it has the fault; a link where the fault is known as one.
bool SteeredJob::is_right(const steering::Task& task) const {
  const insight::Verdict& verdict = task.alarm.verdict;
  if (verdict.place.kind == insight::PlaceKind::kLink) {
    return task.alarm.number < kNumbersEach && job_.truth.fault != Fault::kNone &&
           names_place(job_, Source::kStream, verdict);
  }
  const std::optional<uint32_t> host = faulty_host(job_);
  return host && task.base.target == "h" + std::to_string(*host);
}

FaultCase lengthened(FaultCase job, double after_s) {
  const double step_ns = job.step_ns + job.calls * job.transfer_ns;
  const auto least = static_cast<uint32_t>(std::ceil(1e9 * after_s / step_ns));
  const uint32_t onset = job.truth.fault == Fault::kNone ? 0 : job.truth.onset_step;
  job.steps = std::max(job.steps, onset + least);
  return job;
}

}  // namespace heddle::bench
