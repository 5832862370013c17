// See machine_facts.h.
#include "acceptance/machine/machine_facts.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/timex.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <set>
#include <system_error>

#include "acceptance/agent_numbers.h"
#include "acceptance/host_facts.h"
#include "acceptance/machine/nic_counts.h"
#include "acceptance/machine_texts.h"
#include "acceptance/params.h"
#include "base/clocks.h"
#include "lab/tool.h"
#include "launch/background_command.h"
#include "nodes/rdma_ports.h"
#include "nodes/tree_files.h"

namespace heddle::acceptance {
namespace {

using nodes::counted;
using nodes::gids_text;
using nodes::names_in;
using nodes::rdma_ports;
using nodes::text_in;

namespace fs = std::filesystem;

// The kernel's largest error of a clock that nothing sets, in microseconds (NTP_PHASE_LIMIT).
constexpr int64_t kUnsetClock = 16'000'000;

std::string limit_text(rlim_t limit, const char* unit) {
  return limit == RLIM_INFINITY ? "unlimited" : fmt::format("{}{}", limit, unit);
}

std::string limits_text(int which, const char* unit) {
  rlimit limit{};
  if (getrlimit(static_cast<__rlimit_resource>(which), &limit) != 0) return "not known";
  const std::string soft = limit_text(limit.rlim_cur, unit);
  const std::string hard = limit_text(limit.rlim_max, unit);
  return soft == hard ? soft : fmt::format("{}, can be raised to {}", soft, hard);
}

std::optional<ClockState> own_clock() {
  timex state{};
  if (adjtimex(&state) < 0) return std::nullopt;
  return clock_state((state.status & STA_UNSYNC) != 0, state.maxerror, state.esterror);
}

// Of a version, as drivers write one that they do not have.
bool is_said(const std::string& version) { return !version.empty() && version != "N/A"; }

std::string name_of(const lab::DriverInfo& info) {
  return info.driver.empty() ? "unknown driver" : info.driver;
}

// A driver of the kernel has the kernel's version, which is a fact of its own.
std::string version_text(const lab::DriverInfo& info, const std::string& kernel) {
  if (!is_said(info.version)) return name_of(info) + " without a version";
  return name_of(info) + (info.version == kernel ? " of the kernel" : " " + info.version);
}

std::string firmware_text(const lab::DriverInfo& info) {
  return name_of(info) + " " + (is_said(info.firmware) ? info.firmware : "without a version");
}

// Nothing where the program is not there, fails or hangs.
GpuList own_gpus() {
  if (lab::find_program("nvidia-smi").empty()) return {};
  launch::CommandOptions command{.words = gpu_list_query(),
                                 .input = {},
                                 .settings = {},
                                 .limit = params::kGpuListTime,
                                 .keep_output = true};
  command.words.insert(command.words.begin(), "nvidia-smi");
  auto running = launch::BackgroundCommand::start(command, steady_now());
  while (running) {
    if (const auto result = running->poll(steady_now())) {
      return result->exit_status == 0 ? gpus_of_rows(result->output) : GpuList{};
    }
    usleep(2'000);
  }
  return {};
}

// Gathers the facts of sources.
class Gathering {
 public:
  explicit Gathering(const MachineSources& sources) : sources_(sources) {}

  MachineFacts gather() {
    machine_.nics.emplace();
    gather_nics();
    gather_gpus();
    add("NIC driver", counted(drivers_));
    add("NIC firmware", counted(firmware_));
    add("NIC PCIe", links_text(machine_.links, false));
    if (!sources_.device.empty()) add(kOtherNics, counted(others_));
    add("GPUs", gpus_text(listed_gpus(), gpus_on_bus_));
    add("GPU PCIe", links_text(machine_.links, true));
    machine_.acs = acs_bridges(bridges_, gpus_on_bus_ > 0);
    add("PCIe ACS", acs_text(machine_.acs));
    const auto ports = rdma_ports(sources_.sys);
    add("RDMA GIDs", gids_text(ports));
    const std::string buffer = kernel_value("net/core/wmem_max", " bytes");
    const std::string backlog = kernel_value("net/core/netdev_max_backlog", " packets");
    add("largest send buffer", buffer);
    add("receive backlog", backlog);
    add("open files", sources_.open_files);
    add("locked memory", sources_.locked_memory);
    machine_.clock = sources_.clock;
    return std::move(machine_);
  }

 private:
  void add(const char* name, std::string value) {
    machine_.facts.emplace_back(name, std::move(value));
  }

  std::string kernel_value(const char* name, const char* unit) const {
    const std::string text = text_in(sources_.proc / "sys" / name);
    return text.empty() ? "not known" : text + unit;
  }

  // The device that is tested, and those below it: members of a bond, the NIC of a VLAN.
  void find_tested(const std::string& device) {
    if (device.empty()) return;
    tested_.insert(device);
    for (std::string& below : devices_below(sources_.sys, device)) tested_.insert(std::move(below));
  }

  // Those with hardware; functions of a NIC for virtual machines have its firmware and its link.
  void gather_nics() {
    find_tested(sources_.device);
    const fs::path devices = sources_.sys / "class/net";
    const std::string kernel = text_in(sources_.proc / "sys/kernel/osrelease");
    for (const std::string& name : names_in(devices)) {
      std::error_code failed;
      const fs::path hardware = devices / name / "device";
      if (!fs::exists(hardware, failed)) continue;
      const bool tested = tested_.empty() || tested_.count(name) > 0;
      if (fs::exists(hardware / "physfn", failed) && tested_.count(name) == 0) continue;
      const lab::DriverInfo info = sources_.driver(name);
      (tested ? firmware_ : others_).push_back(firmware_text(info));
      if (tested) drivers_.push_back(version_text(info, kernel));
      add_link(pci_device_of(hardware), name, false, tested);
      add_nic(name, tested && !tested_.empty());
    }
  }

  void add_nic(const std::string& name, bool tested) {
    const fs::path folder = sources_.sys / "class/net" / name;
    const double megabits = nodes::number_in(folder / "speed").value_or(0);
    machine_.nics->push_back({name, text_in(folder / "carrier") == "1",
                              static_cast<uint32_t>(nodes::count_in(folder / "mtu").value_or(0)),
                              megabits > 0 ? megabits * 1e6 : 0, sources_.offloads(name), tested,
                              sources_.settings(name)});
  }

  void gather_gpus() {
    for (const fs::path& gpu : gpus_on_bus(sources_.sys)) {
      ++gpus_on_bus_;
      add_link(gpu, "GPU " + gpu.filename().string(), true, true);
    }
  }

  void add_link(const std::optional<fs::path>& device, const std::string& name, bool is_gpu,
                bool tested) {
    if (!device) return;
    if (tested) bridges_.merge(bridges_above(*device));
    std::optional<PcieLink> link = pcie_link_of(*device);
    if (!link) return;
    link->name = name;
    link->is_gpu = is_gpu;
    link->tested = tested;
    machine_.links.push_back(std::move(*link));
  }

  GpuList listed_gpus() const {
    return sources_.gpus.models.empty() ? gpus_of_driver(sources_.proc) : sources_.gpus;
  }

  const MachineSources& sources_;
  MachineFacts machine_;
  std::set<std::string> tested_;  // devices; empty: all
  std::vector<std::string> drivers_;
  std::vector<std::string> firmware_;
  std::vector<std::string> others_;  // that are not tested: driver and firmware
  std::set<fs::path> bridges_;
  size_t gpus_on_bus_ = 0;
};

// From 0 to `most`; 0 where there is none.
double number_at(const Json& object, const char* name, double most) {
  const auto found = object.find(name);
  const bool is = found != object.end() && found->is_number();
  return is ? std::clamp(found->get<double>(), 0.0, most) : 0;
}

// Lanes of a link.
int width_at(const Json& object, const char* name) {
  return static_cast<int>(
      count_of(number_at(object, name, params::kMostLanes), params::kMostLanes));
}

bool flag_at(const Json& object, const char* name, bool otherwise) {
  const auto found = object.find(name);
  return found != object.end() && found->is_boolean() ? found->get<bool>() : otherwise;
}

std::optional<AcsBridges> acs_in(const Json& document) {
  const auto found = document.find("acs");
  if (found == document.end() || !found->is_object()) return std::nullopt;
  const double all = number_at(*found, "bridges", UINT32_MAX);
  return AcsBridges{count_of(all), count_of(number_at(*found, "redirecting", all)),
                    flag_at(*found, "gpus", false)};
}

// Objects of a list that have a name, kMostNics at most.
std::vector<Json> named_in(const Json& document, const char* list) {
  std::vector<Json> named;
  const auto all = document.find(list);
  if (all == document.end() || !all->is_array()) return named;
  for (const Json& each : *all) {
    if (named.size() == params::kMostNics) break;
    const auto name = each.is_object() ? each.find("name") : each.end();
    if (name == each.end() || !name->is_string()) continue;
    if (is_machine_name(name->get<std::string>())) named.push_back(each);
  }
  return named;
}

}  // namespace

MachineSources own_sources(const std::string& device) {
  MachineSources sources;
  sources.device = device;
  sources.driver = [](const std::string& name) {
    return lab::driver_info(name).value_or(lab::DriverInfo{});
  };
  sources.offloads = [](const std::string& name) {
    const Result<std::string> features = lab::run_tool({"ethtool", "-k", name});
    return features ? offloads_of(*features) : "unknown";
  };
  sources.settings = driver_settings;
  sources.gpus = own_gpus();
  sources.open_files = limits_text(RLIMIT_NOFILE, "");
  sources.locked_memory = limits_text(RLIMIT_MEMLOCK, " bytes");
  sources.clock = own_clock();
  return sources;
}

MachineFacts machine_facts(const MachineSources& sources) { return Gathering(sources).gather(); }

// chrony without `rtcsync` leaves the flag set, but not the errors.
ClockState clock_state(bool flagged, int64_t most_error_us, int64_t error_us) {
  const bool synchronized = !flagged || most_error_us < kUnsetClock;
  return {synchronized, synchronized ? static_cast<double>(error_us) * 1e-6 : 0};
}

Json json_of(const MachineFacts& machine) {
  Json links = Json::array();
  for (const PcieLink& link : machine.links) {
    links.push_back({{"name", link.name},
                     {"gpu", link.is_gpu},
                     {"width", link.width},
                     {"most_width", link.most_width},
                     {"speed", link.speed},
                     {"most_speed", link.most_speed},
                     {"slot_width", link.slot_width},
                     {"slot_speed", link.slot_speed},
                     {"tested", link.tested}});
  }
  Json document = {{"pcie", links}};
  for (const NicFacts& nic : machine.nics.value_or(std::vector<NicFacts>())) {
    document["nics"].push_back({{"name", nic.device},
                                {"carrier", nic.carrier},
                                {"mtu_bytes", nic.mtu_bytes},
                                {"rate_bits_per_s", nic.rate_bits_per_s},
                                {"offloads", nic.offloads},
                                {"tested", nic.tested},
                                {"settings", json_of(nic.settings)}});
  }
  if (machine.nics && machine.nics->empty()) document["nics"] = Json::array();
  if (machine.acs) {
    document["acs"] = {{"bridges", machine.acs->all},
                       {"redirecting", machine.acs->redirecting},
                       {"gpus", machine.acs->has_gpus}};
  }
  if (machine.clock) {
    document["clock"] = {{"synchronized", machine.clock->synchronized},
                         {"error_s", machine.clock->error_s}};
  }
  return document;
}

MachineFacts machine_in(const Json& document) {
  MachineFacts machine;
  if (!document.is_object()) return machine;
  for (const Json& each : named_in(document, "pcie")) {
    PcieLink link;
    link.name = each.at("name").get<std::string>();
    link.is_gpu = flag_at(each, "gpu", false);
    link.width = width_at(each, "width");
    link.most_width = width_at(each, "most_width");
    link.speed = number_at(each, "speed", params::kMostTransfers);
    link.most_speed = number_at(each, "most_speed", params::kMostTransfers);
    link.slot_width = width_at(each, "slot_width");
    link.slot_speed = number_at(each, "slot_speed", params::kMostTransfers);
    link.tested = flag_at(each, "tested", true);
    machine.links.push_back(std::move(link));
  }
  if (document.contains("nics")) machine.nics.emplace();
  for (const Json& each : named_in(document, "nics")) {
    const auto offloads = each.find("offloads");
    const bool known = offloads != each.end() && offloads->is_string();
    machine.nics->push_back(
        {each.at("name").get<std::string>(), flag_at(each, "carrier", false),
         static_cast<uint32_t>(count_of(number_at(each, "mtu_bytes", UINT32_MAX), UINT32_MAX)),
         number_at(each, "rate_bits_per_s", params::kMostNicRate),
         known ? machine_text(offloads->get<std::string>()) : "unknown",
         flag_at(each, "tested", false), settings_in(each.value("settings", Json()))});
  }
  machine.acs = acs_in(document);
  const auto clock = document.find("clock");
  if (clock != document.end() && clock->is_object()) {
    const auto set = clock->find("synchronized");
    if (set != clock->end() && set->is_boolean()) {
      machine.clock = {set->get<bool>(), number_at(*clock, "error_s", params::kMostClockError)};
    }
  }
  return machine;
}

}  // namespace heddle::acceptance
