// See judge.h.
#include "bench/diagnosis/judge.h"

#include <algorithm>

#include "bench/diagnosis/simulation.h"
#include "bench/diagnosis/stream.h"
#include "bench/diagnosis/watched_job.h"

namespace heddle::bench {
namespace {

using insight::Diagnosis;
using insight::PlaceKind;
using insight::Verdict;
using insight::VerdictClass;

// A live diagnosis looks again and again; this is the number of looks at a healthy job.
constexpr int kLooks = 8;
constexpr int64_t kDelayStepNs = 50'000'000;

bool of_family(Fault fault, const Verdict& verdict) {
  switch (fault) {
    case Fault::kStoppedRank:
    case Fault::kFrozenRank:
      return verdict.what == VerdictClass::kNonCommunicationHang ||
             verdict.what == VerdictClass::kCommunicationHang;
    case Fault::kMismatch:
      return verdict.what == VerdictClass::kMismatch;
    case Fault::kSlowRank:
    case Fault::kGradualRank:
      return verdict.place.kind == PlaceKind::kRank &&
             (verdict.what == VerdictClass::kNonCommunicationSlow ||
              verdict.what == VerdictClass::kDegradation);
    case Fault::kFlappingLink:
    case Fault::kFlappingNic:
      return verdict.what == VerdictClass::kFlapping || verdict.what == VerdictClass::kPathFailure;
    case Fault::kSlowHost:
      return verdict.what == VerdictClass::kMixedSlow ||
             verdict.what == VerdictClass::kNonCommunicationSlow ||
             verdict.what == VerdictClass::kCommunicationSlow ||
             verdict.what == VerdictClass::kDegradation;
    case Fault::kCollision:
      if (verdict.what == VerdictClass::kFabricCollision) return true;
      [[fallthrough]];
    default:
      return verdict.place.kind != PlaceKind::kRank &&
             (verdict.what == VerdictClass::kCommunicationSlow ||
              verdict.what == VerdictClass::kDegradation);
  }
}

// A process that freezes hangs the communication or, where the others need nothing more of it, the
// next operation. A NIC or link that is slow from one moment on does not degrade.
bool class_right(Fault fault, VerdictClass what) {
  switch (fault) {
    case Fault::kStoppedRank:
      return what == VerdictClass::kNonCommunicationHang;
    case Fault::kSlowRank:
      return what == VerdictClass::kNonCommunicationSlow;
    case Fault::kGradualRank:
      return what == VerdictClass::kDegradation;
    case Fault::kSlowNic:
    case Fault::kLossyNic:
    case Fault::kSlowLink:
      return what == VerdictClass::kCommunicationSlow;
    case Fault::kFlappingLink:
    case Fault::kFlappingNic:
      return what == VerdictClass::kFlapping;
    case Fault::kSlowHost:
      return what == VerdictClass::kMixedSlow;
    case Fault::kCollision:
      return what == VerdictClass::kFabricCollision;
    default:
      return true;
  }
}

bool is_ring(const FaultCase& job) {
  return job.shape == Shape::kSharded ||
         (job.shape == Shape::kBuckets &&
          job.algorithm.algorithm == topology::CallAlgorithm::kRing);
}

// In a ring, and at a leaf of a tree, a NIC sends to one other alone, so that a link at it is as
// much as can be known.
bool at_nic(const FaultCase& job, const Verdict& verdict) {
  const std::string host = "h" + std::to_string(job.host_of(job.truth.rank));
  if (verdict.place.kind != PlaceKind::kLink) return verdict.place.host == host;
  const auto& ends = verdict.place.processes;
  const bool in_tree = job.algorithm.algorithm == topology::CallAlgorithm::kTree;
  return (is_ring(job) || in_tree) && (job.host_of(ends[0]) == job.host_of(job.truth.rank) ||
                                       job.host_of(ends[1]) == job.host_of(job.truth.rank));
}

// In simulations all pairs between the two leaves, in its direction, share the slow link.
bool at_link(const FaultCase& job, Source source, const Verdict& verdict) {
  const uint32_t half = (job.ranks + 1) / 2;
  if (verdict.place.kind == PlaceKind::kRoute) {
    return verdict.place.host.starts_with(uplink_routers(job.truth.rank < half ? 0 : 1));
  }
  if (verdict.place.kind != PlaceKind::kLink) return false;
  const uint32_t from = verdict.place.processes[0];
  const uint32_t to = verdict.place.processes[1];
  if (source == Source::kStream) return from == job.truth.rank && to == job.truth.peer;
  return (from < half) == (job.truth.rank < half) && (from < half) != (to < half);
}

// Each of its ranks; its NIC is the host's, too.
bool at_slow_host(const FaultCase& job, const Verdict& verdict) {
  if (verdict.place.kind != PlaceKind::kRank) return at_nic(job, verdict);
  return job.host_of(verdict.place.processes[0]) == job.host_of(job.truth.rank);
}

// Some of the links that meet are as much as a job may show; of a group each rank is at one. In a
// simulation all links from even to odd ranks meet.
bool at_meeting(const FaultCase& job, Source source, const Verdict& verdict) {
  const auto meet = [&](uint32_t from, uint32_t to) {
    return source == Source::kStream ? job.collides(from, to) : from % 2 == 0 && to % 2 == 1;
  };
  const std::vector<uint32_t>& ends = verdict.place.processes;
  if (verdict.place.kind == PlaceKind::kRoute) {
    return verdict.place.host.starts_with(uplink_routers(0));
  }
  if (verdict.place.kind == PlaceKind::kLink) return meet(ends[0], ends[1]);
  if (verdict.place.kind != PlaceKind::kGroup) return false;
  return std::all_of(ends.begin(), ends.end(), [&](uint32_t one) {
    return std::any_of(ends.begin(), ends.end(),
                       [&](uint32_t other) { return meet(one, other) || meet(other, one); });
  });
}

bool place_right(const FaultCase& job, Source source, const Verdict& verdict) {
  switch (job.truth.fault) {
    case Fault::kSlowNic:
    case Fault::kLossyNic:
    case Fault::kFlappingNic:
      return at_nic(job, verdict);
    case Fault::kSlowLink:
      return at_link(job, source, verdict);
    case Fault::kFlappingLink:
      return verdict.place.kind == PlaceKind::kRoute && verdict.place.host == flapping_router();
    case Fault::kSlowHost:
      return at_slow_host(job, verdict);
    case Fault::kCollision:
      return at_meeting(job, source, verdict);
    default:
      return verdict.place.kind == PlaceKind::kRank && verdict.place.processes[0] == job.truth.rank;
  }
}

std::string text_of(const Diagnosis& diagnosis, const Verdict& verdict) {
  return std::string(name_of(verdict.what)) + ": " + place_text(diagnosis, verdict.place);
}

class Judge {
 public:
  Judge(const FaultCase& job, Source source, const ObservedJob& observed, double least_errors)
      : observed_(observed), least_errors_(least_errors) {
    result_.job = job;
    result_.source = source;
    result_.events = observed.events.size();
  }

  Judgement healthy() {
    for (int look = 1; look <= kLooks; ++look) {
      const Diagnosis found = diagnose(observed_.until_ns * look / kLooks);
      if (result_.verdicts.empty()) take(found);
      for (const Verdict& each : found.verdicts) {
        result_.most_confidence = std::max(result_.most_confidence, each.confidence);
      }
    }
    return result_;
  }

  Judgement faulty(double effect) {
    result_.effect = effect;
    const Diagnosis last = diagnose(observed_.until_ns);
    take(last);
    const Verdict* const found = verdict_of(last);
    result_.others = static_cast<uint32_t>(last.verdicts.size());
    if (found == nullptr) return result_;
    result_.found = true;
    result_.confidence = found->confidence;
    result_.class_right = class_right(result_.job.truth.fault, found->what);
    result_.place_right = place_right(result_.job, result_.source, *found);
    if (!result_.place_right) return result_;
    --result_.others;
    find_delay();
    return result_;
  }

  // Each alarm counts, also one that is over at the end: someone was called for it.
  Judgement live(double effect) {
    const bool faulty = result_.job.truth.fault != Fault::kNone;
    result_.effect = effect;
    look_each_second(observed_, 0, [&](const LiveLook& look) {
      for (const monitor::AlarmChange& change : look.changes) {
        if (change.raised) take(change.alarm, look.at_ns, faulty);
      }
      result_.judged = result_.judged || !look.diagnosis.recent().too_little();
    });
    return result_;
  }

 private:
  Diagnosis diagnose(int64_t until_ns) const {
    return bench::diagnose(observed_, until_ns, least_errors_);
  }

  void take(const monitor::Alarm& alarm, int64_t at_ns, bool faulty) {
    const Verdict& verdict = alarm.verdict;
    if (result_.verdicts.empty()) result_.first_class = name_of(verdict.what);
    result_.verdicts.push_back(std::string(name_of(verdict.what)) + ": " + alarm.place);
    if (!faulty) return;
    const bool right = of_family(result_.job.truth.fault, verdict) &&
                       place_right(result_.job, result_.source, verdict);
    result_.found = result_.found || of_family(result_.job.truth.fault, verdict);
    if (!right || result_.place_right) {
      ++result_.others;
      return;
    }
    result_.place_right = true;
    result_.class_right = class_right(result_.job.truth.fault, verdict.what);
    result_.delay_s = 1e-9 * static_cast<double>(at_ns - observed_.onset_ns);
  }

  void take(const Diagnosis& diagnosis) {
    result_.judged = result_.judged || !diagnosis.too_little();
    result_.verdicts.clear();
    for (const Verdict& each : diagnosis.verdicts) {
      result_.verdicts.push_back(text_of(diagnosis, each));
    }
    if (diagnosis.verdicts.empty()) return;
    result_.first_class = name_of(diagnosis.verdicts[0].what);
    result_.evidence = diagnosis.verdicts[0].evidence;
  }

  // Of the fault's family: at its place where there is one, else the first; null: none.
  const Verdict* verdict_of(const Diagnosis& diagnosis) const {
    const Verdict* found = nullptr;
    for (const Verdict& each : diagnosis.verdicts) {
      if (!of_family(result_.job.truth.fault, each)) continue;
      if (place_right(result_.job, result_.source, each)) return &each;
      if (found == nullptr) found = &each;
    }
    return found;
  }

  bool known_at(int64_t ns) const {
    const Diagnosis diagnosis = diagnose(ns);
    const Verdict* const found = verdict_of(diagnosis);
    return found != nullptr && place_right(result_.job, result_.source, *found);
  }

  // By halves: a verdict that is there stays.
  void find_delay() {
    int64_t unknown = observed_.onset_ns;
    int64_t known = observed_.until_ns;
    while (known - unknown > kDelayStepNs) {
      const int64_t middle = unknown + (known - unknown) / 2;
      (known_at(middle) ? known : unknown) = middle;
    }
    result_.delay_s = 1e-9 * static_cast<double>(known - observed_.onset_ns);
  }

  const ObservedJob& observed_;
  const double least_errors_;
  Judgement result_;
};

Result<ObservedJob> observe(const FaultCase& job, Source source, const ObservedJob* healthy) {
  if (source == Source::kStream) return make_stream(job);
  return simulate(job, healthy);
}

}  // namespace

bool names_place(const FaultCase& job, Source source, const Verdict& verdict) {
  return place_right(job, source, verdict);
}

Result<Judgement> judge(const FaultCase& job, Source source, const JudgeOptions& options) {
  const Fault fault = job.truth.fault;
  FaultCase twin = job;
  twin.truth.fault = Fault::kNone;
  const bool needs_twin = source == Source::kSimulation || slows(fault) || fault == Fault::kNone;
  Result<ObservedJob> healthy = ObservedJob{};
  if (needs_twin) healthy = observe(twin, source, nullptr);
  if (!healthy) return fail(healthy.error());
  if (fault == Fault::kNone) {
    Judge judge(job, source, *healthy, options.least_errors);
    return options.looks == Looks::kSome ? judge.healthy() : judge.live(0);
  }
  const Result<ObservedJob> observed = observe(job, source, &*healthy);
  if (!observed) return fail(observed.error());
  double effect = 1;
  if (slows(fault) && !is_seen_without_effect(fault)) {
    const auto rest = static_cast<double>(observed->ended_ns - observed->onset_ns);
    effect = static_cast<double>(observed->ended_ns - healthy->ended_ns) / rest;
  }
  Judge judge(job, source, *observed, options.least_errors);
  return options.looks == Looks::kSome ? judge.faulty(effect) : judge.live(effect);
}

}  // namespace heddle::bench
