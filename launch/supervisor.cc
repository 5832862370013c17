// Supervisor: see supervisor.h.
#include "launch/supervisor.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "base/exec.h"
#include "base/temporary_folder.h"
#include "engine/seed.h"
#include "lab/processes.h"
#include "launch/params.h"
#include "launch/ranks/leftovers.h"
#include "launch/ranks/losses.h"
#include "launch/ranks/master_port.h"
#include "launch/ranks/rank_process.h"
#include "launch/ranks/run_key.h"

namespace heddle::launch {
namespace {

constexpr std::array kEnding = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
constexpr std::array kOthers = {SIGUSR1, SIGUSR2};

Nanos now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::nanoseconds>(since).count()};
}

sigset_t watched_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  for (const int number : kEnding) sigaddset(&set, number);
  for (const int number : kOthers) sigaddset(&set, number);
  return set;
}

bool is_ending(int number) {
  return std::find(kEnding.begin(), kEnding.end(), number) != kEnding.end();
}

void end_descendants() {
  constexpr int kRounds = 500;
  for (int round = 0; round < kRounds; ++round) {
    const std::vector<pid_t> left = lab::descendants();
    if (left.empty()) return;
    for (const pid_t process : left) kill(process, SIGKILL);
    while (waitpid(-1, nullptr, WNOHANG) > 0) continue;
    usleep(2'000);
  }
}

// The inner process.
class Ranks {
 public:
  Ranks(const RunPlan& plan, RunIdentity identity, RunReporter reporter)
      : plan_(plan),
        identity_(std::move(identity)),
        reporter_(reporter),
        losses_(static_cast<uint32_t>(plan.places.size()),
                plan.min_ranks.value_or(static_cast<uint32_t>(plan.places.size()))) {}

  // Returns the exit status.
  int run() {
    const sigset_t set = watched_signals();
    signals_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals_ < 0 || !make_key() || !start_all()) {
      end_descendants();
      return plan_.own_failure.value_or(start_failure_);
    }
    while (any_running()) {
      wait();
      take_signals();
      take_ended();
      for (const auto& rank : ranks_) rank->pass_output();
      if (kill_at_ && now() >= *kill_at_) kill_the_rest();
    }
    end_descendants();
    for (const auto& rank : ranks_) rank->pass_output();
    if (!status_) reporter_.warning(losses_.summary());
    return status_.value_or(0);
  }

 private:
  bool make_key() {
    if (!plan_.protection) return true;
    Result<RunKey> made = RunKey::make();
    if (!made) {
      reporter_.error(made.error());
      return false;
    }
    key_.emplace(std::move(*made));
    identity_.key_file = key_->path();
    return true;
  }

  bool start_all() {
    for (uint32_t rank = 0; rank < plan_.places.size(); ++rank) {
      auto started = RankProcess::start(plan_, identity_, rank, start_failure_);
      if (!started) {
        reporter_.error(started.error());
        return false;
      }
      ranks_.push_back(std::move(*started));
    }
    return true;
  }

  bool any_running() const {
    return std::any_of(ranks_.begin(), ranks_.end(),
                       [](const auto& rank) { return rank->running(); });
  }

  void wait() {
    std::vector<pollfd> watched = {{signals_, POLLIN, 0}};
    for (const auto& rank : ranks_) {
      for (const int descriptor : rank->outputs()) {
        if (descriptor >= 0) watched.push_back({descriptor, POLLIN, 0});
      }
    }
    int timeout_ms = -1;
    if (kill_at_) {
      timeout_ms = static_cast<int>(std::max<int64_t>(0, (*kill_at_ - now()) / millis(1)) + 1);
    }
    poll(watched.data(), watched.size(), timeout_ms);
  }

  void take_signals() {
    signalfd_siginfo sent{};
    while (read(signals_, &sent, sizeof sent) == sizeof sent) {
      const auto number = static_cast<int>(sent.ssi_signo);
      if (number == SIGCHLD) continue;
      // What the terminal sends, every process of the run has got already.
      const bool from_terminal = sent.ssi_code == SI_KERNEL;
      const bool passed_on = is_twin(number, static_cast<pid_t>(sent.ssi_pid) == getppid());
      if (!is_ending(number)) {
        if (passed_on) continue;
        for (const auto& rank : ranks_) {
          if (rank->running()) kill(rank->process(), number);
        }
        continue;
      }
      // One that was meant once comes twice where it was sent to the whole process group.
      const bool again = interrupted_ && now() - interrupted_at_ > params::kSameSignal;
      if (!interrupted_) interrupted_at_ = now();
      interrupted_ = true;
      if (!status_) status_ = 128 + number;
      if (!from_terminal && !passed_on) signal_descendants(number);
      if (!kill_at_) kill_at_ = now() + plan_.grace;
      if (again) kill_at_ = now();
    }
  }

  // One to the whole process group comes from its sender, and from the outer process again.
  bool is_twin(int number, bool from_outer) {
    Seen& seen = seen_.at(static_cast<size_t>(number));
    const bool twin =
        seen.at && seen.from_outer != from_outer && now() - *seen.at < params::kSameSignal;
    if (!twin) seen = {now(), from_outer};
    return twin;
  }

  void take_ended() {
    int status = 0;
    for (pid_t ended = 0; (ended = waitpid(-1, &status, WNOHANG)) > 0;) {
      for (const auto& rank : ranks_) {
        if (rank->process() != ended || !rank->running()) continue;
        rank->set_ended(status);
        rank->pass_output();
        take_signals();  // one to the whole process group may have ended it
        if (!rank->failed() || status_) continue;
        if (rank->rank() == 0 && rank->exit_status() == plan_.verdict) {
          status_ = plan_.verdict;
          kill_at_ = now() + plan_.grace;
        } else {
          handle_loss(*rank);
        }
      }
    }
  }

  void handle_loss(const RankProcess& rank) {
    // Ctrl-C, which may reach a rank before it reaches this process, is meant for the job.
    const bool interrupted = rank.ended_by_signal() && rank.exit_status() == 128 + SIGINT;
    losses_.add(rank.rank());
    if (interrupted || !losses_.enough_left()) return end_after(rank);
    reporter_.warning(fmt::format("{} was lost: {}; {}", name_of(rank), rank.how_it_ended(),
                                  losses_.left_text()));
    kill_leftovers(identity_.run, rank.rank());
  }

  void end_after(const RankProcess& rank) {
    status_ = rank.exit_status();
    if (!plan_.ranks_report || rank.ended_by_signal()) print_failure(rank);
    signal_descendants(SIGTERM);
    kill_at_ = now() + plan_.grace;
  }

  void print_failure(const RankProcess& rank) const {
    std::string end = any_running() ? "the others are ended" : "";
    if (plan_.min_ranks) end = losses_.left_text() + (end.empty() ? "" : "; ") + end;
    reporter_.error({ErrorCode::kSystem, name_of(rank) + " failed", rank.how_it_ended(), end});
  }

  // "rank 2", "rank 2 on h1".
  std::string name_of(const RankProcess& rank) const {
    const std::string& host = plan_.places[rank.rank()].host;
    return fmt::format("rank {}{}{}", rank.rank(), host.empty() ? "" : " on ", host);
  }

  static void signal_descendants(int number) {
    for (const pid_t process : lab::descendants()) kill(process, number);
  }

  void kill_the_rest() {
    for (const auto& rank : ranks_) {
      if (rank->running() && !killed_) {
        reporter_.warning(
            fmt::format("rank {} did not end by itself, and was killed", rank->rank()));
      }
    }
    killed_ = true;
    signal_descendants(SIGKILL);
    kill_at_ = now() + millis(100);  // for those that were just being started
  }

  const RunPlan& plan_;
  RunIdentity identity_;
  const RunReporter reporter_;
  std::optional<RunKey> key_;
  std::vector<std::unique_ptr<RankProcess>> ranks_;
  int signals_ = -1;
  struct Seen {
    std::optional<Nanos> at;
    bool from_outer = false;
  };
  std::array<Seen, NSIG> seen_;  // of each number the latest that was no twin
  bool interrupted_ = false;
  Nanos interrupted_at_;
  bool killed_ = false;
  RankLosses losses_;
  int start_failure_ = kOwnFailure;  // the exit status for it
  std::optional<int> status_;
  std::optional<Nanos> kill_at_;
};

// The outer process: waits for the inner one, which has the ranks.
int wait_for(pid_t inner) {
  const sigset_t set = watched_signals();
  while (true) {
    siginfo_t sent{};
    const int number = sigwaitinfo(&set, &sent);
    if (number > 0 && number != SIGCHLD && sent.si_code != SI_KERNEL) kill(inner, number);
    if (number != SIGCHLD) continue;
    int status = 0;
    for (pid_t ended = 0; (ended = waitpid(-1, &status, WNOHANG)) > 0;) {
      if (ended != inner) continue;
      end_descendants();
      return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }
  }
}

}  // namespace

Result<int> run_ranks(const RunPlan& plan, RunReporter reporter) {
  Result<TemporaryFolder> folder = TemporaryFolder::make("heddle-run");  // of the store's file
  if (!folder) return fail(folder.error());
  const uint64_t run = engine::system_seed();
  const RunIdentity identity{
      .run = fmt::format("{:016x}", run),
      .store = "file://" + folder->path() + "/store",
      .token = fmt::format("{:016x}{:016x}", engine::system_seed(), engine::system_seed()),
      .master_port = choose_master_port(run)};
  const sigset_t set = watched_signals();
  sigprocmask(SIG_BLOCK, &set, nullptr);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t outer = getpid();
  const pid_t inner = fork();
  if (inner < 0) {
    return fail(ErrorCode::kSystem, "cannot start the ranks", std::strerror(errno),
                "see `ulimit -u`");
  }
  if (inner > 0) return wait_for(inner);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != outer) kill(getpid(), SIGTERM);
  const int status = Ranks(plan, identity, reporter).run();
  folder->remove();
  _exit(status);
}

}  // namespace heddle::launch
