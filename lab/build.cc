// See build.h. Two batches of `ip` create the namespaces and cables from outside; then a worker for
// each namespace configures it, several in parallel.
#include "lab/build.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/document.h"
#include "lab/batches.h"
#include "lab/conditions.h"
#include "lab/filters.h"
#include "lab/processes.h"
#include "lab/queues.h"
#include "lab/routes.h"
#include "lab/tool.h"
#include "lab/worker.h"

namespace heddle::lab {
namespace {

constexpr const char* kNoSeed =
    "this kernel has no fib_multipath_hash_seed (Linux 6.11): all switches hash alike, so tiers "
    "polarise";
constexpr const char* kNoSteering =
    "this host does not let the lab steer receive processing: busy links reorder packets";

// A mask of all processors, in the hexadecimal format of /sys. Without steering, two processors may
// handle a flow's packets at once, so that they overtake each other.
std::string processor_mask() {
  const long count = std::max(1L, sysconf(_SC_NPROCESSORS_ONLN));
  std::string mask;
  for (long first = 0; first < count; first += 32) {
    const long here = std::min(32L, count - first);
    const uint32_t bits = here == 32 ? UINT32_MAX : (uint32_t{1} << here) - 1;
    mask = fmt::format("{:x}{}{}", bits, mask.empty() ? "" : ",", mask);
  }
  return mask;
}

// On Linux 6.3 or newer, all devices created from now on get the mask; this needs no privileges on
// the real machine.
Result<std::string> prepare(const std::string& netns, const std::string& mask) {
  if (Result<void> in = enter_namespace(netns, false); !in) return fail(in.error());
  static_cast<void>(write_kernel_file("/proc/sys/net/core/rps_default_mask", mask));
  return std::string();
}

bool is_steered(const std::string& queue) {
  const Result<std::string> mask = read_text_file(queue + "/rps_cpus", "");
  return mask && mask->find_first_of("123456789abcdef") != std::string::npos;
}

bool steer(const std::string& device, const std::string& mask) {
  const std::string queues = "/sys/class/net/" + device + "/queues";
  std::error_code error;
  bool steered = false;
  for (const auto& entry : std::filesystem::directory_iterator(queues, error)) {
    if (entry.path().filename().string().rfind("rx-", 0) != 0) continue;
    const std::string queue = entry.path().string();
    steered = is_steered(queue) || write_kernel_file(queue + "/rps_cpus", mask).has_value();
    if (!steered) return false;
  }
  return steered;
}

struct Plan {
  const NextHops& hops;
  const Conditions& conditions;
  const BuildOptions& options;
};

Result<void> make_network(const Layout& layout, uint32_t at, const Plan& plan) {
  const Place& place = layout.places[at];
  std::string network = address_batch(layout, place);
  network +=
      place.is_switch ? switch_route_batch(layout, at, plan.hops) : host_route_batch(layout, place);
  if (auto done = run_batch({"tc"}, place_queues(layout, place, plan.conditions)); !done)
    return done;
  if (auto done = run_batch({"ip"}, network); !done) return done;
  if (!place.is_switch) {
    if (auto done = run_batch({"ip"}, host_rule_batch(layout, place, false)); !done) return done;
    if (auto done = run_batch({"ip", "-6"}, host_rule_batch(layout, place, true)); !done) {
      return done;
    }
  }
  return run_filter(place_filter(layout, place, plan.conditions));
}

// Configures one namespace, in a process inside it. Returns notes, one on each line.
Result<std::string> furnish(const Layout& layout, uint32_t at, const Plan& plan) {
  const Place& place = layout.places[at];
  if (Result<void> in = enter_namespace(place.netns, true); !in) return fail(in.error());
  std::string notes;
  for (const auto& [path, value] : sysctls(layout, place)) {
    if (Result<void> set = write_kernel_file("/proc/sys/net/" + path, value); !set) {
      return fail(set.error());
    }
  }
  if (place.is_switch && !write_kernel_file("/proc/sys/net/ipv4/fib_multipath_hash_seed",
                                            std::to_string(ecmp_seed(layout, place)))) {
    notes += std::string(kNoSeed) + "\n";
  }
  if (Result<void> done = make_network(layout, at, plan); !done) return fail(done.error());
  for (const uint32_t i : place.ports) {
    const Port& port = layout.ports[i];
    if (!plan.options.reorder && !steer(port.device, processor_mask())) {
      notes += std::string(kNoSteering) + "\n";
    }
    const bool delayed = is_delayed(layout.topology.links[port.link]);
    if (place.is_switch ? !delayed : !needs_single_packets(layout.topology)) continue;
    if (Result<void> stopped = stop_offloads(port); !stopped) return fail(stopped.error());
  }
  return notes;
}

// Configures the middle namespace of all delayed links.
Result<std::string> furnish_delays(const Layout& layout, const BuildOptions& options) {
  if (auto in = enter_namespace(delay_netns(layout), true); !in) return fail(in.error());
  for (const auto& [path, value] : delay_sysctls()) {
    if (auto set = write_kernel_file("/proc/sys/net/" + path, value); !set) {
      return fail(set.error());
    }
  }
  const std::vector<DelayedLink> links = delayed_links(layout.topology);
  if (auto done = run_batch({"ip"}, delay_batch(links)); !done) return fail(done.error());
  std::string notes;
  for (const DelayedLink& link : links) {
    for (const std::string& device : {link.device_a, link.device_b}) {
      if (options.reorder || steer(device, processor_mask())) continue;
      notes = std::string(kNoSteering) + "\n";
    }
  }
  if (options.delays != DelayMethod::kNetem) return notes;
  if (auto done = run_batch({"tc"}, netem_batch(links)); !done) return fail(done.error());
  if (auto done = run_filter(pass_on_filter(links)); !done) return fail(done.error());
  return notes;
}

Result<void> prepare_all(const Layout& layout, const BuildOptions& options) {
  if (options.reorder) return {};
  Workers workers;
  for (const Place& place : layout.places) {
    workers.start([&place] { return prepare(place.netns, processor_mask()); });
  }
  if (const std::string middle = delay_netns(layout); !middle.empty()) {
    workers.start([middle] { return prepare(middle, processor_mask()); });
  }
  if (const auto done = workers.finish(); !done) return fail(done.error());
  return {};
}

std::vector<std::string> distinct_lines(const std::vector<std::string>& texts) {
  std::set<std::string> lines;
  for (const std::string& text : texts) {
    for (size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
      lines.insert(text.substr(at, end - at));
    }
  }
  return {lines.begin(), lines.end()};
}

}  // namespace

Result<std::vector<std::string>> build(const Layout& layout, const BuildOptions& options) {
  if (Result<void> made = run_batch({"ip"}, namespace_batch(layout)); !made) {
    return fail(made.error());
  }
  if (Result<void> ready = prepare_all(layout, options); !ready) return fail(ready.error());
  if (Result<void> made = run_batch({"ip"}, cable_batch(layout)); !made) return fail(made.error());
  const NextHops hops = next_hops(layout, std::vector<bool>(layout.topology.links.size(), true));
  const Conditions conditions = initial_conditions(layout.topology);
  const Plan plan{hops, conditions, options};
  Workers workers;
  for (uint32_t at = 0; at < layout.places.size(); ++at) {
    workers.start([&layout, &plan, at] { return furnish(layout, at, plan); });
  }
  if (options.delays != DelayMethod::kNone) {
    workers.start([&layout, &options] { return furnish_delays(layout, options); });
  }
  Result<std::vector<std::string>> notes = workers.finish();
  if (!notes) return notes;
  return distinct_lines(*notes);
}

// Single packets, each with its checksum: a veth pair omits checksums, so its receiving end would
// accept a corrupted packet.
Result<void> stop_offloads(const Port& port) {
  const Result<std::string> done =
      run_tool({"ethtool", "-K", port.device, "gso", "off", "tso", "off", "gro", "off",
                "tx-udp-segmentation", "off", "tx", "off"});
  if (!done) return fail(done.error());
  return {};
}

bool needs_single_packets(const topology::Topology& topology) {
  for (const topology::Link& link : topology.links) {
    if (link.shape.rate.count != 0 || is_delayed(link)) return true;
    if (link.forward.any() || link.backward.any()) return true;
  }
  return !topology.changes.empty();
}

std::vector<std::string> namespaces_of(const std::string& lab) {
  const std::string prefix = "heddle." + lab + ".";
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/run/netns", error)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind(prefix, 0) == 0) found.push_back(name);
  }
  std::sort(found.begin(), found.end());
  return found;
}

Result<void> tear_down(const std::string& lab) {
  const std::vector<std::string> found = namespaces_of(lab);
  Result<void> ended = end_processes_in(found);
  std::string batch;
  for (const std::string& name : found) batch += "netns delete " + name + "\n";
  if (batch.empty()) return ended;
  if (const auto done = run_tool({"ip", "-force", "-batch", "-"}, batch); !done) {
    return fail(done.error());
  }
  return ended;
}

}  // namespace heddle::lab
