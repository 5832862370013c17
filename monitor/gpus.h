// GPUs of a machine as nvidia-smi lists them: what it is asked for, its rows read, and metrics.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "metrics/exposition.h"

namespace heddle::monitor {

// A figure that nvidia-smi does not know is NaN.
struct Gpu {
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

  int index = 0;
  std::string uuid;               // may be empty
  std::string name;               // may be empty
  double utilization = kUnknown;  // share of the last sample period, 0 to 1
  double memory_used_bytes = kUnknown;
  double memory_bytes = kUnknown;
  double power_watts = kUnknown;
  double temperature_celsius = kUnknown;
  double sm_clock_hertz = kUnknown;
  std::optional<uint64_t> clock_limits;  // bits of NVML's clocks event reasons
};

struct GpuState {
  std::vector<Gpu> gpus;  // of the last reading that has ended
  std::string complaint;  // why that reading is not whole; empty: it is
  uint64_t readings_ok = 0;
  uint64_t readings_failed = 0;
};

// How drivers name the field for what lowers the clock, the newest name first; the empty one leaves
// the field out.
inline constexpr const char* kClockLimitFields[] = {"clocks_event_reasons.active",
                                                    "clocks_throttle_reasons.active", ""};

// The words after the program, with one of these fields.
std::vector<std::string> gpu_query(const std::string& clock_limit_field);

// Whether it was refused for the name of a field.
bool refuses_field(const std::string& output);

struct GpuRows {
  std::vector<Gpu> gpus;
  std::string not_read;  // the first line that is no row; empty: all were
};
// `has_clock_limits`: the query had such a field.
GpuRows parse_gpu_rows(const std::string& output, bool has_clock_limits);

// `host`: the label of all of them.
std::vector<metrics::Family> families_of(const GpuState& state, const std::string& host);

}  // namespace heddle::monitor
