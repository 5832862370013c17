// The fabric of machines that a remote shell reaches: see fabric.h.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "acceptance/commands.h"
#include "acceptance/fabric.h"
#include "acceptance/fabrics/machines_watch.h"
#include "acceptance/machine_addresses.h"
#include "acceptance/params.h"
#include "base/clocks.h"
#include "lab/link_meter.h"
#include "lab/tool.h"
#include "launch/remote_command.h"

namespace heddle::acceptance {
namespace {

struct Machine {
  launch::RemoteHost host;  // with its address in digits
  std::string name;         // in the topology
  std::string device;       // that has the address
};

double wall_seconds() { return to_seconds(wall_now()); }

// The document of an answer, behind what a shell's start-up files may write.
std::string last_object(const std::string& text) {
  const size_t line = text.rfind("\n{");
  return line == std::string::npos ? text : text.substr(line + 1);
}

bool is_whole(const Json& facts) {
  const auto has = [&](const char* key, bool (Json::*is)() const noexcept) {
    const auto found = facts.find(key);
    return found != facts.end() && ((*found).*is)();
  };
  if (!facts.is_object() || !has("facts", &Json::is_object)) return false;
  for (const auto& [name, value] : facts.at("facts").items()) {
    if (!value.is_string()) return false;
  }
  return has("wall_seconds", &Json::is_number) && has("device", &Json::is_string) &&
         has("links", &Json::is_string) && has("rate_bits_per_s", &Json::is_number) &&
         has("mtu_bytes", &Json::is_number_unsigned);
}

// That a machine took to read its hardware, as by nvidia-smi: no command waits for that later.
double reading_seconds(const Json& facts) {
  const auto machine = facts.find("machine");
  if (machine == facts.end() || !machine->is_object()) return 0;
  const auto found = machine->find("seconds");
  const bool is_time = found != machine->end() && found->is_number();
  return is_time ? std::clamp(found->get<double>(), 0.0, to_seconds(params::kFactsTime)) : 0;
}

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
      : asked_(std::move(asked)), machines_(std::move(machines)) {
    folder_ = fmt::format("/tmp/heddle-verify-{}-{:x}", getpid(), lab::meter_now().count);
  }

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
  std::optional<uint32_t> switch_at(const std::string& /*address*/) const override {
    return std::nullopt;
  }

  std::string folder_for_ranks(const std::string& /*folder*/) const override { return folder_; }
  Result<void> collect(Commands& commands, const std::string& folder,
                       const std::vector<uint32_t>& hosts) const override;
  Result<std::string> place_file(Commands& commands, const std::string& path,
                                 const std::string& text,
                                 const std::vector<uint32_t>& hosts) const override;
  void clean_up(Commands& commands, const std::vector<uint32_t>& hosts) const override {
    static_cast<void>(run_on(hosts, commands, {"rm -rf " + folder_, params::kCleanTime, false}));
  }
  Result<FabricFacts> read_facts(Commands& commands) const override;
  Result<std::vector<PlaceCounts>> read_counts(Commands& commands) const override;
  Result<std::unique_ptr<LinkWatch>> watch_links(Commands& commands,
                                                 const std::vector<uint32_t>& hosts) const override;

  void add_note(const std::string& text) { notes_.push_back(text); }
  // Asks all machines, and makes the topology of what they say where none was given.
  Result<void> look();

 private:
  const Machine& machine(const std::string& name) const {
    return *std::find_if(machines_.begin(), machines_.end(),
                         [&](const Machine& each) { return each.name == name; });
  }

  // A document of each machine, in order.
  Result<std::vector<Json>> ask(Commands& commands) const;
  struct Script {
    std::string text;
    Nanos limit;
    bool may_stop = true;                  // when the test is interrupted
    size_t most_bytes = size_t{64} << 20;  // that it may write
  };
  // How it ended on each of these hosts.
  Result<std::vector<CommandEnd>> run_on(const std::vector<uint32_t>& hosts, Commands& commands,
                                         const Script& script) const;
  void make_star(const std::vector<Json>& documents);
  Result<void> take_topology();
  // The link of a host's first NIC, and whether the NIC is its end a.
  std::pair<uint32_t, bool> link_of(uint32_t host) const;

  MachinesAsked asked_;
  std::vector<Machine> machines_;
  topology::Topology topology_;
  std::vector<std::string> notes_;
  std::string folder_;
  mutable Nanos login_time_;
};

Result<std::vector<Json>> Machines::ask(Commands& commands) const {
  std::vector<Commands::Id> ids;
  std::vector<double> asked_at;
  for (const Machine& each : machines_) {
    asked_at.push_back(wall_seconds());
    const auto id = commands.start(each.name, {"heddle", "agent", "facts", each.host.address});
    if (!id) return fail(id.error());
    ids.push_back(*id);
  }
  std::vector<double> answered_at(ids.size(), 0);
  commands.wait(ids, params::kFactsTime, [&] {
    usleep(2'000);
    for (size_t i = 0; i < ids.size(); ++i) {
      if (answered_at[i] == 0 && !commands.is_running(ids[i])) answered_at[i] = wall_seconds();
    }
    return !asked_.interrupted();
  });
  std::vector<Json> documents;
  for (size_t i = 0; i < ids.size(); ++i) {
    const CommandEnd end = commands.result_of(ids[i]);
    Json document = Json::parse(last_object(end.output), nullptr, false);
    if (!is_whole(document)) {
      return fail(
          ErrorCode::kUnavailable, "cannot test " + machines_[i].name,
          end.exit_status == 0 ? "its answer is of another version of heddle" : complaint_of(end),
          "all machines have to answer before anything is measured");
    }
    // It was between the two: so far at least the clocks are apart.
    const auto wall = document["wall_seconds"].get<double>();
    const double latest = answered_at[i] == 0 ? wall_seconds() : answered_at[i];
    document["clock_ahead_s"] =
        wall < asked_at[i] ? wall - asked_at[i] : std::max(0.0, wall - latest);
    const double login = latest - asked_at[i] - reading_seconds(document);
    login_time_ = std::max(login_time_, nanos(static_cast<int64_t>(login * 1e9)));
    documents.push_back(std::move(document));
  }
  return documents;
}

Result<void> Machines::look() {
  Commands commands(*this);
  Result<std::vector<Json>> documents = ask(commands);
  if (!documents) return fail(std::move(documents).error());
  for (size_t i = 0; i < machines_.size(); ++i) {
    machines_[i].device = (*documents)[i].value("device", "");
  }
  if (asked_.topology) return take_topology();
  make_star(*documents);
  return {};
}

void Machines::make_star(const std::vector<Json>& documents) {
  topology_.switches.push_back({.name = "network", .shape = {}});
  size_t unknown = 0;
  for (uint32_t i = 0; i < machines_.size(); ++i) {
    topology_.hosts.push_back({machines_[i].name});
    topology_.nics.push_back({i});
    topology::LinkShape shape;
    const double rate = documents[i].value("rate_bits_per_s", 0.0);
    shape.rate = {static_cast<uint64_t>(rate)};
    shape.mtu_bytes = documents[i].value("mtu_bytes", shape.mtu_bytes);
    unknown += rate == 0 ? 1 : 0;
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
  const Result<std::vector<Json>> documents = ask(commands);
  if (!documents) return fail(documents.error());
  FabricFacts all;
  for (uint32_t i = 0; i < machines_.size(); ++i) {
    const Json& found = (*documents)[i];
    Result<std::vector<PortFacts>> ports =
        ports_of(found.value("links", ""), {machines_[i].device});
    if (!ports) return fail(std::move(ports).error());
    ports->front().link = link_of(i).first;
    PlaceFacts facts{machines_[i].name, false, std::move(*ports)};
    facts.firewall = firewall_in(found.value("firewall", Json()));
    facts.clock_ahead_s = found.at("clock_ahead_s").get<double>();
    const Json named = found.value("facts", Json::object());
    for (const auto& [name, value] : named.items()) {
      facts.facts.emplace_back(name, value.get<std::string>());
    }
    all.places.push_back(std::move(facts));
    MachineFacts machine = machine_in(found.value("machine", Json()));
    machine.name = machines_[i].name;
    all.machines.push_back(std::move(machine));
  }
  return all;
}

Result<std::vector<PlaceCounts>> Machines::read_counts(Commands& commands) const {
  std::vector<Commands::Id> ids;
  for (const Machine& each : machines_) {
    const auto id = commands.start(each.name, {"heddle", "agent", "counts", each.device});
    if (!id) return fail(id.error());
    ids.push_back(*id);
  }
  commands.take_lines();  // no figure comes of these
  commands.wait(ids, params::kFactsTime, [&] {
    usleep(2'000);
    return !asked_.interrupted();
  });
  std::vector<PlaceCounts> all;
  for (size_t i = 0; i < ids.size(); ++i) {
    const CommandEnd end = commands.result_of(ids[i]);
    const Json document = Json::parse(last_object(end.output), nullptr, false);
    PlaceCounts counts{.place = machines_[i].name, .nics = {}, .tested = machines_[i].device};
    counts.known = document.is_object() && document.contains("nics");
    if (counts.known) counts.nics = nic_counts_in(document.at("nics"));
    all.push_back(std::move(counts));
  }
  return all;
}

Result<std::unique_ptr<LinkWatch>> Machines::watch_links(Commands& commands,
                                                         const std::vector<uint32_t>& hosts) const {
  std::vector<MachinesWatch::Port> ports;
  for (const uint32_t host : hosts) {
    const Machine& each = machines_[host];
    const auto id = commands.start(each.name, {"heddle", "agent", "counters", each.device});
    if (!id) return fail(id.error());
    const auto [link, forward] = link_of(host);
    ports.push_back({*id, each.name, link, forward});
  }
  commands.take_lines();  // no figure comes of these
  auto watch = std::make_unique<MachinesWatch>(commands, std::move(ports), topology_.links.size(),
                                               asked_.interrupted);
  if (Result<void> started = watch->restart(); !started) return fail(started.error());
  return std::unique_ptr<LinkWatch>(std::move(watch));
}

// Each machine has the files of its own ranks, with the machine's name in theirs. They are removed
// when all have been unpacked: machines may share a disk.
Result<void> Machines::collect(Commands& commands, const std::string& folder,
                               const std::vector<uint32_t>& hosts) const {
  const std::string script = fmt::format("[ ! -d {0} ] || tar -czSf - -C {0} .", folder_);
  const auto packed =
      run_on(hosts, commands, {script, params::kReadTime, true, params::kMostRecordingBytes});
  if (!packed) return fail(packed.error());
  std::error_code none;
  std::filesystem::create_directories(folder, none);
  for (size_t i = 0; i < packed->size(); ++i) {
    const CommandEnd& end = (*packed)[i];
    if (end.exit_status == 0 && end.output.empty()) continue;  // no rank wrote anything there
    std::string why = end.exit_status == 0 ? "" : complaint_of(end);
    if (why.empty()) {
      const auto unpacked =
          lab::run_tool({"tar", "-xzf", "-", "--no-same-owner", "--no-same-permissions",
                         "--no-overwrite-dir", "-C", folder},
                        end.output);
      if (!unpacked) why = unpacked.error().why;
    }
    if (why.empty() || asked_.interrupted()) continue;
    return fail(ErrorCode::kSystem, "cannot fetch the recording of " + machines_[hosts[i]].name,
                why, fmt::format("it is in {} there, for `heddle record gather`", folder_));
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
    const auto id = commands.start(machines_[host].name, {"sh", "-c", script.text},
                                   {.at = {}, .input = {}, .most_output_bytes = script.most_bytes});
    if (!id) return fail(id.error());
    ids.push_back(*id);
  }
  commands.take_lines();  // no figure comes of these
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
