// Roster: see roster.h.
#include "launch/ranks/roster.h"

#include <fmt/format.h>

#include <algorithm>

#include "launch/params.h"

namespace heddle::launch {

Roster::Roster(uint32_t ranks, const std::optional<Elastic>& elastic, Nanos now)
    : min_ranks_(elastic ? elastic->min_ranks : ranks),
      most_(elastic && elastic->max_ranks ? *elastic->max_ranks : ranks),
      replaces_(elastic && elastic->max_ranks),
      wanted_(ranks),
      processes_(ranks, {State::kMember, now}) {}

std::vector<uint32_t> Roster::with(State state) const {
  std::vector<uint32_t> numbers;
  for (uint32_t number = 0; number < processes_.size(); ++number) {
    if (processes_[number].state == state) numbers.push_back(number);
  }
  return numbers;
}

uint32_t Roster::left() const { return count(State::kMember) + count(State::kFinished); }

void Roster::note_end(const Process& process, Nanos now) {
  const bool early = now - process.since < params::kSettled;
  if (!early) early_ends_ = 0;
  if (!early || counted_) return;
  counted_ = true;
  ++early_ends_;
  const uint32_t doublings = std::min(early_ends_, 30U);
  if (doublings <= 1) return;
  const int64_t wait = (params::kFirstRestartWait / nanos(1)) << (doublings - 2);
  not_before_ = now + std::min(nanos(wait), params::kLongestRestartWait);
}

void Roster::lose(uint32_t number, Nanos now) {
  Process& process = processes_[number];
  if (process.state == State::kReleased) return;
  note_end(process, now);
  if (process.state == State::kMember) lost_.push_back(number);
  process.state = process.state == State::kMember ? State::kLost : State::kNeverIn;
}

void Roster::take_in(uint32_t number, Nanos now) { processes_[number] = {State::kMember, now}; }

void Roster::release(uint32_t number) { processes_[number].state = State::kReleased; }

void Roster::add_newcomer(Nanos now) {
  processes_.push_back({State::kWaiting, now});
  counted_ = false;
}

void Roster::fail_to_start(Nanos now) {
  counted_ = false;
  note_end({State::kWaiting, now}, now);
}

Result<void> Roster::resize(uint32_t ranks) {
  const std::string what = fmt::format("cannot run {} ranks", ranks);
  if (!replaces_) {
    return fail(ErrorCode::kInvalid, what, "the run was started without a maximum",
                "start it with --elastic MIN:MAX");
  }
  if (ranks < min_ranks_ || ranks > most_) {
    return fail(ErrorCode::kInvalid, what,
                fmt::format("the run was started with --elastic {}:{}", min_ranks_, most_),
                fmt::format("give a number from {} to {}", min_ranks_, most_));
  }
  if (ends()) {
    return fail(ErrorCode::kUnavailable, what, "the job ends: a rank has finished", "");
  }
  wanted_ = ranks;
  return {};
}

std::optional<Nanos> Roster::next_start(Nanos now) const {
  if (!replaces_ || ends() || count(State::kMember) + count(State::kWaiting) >= wanted_) {
    return std::nullopt;
  }
  return std::max(now, not_before_);
}

std::optional<uint32_t> Roster::surplus() const {
  const std::vector<uint32_t> waiting = with(State::kWaiting);
  const std::vector<uint32_t> members = with(State::kMember);
  if (!replaces_ || ends() || waiting.size() + members.size() <= wanted_) return std::nullopt;
  return waiting.empty() ? members.back() : waiting.back();
}

std::string Roster::left_text() const {
  return fmt::format("{} of {} ranks {} left, at least {} {} needed", left(),
                     std::max(wanted_, left()), left() == 1 ? "is" : "are", min_ranks_,
                     min_ranks_ == 1 ? "is" : "are");
}

std::string Roster::summary() const {
  if (lost_.empty()) return {};
  const bool one = lost_.size() == 1;
  return fmt::format("the job ended with {} of {} ranks: rank{} {} {} lost", left(),
                     std::max(wanted_, left()), one ? "" : "s", fmt::join(lost_, ", "),
                     one ? "was" : "were");
}

}  // namespace heddle::launch
