// Reading of demands: see demand_sources.h.
#include "apps/cli/plan/demand_sources.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "apps/cli/plan/csv.h"
#include "apps/cli/plan/job_demand.h"
#include "apps/cli/plan/params.h"
#include "base/printable.h"
#include "base/quantity.h"
#include "insight/matrix.h"
#include "recordings/contents.h"
#include "topology/workload_file.h"

namespace heddle::cli {
namespace {

// Adds what is sent from host to host, by their names.
class NamedFlows {
 public:
  // `source` is what has the names: "the matrix".
  NamedFlows(const topology::Topology& topology, std::string source) : source_(std::move(source)) {
    for (uint32_t i = 0; i < topology.hosts.size(); ++i) hosts_[topology.hosts[i].name] = i;
  }

  void add(const std::string& from, const std::string& to, uint64_t bytes) {
    const auto sender = hosts_.find(from);
    const auto receiver = hosts_.find(to);
    if (sender == hosts_.end()) unknown_.insert(from);
    if (receiver == hosts_.end()) unknown_.insert(to);
    if (sender == hosts_.end() || receiver == hosts_.end()) {
      left_out_ += bytes;
      return;
    }
    if (sender->second == receiver->second || bytes == 0) return;
    bytes_[{sender->second, receiver->second}] += bytes;
  }

  // Errors: kInvalid, where no two hosts of the topology send to each other but unknown ones do.
  Result<PlanDemand> demand(const topology::Topology& topology) const {
    PlanDemand made{demand_of(bytes_, topology), {}, {}};
    if (unknown_.empty()) return made;
    if (bytes_.empty()) {
      return fail(ErrorCode::kInvalid, "there is nothing to plan",
                  fmt::format("{} not in the topology", unknown_text()), kRename);
    }
    made.notes.push_back(fmt::format("{} not in the topology: {} are left out; {}", unknown_text(),
                                     counted_text(left_out_, "byte"), kRename));
    return made;
  }

 private:
  static constexpr const char* kRename = "use the topology's names, or add the missing hosts to it";

  // "host 'a' of the matrix is", "hosts 'a', 'b' and 3 others of the matrix are".
  std::string unknown_text() const {
    std::string names;
    size_t named = 0;
    for (const std::string& name : unknown_) {
      if (named == params::plan::kMostNamed) break;
      const bool last = ++named == unknown_.size();
      names += fmt::format("{}'{}'", named == 1 ? "" : last ? " and " : ", ", printable(name));
    }
    if (const size_t more = unknown_.size() - named; more > 0) {
      names += fmt::format(" and {} {}", more, more == 1 ? "other" : "others");
    }
    const bool one = unknown_.size() == 1;
    return fmt::format("{} {} of {} {}", one ? "host" : "hosts", names, source_,
                       one ? "is" : "are");
  }

  std::string source_;
  std::unordered_map<std::string, uint32_t> hosts_;
  std::set<std::string> unknown_;
  uint64_t left_out_ = 0;
  HostBytes bytes_;
};

Result<PlanDemand> demand_of_workload(const DemandSources& sources,
                                      const topology::Topology& topology) {
  const Result<topology::Workload> workload =
      topology::read_workload_file(sources.workload, topology, sources.seed);
  if (!workload) return fail(workload.error());
  HostBytes bytes;
  for (const topology::Flow& flow : workload->flows) {
    bytes[{flow.from, flow.to}] += flow.bytes.count;
  }
  PlanDemand demand;
  for (const topology::Job& job : workload->jobs) add_job(job, topology, bytes);
  demand.demand = demand_of(bytes, topology);
  demand.failed_links = workload->failed_links;
  demand.notes = workload->notes;
  return demand;
}

Result<PlanDemand> demand_of_matrix(const std::string& file, const topology::Topology& topology) {
  NamedFlows flows(topology, "the matrix");
  const Result<void> read = read_csv(
      {file,
       {"from", "to", "bytes"},
       "give what `heddle matrix RECORDING --by host --format csv` writes, or columns from, to and "
       "bytes"},
      [&flows](const std::vector<std::string>& fields) {
        const std::optional<uint64_t> count = csv_number(fields[2]);
        if (!count) return "'" + fields[2] + "' is no number of bytes";
        flows.add(fields[0], fields[1], *count);
        return std::string();
      });
  if (!read) return fail(read.error());
  return flows.demand(topology);
}

Result<PlanDemand> demand_of_recording(const std::string& path,
                                       const topology::Topology& topology) {
  const auto files = recordings::recording_files(path);
  if (!files) return fail(files.error());
  insight::TrafficBuilder builder;
  for (const std::string& file : *files) {
    auto reader = events::RecordingReader::open(file);
    if (!reader) return fail(reader.error());
    const uint32_t process = builder.add_process(reader->facts().identity);
    events::RecordedEvent recorded;
    while (reader->next(recorded)) builder.add(process, recorded.event, recorded.writer);
  }
  const insight::Traffic traffic = builder.finish();
  const insight::Matrix matrix = insight::make_matrix(traffic, insight::MatrixRows::kHost);
  NamedFlows flows(topology, "the recording");
  for (const auto& [pair, cell] : matrix.cells) {
    flows.add(matrix.parties[pair.first].name, matrix.parties[pair.second].name,
              matrix.moved(cell) - std::min(matrix.moved(cell), cell.memory_bytes));
  }
  return flows.demand(topology);
}

}  // namespace

Result<PlanDemand> read_demand(const DemandSources& sources, const topology::Topology& topology) {
  if (!sources.matrix.empty()) return demand_of_matrix(sources.matrix, topology);
  if (!sources.recording.empty()) return demand_of_recording(sources.recording, topology);
  return demand_of_workload(sources, topology);
}

}  // namespace heddle::cli
