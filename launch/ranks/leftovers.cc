// Leftovers: see leftovers.h.
#include "launch/ranks/leftovers.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include "lab/processes.h"
#include "launch/params.h"

namespace heddle::launch {
namespace {

bool has_variable(std::string_view environment, std::string_view variable) {
  while (!environment.empty()) {
    const std::string_view each = environment.substr(0, environment.find('\0'));
    if (each == variable) return true;
    environment.remove_prefix(std::min(environment.size(), each.size() + 1));
  }
  return false;
}

std::string environment_of(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/environ", process), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

bool is_of_rank(std::string_view environment, std::string_view run, uint32_t rank) {
  return has_variable(environment, fmt::format("HEDDLE_RUN={}", run)) &&
         has_variable(environment, fmt::format("HEDDLE_RANK={}", rank));
}

void kill_leftovers(std::string_view run, uint32_t rank) {
  for (int round = 0; round < params::kLeftoverRounds; ++round) {
    bool found = false;
    for (const pid_t process : lab::descendants()) {
      if (!is_of_rank(environment_of(process), run, rank)) continue;
      kill(process, SIGKILL);
      found = true;
    }
    if (!found) return;
    usleep(2'000);
  }
}

}  // namespace heddle::launch
