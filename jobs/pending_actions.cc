// See pending_actions.h.
#include "jobs/pending_actions.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace heddle::jobs {

using topology::Action;
using topology::ActionKind;
using topology::CallKind;

PendingActions::Order PendingActions::order_of(const Action& action) {
  if (topology::between_two(action.call)) return {action.communicator, action.call, action.root};
  return {action.communicator, CallKind::kBarrier, 0};
}

PendingActions::Label& PendingActions::label(uint32_t number) {
  if (number >= labels_.size()) labels_.resize(number + 1);
  return labels_[number];
}

void PendingActions::add(const Action& action) {
  const auto number = static_cast<uint32_t>(entries_.size());
  entries_.push_back({.action = &action, .dependents = {}});
  ++open_;
  for (const uint32_t name : action.after) {
    const uint32_t newest = label(name).newest;
    if (newest == kNone || entries_[newest].ended) continue;
    entries_[newest].dependents.push_back(number);
    ++entries_[number].unmet;
  }
  if (action.label == topology::kNoLabel) {
    ++blocking_;
  } else {
    Label& own = label(action.label);
    own.newest = number;
    ++own.open;
  }
  if (action.kind == ActionKind::kCall) {
    std::deque<uint32_t>& queue = queues_[order_of(action)];
    queue.push_back(number);
    release(queue);
  } else if (entries_[number].unmet == 0) {
    may_start(number);
  }
}

// A computation whose dependencies are met.
void PendingActions::may_start(uint32_t number) {
  const Action& action = *entries_[number].action;
  if (action.lane >= lanes_.size()) lanes_.resize(action.lane + 1);
  lanes_[action.lane].ready.insert(number);
}

void PendingActions::release(std::deque<uint32_t>& queue) {
  while (!queue.empty() && entries_[queue.front()].unmet == 0) {
    calls_.push_back(queue.front());
    queue.pop_front();
  }
}

std::optional<PendingActions::Call> PendingActions::take_call() {
  if (calls_.empty()) return std::nullopt;
  const uint32_t number = calls_.front();
  calls_.pop_front();
  return Call{number, entries_[number].action};
}

void PendingActions::ended(uint32_t number) {
  Entry& entry = entries_[number];
  CHECK(!entry.ended);
  entry.ended = true;
  --open_;
  if (entry.action->label == topology::kNoLabel) {
    --blocking_;
  } else {
    --label(entry.action->label).open;
  }
  for (const uint32_t each : entry.dependents) {
    if (--entries_[each].unmet > 0) continue;
    const Action& action = *entries_[each].action;
    if (action.kind == ActionKind::kCall) {
      release(queues_[order_of(action)]);
    } else {
      may_start(each);
    }
  }
}

// Ends what has run its time, or starts the first that may. True: something ended. `lane` is
// invalid afterwards: lanes are added.
bool PendingActions::turn(Lane& lane, Nanos now) {
  if (lane.running != kNone) {
    if (now < lane.until) return false;
    if (--busy_lanes_ == 0) computed_ += busy_until_ - busy_since_;
    const uint32_t over = std::exchange(lane.running, kNone);
    ended(over);
    return true;
  }
  if (lane.ready.empty()) return false;
  const uint32_t next = *lane.ready.begin();
  lane.ready.erase(lane.ready.begin());
  const Nanos span = entries_[next].action->span;
  if (span == Nanos{}) {
    ended(next);
    return true;
  }
  lane.running = next;
  lane.until = now + span;
  if (busy_lanes_++ == 0) busy_since_ = busy_until_ = now;
  busy_until_ = std::max(busy_until_, lane.until);
  return false;
}

bool PendingActions::compute(Nanos now) {
  bool ended_any = false;
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t i = 0; i < lanes_.size(); ++i) moved |= turn(lanes_[i], now);
    ended_any |= moved;
  }
  return ended_any;
}

Nanos PendingActions::next_end() const {
  Nanos first = Nanos::never();
  for (const Lane& lane : lanes_) {
    if (lane.running != kNone) first = std::min(first, lane.until);
  }
  return first;
}

bool PendingActions::holds(uint32_t name) const {
  if (name == topology::kEveryLabel) return open_ > 0;
  if (name == topology::kNoLabel) return blocking_ > 0;
  return name < labels_.size() && labels_[name].open > 0;
}

Nanos PendingActions::computed(Nanos now) const {
  return busy_lanes_ == 0 ? computed_ : computed_ + (now - busy_since_);
}

void PendingActions::end_step() {
  CHECK(open_ == 0);
  entries_.clear();
  std::fill(labels_.begin(), labels_.end(), Label{});
  computed_ = {};
}

}  // namespace heddle::jobs
