// See machine_facts.h.
#include "acceptance/machine/machine_facts.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/timex.h>
#include <unistd.h>

#include <array>
#include <set>
#include <system_error>

#include "acceptance/machine/rdma.h"
#include "acceptance/machine/tree_files.h"
#include "acceptance/params.h"
#include "base/clocks.h"
#include "lab/tool.h"
#include "launch/background_command.h"

namespace heddle::acceptance {
namespace {

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
    gather_nics();
    gather_gpus();
    add("NIC firmware", counted(firmware_));
    add("NIC PCIe", links_text(machine_.links, false));
    add("GPUs", gpus_text(listed_gpus(), gpus_on_bus_));
    add("GPU PCIe", links_text(machine_.links, true));
    add("PCIe ACS", acs_text(bridges_, gpus_on_bus_ > 0));
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

  // The device that is tested, and those with hardware; functions of a NIC for virtual machines
  // have its firmware and its link.
  void gather_nics() {
    const fs::path devices = sources_.sys / "class/net";
    for (const std::string& name : names_in(devices)) {
      std::error_code failed;
      const fs::path hardware = devices / name / "device";
      if (!fs::exists(hardware, failed)) continue;
      if (fs::exists(hardware / "physfn", failed) && name != sources_.device) continue;
      const lab::DriverInfo info = sources_.driver(name);
      const bool named = !info.firmware.empty() && info.firmware != "N/A";
      firmware_.push_back((info.driver.empty() ? "unknown driver" : info.driver) + " " +
                          (named ? info.firmware : "without a version"));
      add_link(pci_device_of(hardware), name, false);
    }
  }

  void gather_gpus() {
    for (const fs::path& gpu : gpus_on_bus(sources_.sys)) {
      ++gpus_on_bus_;
      add_link(gpu, "GPU " + gpu.filename().string(), true);
    }
  }

  void add_link(const std::optional<fs::path>& device, const std::string& name, bool is_gpu) {
    if (!device) return;
    bridges_.merge(bridges_above(*device));
    std::optional<PcieLink> link = pcie_link_of(*device);
    if (!link) return;
    link->name = name;
    link->is_gpu = is_gpu;
    machine_.links.push_back(std::move(*link));
  }

  GpuList listed_gpus() const {
    return sources_.gpus.models.empty() ? gpus_of_driver(sources_.proc) : sources_.gpus;
  }

  const MachineSources& sources_;
  MachineFacts machine_;
  std::vector<std::string> firmware_;
  std::set<fs::path> bridges_;
  size_t gpus_on_bus_ = 0;
};

template <typename Number>
Number number_at(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number() ? found->template get<Number>() : Number{};
}

}  // namespace

MachineSources own_sources(const std::string& device) {
  MachineSources sources;
  sources.device = device;
  sources.driver = [](const std::string& name) {
    return lab::driver_info(name).value_or(lab::DriverInfo{});
  };
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
                     {"slot_speed", link.slot_speed}});
  }
  Json document = {{"pcie", links}};
  if (machine.clock) {
    document["clock"] = {{"synchronized", machine.clock->synchronized},
                         {"error_s", machine.clock->error_s}};
  }
  return document;
}

MachineFacts machine_in(const Json& document) {
  MachineFacts machine;
  if (!document.is_object()) return machine;
  for (const Json& each : document.value("pcie", Json())) {
    if (!each.is_object()) continue;
    const auto name = each.find("name");
    const auto is_gpu = each.find("gpu");
    if (name == each.end() || !name->is_string()) continue;
    PcieLink link;
    link.name = name->get<std::string>();
    link.is_gpu = is_gpu != each.end() && is_gpu->is_boolean() && is_gpu->get<bool>();
    link.width = number_at<int>(each, "width");
    link.most_width = number_at<int>(each, "most_width");
    link.speed = number_at<double>(each, "speed");
    link.most_speed = number_at<double>(each, "most_speed");
    link.slot_width = number_at<int>(each, "slot_width");
    link.slot_speed = number_at<double>(each, "slot_speed");
    machine.links.push_back(std::move(link));
  }
  const auto clock = document.find("clock");
  if (clock != document.end() && clock->is_object()) {
    const auto set = clock->find("synchronized");
    if (set != clock->end() && set->is_boolean()) {
      machine.clock = {set->get<bool>(), number_at<double>(*clock, "error_s")};
    }
  }
  return machine;
}

}  // namespace heddle::acceptance
