// See history.h.
#include "steering/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/quantity.h"

namespace heddle::steering {
namespace {

constexpr Nanos kHour = seconds(3600);

// A clock that was set back makes nothing old.
bool is_within(int64_t entry_ns, int64_t now_ns, Nanos within) {
  return now_ns - entry_ns < within.count;
}

}  // namespace

Nanos History::horizon(const Limits& limits) {
  return std::max({kHour, limits.hosts_within, limits.host_pause});
}

void History::add(const Decision& decision) {
  const bool would = decision.dry && decision.outcome == Outcome::kWouldRun;
  const bool done = decision.outcome == Outcome::kDone || would;
  if (!decision.undo && (decision.outcome == Outcome::kStarted || would)) {
    const Nanos longest = horizon(limits_);
    std::erase_if(entries_, [&](const Entry& each) {
      return !is_within(each.at_ns, decision.at_ns, longest);
    });
    entries_.push_back({decision.at_ns, decision.job, decision.job_id, decision.target,
                        decision.effect, decision.dry, would ? State::kDone : State::kStarted});
    return;
  }
  if (!done && (decision.undo || decision.outcome != Outcome::kFailed)) return;
  for (auto each = entries_.rbegin(); each != entries_.rend(); ++each) {
    if (!is_same(*each, decision)) continue;
    if (decision.undo) {
      each->state = State::kUndone;  // and those before it
      continue;
    }
    if (each->job_id != decision.job_id) continue;
    if (each->state == State::kStarted) each->state = done ? State::kDone : State::kFailed;
    return;
  }
}

bool History::is_same(const Entry& entry, const Decision& decision) {
  return entry.dry == decision.dry && entry.target == decision.target &&
         entry.effect == decision.effect;
}

const History::Entry* History::newest(const Decision& decision, Nanos within) const {
  for (auto each = entries_.rbegin(); each != entries_.rend(); ++each) {
    if (each->state != State::kFailed && is_same(*each, decision) &&
        is_within(each->at_ns, decision.at_ns, within)) {
      return &*each;
    }
  }
  return nullptr;
}

std::optional<History::DoneFor> History::done_for(const Decision& decision) const {
  const Entry* const found = newest(decision, limits_.host_pause);
  if (found == nullptr || found->state != State::kDone) return std::nullopt;
  return DoneFor{found->job, found->job_id == decision.job_id};
}

std::string History::refuse(const Decision& decision) const {
  uint64_t in_hour = 0;
  std::set<std::string> targets;
  for (const Entry& each : entries_) {
    if (each.dry != decision.dry) continue;
    if (is_within(each.at_ns, decision.at_ns, kHour)) ++in_hour;
    const bool lasts = each.state == State::kStarted || each.state == State::kDone;
    if (lasts && is_within(each.at_ns, decision.at_ns, limits_.hosts_within)) {
      targets.insert(each.target);
    }
  }
  if (newest(decision, limits_.host_pause) != nullptr) {
    return fmt::format("the same was done at {} less than {} ago (limits.host_pause)",
                       decision.target, duration_text(limits_.host_pause));
  }
  if (in_hour >= limits_.actions_per_hour) {
    return fmt::format("{} in the last hour (limits.actions_per_hour)",
                       counted_text(in_hour, "action"));
  }
  targets.erase(decision.target);
  if (targets.size() >= limits_.hosts) {
    return fmt::format("{} had an action in the last {} (limits.hosts)",
                       counted_text(targets.size(), "other host"),
                       duration_text(limits_.hosts_within));
  }
  return {};
}

}  // namespace heddle::steering
