// See processor_time.h.
#include "acceptance/processor_time.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string>

#include "lab/link_meter.h"

namespace heddle::acceptance {
namespace {

// Processors' seconds since boot, of programs: in user mode and in the kernel, without interrupts.
double busy_seconds() {
  std::ifstream file("/proc/stat");
  std::string word;
  std::array<double, 3> ticks{};  // user, nice, system
  file >> word;
  for (double& each : ticks) file >> each;
  return (ticks[0] + ticks[1] + ticks[2]) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

// Of this process and its children that have ended.
double ended_seconds() {
  double sum = 0;
  for (const auto whose : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    getrusage(whose, &usage);
    for (const timeval& each : {usage.ru_utime, usage.ru_stime}) {
      sum += static_cast<double>(each.tv_sec) + static_cast<double>(each.tv_usec) * 1e-6;
    }
  }
  return sum;
}

}  // namespace

ProcessorTime::ProcessorTime(double own_seconds)
    : start_(lab::meter_now()), busy_(busy_seconds()), own_(ended_seconds() + own_seconds) {}

double ProcessorTime::others_share(double own_seconds) const {
  const double all =
      to_seconds(lab::meter_now() - start_) * static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN));
  if (all <= 0) return 0;
  const double others = (busy_seconds() - busy_) - (ended_seconds() + own_seconds - own_);
  return std::clamp(others / all, 0.0, 1.0);
}

}  // namespace heddle::acceptance
