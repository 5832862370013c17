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

#include "acceptance/machine_clocks.h"
#include "acceptance/machine_side.h"
#include "acceptance/rank_cores.h"
#include "acceptance/rdma_tests.h"
#include "apps/cli/agent/serve_command.h"
#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/command_line/value_checks.h"
#include "apps/cli/monitor/planned_file.h"
#include "apps/cli/params.h"
#include "apps/cli/terminal.h"
#include "base/interrupt.h"
#include "base/quantity.h"
#include "base/write_all.h"
#include "lab/socket_streams.h"
#include "lab/socket_tests.h"
#include "launch/agent.h"
#include "measure/probe_receiver.h"
#include "measure/probe_sender.h"
#include "monitor/params.h"
#include "monitor/watch.h"
#include "probing/documents.h"
#include "recordings/folder_stream.h"
#include "recordings/many_files.h"

namespace heddle::cli {
namespace {

struct SocketOptions {
  std::string address;
  uint16_t port = 0;
  std::string client;   // of RDMA: its address
  std::string time;     // of serving, at most
  std::string latency;  // of each test of the client
  std::string stream;
  std::string datagrams;
  uint64_t offered = 0;
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

constexpr const char* kExample = R"(Example:
  heddle agent serve --metrics 9877)";

// Until the reader or this process is ended.
int send_recordings(const std::string& folder, bool with_nodes, const std::string& node_records) {
  recordings::FolderSender sender(folder);
  if (with_nodes) sender.add_nodes(node_records);
  const auto send = [](std::string_view bytes) { return write_all(STDOUT_FILENO, bytes); };
  while (sender.send_changes(send)) {
    for (const Error& error : sender.take_errors()) print_error(error);
    std::this_thread::sleep_for(std::chrono::nanoseconds(monitor::params::kSendEvery.count));
  }
  return kCouldNotRun;
}

// Both ends take these words first.
std::shared_ptr<SocketOptions> add_server(CLI::App& end) {
  auto options = std::make_shared<SocketOptions>();
  end.add_option("address", options->address, "of the serving end")->required();
  end.add_option("port", options->port, "of the serving end")->required();
  return options;
}

void add_time(CLI::App& end, const char* name, std::string& value, const char* about,
              Nanos least = nanos(1)) {
  end.add_option(name, value, about)->check(duration_value(least))->required();
}

// Command lines are too short for it, and any user can read them.
std::string standard_input() {
  std::string text;
  std::array<char, 65'536> piece{};
  while (text.size() < params::agent::kMostInputBytes) {
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

void add_sockets(CLI::App& agent, Invocation& invocation) {
  CLI::App* const serve = agent.add_subcommand("socket-serve", "serve one client of plain sockets");
  const auto serving = add_server(*serve);
  add_time(*serve, "time", serving->time, "to wait and to serve at most");
  serve->callback([serving, &invocation] {
    invocation.run = [serving] {
      return print_end(
          lab::serve_socket_tests(serving->address, serving->port, *parse_duration(serving->time)));
    };
  });
  CLI::App* const test = agent.add_subcommand("socket-test", "test TCP and UDP of plain sockets");
  const auto testing = add_server(*test);
  add_time(*test, "latency", testing->latency, "of each test of latency");
  add_time(*test, "stream", testing->stream, "of TCP's bandwidth; 0: not tested", Nanos{});
  add_time(*test, "datagrams", testing->datagrams, "of UDP's bandwidth; 0: UDP is not tested",
           Nanos{});
  test->add_option("offered", testing->offered, "bits/s of UDP; 0: as fast as it can")->required();
  test->callback([testing, &invocation] {
    invocation.run = [testing] {
      return print_result(acceptance::socket_figures(testing->address, testing->port,
                                                     {*parse_duration(testing->latency),
                                                      *parse_duration(testing->stream),
                                                      *parse_duration(testing->datagrams),
                                                      {testing->offered}}));
    };
  });
}

struct StreamOptions {
  std::string address;                 // of the receiver
  std::vector<std::string> addresses;  // of receivers
  uint16_t port = 0;
  size_t count = 0;   // of connections
  std::string limit;  // to wait, and to receive
  std::string span;   // of sending
};

void add_streams(CLI::App& agent, Invocation& invocation) {
  const auto options = std::make_shared<StreamOptions>();
  CLI::App* const receive = agent.add_subcommand("streams-receive", "receive TCP streams");
  receive->add_option("address", options->address, "to listen on")->required();
  receive->add_option("port", options->port, "to listen on")->required();
  receive->add_option("count", options->count, "of streams")->required();
  add_time(*receive, "limit", options->limit, "to wait and to receive at most");
  receive->callback([options, &invocation] {
    invocation.run = [options] {
      return print_result(acceptance::stream_figures(
          options->address, options->port, options->count, *parse_duration(options->limit)));
    };
  });
  CLI::App* const send = agent.add_subcommand("streams-send", "send TCP streams to all of these");
  send->add_option("port", options->port, "of receivers")->required();
  add_time(*send, "span", options->span, "to send");
  add_time(*send, "limit", options->limit, "to wait for the receivers at most");
  send->add_option("addresses", options->addresses, "of receivers")->required();
  send->callback([options, &invocation] {
    invocation.run = [options] {
      return print_end(lab::send_streams(options->addresses, options->port,
                                         *parse_duration(options->span),
                                         *parse_duration(options->limit)));
    };
  });
}

void add_client(CLI::App& end, SocketOptions& options) {
  end.add_option("client", options.client, "address of the client")->required();
}

acceptance::RdmaEnds ends_of(const SocketOptions& options) {
  return {options.address, options.client, options.port};
}

void add_rdma(CLI::App& agent, Invocation& invocation) {
  CLI::App* const serve = agent.add_subcommand("rdma-serve", "serve one client of tests of RC");
  const auto serving = add_server(*serve);
  add_client(*serve, *serving);
  add_time(*serve, "time", serving->time, "to wait and to serve at most");
  serve->callback([serving, &invocation] {
    invocation.run = [serving] {
      return print_end(
          acceptance::serve_rdma_tests(ends_of(*serving), *parse_duration(serving->time)));
    };
  });
  CLI::App* const test = agent.add_subcommand("rdma-test", "test RC queue pairs");
  const auto testing = add_server(*test);
  add_client(*test, *testing);
  add_time(*test, "latency", testing->latency, "of the test of latency");
  add_time(*test, "stream", testing->stream, "of the test of bandwidth");
  test->callback([testing, &invocation] {
    invocation.run = [testing] {
      return print_result(acceptance::rdma_figures(
          ends_of(*testing),
          {*parse_duration(testing->latency), *parse_duration(testing->stream)}));
    };
  });
}

struct PinnedProgram {
  std::string cores;
  std::vector<std::string> words;
};

void add_on_core(CLI::App& agent, Invocation& invocation) {
  CLI::App* const pin = agent.add_subcommand("on-core", "run a rank's program on one of the cores");
  pin->positionals_at_end();
  const auto pinned = std::make_shared<PinnedProgram>();
  pin->add_option("cores", pinned->cores, "numbers of cores, of ranks in turn: 0,1")->required();
  add_program(*pin, pinned->words)->required();
  pin->callback([pinned, &invocation] {
    invocation.run = [pinned] {
      const ExecFailure failure = acceptance::run_on_core(pinned->cores, pinned->words);
      print_error(failure.error);
      return failure.exit_status;
    };
  });
}

}  // namespace

void add_agent_command(CLI::App& root, Invocation& invocation) {
  CLI::App* const agent = root.add_subcommand("agent", "sample this machine as a daemon");
  agent->footer(kExample + exit_status_help("", "it could not sample"));
  add_agent_serve_command(*agent, invocation);
  CLI::App* const visible = agent->get_subcommands({}).front();
  const auto name = std::make_shared<std::string>();
  CLI::App* const facts = agent->add_subcommand("facts", "facts of the port that has an address");
  facts->add_option("address", *name, "IPv4 or IPv6 address")->required();
  facts->callback([name, &invocation] {
    invocation.run = [name] { return print_result(acceptance::facts_of_machine(*name)); };
  });
  agent->add_subcommand("clock", "answer each SIGUSR1 by the time of this machine's clock")
      ->callback([&invocation] {
        invocation.run = [] {
          acceptance::answer_clock();
          return kDone;
        };
      });
  CLI::App* const counters = agent->add_subcommand("counters", "write a port's counters");
  counters->add_option("device", *name, "name of the port")->required();
  const auto with_nics = std::make_shared<bool>(false);
  counters->add_flag("--nics", *with_nics, "those of all NICs and RDMA ports, too");
  counters->callback([name, with_nics, &invocation] {
    invocation.run = [name, with_nics] {
      return print_end(acceptance::write_counters(*name, *with_nics));
    };
  });
  CLI::App* const counts = agent->add_subcommand("counts", "counters of NICs and RDMA ports");
  counts->add_option("device", *name, "name of the port that is tested")->required();
  counts->callback([name, &invocation] {
    invocation.run = [name] { return print_result(acceptance::counts_of_machine(*name)); };
  });
  CLI::App* const recordings =
      agent->add_subcommand("recordings", "write what is recorded in a folder, as it is recorded");
  recordings->add_option("folder", *name, "where processes record")->required();
  const auto with_nodes = std::make_shared<bool>(false);
  CLI::Option* const nodes =
      recordings->add_flag("--nodes", *with_nodes, "recordings of the machine, too");
  const auto node_records = std::make_shared<std::string>();
  recordings->add_option("--node-records", *node_records, "where `heddle agent serve` records")
      ->needs(nodes);
  recordings->callback([name, with_nodes, node_records, &invocation] {
    invocation.run = [name, with_nodes, node_records] {
      return send_recordings(*name, *with_nodes, *node_records);
    };
  });
  CLI::App* const plan =
      agent->add_subcommand("plan", "replace a file by the plan on standard input");
  plan->add_option("file", *name, "that processes follow")->required();
  plan->callback(
      [name, &invocation] { invocation.run = [name] { return take_plan_of_input(*name); }; });
  add_probes(*agent, invocation);
  add_sockets(*agent, invocation);
  add_streams(*agent, invocation);
  add_rdma(*agent, invocation);
  add_on_core(*agent, invocation);
  for (CLI::App* const each : agent->get_subcommands({})) {
    if (each != visible) each->group("");  // other machines' heddle calls them
  }
  agent->callback([agent, &invocation] {
    if (agent->get_subcommands().empty()) invocation.run = launch::run_agent;
  });
}

}  // namespace heddle::cli
