// `heddle agent`: see agent_command.h; what it does is in launch/agent.h and
// acceptance/machine_side.h.
#include "apps/cli/agent_command.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "acceptance/machine_side.h"
#include "apps/cli/command_line/value_checks.h"
#include "apps/cli/monitor/planned_file.h"
#include "apps/cli/terminal.h"
#include "base/interrupt.h"
#include "base/quantity.h"
#include "base/write_all.h"
#include "lab/tcp_flow.h"
#include "launch/agent.h"
#include "measure/probe_receiver.h"
#include "measure/probe_sender.h"
#include "monitor/watch.h"
#include "probing/documents.h"
#include "recordings/folder_stream.h"
#include "recordings/many_files.h"

namespace heddle::cli {
namespace {

struct FlowOptions {
  std::string address;
  uint16_t port = 0;
  std::string time;
};

int print_result(const Result<acceptance::Json>& result) {
  if (result) print(result->dump() + "\n");
  if (!result) print_error(result.error());
  return result ? kDone : kCouldNotRun;
}

int print_end(const Result<void>& result) {
  if (!result) print_error(result.error());
  return result ? kDone : kCouldNotRun;
}

// Until the reader or this process is ended.
int send_recordings(const std::string& folder) {
  recordings::FolderSender sender(folder);
  const auto send = [](std::string_view bytes) { return write_all(STDOUT_FILENO, bytes); };
  while (sender.send_changes(send)) {
    for (const Error& error : sender.take_errors()) print_error(error);
    std::this_thread::sleep_for(std::chrono::nanoseconds(monitor::kSendEvery.count));
  }
  return kCouldNotRun;
}

// Both ends of a TCP flow take the same words.
std::shared_ptr<FlowOptions> add_flow(CLI::App& flow) {
  auto options = std::make_shared<FlowOptions>();
  flow.add_option("address", options->address, "of the receiving end")->required();
  flow.add_option("port", options->port, "of the receiving end")->required();
  flow.add_option("time", options->time, "to send, or to wait at most")
      ->check(duration_value())
      ->required();
  return options;
}

// Command lines are too short for it, and any user can read them.
std::string standard_input() {
  constexpr size_t kMost = 64 << 20;
  std::string text;
  std::array<char, 65'536> piece{};
  while (text.size() < kMost) {
    const ssize_t got = read(STDIN_FILENO, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(piece.data(), static_cast<size_t>(got));
  }
  return text;
}

// Signals wait until the file is replaced, or its draft would be left behind.
int take_plan_of_input(const std::string& file) {
  const std::string plan = standard_input();
  sigset_t ends, before;
  sigemptyset(&ends);
  for (const int each : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&ends, each);
  sigprocmask(SIG_BLOCK, &ends, &before);
  const Result<void> taken = take_plan(plan, file);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (taken) print(kPlanTaken);
  return print_end(taken);
}

int print_probes(const Result<probing::Observations>& part) {
  if (part) print(probing::json_of(*part).dump() + "\n");
  if (!part) print_error(part.error());
  return part ? kDone : kCouldNotRun;
}

int receive_probes() {
  const Result<probing::RoundSpec> spec = probing::parse_round_spec(standard_input());
  if (!spec) {
    print_error(spec.error());
    return kCouldNotRun;
  }
  catch_interrupts();
  return print_probes(measure::receive_probes(
      *spec, [] { print("ready\n"); }, [] { return interrupted() != 0; }));
}

int send_probes() {
  const Result<probing::SendSpec> spec = probing::parse_send_spec(standard_input());
  if (!spec) {
    print_error(spec.error());
    return kCouldNotRun;
  }
  recordings::allow_many_files();  // a socket for each NIC and source port
  catch_interrupts();
  return print_probes(measure::send_probes(*spec));
}

void add_probes(CLI::App& agent, Invocation& invocation) {
  const auto add = [&](const char* name, const char* about, int (*run)()) {
    agent.add_subcommand(name, about)->callback([run, &invocation] { invocation.run = run; });
  };
  add("probe-receive", "receive probes of the round on standard input, until a signal",
      receive_probes);
  add("probe-send", "send the probes of standard input", send_probes);
}

void add_tcp_flows(CLI::App& agent, Invocation& invocation) {
  CLI::App* const receive = agent.add_subcommand("tcp-receive", "receive one TCP flow");
  const auto receiving = add_flow(*receive);
  receive->callback([receiving, &invocation] {
    invocation.run = [receiving] {
      return print_result(acceptance::receive_tcp(receiving->address, receiving->port,
                                                  *parse_duration(receiving->time)));
    };
  });
  CLI::App* const send = agent.add_subcommand("tcp-send", "send one TCP flow");
  const auto sending = add_flow(*send);
  send->callback([sending, &invocation] {
    invocation.run = [sending] {
      return print_end(
          lab::send_tcp(sending->address, sending->port, *parse_duration(sending->time)));
    };
  });
}

}  // namespace

void add_agent_command(CLI::App& root, Invocation& invocation) {
  CLI::App* const agent = root.add_subcommand("agent", "run a command of another machine's heddle");
  agent->group("");
  const auto name = std::make_shared<std::string>();
  CLI::App* const facts = agent->add_subcommand("facts", "facts of the port that has an address");
  facts->add_option("address", *name, "IPv4 or IPv6 address")->required();
  facts->callback([name, &invocation] {
    invocation.run = [name] { return print_result(acceptance::facts_of_machine(*name)); };
  });
  CLI::App* const counters = agent->add_subcommand("counters", "write a port's counters");
  counters->add_option("device", *name, "name of the port")->required();
  counters->callback([name, &invocation] {
    invocation.run = [name] { return print_end(acceptance::write_counters(*name)); };
  });
  CLI::App* const counts = agent->add_subcommand("counts", "counters of NICs and RDMA ports");
  counts->add_option("device", *name, "name of the port that is tested")->required();
  counts->callback([name, &invocation] {
    invocation.run = [name] { return print_result(acceptance::counts_of_machine(*name)); };
  });
  CLI::App* const recordings =
      agent->add_subcommand("recordings", "write what is recorded in a folder, as it is recorded");
  recordings->add_option("folder", *name, "where processes record")->required();
  recordings->callback(
      [name, &invocation] { invocation.run = [name] { return send_recordings(*name); }; });
  CLI::App* const plan =
      agent->add_subcommand("plan", "replace a file by the plan on standard input");
  plan->add_option("file", *name, "that processes follow")->required();
  plan->callback(
      [name, &invocation] { invocation.run = [name] { return take_plan_of_input(*name); }; });
  add_probes(*agent, invocation);
  add_tcp_flows(*agent, invocation);
  agent->callback([agent, &invocation] {
    if (agent->get_subcommands().empty()) invocation.run = launch::run_agent;
  });
}

}  // namespace heddle::cli
