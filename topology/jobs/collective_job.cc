// Jobs that repeat one call, and the keys of all kinds of jobs: see reading.h.
#include <utility>

#include "topology/jobs/reading.h"
#include "topology/params.h"

namespace heddle::topology {

Job read_job_basics(TableReader& table, const std::string& kind,
                    const std::vector<uint32_t>& hosts) {
  Job job;
  job.kind = kind;
  job.name = table.text("name", kind);
  job.start = table.time("start", {});
  job.chunk = table.bytes("chunk", {});
  if (table.has("chunk") &&
      (job.chunk.count < params::jobs::kLeastChunk || job.chunk.count > params::jobs::kMostChunk)) {
    table.wrong("chunk", "chunks have 1 KiB to 64 MiB", R"(give a size like "256KiB")");
  }
  if (hosts.size() < 2) {
    table.wrong("hosts", "it has fewer than two hosts",
                R"(give names, or ranges, like ["h0..h7"])");
  }
  for (const uint32_t host : hosts) job.ranks.push_back({.host = host, .communicators = {}});
  return job;
}

void add_world(Job& job) {
  JobCommunicator world{.name = "world", .ranks = {}};
  for (uint32_t rank = 0; rank < job.ranks.size(); ++rank) {
    world.ranks.push_back(rank);
    job.ranks[rank].communicators.push_back(static_cast<uint32_t>(job.communicators.size()));
  }
  job.communicators.push_back(std::move(world));
}

std::optional<AlgorithmChoice> read_algorithm(TableReader& table, CallKind call) {
  const std::string name = table.text("algorithm", "auto");
  if (name == "auto") return std::nullopt;
  const auto algorithm = algorithm_named(name);
  if (algorithm && has_algorithm(call, algorithm->algorithm)) return algorithm;
  table.wrong("algorithm", std::string(name_of(call)) + " has no \"" + name + "\"",
              "choose from auto, " + algorithms_of(call));
  return std::nullopt;
}

Job read_collective_job(TableReader& table, CallKind call, const std::vector<uint32_t>& hosts) {
  Job job = read_job_basics(table, std::string(name_of(call)), hosts);
  add_world(job);
  Action action{.kind = ActionKind::kCall, .call = call};
  action.algorithm = read_algorithm(table, call);
  if (call != CallKind::kBarrier) {
    const std::string todo = R"(give the size of a rank's data, or of all blocks, like "64MB")";
    table.need("bytes", todo);
    action.bytes = table.bytes("bytes", {}).count;
    if (action.bytes > kMaxCallBytes) table.wrong("bytes", "a call has up to 64 GiB", todo);
    const uint64_t element = table.integer("element_bytes", 1, 1, 8);
    if ((element & (element - 1)) != 0) {
      table.wrong("element_bytes", "elements have 1, 2, 4 or 8 bytes", "give one of these");
    }
    action.element_bytes = static_cast<uint8_t>(element);
  }
  if (has_root(call)) {
    const uint64_t last = hosts.empty() ? 0 : hosts.size() - 1;
    action.root = static_cast<uint32_t>(table.integer("root", 0, 0, last));
  }
  Program program;
  program.repeat = static_cast<uint32_t>(table.integer("count", 1, 1, params::jobs::kMostRepeats));
  program.actions.push_back(action);
  const Nanos gap = table.time("gap", {});
  if (gap != Nanos{}) program.actions.push_back({.kind = ActionKind::kCompute, .span = gap});
  job.programs.push_back(std::move(program));
  return job;
}

}  // namespace heddle::topology
