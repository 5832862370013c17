// See alarms.h.
#include "monitor/alarms.h"

#include <algorithm>
#include <utility>

#include "monitor/params.h"

namespace heddle::monitor {
namespace {

using insight::VerdictClass;

// A fault that grows is the same one when it has grown, and a rank that hangs may be seen to hang
// in another way a second later.
enum class Family : uint8_t { kHang, kMismatch, kPaths, kSlow };

Family family_of(VerdictClass verdict) {
  switch (verdict) {
    case VerdictClass::kNonCommunicationHang:
    case VerdictClass::kCommunicationHang:
      return Family::kHang;
    case VerdictClass::kMismatch:
      return Family::kMismatch;
    case VerdictClass::kFlapping:
    case VerdictClass::kPathFailure:
      return Family::kPaths;
    case VerdictClass::kNonCommunicationSlow:
    case VerdictClass::kCommunicationSlow:
    case VerdictClass::kMixedSlow:
    case VerdictClass::kDegradation:
    case VerdictClass::kFabricCollision:
    case VerdictClass::kLoadImbalance:
      break;
  }
  return Family::kSlow;
}

int looks_to_raise(VerdictClass verdict) {
  return family_of(verdict) == Family::kSlow ? params::kLooksToRaiseSlow : params::kLooksToRaise;
}

int weight_of(const Sight& sight, const insight::Verdict& verdict) {
  const bool sure = family_of(verdict.what) == Family::kSlow && verdict.confidence >= params::kSure;
  return std::max(sight.weight, sure ? params::kLooksToRaiseSlow / 2 : 1);
}

}  // namespace

bool Alarms::is_same(const Alarm& one, const Alarm& other) {
  return one.place == other.place && family_of(one.verdict.what) == family_of(other.verdict.what);
}

void Alarms::see(const Sight& sight, const insight::Verdict& verdict, std::vector<bool>& seen) {
  const insight::Diagnosis& diagnosis = *sight.diagnosis;
  Alarm alarm{
      .verdict = verdict, .place = place_text(diagnosis, verdict.place), .ranks = {}, .hosts = {}};
  for (const uint32_t process : verdict.place.processes) {
    alarm.ranks.push_back(diagnosis.parties[process].name);
    alarm.hosts.push_back(diagnosis.parties[process].host);
  }
  const auto known =
      std::find_if(candidates_.begin(), candidates_.end(),
                   [&alarm](const Candidate& each) { return is_same(each.alarm, alarm); });
  if (known == candidates_.end()) {
    if (!sight.fresh) return;
    candidates_.push_back({.alarm = std::move(alarm), .seen = weight_of(sight, verdict)});
    seen.push_back(true);
    return;
  }
  const auto place = static_cast<size_t>(known - candidates_.begin());
  if (seen[place]) return;  // by this look's other diagnosis
  seen[place] = true;
  known->unseen = 0;
  if (!sight.fresh) return;
  known->seen += weight_of(sight, verdict);
  const int64_t since = std::min(known->alarm.verdict.since_ns, verdict.since_ns);
  known->alarm.verdict = std::move(alarm.verdict);
  known->alarm.verdict.since_ns = since;
}

std::vector<AlarmChange> Alarms::look(const std::vector<Sight>& sights, int64_t now_ns) {
  std::vector<bool> seen(candidates_.size());
  for (const Sight& sight : sights) {
    for (const insight::Verdict& verdict : sight.diagnosis->verdicts) {
      if (verdict.until_ns < 0) see(sight, verdict, seen);
    }
  }
  std::vector<AlarmChange> changes;
  for (size_t i = 0; i < candidates_.size(); ++i) {
    Candidate& each = candidates_[i];
    if (!seen[i]) {
      each.seen = 0;
      ++each.unseen;
    }
    if (!each.raised && each.seen >= looks_to_raise(each.alarm.verdict.what)) {
      each.raised = true;
      each.alarm.number = ++raised_;
      each.alarm.raised_ns = now_ns;
      changes.push_back({true, each.alarm});
    }
    if (each.raised && each.unseen >= params::kLooksToClear) {
      each.alarm.cleared_ns = now_ns;
      changes.push_back({false, each.alarm});
      past_.push_back(each.alarm);
      if (past_.size() > params::kMostPast) past_.pop_front();
    }
  }
  std::erase_if(candidates_, [](const Candidate& each) {
    return each.raised ? each.alarm.cleared_ns >= 0 : each.seen == 0;
  });
  return changes;
}

std::vector<Alarm> Alarms::lasting() const {
  std::vector<Alarm> lasting;
  for (const Candidate& each : candidates_) {
    if (each.raised) lasting.push_back(each.alarm);
  }
  std::sort(lasting.begin(), lasting.end(),
            [](const Alarm& a, const Alarm& b) { return a.number < b.number; });
  return lasting;
}

}  // namespace heddle::monitor
