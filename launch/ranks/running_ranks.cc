// RunningRanks: see running_ranks.h.
#include "launch/ranks/running_ranks.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/clocks.h"
#include "base/exec.h"
#include "lab/processes.h"
#include "launch/params.h"
#include "launch/ranks/leftovers.h"

namespace heddle::launch {
namespace {

void signal_descendants(int number) {
  for (const pid_t process : lab::descendants()) kill(process, number);
}

}  // namespace

void end_descendants() {
  for (int round = 0; round < params::kDescendantRounds; ++round) {
    const std::vector<pid_t> left = lab::descendants();
    if (left.empty()) return;
    for (const pid_t process : left) kill(process, SIGKILL);
    while (waitpid(-1, nullptr, WNOHANG) > 0) continue;
    usleep(2'000);
  }
}

RunningRanks::RunningRanks(const RunPlan& plan, RunIdentity identity, RunReporter reporter)
    : plan_(plan),
      identity_(std::move(identity)),
      reporter_(reporter),
      files_(identity_.folder),
      roster_(static_cast<uint32_t>(plan.places.size()), plan.elastic, steady_now()),
      start_failure_(kOwnFailure),
      changed_at_(steady_now()) {}

int RunningRanks::run() {
  if (!signals_.open() || !prepare() || !start_all()) {
    end_descendants();
    return plan_.own_failure.value_or(start_failure_);
  }
  while (any_running()) {
    wait();
    take_signals();
    take_ended();
    for (const auto& rank : ranks_) rank->pass_output();
    if (!status_) change_number();
    kill_the_released();
    if (kill_at_ && steady_now() >= *kill_at_) kill_the_rest();
  }
  end_descendants();
  for (const auto& rank : ranks_) rank->pass_output();
  if (!status_) reporter_.warning(roster_.summary());
  return status_.value_or(0);
}

// --- start ---

bool RunningRanks::prepare() {
  if (plan_.protection) {
    Result<RunKey> made = RunKey::make();
    if (!made) {
      reporter_.error(made.error());
      return false;
    }
    key_.emplace(std::move(*made));
    identity_.key_file = key_->path();
  }
  if (!plan_.elastic || !plan_.elastic->max_ranks) return true;
  const Result<void> listens = control_.listen(identity_.folder);
  if (!listens) reporter_.error(listens.error());
  return listens.has_value();
}

bool RunningRanks::start_all() {
  for (uint32_t rank = 0; rank < plan_.places.size(); ++rank) {
    if (!start({.number = rank, .place = plan_.places[rank]})) return false;
  }
  return true;
}

bool RunningRanks::start(RankRole role) {
  if (control_.descriptor() >= 0) role.member_file = files_.path_of(role.number);
  auto started = RankProcess::start(plan_, identity_, std::move(role), start_failure_);
  if (!started) {
    reporter_.error(started.error());
    return false;
  }
  ranks_.push_back(std::move(*started));
  return true;
}

// --- what happens ---

bool RunningRanks::any_running() const {
  return std::any_of(ranks_.begin(), ranks_.end(),
                     [](const auto& rank) { return rank->running(); });
}

void RunningRanks::wait() {
  std::vector<pollfd> watched = {{signals_.descriptor(), POLLIN, 0}};
  if (!status_) watched.push_back({control_.descriptor(), POLLIN, 0});  // ignored where it is -1
  for (const auto& rank : ranks_) {
    for (const int descriptor : rank->outputs()) {
      if (descriptor >= 0) watched.push_back({descriptor, POLLIN, 0});
    }
  }
  poll(watched.data(), watched.size(), timeout_ms());
}

int RunningRanks::timeout_ms() const {
  const Nanos time = steady_now();
  Nanos next = kill_at_.value_or(Nanos::never());
  for (const Released& each : released_) next = std::min(next, each.kill_at);
  if (!status_) {
    if (const auto start = roster_.next_start(time)) next = std::min(next, *start);
    if (!roster_.waiting().empty() || roster_.surplus()) {
      next = std::min(next, time + params::kMemberFilePeriod);
    }
  }
  if (next == Nanos::never()) return -1;
  return static_cast<int>(std::max<int64_t>(0, (next - time) / millis(1)) + 1);
}

void RunningRanks::take_signals() {
  while (const auto signal = signals_.next(getppid(), steady_now())) {
    if (!signal->ends) {
      for (const auto& rank : ranks_) {
        if (rank->running() && signal->pass_on) kill(rank->process(), signal->number);
      }
      continue;
    }
    if (!status_) status_ = 128 + signal->number;
    if (signal->pass_on) signal_descendants(signal->number);
    if (!kill_at_) kill_at_ = steady_now() + plan_.grace;
    if (signal->again) kill_at_ = steady_now();
  }
}

void RunningRanks::take_ended() {
  int status = 0;
  for (pid_t ended = 0; (ended = waitpid(-1, &status, WNOHANG)) > 0;) {
    for (const auto& rank : ranks_) {
      if (rank->process() != ended || !rank->running()) continue;
      rank->set_ended(status);
      rank->pass_output();
      take_signals();  // one to the whole process group may have ended it
      handle_end(*rank);
    }
  }
}

void RunningRanks::handle_end(const RankProcess& rank) {
  if (status_ || roster_.is_released(rank.number())) return;
  take_in_newcomers();  // one may be in since the files were read
  if (roster_.is_waiting(rank.number())) {
    reporter_.warning(fmt::format("{} did not join: {}", name_of(rank), rank.how_it_ended()));
    roster_.lose(rank.number(), steady_now());
    kill_leftovers(identity_.run, rank.number());
    return;
  }
  changed_at_ = steady_now();
  if (!rank.failed()) return roster_.finish(rank.number());
  if (rank.number() == 0 && rank.exit_status() == plan_.verdict) {
    status_ = plan_.verdict;
    kill_at_ = steady_now() + plan_.grace;
  } else {
    handle_loss(rank);
  }
}

void RunningRanks::handle_loss(const RankProcess& rank) {
  // Ctrl-C, which may reach a rank before it reaches this process, is meant for the job.
  const bool interrupted = rank.ended_by_signal() && rank.exit_status() == 128 + SIGINT;
  roster_.lose(rank.number(), steady_now());
  if (interrupted || !roster_.enough_left()) return end_after(rank);
  reporter_.warning(
      fmt::format("{} was lost: {}; {}", name_of(rank), rank.how_it_ended(), roster_.left_text()));
  kill_leftovers(identity_.run, rank.number());
}

// --- how many there are ---

void RunningRanks::change_number() {
  control_.answer([this](uint32_t wanted) { return answer(wanted); });
  if (steady_now() >= read_files_at_) take_in_newcomers();
  if (roster_.members().empty()) return end_newcomers();
  const auto start = roster_.next_start(steady_now());
  if (start && *start <= steady_now()) start_newcomer();
  const auto surplus = roster_.surplus();
  if (surplus && may_release(*surplus)) release(*surplus);
}

void RunningRanks::take_in_newcomers() {
  read_files_at_ = steady_now() + params::kMemberFilePeriod;
  for (const uint32_t number : roster_.waiting()) {
    if (!files_.was_in(number)) continue;
    roster_.take_in(number, steady_now());
    changed_at_ = steady_now();
    reporter_.progress(fmt::format("{} joined; {}", name_of(*ranks_[number]), roster_.left_text()));
  }
}

void RunningRanks::start_newcomer() {
  std::vector<RankPlace> taken;
  for (const auto& rank : ranks_) {
    if (rank->running()) taken.push_back(rank->place());
  }
  const RankPlace place = next_place(plan_, taken);
  if (start({.number = roster_.next_number(), .place = place, .joins = true})) {
    roster_.add_newcomer(steady_now());
  } else {
    roster_.fail_to_start(steady_now());
  }
}

// One at a time: those that are left must be a majority of the ranks before. A newcomer that counts
// as waiting may be a member by now.
bool RunningRanks::may_release(uint32_t number) const {
  const Nanos since = steady_now() - changed_at_;
  if (since < params::kReleaseGap) return false;
  return roster_.is_waiting(number) || files_.agree(roster_.members()) ||
         since > params::kSettleWithin;
}

void RunningRanks::release(uint32_t number) {
  changed_at_ = steady_now();
  reporter_.progress(fmt::format("{} is ended, as {} ranks are wanted", name_of(*ranks_[number]),
                                 roster_.wanted()));
  end_released(number);
}

void RunningRanks::end_released(uint32_t number) {
  roster_.release(number);
  kill(ranks_[number]->process(), SIGTERM);
  released_.push_back({number, steady_now() + plan_.grace});
}

void RunningRanks::kill_the_released() {
  std::erase_if(released_, [this](const Released& each) {
    const RankProcess& rank = *ranks_[each.number];
    if (rank.running() && steady_now() < each.kill_at) return false;
    if (rank.running()) kill(rank.process(), SIGKILL);
    kill_leftovers(identity_.run, each.number);
    return true;
  });
}

Result<RunState> RunningRanks::answer(uint32_t wanted) {
  if (wanted > 0) {
    const std::vector<uint32_t> members = roster_.members();
    const bool met = std::any_of(members.begin(), members.end(),
                                 [this](uint32_t number) { return files_.was_in(number); });
    if (wanted < members.size() && !met) {
      return fail(ErrorCode::kUnavailable, fmt::format("cannot end ranks to have {}", wanted),
                  "the ranks have not found each other yet, or do not report it",
                  "try again later; see HEDDLE_MEMBER_FILE in docs/how-to/elastic_training.md");
    }
    const Result<void> changed = roster_.resize(wanted);
    if (!changed) return fail(changed.error());
  }
  return RunState{.process = getppid(),
                  .ranks = static_cast<uint32_t>(roster_.members().size()),
                  .wanted = roster_.wanted(),
                  .elastic = *plan_.elastic,
                  .command = fmt::format("{}", fmt::join(plan_.words, " "))};
}

// --- the end ---

void RunningRanks::end_after(const RankProcess& rank) {
  status_ = rank.exit_status();
  if (!plan_.ranks_report || rank.ended_by_signal()) {
    std::string end = any_running() ? "the others are ended" : "";
    if (plan_.elastic) end = roster_.left_text() + (end.empty() ? "" : "; ") + end;
    reporter_.error({ErrorCode::kSystem, name_of(rank) + " failed", rank.how_it_ended(), end});
  }
  signal_descendants(SIGTERM);
  kill_at_ = steady_now() + plan_.grace;
}

// All members have ended with 0: no rank takes the newcomers in any more.
void RunningRanks::end_newcomers() {
  for (const uint32_t number : roster_.waiting()) end_released(number);
}

void RunningRanks::kill_the_rest() {
  for (const auto& rank : ranks_) {
    if (rank->running() && !killed_) {
      reporter_.warning(
          fmt::format("rank {} did not end by itself, and was killed", rank->number()));
    }
  }
  killed_ = true;
  signal_descendants(SIGKILL);
  kill_at_ = steady_now() + millis(100);  // for those that were just being started
}

// "rank 2", "rank 2 on h1", "newcomer 4".
std::string RunningRanks::name_of(const RankProcess& rank) const {
  const std::string& host = rank.place().host;
  const bool waits = roster_.is_waiting(rank.number());
  return fmt::format("{} {}{}{}", waits ? "newcomer" : "rank", rank.number(),
                     host.empty() ? "" : " on ", host);
}

}  // namespace heddle::launch
