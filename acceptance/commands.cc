// See commands.h. A child leads a process group of its own: Ctrl-C reaches only this process, which
// then ends its children in order.
#include "acceptance/commands.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <numeric>
#include <sstream>
#include <utility>

#include "acceptance/machine_texts.h"
#include "acceptance/params.h"
#include "base/exec.h"
#include "base/write_all.h"
#include "lab/link_meter.h"
#include "launch/remote_shell.h"

namespace heddle::acceptance {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};

// At most `most` bytes of it.
std::string text_from(const Descriptor& file, size_t from, size_t most) {
  std::string text;
  std::array<char, 16'384> piece{};
  for (;;) {
    const size_t left = std::min(most - text.size(), piece.size());
    const ssize_t got =
        pread(file.number(), piece.data(), left, static_cast<off_t>(from + text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(piece.data(), static_cast<size_t>(got));
  }
}

size_t size_of(const Descriptor& file) {
  struct stat state {};
  return fstat(file.number(), &state) == 0 ? static_cast<size_t>(state.st_size) : 0;
}

// /proc/PID/stat from the state on; the program's name before it may have anything in it.
std::string stat_fields(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string line;
  std::getline(file, line);
  const size_t name_end = line.rfind(')');
  return name_end == std::string::npos || name_end + 2 > line.size() ? ""
                                                                     : line.substr(name_end + 2);
}

}  // namespace

std::string complaint_of(const CommandEnd& end) {
  if (end.stopped) return "its process is stopped";
  std::string text = end.errors.substr(0, end.errors.find_last_not_of('\n') + 1);
  text = text.substr(text.rfind('\n') + 1);
  const std::string name = "heddle: ";
  if (text.rfind(name, 0) == 0) text = text.substr(name.size());
  if (!text.empty()) return machine_text(text);
  return end.late ? "no answer in time" : fmt::format("exit status {}", end.exit_status);
}

Commands::~Commands() {
  std::vector<Id> all(children_.size());
  std::iota(all.begin(), all.end(), Id{0});
  end(all);
}

Result<Commands::Id> Commands::start_child(const std::function<void()>& become,
                                           const std::string& what, const std::string& input) {
  Child child;
  child.output = Descriptor(memfd_create("output", MFD_CLOEXEC));
  child.errors = Descriptor(memfd_create("errors", MFD_CLOEXEC));
  const Descriptor given = input.empty() ? Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC))
                                         : Descriptor(memfd_create("input", MFD_CLOEXEC));
  const bool ready = child.output.valid() && child.errors.valid() && given.valid() &&
                     (input.empty() || (write_all(given.number(), input) &&
                                        lseek(given.number(), 0, SEEK_SET) == 0));
  const pid_t process = ready ? fork() : -1;
  if (process < 0) {
    return fail(ErrorCode::kSystem, what, std::strerror(errno), "see `ulimit -u` and `ulimit -n`");
  }
  if (process == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpgid(0, 0);
    for (const int number : kSignals) signal(number, SIG_DFL);
    dup2(given.number(), STDIN_FILENO);
    dup2(child.output.number(), STDOUT_FILENO);
    dup2(child.errors.number(), STDERR_FILENO);
    become();
    _exit(kExecFailed);
  }
  child.process = process;
  children_.push_back(std::move(child));
  return children_.size() - 1;
}

Result<Commands::Id> Commands::start(const std::string& host, const std::vector<std::string>& words,
                                     const Start& start) {
  if (start.listed) lines_.push_back(fabric_.line(host, words));
  const auto id = start_child([&] { fabric_.run(host, words, start); },
                              fmt::format("cannot run {} on {}", words.front(), host), start.input);
  if (id) children_[*id].most_bytes = start.most_output_bytes;
  return id;
}

Result<Commands::Id> Commands::start_here(const std::vector<std::string>& words,
                                          const std::vector<std::string>& settings) {
  const auto become = [&] {
    for (const std::string& setting : settings) {
      const size_t at = setting.find('=');
      setenv(setting.substr(0, at).c_str(), setting.substr(at + 1).c_str(), 1);
    }
    fabric_.run_here(words);
  };
  std::string line;
  for (const std::string& setting : settings) line += launch::shell_line({setting}) + ' ';
  lines_.push_back(line + launch::shell_line(words));
  return start_child(become, fmt::format("cannot run {}", words.front()));
}

void Commands::look_after(Child& child) {
  if (!child.running) return;
  int status = 0;
  if (waitpid(child.process, &status, WNOHANG) == child.process) {
    note_end(child, WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
  } else if (writes_too_much(child)) {
    kill_now(child);
  }
}

bool Commands::writes_too_much(const Child& child) {
  return size_of(child.output) - child.dropped > child.most_bytes ||
         size_of(child.errors) > child.most_bytes;
}

// A child that no wait() is for writes too.
void Commands::look_after_all() {
  for (Child& child : children_) look_after(child);
}

// A test of many hosts has thousands of children: descriptors are of those that run only.
void Commands::note_end(Child& child, int exit_status) {
  child.running = false;
  child.exit_status = exit_status;
  if (writes_too_much(child)) {  // what it wrote has no end, and no meaning
    if (exit_status == 0) child.exit_status = kOwnFailure;
    child.errors_text = fmt::format("it wrote more than {} MiB\n", child.most_bytes >> 20);
  } else {
    child.output_text = text_from(child.output, child.dropped, child.most_bytes);
    child.errors_text = text_from(child.errors, 0, child.most_bytes);
  }
  child.output = {};
  child.errors = {};
}

void Commands::wait(const std::vector<Id>& ids, Nanos limit, const std::function<bool()>& pause) {
  const Nanos until = lab::meter_now() + limit;
  for (;;) {
    look_after_all();
    const auto is_running = [&](Id id) { return children_[id].running; };
    if (std::none_of(ids.begin(), ids.end(), is_running)) return;
    if (!pause() || lab::meter_now() > until) break;
  }
  for (const Id id : ids) {
    if (!children_[id].running) continue;
    children_[id].late = true;
    children_[id].stopped = is_stopped(id);
  }
  end(ids);
}

bool Commands::is_running(Id id) {
  look_after_all();
  return children_[id].running;
}

bool Commands::is_stopped(Id id) const {
  const Child& child = children_[id];  // of one that has ended, another may have the number
  return child.running && stat_fields(child.process).rfind('T', 0) == 0;
}

double Commands::running_seconds() const {
  constexpr int kBefore = 11;  // fields from the state to the first of four times (proc(5))
  double sum = 0;
  for (const Child& child : children_) {
    if (!child.running) continue;
    std::istringstream fields(stat_fields(child.process));
    std::string skipped;
    for (int i = 0; i < kBefore; ++i) fields >> skipped;
    for (int i = 0; i < 4; ++i) {
      double ticks = 0;
      if (fields >> ticks) sum += ticks;
    }
  }
  return sum / static_cast<double>(sysconf(_SC_CLK_TCK));
}

std::string Commands::output_of(Id id, size_t from) const {
  const Child& child = children_[id];
  from = std::max(from, child.dropped);
  if (child.running) return text_from(child.output, from, child.most_bytes);
  return child.output_text.substr(std::min(from - child.dropped, child.output_text.size()));
}

void Commands::drop_output(Id id, size_t bytes) {
  Child& child = children_[id];
  if (!child.running || bytes <= child.dropped) return;
  bytes = std::min(bytes, size_of(child.output));
  // What is left of a page is freed with the rest of it.
  if (fallocate(child.output.number(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                static_cast<off_t>(bytes)) == 0) {
    child.dropped = bytes;
  }
}

bool Commands::has_line(Id id, const std::function<bool(std::string_view)>& fits) {
  Child& child = children_[id];
  look_after(child);
  if (child.has_line) return true;
  const std::string text = output_of(id, child.looked_at);
  size_t from = 0;
  for (size_t end = 0; (end = text.find('\n', from)) != std::string::npos; from = end + 1) {
    child.has_line = child.has_line || fits(std::string_view(text).substr(from, end - from));
  }
  child.looked_at += from;
  return child.has_line;
}

void Commands::send_signal(Id id, int number) {
  look_after(children_[id]);
  if (children_[id].running) kill(children_[id].process, number);
}

// A supervisor of ranks ends those first; a stopped process takes only SIGKILL.
void Commands::end(const std::vector<Id>& ids) {
  look_after_all();
  for (const Id id : ids) {  // so that all end at the same time
    if (children_[id].running) kill(children_[id].process, SIGTERM);
  }
  const auto is_running = [&](Id id) { return children_[id].running; };
  const Nanos limit = lab::meter_now() + params::kTermGrace;
  while (std::any_of(ids.begin(), ids.end(), is_running) && lab::meter_now() < limit) {
    usleep(5'000);
    look_after_all();
  }
  for (const Id id : ids) {
    if (children_[id].running) kill_now(children_[id]);
  }
}

void Commands::kill_now(Child& child) {
  kill(-child.process, SIGKILL);  // and what it started
  kill(child.process, SIGKILL);
  int status = 0;
  while (waitpid(child.process, &status, 0) < 0 && errno == EINTR) continue;
  note_end(child, 128 + SIGKILL);
}

CommandEnd Commands::result_of(Id id) const {
  const Child& child = children_[id];
  return {child.exit_status, child.late, child.stopped, child.output_text, child.errors_text};
}

std::vector<std::string> Commands::take_lines() { return std::exchange(lines_, {}); }

}  // namespace heddle::acceptance
