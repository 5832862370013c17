// Supervisor: see supervisor.h.
#include "launch/supervisor.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/temporary_folder.h"
#include "engine/seed.h"
#include "launch/params.h"
#include "launch/ranks/master_port.h"
#include "launch/ranks/running_ranks.h"

namespace heddle::launch {
namespace {

// Where ranks meet: in a file, or on other machines at the first one's address.
std::string store_of(const RunPlan& plan, uint64_t run, const std::string& folder) {
  if (!plan.remote) return "file://" + folder + "/store";
  const std::string& address = plan.first_address;
  const bool ipv6 = address.find(':') != std::string::npos && address.front() != '[';
  return fmt::format("udp://{}{}{}:{}", ipv6 ? "[" : "", address, ipv6 ? "]" : "",
                     params::kFirstMasterPort + run % params::kMasterPorts);
}

// The outer process: waits for the inner one, which has the ranks.
int wait_for(pid_t inner) {
  const sigset_t set = RunSignals::watched();
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
      .folder = folder->path(),
      .store = store_of(plan, run, folder->path()),
      .token = fmt::format("{:016x}{:016x}", engine::system_seed(), engine::system_seed()),
      .master_port = choose_master_port(run)};
  const sigset_t set = RunSignals::watched();
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
  const int status = RunningRanks(plan, identity, reporter).run();
  folder->remove();
  _exit(status);
}

}  // namespace heddle::launch
