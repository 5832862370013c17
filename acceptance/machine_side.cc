// See machine_side.h.
#include "acceptance/machine_side.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "acceptance/host_facts.h"
#include "acceptance/machine/machine_facts.h"
#include "acceptance/machine/nic_addresses.h"
#include "acceptance/machine/nic_counts.h"
#include "acceptance/params.h"
#include "acceptance/port_counters.h"
#include "base/quantity.h"
#include "base/version.h"
#include "datapath/rdma_stream.h"
#include "lab/link_meter.h"
#include "lab/socket_streams.h"
#include "lab/socket_tests.h"
#include "lab/tool.h"
#include "launch/remote_command.h"

namespace heddle::acceptance {
namespace {

// The addresses of this machine's devices, as `ip` writes them.
Result<Json> own_devices() {
  const Result<std::string> text = lab::run_tool({"ip", "-j", "address", "show"});
  if (!text) return fail(text.error());
  return Json::parse(*text, nullptr, false);
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Mbit/s; -1 where the driver knows none, as of a port that is down.
double rate_of(const std::string& device) {
  std::ifstream file("/sys/class/net/" + device + "/speed");
  double megabits = -1;
  file >> megabits;
  return megabits > 0 ? megabits * 1e6 : 0;
}

std::string processors() {
  std::ifstream file("/proc/cpuinfo");
  std::string model = "unknown";
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const size_t colon = line.find(": ");
    if (colon != std::string::npos) model = line.substr(colon + 2);
    break;
  }
  return fmt::format("{} x {}", sysconf(_SC_NPROCESSORS_ONLN), model);
}

std::string nic_of(const std::string& device, double rate) {
  std::error_code none;
  const std::filesystem::path driver =
      std::filesystem::read_symlink("/sys/class/net/" + device + "/device/driver", none);
  return fmt::format("{}, {}", none ? "no hardware" : driver.filename().string(),
                     rate == 0 ? "unknown rate" : rate_text(rate));
}

}  // namespace

Result<Json> facts_of_machine(const std::string& address) {
  const Result<Json> devices = own_devices();
  if (!devices) return fail(devices.error());
  const std::string device = device_with(*devices, address);
  if (device.empty()) {
    return fail(ErrorCode::kInvalid, "no port of this machine has the address " + address, "",
                "write the machine as NAME=ADDRESS, with the address of its port in the fabric");
  }
  Result<Json> facts = read_own_facts({device});
  if (!facts) return facts;
  utsname system{};
  uname(&system);
  const double rate = rate_of(device);
  (*facts)["device"] = device;
  (*facts)["rate_bits_per_s"] = rate;
  (*facts)["mtu_bytes"] =
      std::strtoul(first_line("/sys/class/net/" + device + "/mtu").c_str(), nullptr, 10);
  if (const auto rdma = datapath::rdma_port_of(address)) {
    (*facts)["rdma"] = {{"device", rdma->device}, {"software", rdma->software}};
  }
  (*facts)["addresses"] = json_of(nic_addresses(*devices, "/sys", device));
  (*facts)["facts"]["heddle"] = std::string(kVersion);
  (*facts)["facts"]["kernel"] = fmt::format("{} {}", system.sysname, system.release);
  (*facts)["facts"]["processors"] = processors();
  (*facts)["facts"]["NIC"] = nic_of(device, rate);
  const Nanos before = lab::meter_now();
  const MachineFacts machine = machine_facts(own_sources(device));
  for (const auto& [name, value] : machine.facts) (*facts)["facts"][name] = value;
  (*facts)["machine"] = json_of(machine);
  (*facts)["machine"]["seconds"] = to_seconds(lab::meter_now() - before);
  return facts;
}

Json counts_of_machine(const std::string& device) {
  std::vector<NicCounts> nics = own_nic_counts(device);
  for (NicCounts& port : rdma_counts("/sys")) nics.push_back(std::move(port));
  return {{"nics", json_of(nics)}, {"below", devices_below("/sys", device)}};
}

Result<void> write_counters(const std::string& device, bool with_nics) {
  for (Nanos next_nics = lab::meter_now();;) {
    if (with_nics && lab::meter_now() >= next_nics) {
      next_nics = lab::meter_now() + params::kLiveInterval;
      fmt::print("{}\n", counts_of_machine(device).dump());
    }
    const Result<PortCounters> counters = read_port(device);
    if (!counters) return fail(counters.error());
    fmt::print("{}\n", line_of(*counters));
    if (std::fflush(stdout) != 0) return {};
    usleep(static_cast<useconds_t>(params::kMeterInterval / micros(1)));
  }
}

Result<Json> rdma_figures(const RdmaEnds& ends, const RdmaPlan& plan) {
  const Result<RdmaResult> figures = run_rdma_tests(ends, plan);
  if (!figures) return fail(figures.error());
  return Json{{"rc_bits_per_s", figures->bits_per_s},
              {"rc_us", figures->us},
              {"rc_changed_bytes", figures->changed_bytes}};
}

Result<Json> stream_figures(const std::string& address, uint16_t port, size_t count, Nanos limit) {
  const auto rates = lab::receive_streams(address, port, count, limit);
  if (!rates) return fail(rates.error());
  return Json{{"bits_per_s", *rates}};
}

Result<Json> socket_figures(const std::string& address, uint16_t port,
                            const lab::SocketPlan& plan) {
  const auto figures = lab::run_socket_tests(address, port, plan);
  if (!figures) return fail(figures.error());
  return Json{{"tcp_bits_per_s", figures->tcp_bits_per_s},
              {"tcp_us", figures->tcp_us},
              {"tcp_us_p99", figures->tcp_us_p99},
              {"udp_sent_bits_per_s", figures->udp_sent_bits_per_s},
              {"udp_received_bits_per_s", figures->udp_received_bits_per_s},
              {"udp_us", figures->udp_us}};
}

}  // namespace heddle::acceptance
