// See nccl_tests.h.
#include "acceptance/stages/nccl_tests.h"

#include <fmt/format.h>

#include <cstdlib>
#include <sstream>

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
        host.gpus = std::strtoul(line.c_str(), nullptr, 10);
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
          std::to_string(params::kSmallest.count),
          "-e",
          std::to_string(largest),
          "-f",
          "8",
          "-g",
          "1"};
}

void add_sizes(const std::vector<BenchSize>& sizes, size_t gpus, const std::vector<BenchSize>& own,
               StageReport& report) {
  const BenchSize& largest = sizes.back();
  Row row{"NCCL", fmt::format("{} GPUs", gpus),
          fmt::format("{} bus bandwidth of {}, {} a call", rate_text(largest.bus_bits_per_s),
                      size_text(largest.bytes),
                      duration_text(nanos(static_cast<int64_t>(largest.time_us * 1e3)))),
          ""};
  if (!own.empty())
    row.measured += fmt::format("; heddle {}", rate_text(own.back().bus_bits_per_s));
  uint64_t wrong = 0;
  Json table = Json::array();
  for (const BenchSize& size : sizes) {
    wrong += size.wrong;
    table.push_back({{"bytes", size.bytes},
                     {"count", size.count},
                     {"type", size.type},
                     {"time_us", size.time_us},
                     {"algorithm_bits_per_s", size.algorithm_bits_per_s},
                     {"bus_bits_per_s", size.bus_bits_per_s},
                     {"wrong", size.wrong}});
  }
  report.data["nccl_sizes"] = std::move(table);
  if (wrong > 0) {
    row.grade = Grade::kFail;
    row.expected = "right results";
    row.measured = fmt::format("{} values are wrong", wrong);
    row.todo = "data was changed on the way or in memory: test the hosts' memory";
  }
  report.rows.push_back(std::move(row));
}

}  // namespace

std::vector<BenchSize> sizes_of_nccl_tests(const std::string& output) {
  std::vector<BenchSize> sizes;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    BenchSize size;
    std::string operation;
    std::string root;
    std::string wrong;
    double algorithm = 0;
    double bus = 0;
    if (!(words >> size.bytes >> size.count >> size.type >> operation >> root >> size.time_us >>
          algorithm >> bus >> wrong)) {
      continue;  // a heading, a note, or what a launcher writes
    }
    size.algorithm_bits_per_s = algorithm * 8e9;
    size.bus_bits_per_s = bus * 8e9;
    size.wrong = std::strtoull(wrong.c_str(), nullptr, 10);  // "N/A" where nothing was checked
    sizes.push_back(std::move(size));
  }
  return sizes;
}

Result<void> run_nccl_tests(Session& session, const std::vector<BenchSize>& own,
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
  session.wait({*id}, params::kBenchTime * 2);
  if (session.interrupted()) return {};
  const CommandEnd end = session.commands().result_of(*id);
  const std::vector<BenchSize> sizes = sizes_of_nccl_tests(end.output);
  if (sizes.empty()) {
    report.rows.push_back({"NCCL", where, complaint_of(end), "results", Grade::kWarn,
                           "repeat the command of this stage and see what it reports"});
    return {};
  }
  size_t gpus = 0;
  for (const HostGpus& host : *hosts) gpus += host.gpus;
  add_sizes(sizes, gpus, own, report);
  return {};
}

}  // namespace heddle::acceptance
