// `heddle lab`: see lab_command.h. Here are the options; what they do is in lab/.
#include "apps/cli/lab_command.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/command_line/value_checks.h"
#include "apps/cli/command_line/value_types.h"
#include "apps/cli/lab/lab_options.h"
#include "apps/cli/lab/vm_command.h"

namespace heddle::cli {
namespace {

constexpr const char* kLabExample = R"(Example:
  heddle lab up lab/examples/two_leaf_four_spine.toml
  heddle lab exec h3 -- heddle perf --listen &
  heddle lab exec h0 -- heddle perf h3 bw
  heddle lab fault loss leaf0 spine1 1%
  heddle lab status
  heddle lab down

A lab is a fabric of network namespaces on this machine, with real sockets, queues and ECMP.)";

constexpr const char* kUpExample = R"(Example:
  heddle lab up lab/examples/two_leaf_four_spine.toml --lab lab1)";

constexpr const char* kRunExample = R"(Example:
  heddle lab run lab/examples/point_to_point.toml -- sh -c '
    heddle lab exec h1 -- heddle perf --listen --once &
    sleep 1; heddle lab exec h0 -- heddle perf h1 bw'

The command finds the lab in HEDDLE_LAB. The file's faults are played from its start. Without root
the lab is made in a user namespace, which only the command sees.)";

constexpr const char* kDownExample = R"(Example:
  heddle lab down lab1)";

constexpr const char* kExecExample = R"(Example:
  heddle lab exec h0 -- heddle ping h3 -C 5

The command can use the names of the lab's hosts: h3, h3-v6, h3-nic1.)";

constexpr const char* kListExample = R"(Example:
  heddle lab list
  heddle lab list --json)";

constexpr const char* kStatusExample = R"(Example:
  heddle lab status --watch --interval 1s

'dropped' counts packets dropped by a full queue, 'marked' CE marks, 'lost' packets that a fault
took.)";

constexpr const char* kFaultExample = R"(Example:
  heddle lab fault loss leaf0 spine1 1%           both directions; with --one-way only from leaf0
  heddle lab fault blackhole leaf0 spine1         only from leaf0; the carrier stays up
  heddle lab fault down leaf0 spine1              no carrier: switches route around the link
  heddle lab fault up leaf0 spine1
  heddle lab fault rate leaf0 spine1 50Mbit/s
  heddle lab fault corrupt h0 leaf0 0.1%
  heddle lab fault reorder leaf0 spine1 1%
  heddle lab fault pause h2
  heddle lab fault resume h2
  heddle lab fault clear leaf0 spine1
  heddle lab fault clear                          the faults of all links)";

const std::vector<std::string> kFaultKinds = {"down",    "up",      "blackhole", "rate",  "loss",
                                              "corrupt", "reorder", "clear",     "pause", "resume"};

using Handler = int (*)(const LabOptions&);

struct Command {
  CLI::App* app;
  std::shared_ptr<LabOptions> options = std::make_shared<LabOptions>();

  Command(CLI::App* parent, const char* name, const char* about, const char* example)
      : app(parent->add_subcommand(name, about)) {
    app->footer(example);
  }

  void calls(Handler handler, Invocation& invocation) {
    app->callback([options = options, handler, &invocation] {
      invocation.run = [options, handler] { return handler(*options); };
    });
  }
  void takes_topology() {
    app->add_option("topology", options->topology, "the topology file")
        ->type_name("FILE")
        ->required();
    app->add_option("--lab", options->name, "name of the new lab")
        ->type_name("LAB")
        ->default_str("after the file");
    app->add_flag("--allow-reorder", options->reorder, "let busy links reorder packets");
  }
  void takes_lab() { add_lab_option(*app, options->name); }
  void takes_program() { add_program(*app, options->words)->required(); }
  CLI::Option* gives_json() { return add_json_option(*app, options->json); }
  // What follows the examples in its help.
  void ends_with(const std::string& exit_status) { app->footer(app->get_footer() + exit_status); }
};

void add_life(CLI::App* lab, Invocation& invocation) {
  Command up(lab, "up", "make a lab that stays until it is removed", kUpExample);
  up.takes_topology();
  up.app->add_flag("--play", up.options->play, "play the file's faults, then return");
  up.ends_with(exit_status_help("", "the lab could not be made"));
  up.calls(run_lab_up, invocation);

  Command run(lab, "run", "make a lab, run a command in it, remove the lab", kRunExample);
  run.takes_topology();
  run.takes_program();
  run.ends_with(program_status_help("N the command's exit status"));
  run.calls(run_lab_run, invocation);

  Command down(lab, "down", "remove a lab, with all its processes", kDownExample);
  auto* const name = down.app->add_option("name", down.options->name, "name of the lab");
  name->type_name(kLabType)->default_str("$HEDDLE_LAB, else the only lab");
  auto* const option = add_lab_option(*down.app, down.options->option_name);
  option->excludes(name);
  down.app->add_flag("--all", down.options->all, "every lab")->excludes(name)->excludes(option);
  down.ends_with(exit_status_help("", "a lab could not be removed"));
  down.calls(run_lab_down, invocation);

  Command exec(lab, "exec", "run a command on a host or switch of a lab", kExecExample);
  exec.app->add_option("host", exec.options->host, "host or switch")->type_name("HOST")->required();
  exec.takes_lab();
  exec.takes_program();
  exec.ends_with(program_status_help("N the command's exit status"));
  exec.calls(run_lab_exec, invocation);
}

void add_views(CLI::App* lab, Invocation& invocation) {
  Command list(lab, "list", "list the labs that are up or left over", kListExample);
  list.gives_json();
  list.ends_with(exit_status_help("", "could not run"));
  list.calls(run_lab_list, invocation);

  Command status(lab, "status", "show the load and drops of a lab's links", kStatusExample);
  status.takes_lab();
  status.app->add_flag("--watch", status.options->watch, "repeat until Ctrl-C")
      ->excludes(status.gives_json());
  status.app->add_option("--interval", status.options->interval, "time to measure over")
      ->type_name("DURATION")
      ->check(duration_value())
      ->capture_default_str();
  status.ends_with(exit_status_help("", "could not run"));
  status.calls(run_lab_status, invocation);
}

void add_fault(CLI::App* lab, Invocation& invocation) {
  Command fault(lab, "fault", "break a link or pause a host of a lab, or repair it", kFaultExample);
  fault.app->add_option("kind", fault.options->kind, "what to do")
      ->type_name(choices_text(kFaultKinds))
      ->check(one_of(kFaultKinds))
      ->required();
  fault.app
      ->add_option("target", fault.options->words,
                   "the two ends of a link, and a rate or share where the kind has one; or a host")
      ->type_name("TARGET");
  auto* const one_way =
      fault.app->add_flag("--one-way", fault.options->one_way, "only from the first end");
  fault.app->add_flag("--both-ways", fault.options->both_ways, "a black hole in both directions")
      ->excludes(one_way);
  fault.app->add_option("--number", fault.options->number, "which of parallel links, from 0")
      ->type_name("N")
      ->check(whole_number(0, UINT32_MAX))
      ->capture_default_str();
  fault.takes_lab();
  fault.ends_with(exit_status_help("", "the fault could not be made"));
  fault.calls(run_lab_fault, invocation);
}

}  // namespace

void add_lab_command(CLI::App& root, Invocation& invocation) {
  CLI::App* const lab =
      root.add_subcommand("lab", "make a real fabric of namespaces on this machine, and break it");
  lab->require_subcommand(1);
  lab->footer(kLabExample);
  add_life(lab, invocation);
  add_views(lab, invocation);
  add_fault(lab, invocation);
  add_lab_vm_command(*lab, invocation);
}

}  // namespace heddle::cli
