// See watched_job.h.
#include "bench/diagnosis/watched_job.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "bench/diagnosis/draw.h"
#include "monitor/alarms.h"
#include "monitor/params.h"

namespace heddle::bench {
namespace {

using insight::Diagnosis;
using insight::PlaceKind;
using insight::Verdict;
using insight::VerdictClass;

constexpr uint64_t kFalseVerdicts = 301;  // purpose of draws
constexpr int64_t kLookNs = 1'000'000'000;

monitor::Alarm alarm_of(const Diagnosis& diagnosis, const Verdict& verdict) {
  monitor::Alarm alarm;
  alarm.verdict = verdict;
  alarm.place = place_text(diagnosis, verdict.place);
  for (const uint32_t process : verdict.place.processes) {
    alarm.ranks.push_back(diagnosis.parties[process].name);
    alarm.hosts.push_back(diagnosis.parties[process].host);
  }
  return alarm;
}

// A monitor waits before it takes a job to be over.
int64_t watched_on_s(const ObservedJob& job) {
  const bool all_closed = std::all_of(job.ends.begin(), job.ends.end(),
                                      [](const insight::FileEnd& end) { return end.closed; });
  const Nanos wait = all_closed ? monitor::params::kOverAfterAll : monitor::params::kOverAfterSome;
  return wait / seconds(1);
}

// Of hosts without a fault; a link is between two of them.
class PlaceDraw {
 public:
  explicit PlaceDraw(const FaultCase& job) : job_(job) {
    for (uint32_t rank = 0; rank < job.ranks; ++rank) {
      if (!has_fault(rank)) ranks_.push_back(rank);
    }
  }

  bool is_empty() const { return ranks_.empty(); }

  Verdict draw(Random& random) const {
    Verdict verdict;
    const uint32_t rank = ranks_[random.below(ranks_.size())];
    verdict.place = {PlaceKind::kRank, {rank}, host_text(rank)};
    switch (random.below(4)) {
      case 0:
        verdict.what = VerdictClass::kNonCommunicationHang;
        break;
      case 1:
        verdict.what = VerdictClass::kNonCommunicationSlow;
        break;
      case 2:
        verdict.what = VerdictClass::kCommunicationSlow;
        verdict.place.kind = PlaceKind::kNic;
        break;
      default:
        verdict.what = VerdictClass::kCommunicationSlow;
        add_peer(random, verdict.place);
    }
    return verdict;
  }

 private:
  std::string host_text(uint32_t rank) const { return "h" + std::to_string(job_.host_of(rank)); }

  bool has_fault(uint32_t rank) const {
    const Truth& truth = job_.truth;
    if (truth.fault == Fault::kNone) return false;
    if (truth.fault == Fault::kCollision) return true;  // all hosts may be at a link that meets
    const uint32_t host = job_.host_of(rank);
    return host == job_.host_of(truth.rank) ||
           (truth.fault == Fault::kSlowLink && host == job_.host_of(truth.peer));
  }

  // Where there is no other host the place stays a NIC.
  void add_peer(Random& random, insight::Place& place) const {
    std::vector<uint32_t> others;
    for (const uint32_t each : ranks_) {
      if (job_.host_of(each) != job_.host_of(place.processes[0])) others.push_back(each);
    }
    place.kind = others.empty() ? PlaceKind::kNic : PlaceKind::kLink;
    if (others.empty()) return;
    place.processes.push_back(others[random.below(others.size())]);
    place.host.clear();
  }

  const FaultCase& job_;
  std::vector<uint32_t> ranks_;
};

// Adds one verdict to the looks from `begin_ns` to `end_ns`.
void add(const Verdict& verdict, uint64_t first_number, int64_t begin_ns, int64_t end_ns,
         WatchedJob& watched) {
  Diagnosis diagnosis;
  diagnosis.parties = watched.parties;
  monitor::Alarms alarms;
  for (WatchedLook& look : watched.looks) {
    const bool there = look.at_ns >= begin_ns && look.at_ns < end_ns;
    diagnosis.verdicts.assign(there ? 1 : 0, verdict);
    alarms.look({{&diagnosis}}, look.at_ns);
    if (there) {
      look.verdicts.push_back(alarm_of(diagnosis, verdict));
      look.verdicts.back().number = first_number;
    }
    for (monitor::Alarm each : alarms.lasting()) {
      each.number += first_number;
      look.lasting.push_back(std::move(each));
    }
  }
}

}  // namespace

void look_each_second(const ObservedJob& job, int64_t on_s,
                      const std::function<void(const LiveLook& look)>& looked) {
  monitor::LiveDiagnosis diagnosis;
  for (size_t i = 0; i < job.processes.size(); ++i) {
    insight::FileEnd end = job.ends[i];
    end.closed = false;
    diagnosis.builder().add_process(job.processes[i], end);
  }
  size_t next = 0;
  const auto look = [&](int64_t at) {
    for (; next < job.events.size() && job.events[next].at_ns <= at; ++next) {
      const TimedEvent& each = job.events[next];
      diagnosis.builder().add(each.process, each.event, each.at_ns);
    }
    const std::vector<monitor::AlarmChange> changes = diagnosis.look(at);
    looked({at, diagnosis, changes});
  };
  for (int64_t at = kLookNs; at <= job.until_ns; at += kLookNs) look(at);
  for (size_t i = 0; i < job.processes.size(); ++i) {
    diagnosis.builder().set_end(static_cast<uint32_t>(i), job.ends[i]);
  }
  for (int64_t second = std::min<int64_t>(1, on_s); second <= on_s; ++second) {
    look(job.until_ns + second * kLookNs);
  }
  look(job.until_ns + on_s * kLookNs);
}

WatchedJob watch(const ObservedJob& job) {
  WatchedJob watched;
  std::map<std::pair<VerdictClass, std::string>, uint64_t> numbers;
  look_each_second(job, watched_on_s(job), [&](const LiveLook& look) {
    const Diagnosis& recent = look.diagnosis.recent();
    WatchedLook made{look.at_ns, {}, look.diagnosis.alarms().lasting()};
    for (const Verdict& verdict : recent.verdicts) {
      if (verdict.until_ns >= 0) continue;
      monitor::Alarm alarm = alarm_of(recent, verdict);
      const auto number =
          numbers.try_emplace({verdict.what, alarm.place}, numbers.size() + 1).first;
      alarm.number = number->second;
      made.verdicts.push_back(std::move(alarm));
    }
    watched.looks.push_back(std::move(made));
    watched.parties = recent.parties;
  });
  return watched;
}

WatchedJob with_false_verdicts(WatchedJob watched, const FaultCase& job,
                               const FalseVerdicts& wanted) {
  const PlaceDraw places(job);
  if (wanted.an_hour <= 0 || places.is_empty() || watched.looks.empty()) return watched;
  Random random = random_at(job.seed, kFalseVerdicts, 0, 0);
  const double mean_ns = 3600e9 / wanted.an_hour;
  const auto over_ns = static_cast<double>(watched.looks.back().at_ns);
  for (double at = exponential(random, mean_ns); at < over_ns; at += exponential(random, mean_ns)) {
    Verdict verdict = places.draw(random);
    verdict.since_ns = static_cast<int64_t>(at);
    verdict.confidence = uniform(random, wanted.least_confidence, wanted.most_confidence);
    verdict.summary = "a false verdict of the bench";
    const double lasts_ns = 1e9 * log_uniform(random, wanted.least_s, wanted.most_s);
    add(verdict, ++watched.false_verdicts * kNumbersEach, verdict.since_ns,
        static_cast<int64_t>(at + lasts_ns), watched);
  }
  return watched;
}

}  // namespace heddle::bench
