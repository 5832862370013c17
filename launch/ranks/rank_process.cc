// RankProcess: see rank_process.h.
#include "launch/ranks/rank_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "base/write_all.h"
#include "lab/exec.h"
#include "launch/remote_command.h"

namespace heddle::launch {
namespace {

constexpr std::array kElasticVariables = {"HEDDLE_ELASTIC", "HEDDLE_JOIN", "HEDDLE_MEMBER_FILE"};
constexpr std::array kPassedOn = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE};

struct Pipe {
  int read = -1;
  int write = -1;

  bool make() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return false;
    read = ends[0];
    write = ends[1];
    return true;
  }
};

void close_if_open(int& descriptor) {
  if (descriptor >= 0) close(descriptor);
  descriptor = -1;
}

void set_environment(const RunPlan& plan, const RunIdentity& identity, const RankRole& role) {
  const RankPlace& place = role.place;
  const auto set = [](const char* name, const std::string& value) {
    setenv(name, value.c_str(), 1);
  };
  set("HEDDLE_RANK", std::to_string(role.number));
  set("HEDDLE_SIZE", std::to_string(plan.places.size()));
  set("HEDDLE_LOCAL_RANK", std::to_string(place.local_rank));
  set("HEDDLE_LOCAL_SIZE", std::to_string(place.local_size));
  set("HEDDLE_STORE", identity.store);
  set("HEDDLE_RUN", identity.run);
  set("HEDDLE_TOKEN", identity.token);
  if (plan.protection) {
    set("HEDDLE_KEY_FILE", identity.key_file);
    set("HEDDLE_PROTECTION", std::string(name_of(*plan.protection)));
  }
  for (const char* name : kElasticVariables) unsetenv(name);  // of a run that this is a rank of
  if (plan.elastic) set("HEDDLE_ELASTIC", elastic_text(*plan.elastic));
  if (!role.member_file.empty()) set("HEDDLE_MEMBER_FILE", role.member_file);
  // As torchrun does, for programs that are written for it.
  const std::string& first = plan.remote ? plan.first_address : plan.places.front().host;
  if (role.joins) {
    set("HEDDLE_JOIN", "1");
    unsetenv("RANK");  // the job gives it one
    unsetenv("WORLD_SIZE");
  } else {
    set("RANK", std::to_string(role.number));
    set("WORLD_SIZE", std::to_string(plan.places.size()));
  }
  set("LOCAL_RANK", std::to_string(place.local_rank));
  set("LOCAL_WORLD_SIZE", std::to_string(place.local_size));
  set("MASTER_ADDR", first.empty() ? "127.0.0.1" : first);
  set("MASTER_PORT", std::to_string(identity.master_port));
}

// In the new process, which stays and stands for the rank.
int run_elsewhere(const RunPlan& plan, const RunIdentity& identity, const std::string& host) {
  RemoteCommand command;
  command.words = plan.words;
  command.grace = plan.grace;
  if (plan.protection) {
    const Result<std::string> key = read_text_file(identity.key_file, "see `ulimit -n`");
    if (!key) {
      write_all(STDERR_FILENO, "heddle: " + key.error().message() + "\n");
      return kOwnFailure;
    }
    command.secrets.emplace_back("HEDDLE_KEY_FILE", *key);
    unsetenv("HEDDLE_KEY_FILE");
  }
  command.settings = settings_for_others();
  return run_remote(*plan.remote, host, command);
}

// In the new process: becomes the command, or writes to `report` why it cannot.
[[noreturn]] void become(const RunPlan& plan, const RunIdentity& identity, const RankRole& role,
                         int report) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int number : kPassedOn) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  // As under mpirun: what is typed goes to rank 0.
  if (role.number > 0) {
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing >= 0) dup2(nothing, STDIN_FILENO);
  }
  set_environment(plan, identity, role);
  if (plan.remote) {
    close(report);
    _exit(run_elsewhere(plan, identity, role.place.host));
  }
  const ExecFailure failure =
      plan.lab ? lab::exec_on_host(*plan.lab, role.place.host, plan.words, plan.file)
               : exec_program(plan.words, plan.file);
  const std::string text = failure.error.message();
  const ssize_t written = write(report, text.data(), text.size());
  _exit(written < 0 ? kExecFailed : failure.exit_status);
}

// Empty once the command runs.
std::string start_failure(int descriptor) {
  std::string text;
  std::array<char, 512> piece{};
  while (true) {
    const ssize_t got = read(descriptor, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(piece.data(), static_cast<size_t>(got));
  }
}

}  // namespace

Result<std::unique_ptr<RankProcess>> RankProcess::start(const RunPlan& plan,
                                                        const RunIdentity& identity, RankRole role,
                                                        int& failure_status) {
  const std::string what =
      fmt::format("cannot start {} {}", role.joins ? "newcomer" : "rank", role.number);
  std::unique_ptr<RankProcess> made(new RankProcess(std::move(role)));
  const auto failed = [&what](const char* advice) {
    return fail(ErrorCode::kSystem, what, std::strerror(errno), advice);
  };
  Pipe report;
  std::array<Pipe, 2> outputs;
  bool piped = report.make();
  for (size_t at = 0; at < outputs.size() && plan.tag_output; ++at) {
    piped = piped && outputs[at].make();
    made->streams_[at] = {outputs[at].read, LineTag(fmt::format("[{}] ", made->number()))};
  }
  made->process_ = piped ? fork() : -1;
  if (made->process_ == 0) {
    if (plan.tag_output) {
      dup2(outputs[0].write, STDOUT_FILENO);
      dup2(outputs[1].write, STDERR_FILENO);
    }
    become(plan, identity, made->role_, report.write);
  }
  const int why = errno;
  close_if_open(report.write);
  for (Pipe& pipe : outputs) close_if_open(pipe.write);
  std::string failure;
  if (made->process_ > 0) failure = start_failure(report.read);
  close_if_open(report.read);
  errno = why;
  if (made->process_ < 0) return failed("see `ulimit -u` and `ulimit -n`");
  for (const int descriptor : made->outputs()) {
    if (descriptor >= 0) fcntl(descriptor, F_SETFL, O_NONBLOCK);
  }
  if (failure.empty()) return made;
  int ended = 0;
  if (waitpid(made->process_, &ended, 0) == made->process_ && WIFEXITED(ended)) {
    failure_status = WEXITSTATUS(ended);
  }
  return fail(ErrorCode::kUnavailable, what, failure);
}

RankProcess::~RankProcess() {
  for (Stream& stream : streams_) close_if_open(stream.descriptor);
}

bool RankProcess::failed() const { return status_ && exit_status() != 0; }

int RankProcess::exit_status() const {
  const int status = status_.value_or(0);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

bool RankProcess::ended_by_signal() const { return WIFSIGNALED(status_.value_or(0)); }

std::string RankProcess::how_it_ended() const {
  const int status = status_.value_or(0);
  if (!WIFSIGNALED(status)) return fmt::format("it ended with exit status {}", WEXITSTATUS(status));
  return fmt::format("signal {} ({}) ended it", WTERMSIG(status), strsignal(WTERMSIG(status)));
}

void RankProcess::pass_output() {
  std::array<char, 16'384> piece{};
  for (size_t at = 0; at < streams_.size(); ++at) {
    Stream& stream = streams_[at];
    const int to = at == 0 ? STDOUT_FILENO : STDERR_FILENO;
    while (stream.descriptor >= 0) {
      const ssize_t got = read(stream.descriptor, piece.data(), piece.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) break;
      write_all(to, got > 0 ? stream.tag.feed({piece.data(), static_cast<size_t>(got)})
                            : stream.tag.finish());
      if (got == 0) close_if_open(stream.descriptor);
    }
  }
}

}  // namespace heddle::launch
