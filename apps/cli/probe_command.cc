// `heddle probe`: see probe_command.h. What is probed is in acceptance/probe_fabric.h, what is
// inferred in probing/.
#include "apps/cli/probe_command.h"

#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "acceptance/fabric.h"
#include "acceptance/probe_fabric.h"
#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/command_line/value_checks.h"
#include "apps/cli/params.h"
#include "apps/cli/probe/report.h"
#include "apps/cli/terminal.h"
#include "base/document.h"
#include "base/interrupt.h"
#include "datapath/resolve.h"
#include "engine/seed.h"
#include "lab/lab.h"
#include "launch/remote_shell.h"
#include "probing/topology_text.h"
#include "recordings/many_files.h"
#include "topology/file.h"
#include "topology/names.h"
#include "transport/address.h"

namespace heddle::cli {
namespace {

constexpr const char* kHelp = R"(Example:
  heddle probe --hosts node1,node2,node3 -o rack7.toml
  heddle probe --hosts node1=10.1.0.1+10.2.0.1,node2=10.1.0.2+10.2.0.2 --compare plan.toml
  heddle lab up fabric.toml --lab rack7; heddle probe --lab rack7
  heddle sim --topology rack7.toml --workload job.toml

Probes with small hop limits find the switches on the route of each source port, packets that arrive
find links that lose them, and short trains of packets measure rates. A lab is compared with its own
topology. NAME=ADDRESS+ADDRESS has the addresses of several NICs.)";

struct ProbeOptions {
  std::string lab;
  std::string hosts;
  std::string via = "ssh";
  std::string compare;
  std::string output;
  uint32_t entropies = params::probe::kUsualEntropies;
  std::optional<uint32_t> peers;
  uint32_t deliveries = params::probe::kUsualDeliveries;
  uint32_t packets_per_s = params::probe::kUsualPacketsPerSecond;
  uint16_t port = params::probe::kUsualPort;
  uint16_t first_port = params::probe::kUsualFirstPort;
  bool no_rates = false;
  bool json = false;
};

bool stopped() { return interrupted() != 0; }

Unexpected wrong_hosts(const std::string& why) {
  return fail(ErrorCode::kInvalid, "cannot probe these hosts", why, "see `heddle probe --help`");
}

// "node1=10.1.0.1+10.2.0.1" as "node1=10.1.0.1", with the other addresses by host.
struct HostList {
  std::string first;
  std::map<std::string, std::vector<std::string>> others;
};

HostList split_addresses(const std::string& list) {
  HostList hosts;
  size_t at = 0;
  while (at <= list.size()) {
    const size_t end = std::min(list.find(',', at), list.size());
    std::string item = list.substr(at, end - at);
    at = end + 1;
    const size_t equals = item.find('=');
    const size_t plus = equals == std::string::npos ? equals : item.find('+', equals);
    if (plus != std::string::npos) {
      std::vector<std::string>& others = hosts.others[item.substr(0, equals)];
      for (size_t next = plus; next != std::string::npos;) {
        const size_t until = item.find('+', next + 1);
        others.push_back(item.substr(next + 1, until - next - 1));
        next = until;
      }
      item.resize(plus);
    }
    hosts.first += (hosts.first.empty() ? "" : ",") + item;
  }
  return hosts;
}

// The fabric to probe, and what is known of it.
struct Subject {
  std::optional<lab::Lab> lab;
  std::unique_ptr<acceptance::Fabric> fabric;
  std::vector<probing::ProbedNic> nics;
};

Result<std::unique_ptr<Subject>> lab_subject(const ProbeOptions& options) {
  Result<lab::Lab> lab = lab::open_lab(options.lab);
  if (!lab) return fail(std::move(lab).error());
  auto subject = std::make_unique<Subject>();
  subject->lab = std::move(*lab);
  subject->fabric = acceptance::fabric_of_lab(*subject->lab);
  const topology::Topology& fabric = subject->lab->layout.topology;
  std::vector<bool> wanted(fabric.hosts.size(), options.hosts.empty());
  std::string name;
  for (const char each : options.hosts.empty() ? "" : options.hosts + ",") {
    if (each != ',') {
      name += each;
      continue;
    }
    const auto host = topology::find_host(fabric, name);
    if (!host) {
      return wrong_hosts(
          fmt::format("the lab '{}' has no host '{}'", subject->lab->state.name, name));
    }
    wanted[*host] = true;
    name.clear();
  }
  for (uint32_t i = 0; i < fabric.nics.size(); ++i) {
    const uint32_t host = fabric.nics[i].host;
    if (!wanted[host]) continue;
    subject->nics.push_back({fabric.hosts[host].name, topology::nic_number(fabric, i),
                             lab::nic_ipv4(subject->lab->layout, i)});
  }
  return subject;
}

Result<std::unique_ptr<Subject>> machines_subject(const ProbeOptions& options) {
  const Result<launch::RemoteShell> shell = launch::parse_remote_shell(options.via);
  if (!shell) return fail(shell.error());
  const HostList list = split_addresses(options.hosts);
  Result<std::vector<launch::RemoteHost>> hosts = launch::parse_remote_hosts(list.first);
  if (!hosts) return fail(std::move(hosts).error());
  std::vector<std::string> names;
  for (const launch::RemoteHost& each : *hosts) names.push_back(each.name);
  auto subject = std::make_unique<Subject>();
  Result<std::unique_ptr<acceptance::Fabric>> fabric =
      acceptance::fabric_of_machines({.shell = *shell,
                                      .via = options.via,
                                      .hosts = std::move(*hosts),
                                      .topology = {},
                                      .interrupted = stopped});
  if (!fabric) return fail(std::move(fabric).error());
  subject->fabric = std::move(*fabric);
  const std::vector<topology::Host>& machines = subject->fabric->topology().hosts;
  for (const acceptance::SilentHost& each : subject->fabric->silent()) {
    return fail(ErrorCode::kUnavailable, "cannot probe from " + machines[each.host].name,
                each.complaint, "all hosts have to answer; leave this one out");
  }
  for (uint32_t i = 0; i < machines.size(); ++i) {
    subject->nics.push_back({machines[i].name, 0, subject->fabric->address(i)});
    const auto others = list.others.find(names[i]);
    if (others == list.others.end()) continue;
    uint32_t number = 0;
    for (const std::string& address : others->second) {
      subject->nics.push_back({machines[i].name, ++number, address});
    }
  }
  return subject;
}

// The topology of --compare; nothing if none is given.
Result<std::optional<topology::Topology>> expected_topology(const ProbeOptions& options) {
  if (options.compare.empty()) return std::optional<topology::Topology>();
  Result<topology::Topology> truth = topology::read_topology_file(options.compare);
  if (!truth) return fail(std::move(truth).error());
  return std::optional(std::move(*truth));
}

void compare(const ProbeOptions& options, const std::optional<topology::Topology>& truth,
             const Subject& subject, ProbeReport& report) {
  if (truth) {
    report.compared_with = options.compare;
    report.comparison = probing::compare(report.probed.found, *truth);
  } else if (subject.lab) {
    report.compared_with = "the lab " + subject.lab->state.name;
    report.comparison = probing::compare(report.probed.found, subject.lab->layout.topology);
  }
}

// Before minutes of probing, not behind them.
Result<void> expect_writable(const std::string& path) {
  if (path.empty()) return {};
  std::error_code none;
  const std::filesystem::path file = path;
  const bool exists = std::filesystem::exists(file, none);
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  const bool is_folder = std::filesystem::is_directory(file, none);
  if (!is_folder && access(exists ? file.c_str() : folder.c_str(), W_OK) == 0) return {};
  return fail(ErrorCode::kInvalid, "cannot write " + path,
              is_folder ? "it is a folder" : std::strerror(errno), "give another --output");
}

// Each NIC has an address of its own, and all are of one family.
Result<void> expect_distinct(const std::vector<probing::ProbedNic>& nics) {
  std::map<transport::Address, std::string> known;
  std::optional<transport::Address> first;
  for (const probing::ProbedNic& nic : nics) {
    const Result<transport::Address> address = datapath::resolve(nic.address, 0);
    if (!address) return fail(address.error());
    const auto [at, is_new] = known.emplace(*address, nic.host);
    if (!is_new) {
      return wrong_hosts(
          fmt::format("{} and {} both have the address {}", at->second, nic.host, nic.address));
    }
    if (!first) first = *address;
    if (!transport::same_family(*address, *first)) {
      return wrong_hosts("some addresses are IPv4, others IPv6");
    }
  }
  return {};
}

acceptance::ProbeFabricOptions probe_options(const ProbeOptions& options, const Subject& subject) {
  acceptance::ProbeFabricOptions made;
  made.first = {.first_port = options.first_port,
                .entropies = static_cast<uint16_t>(options.entropies),
                .deliveries = options.deliveries,
                .peers = options.peers.value_or(subject.nics.size() > params::probe::kMostAllPairs
                                                    ? params::probe::kUsualPeers
                                                    : 0)};
  made.measures_rates = !options.no_rates;
  made.hosts = {.run = engine::system_seed(),
                .port = options.port,
                .packets_per_s = options.packets_per_s,
                .interrupted = stopped};
  made.names = [fabric = subject.fabric.get()](const std::string& address) {
    const auto found = fabric->switch_at(address);
    return found ? std::optional(fabric->topology().switches[*found].name) : std::nullopt;
  };
  return made;
}

Result<int> probe(const ProbeOptions& options) {
  if (options.lab.empty() && options.hosts.empty()) {
    return fail(ErrorCode::kInvalid, "cannot probe", "neither a lab nor hosts are given",
                "write --lab NAME, or --hosts with two names or more");
  }
  if (options.first_port + options.entropies > 65'536) {
    return fail(ErrorCode::kInvalid, "cannot probe", "source ports end at 65535",
                "give a smaller --first-port, or fewer --entropies");
  }
  const auto truth = expected_topology(options);
  if (!truth) return fail(truth.error());
  if (auto writable = expect_writable(options.output); !writable) return fail(writable.error());
  recordings::allow_many_files();  // two for each command that runs
  catch_interrupts();
  Result<std::unique_ptr<Subject>> subject =
      options.lab.empty() ? machines_subject(options) : lab_subject(options);
  if (!subject) return fail(std::move(subject).error());
  if (auto distinct = expect_distinct((*subject)->nics); !distinct) return fail(distinct.error());
  ProgressLine line;
  acceptance::ProbeFabricOptions made = probe_options(options, **subject);
  made.progress = [&line](const std::string& text) { line.show(text); };
  Result<acceptance::ProbedFabric> probed =
      acceptance::probe_fabric(*(*subject)->fabric, (*subject)->nics, made);
  line.clear();
  if (!probed) return fail(std::move(probed).error());
  ProbeReport report{std::move(*probed), {}, {}};
  compare(options, *truth, **subject, report);
  print(options.json ? probe_document(report).dump(2) + "\n" : probe_text(report));
  if (!options.output.empty()) {
    const std::string text = probing::topology_text(report.probed.found);
    if (auto written = write_text_file(options.output, text); !written) {
      return fail(written.error());
    }
  }
  return is_sound(report) ? kDone : kFoundWrong;
}

int run_probe(const ProbeOptions& options) {
  const Result<int> status = probe(options);
  if (status) return *status;
  if (stopped()) return interrupted_exit_status();
  print_error(status.error());
  return kCouldNotRun;
}

template <typename Value>
CLI::Option* add_number(CLI::App& command, const char* name, Value& value, const std::string& about,
                        const CLI::Validator& range) {
  return command.add_option(name, value, about)
      ->type_name("N")
      ->check(range)
      ->capture_default_str();
}

}  // namespace

void add_probe_command(CLI::App& root, Invocation& invocation) {
  CLI::App* const command =
      root.add_subcommand("probe", "find what connects hosts, and which links are at fault");
  command->footer(kHelp + exit_status_help("a fault was found, or a difference", "could not run"));
  const auto options = std::make_shared<ProbeOptions>();
  add_lab_option(*command, options->lab)->default_str("");
  add_hosts_option(*command, options->hosts, "probe between these hosts")->default_str("");
  add_via_option(*command, options->via)->capture_default_str();
  command->add_option("--compare", options->compare, "report what differs from this topology")
      ->type_name("FILE");
  command->add_option("-o,--output", options->output, "write the topology that was found")
      ->type_name("FILE");
  add_number(*command, "--entropies", options->entropies, "source ports of each pair of NICs",
             whole_number(1, 256));
  command
      ->add_option(
          "--peers", options->peers,
          "NICs that each NIC probes; 0: all others; else all of up to 64 NICs, 16 of more")
      ->type_name("N")
      ->check(whole_number(0, 4'096));
  add_number(*command, "--deliveries", options->deliveries,
             "packets that each source port sends to the destination", whole_number(1, 10'000));
  add_number(*command, "--packets-per-s", options->packets_per_s,
             "probes a second of each host that switches answer", whole_number(1, 1'000'000));
  add_number(*command, "--port", options->port, "UDP port at which hosts receive probes",
             whole_number(1, 65'535))
      ->type_name("PORT");
  add_number(*command, "--first-port", options->first_port, "first source port",
             whole_number(1, 65'535))
      ->type_name("PORT");
  command->add_flag("--no-rates", options->no_rates, "send no trains, measure no rates");
  add_json_option(*command, options->json);
  command->callback(
      [options, &invocation] { invocation.run = [options] { return run_probe(*options); }; });
}

}  // namespace heddle::cli
