// `heddle lab up, run, down, exec`: the life of a lab.
#include <fmt/core.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "apps/cli/lab/lab_options.h"
#include "lab/exec.h"
#include "lab/lab.h"
#include "lab/rights.h"
#include "lab/run.h"
#include "lab/script.h"

namespace heddle::cli {
namespace {

bool stopped() { return lab::noted_signal() != 0; }

// The exit status where a lab could not be made.
int not_up(const Error& error, int otherwise) {
  print_error(error);
  return stopped() ? 128 + lab::noted_signal() : otherwise;
}

void print_notes(const lab::Lab& lab) {
  for (const std::string& note : lab.state.notes) print_warning(note);
}

std::string delays_text(const lab::Lab& lab) {
  const size_t count = lab::delayed_links(lab.layout.topology).size();
  if (count == 0) return "";
  return fmt::format(", {} delayed by {}", count,
                     lab.state.delays == lab::DelayMethod::kNetem ? "netem" : "heddle's forwarder");
}

int play(const lab::Lab& lab) {
  const Result<void> played = lab::play_script(lab, stopped, [](const lab::ScriptStep& step) {
    print_progress(fmt::format("at {:g} s: {}", to_seconds(step.at), step.text));
  });
  if (!played) return could_not(played.error());
  return stopped() ? 128 + lab::noted_signal() : kDone;
}

// A process that plays the script beside the command; 0: there is none to play.
pid_t start_playing(const lab::Lab& lab) {
  if (lab::script_steps(lab.layout.topology).empty()) return 0;
  const pid_t player = fork();
  if (player != 0) return player;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  _exit(play(lab));
}

void stop_playing(pid_t player) {
  if (player <= 0) return;
  kill(player, SIGKILL);
  while (waitpid(player, nullptr, 0) < 0 && errno == EINTR) continue;
}

}  // namespace

int run_lab_up(const LabOptions& options) {
  lab::note_signals();
  if (Result<void> root = lab::need_root(); !root) return could_not(root.error());
  lab::UpOptions up{.topology_file = options.topology, .name = options.name};
  up.reorder = options.reorder;
  const Result<lab::Lab> lab = lab::bring_up(up, stopped);
  if (!lab) return not_up(lab.error(), kCouldNotRun);
  print_notes(*lab);
  const topology::Topology& made = lab->layout.topology;
  print(fmt::format("lab {} is up: {} hosts, {} switches, {} links{}\n", lab->state.name,
                    made.hosts.size(), made.switches.size(), made.links.size(), delays_text(*lab)));
  if (options.play) return play(*lab);
  if (!lab::script_steps(made).empty()) {
    print_warning("the file's faults are not played: `heddle lab up --play` or `run` does that");
  }
  return kDone;
}

int run_lab_run(const LabOptions& options) {
  lab::note_signals();
  if (Result<void> rights = lab::get_rights(); !rights) return program_failed(rights.error());
  lab::UpOptions up{.topology_file = options.topology, .name = options.name, .owned = true};
  if (up.name.empty()) up.name = fmt::format("{}-{}", lab::name_after(up.topology_file), getpid());
  up.reorder = options.reorder;
  const Result<lab::Lab> lab = lab::bring_up(up, stopped);
  if (!lab) return not_up(lab.error(), kProgramFailed);
  print_notes(*lab);
  const pid_t player = start_playing(*lab);
  bool broken = false;
  const lab::CommandEnd ended = lab::run_command(*lab, options.words, [&](const std::string& what) {
    broken = true;
    print_warning(what);
  });
  stop_playing(player);
  if (ended.failure) print_error(*ended.failure);
  if (Result<void> down = lab::take_down(lab->state.name); !down) {
    return program_failed(down.error());
  }
  return broken && ended.exit_status == kDone ? kProgramFailed : ended.exit_status;
}

int run_lab_down(const LabOptions& options) {
  std::vector<std::string> names;
  if (options.all) {
    names = lab::lab_names();
  } else {
    const std::string& given = options.name.empty() ? options.option_name : options.name;
    const Result<std::string> name = lab::choose_lab(given);
    if (!name) return could_not(name.error());
    names = {*name};
  }
  int status = kDone;
  for (const std::string& name : names) {
    if (Result<void> down = lab::take_down(name); !down) status = could_not(down.error());
  }
  return status;
}

int run_lab_exec(const LabOptions& options) {
  const Result<lab::Lab> lab = lab::open_lab(options.name);
  if (!lab) return program_failed(lab.error());
  if (const auto trouble = forwarder_trouble(lab->state); !trouble.empty()) print_warning(trouble);
  const ExecFailure failure = lab::exec_on_host(*lab, options.host, options.words);
  print_error(failure.error);
  return failure.exit_status;
}

}  // namespace heddle::cli
