// The fabric of machines that a remote shell reaches: see fabric.h.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <utility>

#include "acceptance/commands.h"
#include "acceptance/fabric.h"
#include "acceptance/fabrics/fetched_recordings.h"
#include "acceptance/fabrics/machine_answers.h"
#include "acceptance/fabrics/machine_folders.h"
#include "acceptance/fabrics/machines_watch.h"
#include "acceptance/machine_addresses.h"
#include "acceptance/params.h"
#include "lab/link_meter.h"
#include "launch/remote_command.h"
#include "topology/names.h"

namespace heddle::acceptance {
namespace {

struct Machine {
  launch::RemoteHost host;  // with its address in digits
  std::string name;         // in the topology
  std::string device;       // that has the address
  std::optional<HostRdma> rdma = {};
  std::vector<HostNic> nics = {};  // the device first
};

// Two files for each command that runs.
void allow_many_files() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

// Without the user: "root@node1" is node1.
std::string name_of(const launch::RemoteHost& host) {
  return host.name.substr(host.name.rfind('@') + 1);
}

class Machines final : public Fabric {
 public:
  Machines(MachinesAsked asked, std::vector<Machine> machines)
      : asked_(std::move(asked)), machines_(std::move(machines)) {}

  std::string name() const override { return fmt::format("{} machines", machines_.size()); }
  bool is_emulated() const override { return false; }
  std::vector<std::string> notes() const override { return notes_; }
  const topology::Topology& topology() const override { return topology_; }

  void run(const std::string& host, const std::vector<std::string>& words,
           const Start& start) const override {
    launch::RemoteCommand command;
    command.words = words;
    command.settings = launch::settings_for_others();
    command.grace = seconds(1);
    command.same_folder = false;
    command.start_at = start.at;
    command.input = start.input;
    _exit(launch::run_remote(asked_.shell, machine(host).host.name, command));
  }

  Nanos login_time() const override { return login_time_; }

  std::string line(const std::string& host, const std::vector<std::string>& words) const override {
    return launch::shell_line(launch::remote_words(asked_.shell, machine(host).host.name, words));
  }

  std::vector<std::string> options_for_ranks(const std::vector<uint32_t>& hosts) const override {
    std::string names;
    for (const uint32_t host : hosts) {
      const launch::RemoteHost& each = machines_[host].host;
      names += fmt::format("{}{}={}", names.empty() ? "" : ",", each.name, each.address);
    }
    return {"--via", asked_.via, "--hosts", names};
  }

  std::string address(uint32_t host) const override { return machines_[host].host.address; }
  std::string target(uint32_t host) const override { return address(host); }
  std::string device(uint32_t host) const override { return machines_[host].device; }
  std::vector<HostNic> nics(uint32_t host) const override { return machines_[host].nics; }
  bool has_plan() const override { return asked_.topology.has_value(); }
  std::optional<HostRdma> rdma(uint32_t host) const override { return machines_[host].rdma; }
  std::optional<uint32_t> switch_at(const std::string& /*address*/) const override {
    return std::nullopt;
  }

  std::string folder_for_ranks(const std::string& folder) const override {
    return run_folder(folder_, folder);
  }
  Result<void> collect(Commands& commands, const std::string& folder,
                       const std::vector<uint32_t>& hosts) const override;
  Result<std::string> place_file(Commands& commands, const std::string& path,
                                 const std::string& text,
                                 const std::vector<uint32_t>& hosts) const override;
  void clean_up(Commands& commands, const std::vector<uint32_t>& hosts) const override {
    static_cast<void>(
        run_on(hosts, commands, {removing_script(folder_), params::kCleanTime, false}));
  }
  std::vector<SilentHost> silent() const override;
  void find_silent(Commands& commands) const override;
  Result<FabricFacts> read_facts(Commands& commands) const override;
  Result<std::vector<PlaceCounts>> read_counts(Commands& commands) const override;
  Result<std::unique_ptr<LinkWatch>> watch_links(Commands& commands,
                                                 const std::vector<uint32_t>& hosts,
                                                 bool with_nics) const override;

  void add_note(const std::string& text) { notes_.push_back(text); }
  // Asks all machines, and makes the topology of what they say where none was given.
  Result<void> look();

 private:
  const Machine& machine(const std::string& name) const {
    return *std::find_if(machines_.begin(), machines_.end(),
                         [&](const Machine& each) { return each.name == name; });
  }

  bool is_silent(size_t host) const { return silent_.count(machines_[host].name) > 0; }
  void note_silent(const std::string& machine, const std::string& complaint) const {
    silent_.emplace(machine, complaint);
  }
  std::vector<uint32_t> answering() const;
  // A document of each machine that answers, by index; the others are noted as silent.
  using Documents = std::map<uint32_t, Json>;
  Result<Documents> ask(Commands& commands) const;
  struct Script {
    std::string text;
    Nanos limit;
    bool may_stop = true;                          // when the test is interrupted
    size_t most_bytes = params::kMostOutputBytes;  // that it may write
  };
  // How it ended on each of these hosts.
  Result<std::vector<CommandEnd>> run_on(const std::vector<uint32_t>& hosts, Commands& commands,
                                         const Script& script) const;
  void make_star(const Documents& documents);
  Result<void> take_topology();
  // The link of a host's first NIC, and whether the NIC is its end a.
  std::pair<uint32_t, bool> link_of(uint32_t host) const;

  MachinesAsked asked_;
  std::vector<Machine> machines_;
  topology::Topology topology_;
  std::vector<std::string> notes_;
  const std::string folder_ = machine_folder();
  mutable Nanos login_time_;
  mutable std::map<std::string, std::string> silent_;  // machines: complaints
};

std::vector<uint32_t> Machines::answering() const {
  std::vector<uint32_t> hosts;
  for (uint32_t i = 0; i < machines_.size(); ++i) {
    if (!is_silent(i)) hosts.push_back(i);
  }
  return hosts;
}

std::vector<SilentHost> Machines::silent() const {
  std::vector<SilentHost> hosts;
  for (uint32_t i = 0; i < machines_.size(); ++i) {
    const auto found = silent_.find(machines_[i].name);
    if (found != silent_.end()) hosts.push_back({i, found->second});
  }
  return hosts;
}

void Machines::find_silent(Commands& commands) const {
  const std::vector<uint32_t> hosts = answering();
  const auto ends = run_on(hosts, commands, {":", params::kFactsTime});
  if (!ends || asked_.interrupted()) return;
  for (size_t i = 0; i < hosts.size(); ++i) {
    const CommandEnd& end = (*ends)[i];
    if (end.exit_status != 0) note_silent(machines_[hosts[i]].name, complaint_of(end));
  }
}

Result<Machines::Documents> Machines::ask(Commands& commands) const {
  const std::vector<uint32_t> hosts = answering();
  std::vector<Commands::Id> ids;
  std::vector<double> asked_at;
  for (const uint32_t host : hosts) {
    const Machine& each = machines_[host];
    asked_at.push_back(to_seconds(lab::meter_now()));
    const auto id = commands.start(each.name, {"heddle", "agent", "facts", each.host.address});
    if (!id) return fail(id.error());
    ids.push_back(*id);
  }
  std::vector<double> answered_at(ids.size(), 0);
  commands.wait(ids, params::kFactsTime, [&] {
    usleep(2'000);
    for (size_t i = 0; i < ids.size(); ++i) {
      if (answered_at[i] == 0 && !commands.was_running(ids[i])) {
        answered_at[i] = to_seconds(lab::meter_now());
      }
    }
    return !asked_.interrupted();
  });
  if (asked_.interrupted()) {
    return fail(ErrorCode::kCancelled, "stopped", "interrupted by a signal");
  }
  Documents documents;
  for (size_t i = 0; i < ids.size(); ++i) {
    const CommandEnd end = commands.result_of(ids[i]);
    Json document = document_in(end);
    if (!is_whole(document)) {
      note_silent(machines_[hosts[i]].name, end.exit_status == 0
                                                ? "its answer is of another version of heddle"
                                                : complaint_of(end));
      continue;
    }
    const double latest = answered_at[i] == 0 ? to_seconds(lab::meter_now()) : answered_at[i];
    const double login = latest - asked_at[i] - reading_seconds(document);
    login_time_ = std::max(login_time_, nanos(static_cast<int64_t>(login * 1e9)));
    documents.emplace(hosts[i], std::move(document));
  }
  return documents;
}

Result<void> Machines::look() {
  Commands commands(*this);
  const Result<Documents> documents = ask(commands);
  if (!documents) return fail(documents.error());
  if (documents->size() < 2 && !silent().empty()) {
    const SilentHost first = silent().front();
    return fail(ErrorCode::kUnavailable, "cannot test " + machines_[first.host].name,
                first.complaint, "two machines or more have to answer before anything is measured");
  }
  for (const auto& [host, document] : *documents) {
    machines_[host].device = document.value("device", "");
    machines_[host].rdma = rdma_in(document);
    machines_[host].nics = nics_in(document, machines_[host].host.address);
  }
  if (asked_.topology) return take_topology();
  make_star(*documents);
  return {};
}

void Machines::make_star(const Documents& documents) {
  topology_.switches.push_back({.name = "network", .shape = {}});
  size_t unknown = 0;
  for (uint32_t i = 0; i < machines_.size(); ++i) {
    topology_.hosts.push_back({machines_[i].name});
    topology_.nics.push_back({i});
    const auto found = documents.find(i);
    const bool answers = found != documents.end();
    const topology::LinkShape shape = answers ? shape_in(found->second) : topology::LinkShape();
    unknown += answers && shape.rate.count == 0 ? 1 : 0;
    topology_.links.push_back({.a = {topology::NodeKind::kNic, i},
                               .b = {topology::NodeKind::kSwitch, 0},
                               .shape = shape,
                               .forward = {},
                               .backward = {}});
  }
  notes_.push_back(
      "no topology was given: the network is treated as one switch that has the full rate of "
      "every port");
  if (unknown > 0) {
    notes_.push_back(fmt::format("the rate of {} ports is not known, and not judged", unknown));
  }
}

Result<void> Machines::take_topology() {
  std::vector<Machine> ordered;
  for (const topology::Host& host : asked_.topology->hosts) {
    const auto found = std::find_if(machines_.begin(), machines_.end(),
                                    [&](const Machine& each) { return each.name == host.name; });
    if (found != machines_.end()) ordered.push_back(*found);
  }
  if (ordered.size() != machines_.size() || ordered.size() != asked_.topology->hosts.size()) {
    return fail(ErrorCode::kInvalid, "cannot test these machines by this topology",
                fmt::format("it has {} hosts, of which {} are among the {} machines",
                            asked_.topology->hosts.size(), ordered.size(), machines_.size()),
                "give --hosts all hosts of the topology, by the names that they have there");
  }
  machines_ = std::move(ordered);
  topology_ = *asked_.topology;
  std::vector<size_t> planned(machines_.size(), 0);
  for (const topology::Nic& nic : topology_.nics) ++planned[nic.host];
  for (size_t i = 0; i < machines_.size(); ++i) {
    std::vector<HostNic>& nics = machines_[i].nics;
    for (size_t at = 0; at < nics.size(); ++at) nics[at].planned = at < planned[i];
  }
  notes_.push_back("ports of switches are not read: only links of hosts have counters");
  return {};
}

std::pair<uint32_t, bool> Machines::link_of(uint32_t host) const {
  const topology::Topology& fabric = topology_;
  for (uint32_t i = 0; i < fabric.links.size(); ++i) {
    const auto is_first = [&](const topology::Node& node) {
      return node.kind == topology::NodeKind::kNic && fabric.nics[node.index].host == host &&
             topology::nic_number(fabric, node.index) == 0;
    };
    if (is_first(fabric.links[i].a)) return {i, true};
    if (is_first(fabric.links[i].b)) return {i, false};
  }
  return {0, true};  // validate() refuses a host without a link
}

Result<FabricFacts> Machines::read_facts(Commands& commands) const {
  const Result<Documents> documents = ask(commands);
  if (!documents) return fail(documents.error());
  std::vector<std::string> names;
  for (const auto& [host, found] : *documents) names.push_back(machines_[host].name);
  const auto clocks = read_clocks(commands, names, asked_.interrupted);
  if (!clocks) return fail(clocks.error());
  FabricFacts all;
  for (const auto& [host, found] : *documents) {
    const std::string& name = machines_[host].name;
    Result<std::vector<PortFacts>> ports =
        ports_of(found.value("links", ""), {machines_[host].device});
    if (!ports) return fail(std::move(ports).error());
    MachineFacts machine = machine_in(found.value("machine", Json()));
    machine.name = name;
    ports->front().link = link_of(host).first;
    ports->front().rate_bits_per_s = hardware_rate_in(found, machine);
    PlaceFacts facts{name, false, std::move(*ports)};
    facts.firewall = firewall_in(found.value("firewall", Json()));
    facts.clock = (*clocks)[all.places.size()];
    facts.facts = named_facts_in(found);
    all.places.push_back(std::move(facts));
    all.machines.push_back(std::move(machine));
  }
  return all;
}

// A place for each machine each time, also of those that have become silent between.
Result<std::vector<PlaceCounts>> Machines::read_counts(Commands& commands) const {
  const std::vector<uint32_t> hosts = answering();
  std::vector<Commands::Id> ids;
  for (const uint32_t host : hosts) {
    const Machine& each = machines_[host];
    const auto id = commands.start(each.name, {"heddle", "agent", "counts", each.device},
                                   {.at = {}, .input = {}, .listed = false});
    if (!id) return fail(id.error());
    ids.push_back(*id);
  }
  // What was counted until an interruption is read, too, but no machine is waited for long then.
  const bool ending = asked_.interrupted();
  commands.wait(ids, ending ? params::kCleanTime : params::kFactsTime, [&] {
    usleep(2'000);
    return ending || !asked_.interrupted();
  });
  std::vector<PlaceCounts> all;
  for (uint32_t i = 0; i < machines_.size(); ++i) {
    all.push_back({.place = machines_[i].name,
                   .known = false,
                   .nics = {},
                   .tested = machines_[i].device,
                   .silent = is_silent(i)});
    all.back().links[machines_[i].device] = topology::link_label(topology_, link_of(i).first);
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    const Json document = document_in(commands.result_of(ids[i]));
    PlaceCounts& counts = all[hosts[i]];
    counts.known = document.is_object() && document.contains("nics");
    if (counts.known) counts.nics = nic_counts_in(document.at("nics"));
    if (counts.known) counts.below = names_of(document, "below");
  }
  return all;
}

// One that answers no more while the watch begins is silent, too.
Result<std::unique_ptr<LinkWatch>> Machines::watch_links(Commands& commands,
                                                         const std::vector<uint32_t>& hosts,
                                                         bool with_nics) const {
  std::vector<MachinesWatch::Port> ports;
  for (const uint32_t host : hosts) {
    if (is_silent(host)) continue;
    const Machine& each = machines_[host];
    std::vector<std::string> words = {"heddle", "agent", "counters", each.device};
    if (with_nics) words.emplace_back("--nics");
    const auto id = commands.start(each.name, words, {.at = {}, .input = {}, .listed = false});
    if (!id) return fail(id.error());
    const auto [link, forward] = link_of(host);
    ports.push_back({*id, each.name, link, forward});
  }
  auto watch = std::make_unique<MachinesWatch>(
      commands, std::move(ports), topology_.links.size(), asked_.interrupted,
      [this](const std::string& machine, const std::string& why) { note_silent(machine, why); });
  for (;;) {
    const size_t known = silent_.size();
    const Result<void> started = watch->restart();
    if (started) return std::unique_ptr<LinkWatch>(std::move(watch));
    if (silent_.size() == known) return fail(started.error());
  }
}

// Each machine has the files of its own ranks. They are removed when all have been unpacked:
// machines may share a disk. `folder` is there even where nothing comes: a later run has another
// name, here and on the machines.
Result<void> Machines::collect(Commands& commands, const std::string& folder,
                               const std::vector<uint32_t>& hosts) const {
  std::error_code none;
  std::filesystem::create_directories(folder, none);
  const std::string there = run_folder(folder_, folder);
  const auto packed =
      run_on(hosts, commands,
             {packing_script(there), params::kReadTime, true, params::kMostRecordingBytes});
  if (!packed) return fail(packed.error());
  for (size_t i = 0; i < packed->size(); ++i) {
    const CommandEnd& end = (*packed)[i];
    const std::string& machine = machines_[hosts[i]].name;
    if (end.exit_status == 0 && end.output.empty()) continue;  // no rank wrote anything there
    std::string why = end.exit_status == 0 ? "" : complaint_of(end);
    if (why.empty()) {
      const auto unpacked =
          unpack_recordings(end.output, machine, folder, UnpackLimits{}, asked_.interrupted);
      if (!unpacked) why = unpacked.error().why;
    }
    if (why.empty() || asked_.interrupted()) continue;
    return fail(ErrorCode::kSystem, "cannot fetch the recording of " + machine, why,
                fmt::format("it is in {} there, for `heddle record gather`", there));
  }
  clean_up(commands, hosts);
  return {};
}

Result<std::string> Machines::place_file(Commands& commands, const std::string& path,
                                         const std::string& text,
                                         const std::vector<uint32_t>& hosts) const {
  const std::string there = folder_ + path.substr(path.rfind('/'));
  const std::string script = fmt::format("mkdir -p -m 700 {} && printf %s {} > {}", folder_,
                                         launch::shell_line({text}), there);
  const auto written = run_on(hosts, commands, {script, params::kFactsTime});
  if (!written) return fail(written.error());
  for (size_t i = 0; i < hosts.size(); ++i) {
    if ((*written)[i].exit_status == 0 || asked_.interrupted()) continue;
    clean_up(commands, hosts);
    return fail(ErrorCode::kSystem, "cannot write a file on " + machines_[hosts[i]].name,
                complaint_of((*written)[i]), "make room in its /tmp");
  }
  return there;
}

Result<std::vector<CommandEnd>> Machines::run_on(const std::vector<uint32_t>& hosts,
                                                 Commands& commands, const Script& script) const {
  std::vector<Commands::Id> ids;
  for (const uint32_t host : hosts) {
    const auto id = commands.start(
        machines_[host].name, {"sh", "-c", script.text},
        {.at = {}, .input = {}, .most_output_bytes = script.most_bytes, .listed = false});
    if (!id) return fail(id.error());
    ids.push_back(*id);
  }
  commands.wait(ids, script.limit + login_time_ * 4, [&] {
    usleep(5'000);
    return !script.may_stop || !asked_.interrupted();
  });
  std::vector<CommandEnd> ends;
  for (const Commands::Id id : ids) ends.push_back(commands.result_of(id));
  return ends;
}

}  // namespace

Result<std::unique_ptr<Fabric>> fabric_of_machines(MachinesAsked asked) {
  allow_many_files();
  Result<MachineAddresses> found = choose_addresses(asked.hosts, addresses_by_name_service);
  if (!found) return fail(std::move(found).error());
  std::vector<Machine> machines;
  for (size_t i = 0; i < asked.hosts.size(); ++i) {
    launch::RemoteHost host = asked.hosts[i];
    host.address = found->addresses[i];
    const std::string name = name_of(host);
    const auto is_same = [&](const Machine& each) {
      return each.name == name || each.host.address == host.address;
    };
    if (std::any_of(machines.begin(), machines.end(), is_same)) {
      return fail(ErrorCode::kInvalid, fmt::format("cannot test {} twice", name),
                  fmt::format("another one has its name or its address, {}", host.address),
                  "write each machine once, as NAME=ADDRESS where names mislead");
    }
    machines.push_back({std::move(host), name, {}});
  }
  auto made = std::make_unique<Machines>(std::move(asked), std::move(machines));
  if (!found->note.empty()) made->add_note(found->note);
  if (Result<void> looked = made->look(); !looked) return fail(looked.error());
  return std::unique_ptr<Fabric>(std::move(made));
}

}  // namespace heddle::acceptance
