// Cores: see cores.h. Affinity comes from sched_getaffinity(2). Quotas come from cgroups(7): every
// level up to the root applies.
#include "engine/cores.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "base/per_process.h"

namespace heddle::engine {
namespace {

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return file ? text.str() : std::string();
}

int cores_by_affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

// The smallest quota between this process's control group and the root.
double cores_by_quota(int most) {
  double cores = most;
  const std::string membership = read_text("/proc/self/cgroup");
  std::string group(parse_cgroup_path(membership));
  while (true) {
    const std::string limit = read_text("/sys/fs/cgroup" + group + "/cpu.max");
    if (const auto quota = parse_cpu_max(limit)) cores = std::min(cores, *quota);
    const size_t slash = group.rfind('/');
    if (slash == std::string::npos) return cores;
    group.resize(slash);
  }
}

struct UsableCores {
  const int allowed = cores_by_affinity();
  const int count = std::clamp(static_cast<int>(cores_by_quota(allowed)), 1, allowed);
};

std::atomic<int>& spinning_threads() {
  static std::atomic<int> count{0};
  return count;
}

}  // namespace

std::optional<double> parse_cpu_max(std::string_view text) {
  const auto number = [&text]() -> std::optional<long> {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    long value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || value <= 0) return std::nullopt;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    return value;
  };
  const auto quota = number();
  if (!quota) return std::nullopt;
  const auto period = number();
  if (!period) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

std::string_view parse_cgroup_path(std::string_view text) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.starts_with("0::")) continue;
    line.remove_prefix(3);
    return line == "/" ? std::string_view() : line;
  }
  return {};
}

int usable_cores() {
  static constinit PerProcess<UsableCores> cores;
  return cores.get().count;
}

SpinPermit SpinPermit::take(int reserved_cores) {
  SpinPermit leave;
  const int most = usable_cores() - reserved_cores;
  int spinning = spinning_threads().load(std::memory_order_relaxed);
  while (spinning < most) {
    if (spinning_threads().compare_exchange_weak(spinning, spinning + 1)) {
      leave.granted_ = true;
      break;
    }
  }
  return leave;
}

SpinPermit::~SpinPermit() {
  if (granted_) spinning_threads().fetch_sub(1);
}

}  // namespace heddle::engine
