// See gpus.h.
#include "monitor/gpus.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>

#include "base/printable.h"
#include "monitor/params.h"

namespace heddle::monitor {
namespace {

using metrics::Family;
using metrics::Label;
using metrics::Type;

constexpr const char* kFields =
    "index,uuid,name,utilization.gpu,memory.used,memory.total,power.draw,temperature.gpu,clocks.sm";
constexpr size_t kBeforeName = 2;  // index and uuid
constexpr size_t kFigures = 6;     // after the name

constexpr double kMebibyte = 1 << 20;
constexpr double kMegahertz = 1e6;

// Bits of NVML's clocks event reasons (nvml.h), with the names that nvidia-smi has for them.
struct ClockLimit {
  uint64_t bit;
  const char* name;
};
constexpr std::array kClockLimits = {ClockLimit{0x1, "gpu_idle"},
                                     ClockLimit{0x2, "applications_clocks_setting"},
                                     ClockLimit{0x4, "sw_power_cap"},
                                     ClockLimit{0x8, "hw_slowdown"},
                                     ClockLimit{0x10, "sync_boost"},
                                     ClockLimit{0x20, "sw_thermal_slowdown"},
                                     ClockLimit{0x40, "hw_thermal_slowdown"},
                                     ClockLimit{0x80, "hw_power_brake_slowdown"},
                                     ClockLimit{0x100, "display_clock_setting"}};

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return text.substr(text.size());
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0;;) {
    const size_t end = text.find(at, begin);
    parts.push_back(trimmed(text.substr(begin, end - begin)));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

// NaN for what is no number: "[N/A]", "[Unknown Error]", "ERR!", and for one below zero.
double figure_of(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && std::isfinite(value) && value >= 0 ? value : Gpu::kUnknown;
}

// "0x0000000000000001".
std::optional<uint64_t> bits_of(std::string_view text) {
  if (!text.starts_with("0x")) return std::nullopt;
  text.remove_prefix(2);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Of a GPU; empty for "[N/A]" and its like.
std::string text_of(std::string_view text) {
  if (text.starts_with('[')) return {};
  return printable(std::string(text.substr(0, params::kLongestText)));
}

std::optional<Gpu> gpu_of(std::string_view line, bool has_clock_limits) {
  const std::vector<std::string_view> parts = split(line, ',');
  const size_t behind = kFigures + (has_clock_limits ? 1 : 0);
  if (parts.size() < kBeforeName + 1 + behind) return std::nullopt;
  Gpu gpu;
  const auto [end, error] =
      std::from_chars(parts[0].data(), parts[0].data() + parts[0].size(), gpu.index);
  if (error != std::errc() || end != parts[0].data() + parts[0].size() || gpu.index < 0) {
    return std::nullopt;
  }
  // A name may have commas.
  const auto* const figures = &parts[parts.size() - behind];
  gpu.uuid = text_of(parts[1]);
  const char* const name_end =
      parts[parts.size() - behind - 1].data() + parts[parts.size() - behind - 1].size();
  gpu.name = text_of(
      {parts[kBeforeName].data(), static_cast<size_t>(name_end - parts[kBeforeName].data())});
  gpu.utilization = figure_of(figures[0]) / 100;
  if (gpu.utilization > 1) gpu.utilization = Gpu::kUnknown;
  gpu.memory_used_bytes = figure_of(figures[1]) * kMebibyte;
  gpu.memory_bytes = figure_of(figures[2]) * kMebibyte;
  gpu.power_watts = figure_of(figures[3]);
  gpu.temperature_celsius = figure_of(figures[4]);
  gpu.sm_clock_hertz = figure_of(figures[5]) * kMegahertz;
  if (has_clock_limits) gpu.clock_limits = bits_of(figures[6]);
  return gpu;
}

// Families of one machine.
class Families {
 public:
  Families(const GpuState& state, const std::string& host) : state_(state), host_(host) {}

  std::vector<Family> make() {
    begin("reading_ok",
          "1: the last reading of nvidia-smi gave figures of all GPUs; 0: it did not.");
    if (state_.readings_ok + state_.readings_failed > 0) add({}, state_.complaint.empty() ? 1 : 0);
    begin("readings_total", "Readings of nvidia-smi by result.", Type::kCounter);
    add({{"result", "ok"}}, static_cast<double>(state_.readings_ok));
    add({{"result", "failed"}}, static_cast<double>(state_.readings_failed));
    begin("info", "Always 1; which GPU it is.");
    for (const Gpu& each : state_.gpus) {
      add({index_of(each), {"uuid", each.uuid}, {"name", each.name}}, 1);
    }
    add_figures();
    add_clock_limits();
    return std::move(families_);
  }

 private:
  void begin(const char* name, const char* help, Type type = Type::kGauge) {
    families_.push_back({std::string("heddle_gpu_") + name, help, type, {}});
  }
  // To the family that was begun last.
  void add(std::vector<Label> labels, double value) {
    labels.insert(labels.begin(), {"host", host_});
    families_.back().samples.push_back({std::move(labels), value});
  }
  static Label index_of(const Gpu& gpu) { return {"gpu", std::to_string(gpu.index)}; }

  // A figure that there is not has no sample.
  void add_of_gpus(const char* name, const char* help, double Gpu::*figure) {
    begin(name, help);
    for (const Gpu& each : state_.gpus) {
      if (!std::isnan(each.*figure)) add({index_of(each)}, each.*figure);
    }
  }

  void add_figures() {
    add_of_gpus("utilization_ratio",
                "Share of the last sample period in which a kernel ran, from 0 to 1.",
                &Gpu::utilization);
    add_of_gpus("memory_used_bytes", "Memory of the GPU that is used.", &Gpu::memory_used_bytes);
    add_of_gpus("memory_bytes", "Memory that the GPU has.", &Gpu::memory_bytes);
    add_of_gpus("power_watts", "Power that the GPU draws.", &Gpu::power_watts);
    add_of_gpus("temperature_celsius", "Temperature of the GPU.", &Gpu::temperature_celsius);
    add_of_gpus("sm_clock_hertz", "Clock of the streaming multiprocessors.", &Gpu::sm_clock_hertz);
  }

  void add_clock_limits() {
    begin("clock_limited", "1: the reason lowers the GPU's clock now; 0: it does not.");
    for (const Gpu& each : state_.gpus) {
      if (!each.clock_limits) continue;
      for (const ClockLimit& limit : kClockLimits) {
        add({index_of(each), {"reason", limit.name}},
            (*each.clock_limits & limit.bit) != 0 ? 1 : 0);
      }
    }
  }

  const GpuState& state_;
  const std::string& host_;
  std::vector<Family> families_;
};

}  // namespace

std::vector<std::string> gpu_query(const std::string& clock_limit_field) {
  std::string fields = kFields;
  if (!clock_limit_field.empty()) fields += "," + clock_limit_field;
  return {"--query-gpu=" + fields, "--format=csv,noheader,nounits"};
}

bool refuses_field(const std::string& output) {
  return output.find("is not a valid field to query") != std::string::npos;
}

GpuRows parse_gpu_rows(const std::string& output, bool has_clock_limits) {
  GpuRows rows;
  std::set<int> seen;
  for (const std::string_view line : split(output, '\n')) {
    if (line.empty()) continue;
    std::optional<Gpu> gpu = gpu_of(line, has_clock_limits);
    if (gpu && rows.gpus.size() < params::kMostGpus && seen.insert(gpu->index).second) {
      rows.gpus.push_back(std::move(*gpu));
    } else if (rows.not_read.empty()) {
      rows.not_read = printable(std::string(line.substr(0, params::kLongestText)));
    }
  }
  return rows;
}

std::vector<Family> families_of(const GpuState& state, const std::string& host) {
  return Families(state, host).make();
}

}  // namespace heddle::monitor
