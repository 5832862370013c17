// See serve_command.h. What is sampled, and how, is in nodes/.
#include "apps/cli/agent/serve_command.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <memory>
#include <string>
#include <utility>

#include "apps/cli/command_line/value_checks.h"
#include "apps/cli/terminal.h"
#include "base/descriptor.h"
#include "base/quantity.h"
#include "engine/node_recording.h"
#include "metrics/bearer_token.h"
#include "monitor/node_totals.h"
#include "nodes/node_agent.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle agent serve
  heddle agent serve --metrics 9877                    for Prometheus on this machine
  heddle agent serve --metrics 0.0.0.0:9877 --token-file /etc/heddle/agent.token
  heddle agent serve --state ~/node --max-size 16MiB     without root
  heddle monitor job --hosts node1,node2 --node-records /var/lib/heddle/node

Samples this machine each second: counters of its interfaces and RDMA ports, how long tasks wait
for processors, memory and disks, and those messages of its kernel that can explain a fault (Xids of
GPUs, links, PCI Express, memory, lockups, disks). A monitor of a job reads them over its own login,
so that what began before the job is evidence too; nothing listens for that. The newest samples are
kept: the folder's files take --max-size of the disk together, and survive a killed agent. The
folder belongs to the agent's user; other files in it stay.
Kernel messages need root or CAP_SYSLOG; without, the rest is sampled. SIGTERM ends it.)";

constexpr const char* kDefaultState = "/var/lib/heddle/node";

struct ServeOptions {
  std::string state = kDefaultState;
  std::string metrics;
  std::string token_file;
  std::string most = "64M";
  std::string every = "1s";
};

std::string own_host() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

// Readable when this process is to end. Threads that start later do not get the signals either.
Descriptor end_signals() {
  sigset_t ends;
  sigemptyset(&ends);
  for (const int each : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&ends, each);
  sigprocmask(SIG_BLOCK, &ends, nullptr);
  return Descriptor(signalfd(-1, &ends, SFD_CLOEXEC));
}

// Null: no metrics are wanted.
Result<std::unique_ptr<metrics::Server>> listen(const ServeOptions& options) {
  if (options.metrics.empty()) return std::unique_ptr<metrics::Server>();
  const Result<metrics::ListenAddress> at = metrics::parse_listen_address(options.metrics);
  if (!at) return fail(at.error());
  return metrics::listen_with_token(*at, options.token_file);
}

// Interfaces of hardware have one in sysfs; bridges, pods' interfaces and removed ones have none.
bool has_hardware(const std::string& interface) {
  return access(("/sys/class/net/" + interface + "/device").c_str(), F_OK) == 0;
}

void warn_of(const nodes::NodeAgent& agent, monitor::NodeTotals& totals) {
  totals.set_kernel_log(agent.reads_kernel_log());
  for (const std::string& each : agent.complaints()) print_warning(each);
}

Result<void> serve(const ServeOptions& options) {
  signal(SIGPIPE, SIG_IGN);  // of a reader that has gone
  const Descriptor ends = end_signals();
  const Result<Bytes> most = parse_size(options.most);
  if (!most) return fail(most.error());
  monitor::NodeTotals totals(own_host(), true, has_hardware);
  // Before a recording begins, for which an old one may go.
  const auto server = listen(options);
  if (!server) return fail(server.error());
  nodes::NodeAgentOptions node;
  node.recording = engine::node_recording_options(options.state, *most);
  node.makes_parents = options.state == kDefaultState;
  node.every = *parse_duration(options.every);
  auto agent = nodes::NodeAgent::start(node, &totals);
  if (!agent) return fail(std::move(agent).error());
  warn_of(**agent, totals);
  if (*server) {
    const Result<void> served = (*server)->serve([&totals] { return totals.families(); });
    if (!served) return fail(served.error());
    print_progress("metrics are at " + (*server)->url());
  }
  print_progress(fmt::format("samples of this machine are in {}", options.state));
  return (*agent)->run(ends.number(), [&] { warn_of(**agent, totals); });
}

}  // namespace

void add_agent_serve_command(CLI::App& agent, Invocation& invocation) {
  CLI::App* const command =
      agent.add_subcommand("serve", "sample this machine, for monitors of jobs and for Prometheus");
  command->footer(std::string(kExample) +
                  "\n\nExit status: 0 SIGTERM, SIGINT or SIGHUP ended it; 2 it could not sample.");
  const auto options = std::make_shared<ServeOptions>();
  command->add_option("--state", options->state, "folder of the samples; it is made")
      ->type_name("FOLDER")
      ->capture_default_str();
  CLI::Option* const metrics =
      command->add_option("--metrics", options->metrics, "serve metrics for Prometheus there")
          ->type_name("[ADDRESS:]PORT")
          ->check(listen_address_value());
  command
      ->add_option("--token-file", options->token_file,
                   "file with the token that readers of the metrics must have; an address that "
                   "other machines reach needs one")
      ->type_name("FILE")
      ->needs(metrics);
  command->add_option("--max-size", options->most, "size of all samples together on the disk")
      ->check(size_value(4 << 20))
      ->type_name("SIZE")
      ->capture_default_str();
  command->add_option("--every", options->every, "time from one sample to the next")
      ->type_name("DURATION")
      ->check(duration_value(millis(100)))
      ->capture_default_str();
  command->callback([options, &invocation] {
    invocation.run = [options] {
      const Result<void> served = serve(*options);
      if (!served) print_error(served.error());
      return served ? kDone : kCouldNotRun;
    };
  });
}

}  // namespace heddle::cli
