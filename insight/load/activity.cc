// See activity.h.
#include "insight/load/activity.h"

namespace heddle::insight {

void Activity::begin(const Key& key, int64_t at_ns, const std::string& operation) {
  if (calls_.size() == kMost) {
    calls_.pop_front();
    ++forgotten_;
  }
  under_way_[key] = forgotten_ + calls_.size();
  calls_.push_back({at_ns, INT64_MAX, operation});
}

void Activity::end(const Key& key, int64_t at_ns) {
  const auto found = under_way_.find(key);
  if (found == under_way_.end()) return;
  if (found->second >= forgotten_) calls_[found->second - forgotten_].end_ns = at_ns;
  under_way_.erase(found);
}

void Activity::mark(int64_t at_ns, const std::string& phase) {
  if (phases_.size() == kMost) phases_.pop_front();
  phases_.emplace_back(at_ns, phase);
}

void Activity::forget(int64_t before_ns) {
  for (; !calls_.empty() && calls_.front().end_ns < before_ns; ++forgotten_) calls_.pop_front();
  while (phases_.size() > 1 && phases_[1].first < before_ns) phases_.pop_front();
}

std::string Activity::operations(int64_t from_ns, int64_t to_ns) const {
  std::map<std::string, uint64_t> counts;
  for (const Call& call : calls_) {
    if (call.begin_ns <= to_ns && call.end_ns >= from_ns) ++counts[call.operation];
  }
  std::string text;
  for (const auto& [operation, count] : counts) {
    text += (text.empty() ? "" : ", ") + operation;
    if (count > 1) text += " x" + std::to_string(count);
  }
  return text;
}

std::string Activity::phase(int64_t at_ns) const {
  for (auto at = phases_.rbegin(); at != phases_.rend(); ++at) {
    if (at->first <= at_ns) return at->second;
  }
  return "";
}

}  // namespace heddle::insight
