// See nccl_tests.h.
#include "acceptance/stages/nccl_tests.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <sstream>

#include "acceptance/agent_numbers.h"
#include "acceptance/machine_texts.h"
#include "acceptance/params.h"
#include "base/quantity.h"

namespace heddle::acceptance {
namespace {

constexpr const char* kProgram = "all_reduce_perf";
// Prints the number of GPUs, then the programs that there are.
constexpr const char* kProbe =
    "nvidia-smi -L 2>/dev/null | grep -c '^GPU '; "
    "for each in all_reduce_perf mpirun; do command -v \"$each\" >/dev/null && echo \"$each\"; "
    "done; "
    "exit 0";

struct HostGpus {
  size_t gpus = 0;
  bool has_program = false;
  bool has_launcher = false;
};

Result<std::vector<HostGpus>> ask_hosts(Session& session) {
  std::vector<Commands::Id> ids;
  for (uint32_t i = 0; i < session.hosts(); ++i) {
    const auto id = session.commands().start(session.host(i), {"sh", "-c", kProbe},
                                             {.at = {}, .input = {}, .listed = false});
    if (!id) return fail(id.error());
    ids.push_back(*id);
  }
  session.wait(ids, {});
  std::vector<HostGpus> found;
  for (const Commands::Id id : ids) {
    std::istringstream lines(session.commands().result_of(id).output);
    HostGpus host;
    for (std::string line; std::getline(lines, line);) {
      if (line == kProgram) {
        host.has_program = true;
      } else if (line == "mpirun") {
        host.has_launcher = true;
      } else {
        host.gpus = std::min<size_t>(std::strtoul(line.c_str(), nullptr, 10), params::kMostGpus);
      }
    }
    found.push_back(host);
  }
  return found;
}

// Why NCCL cannot be measured on these hosts; empty: it can.
std::string why_not(const Session& session, const std::vector<HostGpus>& hosts) {
  for (uint32_t i = 0; i < hosts.size(); ++i) {
    if (hosts[i].gpus == 0)
      return fmt::format("{} has no GPU that nvidia-smi lists", session.host(i));
  }
  if (session.fabric().is_emulated()) return "hosts of an emulated fabric share one machine's GPUs";
  for (uint32_t i = 0; i < hosts.size(); ++i) {
    if (!hosts[i].has_program) return fmt::format("{} has no all_reduce_perf", session.host(i));
  }
  if (!hosts.front().has_launcher) return fmt::format("{} has no mpirun", session.host(0));
  // Of -H ADDRESS:SLOTS.
  if (session.fabric().address(0).find(':') != std::string::npos)
    return "mpirun takes no IPv6 addresses of hosts";
  return "";
}

std::vector<std::string> words_for(const Session& session, const std::vector<HostGpus>& hosts,
                                   const std::vector<BenchSize>& own) {
  std::string names;
  size_t ranks = 0;
  for (uint32_t i = 0; i < hosts.size(); ++i) {
    names += fmt::format("{}{}:{}", i == 0 ? "" : ",", session.fabric().address(i), hosts[i].gpus);
    ranks += hosts[i].gpus;
  }
  const auto largest = own.empty() ? params::kLargestUnbounded.count : own.back().bytes;
  // Open MPI starts nothing for root else; to others these say nothing.
  return {"env",
          "OMPI_ALLOW_RUN_AS_ROOT=1",
          "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
          "mpirun",
          "-np",
          std::to_string(ranks),
          "-H",
          names,
          kProgram,
          "-b",
          std::to_string(params::kSmallestCall.count),
          "-e",
          std::to_string(largest),
          "-f",
          std::to_string(call_factor(session)),
          "-g",
          "1"};
}

// NCCL is not what is tested: what it reaches below the bound warns.
void judge_speed(const Session& session, const BenchSize& largest, double bound, Row& row) {
  if (bound == 0) return;
  const double least = bound * session.expectations().collective_share;
  row.expected = fmt::format("at least {} of {}", rate_text(least), rate_text(bound));
  if (largest.bus_bits_per_s >= least) return;
  row.grade = Grade::kWarn;
  row.todo =
      "heddle reaches more where its row passed: see which transport and NICs NCCL chose with "
      "NCCL_DEBUG=INFO, and `heddle tune nccl`";
}

struct NcclFigures {
  std::vector<BenchSize> sizes;
  size_t gpus = 0;
  double bound = 0;  // bus bandwidth that the fabric allows; 0: no limit
};

void add_sizes(const Session& session, const NcclFigures& found, const std::vector<BenchSize>& own,
               StageReport& report) {
  const std::vector<BenchSize>& sizes = found.sizes;
  const BenchSize& largest = sizes.back();
  Row row{"NCCL", fmt::format("{} GPUs", found.gpus),
          fmt::format("{} bus bandwidth of {}, {} a call", rate_text(largest.bus_bits_per_s),
                      size_text(largest.bytes), us_text(largest.time_us)),
          ""};
  if (!own.empty())
    row.measured += fmt::format("; heddle {}", rate_text(own.back().bus_bits_per_s));
  uint64_t wrong = 0;
  Json table = Json::array();
  for (const BenchSize& size : sizes) {
    wrong += size.wrong;
    table.push_back(json_of(size));
  }
  report.data["nccl_sizes"] = std::move(table);
  judge_speed(session, largest, found.bound, row);
  if (wrong > 0) {
    row.grade = Grade::kFail;
    row.expected = "right results";
    row.measured = fmt::format("{} values are wrong", wrong);
    row.todo = "data was changed in transit or in memory: test the hosts' memory";
  }
  report.rows.push_back(std::move(row));
}

// Time, algbw, busbw and #wrong, which is "N/A" where nothing was checked.
std::optional<BenchTimes> times_in(std::istream& words) {
  BenchTimes times;
  double algorithm = 0;
  double bus = 0;
  std::string wrong;
  if (!(words >> times.time_us >> algorithm >> bus >> wrong)) return std::nullopt;
  times.algorithm_bits_per_s = algorithm * 8e9;
  times.bus_bits_per_s = bus * 8e9;
  char* end = nullptr;
  const uint64_t count = std::strtoull(wrong.c_str(), &end, 10);
  if (end != wrong.c_str()) times.wrong = count;
  return times;
}

}  // namespace

std::vector<BenchSize> sizes_of_nccl_tests(const std::string& output) {
  std::vector<BenchSize> sizes;
  std::istringstream lines(output);
  for (std::string line; sizes.size() < params::kMostNcclSizes && std::getline(lines, line);) {
    std::istringstream words(line);
    BenchSize size;
    if (!(words >> size.bytes >> size.count >> size.type >> size.operation >> size.root)) {
      continue;  // a heading, a note, or what a launcher writes
    }
    size.type = machine_text(size.type);
    size.operation = machine_text(size.operation);
    size.root = machine_text(size.root);
    const std::optional<BenchTimes> outside = times_in(words);
    if (!outside) continue;
    size.time_us = outside->time_us;
    size.algorithm_bits_per_s = outside->algorithm_bits_per_s;
    size.bus_bits_per_s = outside->bus_bits_per_s;
    size.wrong_out_of_place = outside->wrong;
    size.in_place = times_in(words);
    size.wrong = outside->wrong.value_or(0);
    if (size.in_place) size.wrong += size.in_place->wrong.value_or(0);
    sizes.push_back(std::move(size));
  }
  return sizes;
}

Result<void> run_nccl_tests(Session& session, const std::vector<BenchSize>& own, double bound,
                            StageReport& report) {
  const Result<std::vector<HostGpus>> hosts = ask_hosts(session);
  if (!hosts) return fail(hosts.error());
  if (session.interrupted()) return {};
  const std::string where = fmt::format("{} hosts", session.hosts());
  if (const std::string why = why_not(session, *hosts); !why.empty()) {
    report.rows.push_back({"NCCL", where, fmt::format("not tried: {}", why), ""});
    return {};
  }
  const auto id = session.commands().start(session.host(0), words_for(session, *hosts, own));
  if (!id) return fail(id.error());
  session.wait({*id}, params::kBenchTime * 4);
  if (session.interrupted()) return {};
  const CommandEnd end = session.commands().result_of(*id);
  NcclFigures found{.sizes = sizes_of_nccl_tests(end.output), .bound = bound};
  if (found.sizes.empty()) {
    report.rows.push_back({"NCCL", where, complaint_of(end), "results", Grade::kWarn,
                           "repeat the command of this stage and see what it reports"});
    return {};
  }
  for (const HostGpus& host : *hosts) found.gpus += host.gpus;
  add_sizes(session, found, own, report);
  return {};
}

}  // namespace heddle::acceptance
