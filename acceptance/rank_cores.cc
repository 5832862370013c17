// See rank_cores.h.
#include "acceptance/rank_cores.h"

#include <fmt/format.h>
#include <sched.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "launch/own_command.h"

namespace heddle::acceptance {
namespace {

constexpr const char* kRank = "HEDDLE_RANK";  // set by `heddle run`

std::vector<int> numbers_of(const std::string& text) {
  std::vector<int> numbers;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    numbers.push_back(static_cast<int>(std::strtol(part.c_str(), nullptr, 10)));
  }
  return numbers;
}

}  // namespace

RankCores rank_cores(bool is_emulated) {
  RankCores found;
  if (!is_emulated) return found;
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  // Sandboxes may allow to read and not to set: the same set is tried.
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 ||
      sched_setaffinity(0, sizeof allowed, &allowed) != 0) {
    found.why_not = std::strerror(errno);
    return found;
  }
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &allowed)) found.cores.push_back(core);
  }
  return found;
}

std::vector<std::string> on_cores(const RankCores& cores, const std::vector<std::string>& words) {
  if (cores.cores.empty()) return words;
  std::string numbers;
  for (const int core : cores.cores) {
    numbers += fmt::format("{}{}", numbers.empty() ? "" : ",", core);
  }
  std::vector<std::string> pinned = {"heddle", "agent", "on-core", numbers};
  pinned.insert(pinned.end(), words.begin(), words.end());
  return pinned;
}

std::optional<Row> cores_row(const std::string& check, size_t hosts, const RankCores& cores) {
  if (cores.cores.empty() && cores.why_not.empty()) return std::nullopt;
  Row row{check, fmt::format("{} hosts", hosts), "", ""};
  if (cores.cores.empty()) {
    row.measured =
        fmt::format("not pinned ({}): a host alone has all cores of this machine", cores.why_not);
  } else if (cores.cores.size() >= hosts) {
    row.measured = "the rank of each host keeps to a core of its own";
  } else {
    row.measured = fmt::format("the rank of each host keeps to one core; {} hosts share {} cores",
                               hosts, cores.cores.size());
  }
  return row;
}

ExecFailure run_on_core(const std::string& cores, const std::vector<std::string>& words) {
  const auto failure = [&words](const std::string& why, const std::string& todo) {
    return ExecFailure{Error{ErrorCode::kInvalid,
                             fmt::format("cannot run {} on a core", words.front()), why, todo}};
  };
  const char* const number = std::getenv(kRank);
  const std::vector<int> numbers = numbers_of(cores);
  if (number == nullptr || numbers.empty()) {
    return failure(fmt::format("{} is not set", number == nullptr ? kRank : "its core"),
                   "start it by `heddle run`, with the numbers of cores");
  }
  const int core = numbers[std::strtoul(number, nullptr, 10) % numbers.size()];
  cpu_set_t one;
  CPU_ZERO(&one);
  if (core >= 0 && core < CPU_SETSIZE) CPU_SET(core, &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0) {
    return failure(fmt::format("core {}: {}", core, std::strerror(errno)),
                   "see the cores that it may use: `taskset -p $$`");
  }
  return exec_program(words, words.front() == "heddle" ? launch::own_file() : std::string());
}

}  // namespace heddle::acceptance
