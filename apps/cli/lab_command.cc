// `heddle lab`: see lab_command.h. Here are the options; what they do is in lab/.
#include "apps/cli/lab_command.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "apps/cli/lab/lab_options.h"

namespace heddle::cli {
namespace {

constexpr const char* kLabExample = R"(Example:
  heddle lab up lab/examples/two_leaf_four_spine.toml
  heddle lab exec h3 -- heddle perf --listen &
  heddle lab exec h0 -- heddle perf h3 bw
  heddle lab fault loss leaf0 spine1 1%
  heddle lab status
  heddle lab down

A lab is a fabric of network namespaces on this machine: real sockets, real queues, real ECMP.)";

constexpr const char* kUpExample = R"(Example:
  heddle lab up lab/examples/two_leaf_four_spine.toml --name lab1)";

constexpr const char* kRunExample = R"(Example:
  heddle lab run lab/examples/point_to_point.toml -- sh -c '
    heddle lab exec h1 -- heddle perf --listen --once &
    sleep 1; heddle lab exec h0 -- heddle perf h1 bw'

The command finds the lab by itself (HEDDLE_LAB). The faults of the file are played from its start.
Without root the lab is made in a user namespace, seen by the command only.

Exit status: the command's; 2 where the lab could not be made.)";

constexpr const char* kDownExample = R"(Example:
  heddle lab down lab1)";

constexpr const char* kExecExample = R"(Example:
  heddle lab exec h0 -- heddle ping h3 -C 5

Names of the lab's hosts are known there: h3, h3-v6, h3-nic1. Exit status: the command's; 2 where it
could not be started.)";

constexpr const char* kListExample = R"(Example:
  heddle lab list --json)";

constexpr const char* kStatusExample = R"(Example:
  heddle lab status --watch --interval 1

'dropped' counts what a full queue dropped, 'marked' CE marks, 'lost' what a fault took.)";

constexpr const char* kFaultExample = R"(Example:
  heddle lab fault loss leaf0 spine1 1%           both ways; --one-way: only from leaf0
  heddle lab fault blackhole leaf0 spine1         only from leaf0; the carrier stays
  heddle lab fault down leaf0 spine1              the carrier goes, switches route around it
  heddle lab fault up leaf0 spine1
  heddle lab fault rate leaf0 spine1 50Mbit/s
  heddle lab fault corrupt h0 leaf0 0.1%
  heddle lab fault reorder leaf0 spine1 1%
  heddle lab fault pause h2                       resume h2
  heddle lab fault clear                          all of them; or: clear leaf0 spine1)";

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
        ->type_name("TOPOLOGY")
        ->required();
    app->add_option("--name", options->name, "name of the lab [after the file]")->type_name("NAME");
    app->add_flag("--reorder", options->reorder, "let busy links reorder packets");
  }
  void takes_lab() {
    app->add_option("--name", options->name, "which lab [HEDDLE_LAB, or the only one]")
        ->type_name("NAME");
  }
  void takes_words() {
    app->add_option("command", options->words, "the command and its arguments, after --")
        ->type_name("-- COMMAND")
        ->required();
  }
  CLI::Option* gives_json() {
    return app->add_flag("--json", options->json, "print one JSON document");
  }
};

void add_life(CLI::App* lab, Invocation& invocation) {
  Command up(lab, "up", "make a lab that stays until it is taken down", kUpExample);
  up.takes_topology();
  up.app->add_flag("--play", up.options->play, "play the file's faults, then return");
  up.calls(run_lab_up, invocation);

  Command run(lab, "run", "make a lab, run a command, take the lab down again", kRunExample);
  run.takes_topology();
  run.takes_words();
  run.calls(run_lab_run, invocation);

  Command down(lab, "down", "take a lab down, with all its processes", kDownExample);
  auto* const name = down.app->add_option("name", down.options->name, "which one [the only one]");
  name->type_name("NAME");
  down.app->add_flag("--all", down.options->all, "every lab")->excludes(name);
  down.calls(run_lab_down, invocation);

  Command exec(lab, "exec", "run a command on a host or switch of a lab", kExecExample);
  exec.app->add_option("host", exec.options->host, "host or switch")->type_name("HOST")->required();
  exec.takes_lab();
  exec.takes_words();
  exec.calls(run_lab_exec, invocation);
}

void add_views(CLI::App* lab, Invocation& invocation) {
  Command list(lab, "list", "print the labs that are up or left over", kListExample);
  list.gives_json();
  list.calls(run_lab_list, invocation);

  Command status(lab, "status", "print what the links of a lab carry and drop", kStatusExample);
  status.takes_lab();
  status.app->add_flag("--watch", status.options->watch, "again and again, until Ctrl-C")
      ->excludes(status.gives_json());
  status.app->add_option("--interval", status.options->interval, "time to measure over [0.5]")
      ->type_name("SECONDS");
  status.calls(run_lab_status, invocation);
}

void add_fault(CLI::App* lab, Invocation& invocation) {
  Command fault(lab, "fault", "break a link or pause a host, or make it good again", kFaultExample);
  fault.app
      ->add_option("kind", fault.options->kind,
                   "down, up, blackhole, rate, loss, corrupt, reorder, clear, pause, resume")
      ->type_name("KIND")
      ->required();
  fault.app->add_option("what", fault.options->words, "a link's two ends and a value, or a host")
      ->type_name("END END [VALUE] | HOST");
  auto* const one_way =
      fault.app->add_flag("--one-way", fault.options->one_way, "only from the first end");
  fault.app->add_flag("--both-ways", fault.options->both_ways, "a black hole in both directions")
      ->excludes(one_way);
  fault.app->add_option("--number", fault.options->number, "which of parallel links, from 0 [0]")
      ->type_name("N");
  fault.takes_lab();
  fault.calls(run_lab_fault, invocation);
}

}  // namespace

void add_lab_command(CLI::App& root, Invocation& invocation) {
  CLI::App* const lab =
      root.add_subcommand("lab", "make a real fabric on this machine, and break it");
  lab->require_subcommand(1);
  lab->footer(kLabExample);
  add_life(lab, invocation);
  add_views(lab, invocation);
  add_fault(lab, invocation);
}

}  // namespace heddle::cli
