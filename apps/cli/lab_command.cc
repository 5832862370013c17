// `heddle lab`: see lab_command.h. One function a subcommand.
#include "apps/cli/lab_command.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "apps/cli/terminal.h"
#include "lab/exec.h"
#include "lab/lab.h"
#include "lab/rights.h"
#include "lab/run.h"

namespace heddle::cli {
namespace {

constexpr const char* kLabExample = R"(Example:
  heddle lab up lab/examples/two_leaf_four_spine.toml
  heddle lab exec h3 -- heddle perf --listen &
  heddle lab exec h0 -- heddle perf h3 bw
  heddle lab down

A lab is a fabric of network namespaces on this machine: real sockets, real queues, real ECMP.)";

struct LabOptions {
  std::string topology;
  std::string name;
  std::string host;
  std::vector<std::string> words;
  bool reorder = false;
  bool all = false;
};

int could_not(const Error& error) {
  print_error(error);
  return kCouldNotRun;
}

void print_notes(const lab::Lab& lab) {
  for (const std::string& note : lab.state.notes) print_warning(note);
}

int run_up(const LabOptions& options) {
  lab::note_signals();
  if (Result<void> root = lab::need_root(); !root) return could_not(root.error());
  lab::UpOptions up{.topology_file = options.topology, .name = options.name};
  up.reorder = options.reorder;
  const Result<lab::Lab> lab = lab::bring_up(up, [] { return lab::noted_signal() != 0; });
  if (!lab) {
    print_error(lab.error());
    return lab::noted_signal() != 0 ? 128 + lab::noted_signal() : kCouldNotRun;
  }
  print_notes(*lab);
  const topology::Topology& made = lab->layout.topology;
  print(fmt::format("lab {} is up: {} hosts, {} switches, {} links\n", lab->state.name,
                    made.hosts.size(), made.switches.size(), made.links.size()));
  return kDone;
}

int run_in_lab(const LabOptions& options) {
  lab::note_signals();
  if (Result<void> rights = lab::get_rights(); !rights) return could_not(rights.error());
  lab::UpOptions up{.topology_file = options.topology, .name = options.name, .owned = true};
  if (up.name.empty()) up.name = fmt::format("{}-{}", lab::name_after(up.topology_file), getpid());
  up.reorder = options.reorder;
  const Result<lab::Lab> lab = lab::bring_up(up, [] { return lab::noted_signal() != 0; });
  if (!lab) {
    print_error(lab.error());
    return lab::noted_signal() != 0 ? 128 + lab::noted_signal() : kCouldNotRun;
  }
  print_notes(*lab);
  const Result<int> status = lab::run_command(*lab, options.words);
  if (!status) print_error(status.error());
  if (Result<void> down = lab::take_down(lab->state.name); !down) return could_not(down.error());
  return status.value_or(kCouldNotRun);
}

int run_down(const LabOptions& options) {
  std::vector<std::string> names;
  if (options.all) {
    names = lab::lab_names();
  } else {
    const Result<std::string> name = lab::choose_lab(options.name);
    if (!name) return could_not(name.error());
    names = {*name};
  }
  int status = kDone;
  for (const std::string& name : names) {
    if (Result<void> down = lab::take_down(name); !down) status = could_not(down.error());
  }
  return status;
}

int run_exec(const LabOptions& options) {
  const Result<lab::Lab> lab = lab::open_lab(options.name);
  if (!lab) return could_not(lab.error());
  return could_not(lab::exec_on_host(*lab, options.host, options.words));
}

using Handler = int (*)(const LabOptions&);

std::shared_ptr<LabOptions> on_call(CLI::App* command, Handler handler, Invocation& invocation) {
  auto options = std::make_shared<LabOptions>();
  command->callback([options, handler, &invocation] {
    invocation.run = [options, handler] { return handler(*options); };
  });
  return options;
}

void add_topology(CLI::App* command, LabOptions& options) {
  command->add_option("topology", options.topology, "the topology file")
      ->type_name("TOPOLOGY")
      ->required();
  command->add_option("--name", options.name, "name of the lab [after the file]")
      ->type_name("NAME");
  command->add_flag("--reorder", options.reorder, "let busy links reorder packets");
}

void add_words(CLI::App* command, LabOptions& options) {
  command->add_option("command", options.words, "the command and its arguments, after --")
      ->type_name("-- COMMAND")
      ->required();
}

}  // namespace

void add_lab_command(CLI::App& root, Invocation& invocation) {
  CLI::App* const lab =
      root.add_subcommand("lab", "make a real fabric on this machine, and break it");
  lab->require_subcommand(1);
  lab->footer(kLabExample);

  CLI::App* const up = lab->add_subcommand("up", "make a lab that stays until it is taken down");
  add_topology(up, *on_call(up, run_up, invocation));

  CLI::App* const run =
      lab->add_subcommand("run", "make a lab, run a command, take the lab down again");
  const auto run_options = on_call(run, run_in_lab, invocation);
  add_topology(run, *run_options);
  add_words(run, *run_options);

  CLI::App* const down = lab->add_subcommand("down", "take a lab down, with all its processes");
  const auto down_options = on_call(down, run_down, invocation);
  auto* const name = down->add_option("name", down_options->name, "which one [the only one]");
  name->type_name("NAME");
  down->add_flag("--all", down_options->all, "every lab")->excludes(name);

  CLI::App* const exec = lab->add_subcommand("exec", "run a command on a host of a lab");
  const auto exec_options = on_call(exec, run_exec, invocation);
  exec->add_option("host", exec_options->host, "host or switch")->type_name("HOST")->required();
  exec->add_option("--name", exec_options->name, "which lab [HEDDLE_LAB, or the only one]")
      ->type_name("NAME");
  add_words(exec, *exec_options);
}

}  // namespace heddle::cli
