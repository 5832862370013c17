// See workload_file.h. [[job]] tables become patterns of flows, or ranks that call collectives;
// [[flow]] tables become single flows.
#include "topology/workload_file.h"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/document.h"
#include "base/random.h"
#include "topology/file/table.h"
#include "topology/foreign_job.h"
#include "topology/htsim_matrix.h"
#include "topology/jobs/reading.h"
#include "topology/params.h"
#include "topology/workload_patterns.h"

namespace heddle::topology {
namespace {

constexpr const char* kHostsTodo = R"(give names, or ranges, like ["h0..h7", "h12"])";

class WorkloadReader {
 public:
  WorkloadReader(const DocumentValue& document, const std::string& name, const Topology& topology,
                 uint64_t seed)
      : document_(document), errors_(name), topology_(topology), random_(seed) {
    for (uint32_t i = 0; i < topology.hosts.size(); ++i) numbers_[topology.hosts[i].name] = i;
  }

  Result<Workload> read();

 private:
  void read_job(TableReader& table);
  bool read_ranks(TableReader& table, const std::string& kind, const std::vector<uint32_t>& among);
  void read_flow(TableReader& table);
  bool too_many(TableReader& table, uint64_t more);
  std::vector<uint32_t> hosts(TableReader& table);
  void add_hosts(TableReader& table, const std::string& text, std::vector<uint32_t>& chosen);
  std::optional<uint32_t> host(TableReader& table, std::string_view key, const std::string& name);
  PatternShape shape(TableReader& table);
  void incast(TableReader& table, const std::vector<uint32_t>& among, const PatternShape& shape);

  const DocumentValue& document_;
  FileErrors errors_;
  const Topology& topology_;
  Random random_;
  std::unordered_map<std::string, uint32_t> numbers_;  // by host name
  Workload workload_;
  uint64_t actions_ = 0;  // sum over all jobs' programs
};

Result<Workload> WorkloadReader::read() {
  for (const DocumentValue& item : document_.items) {
    if (item.key == "version") continue;
    if (item.key != "job" && item.key != "flow") {
      errors_.add(item.line, "the key '" + item.key + "' is not known",
                  "known here: version, job, flow");
    } else if (item.kind != DocumentKind::kArray) {
      errors_.add(item.line, "'" + item.key + "' is not a list of tables",
                  "write [[" + item.key + "]] before each");
    }
  }
  if (errors_.any()) return fail(errors_.first());
  for (const char* key : {"job", "flow"}) {
    const DocumentValue* list = document_.find(key);
    if (list == nullptr) continue;
    for (const DocumentValue& item : list->items) {
      TableReader table(item, errors_);
      if (std::string_view(key) == "job") {
        read_job(table);
      } else {
        read_flow(table);
      }
      table.finish();
      if (errors_.any()) return fail(errors_.first());
    }
  }
  if (!errors_.any()) {
    if (Result<void> valid = validate(workload_, topology_); !valid) {
      errors_.add(0, valid.error().why, valid.error().todo);
    }
  }
  if (errors_.any()) return fail(errors_.first());
  return std::move(workload_);
}

void WorkloadReader::read_job(TableReader& table) {
  const std::string todo =
      "give permutation, incast, all_to_all, all_reduce, all_gather, reduce_scatter, broadcast, "
      "reduce, gather, scatter, barrier, training or program";
  table.need("kind", todo);
  const std::string kind = table.text("kind", "");
  const std::vector<uint32_t> among = hosts(table);
  if (read_ranks(table, kind, among)) return;
  const PatternShape pattern = shape(table);
  if (kind == "incast") return incast(table, among, pattern);
  const uint64_t at_once = kind == "all_to_all" ? table.integer("at_once", 0, 1, 1'000'000) : 0;
  if (errors_.any()) return;
  const uint64_t count = among.size();
  if (count < 2) return table.wrong("hosts", "it has fewer than two hosts", kHostsTodo);
  if (kind == "permutation") {
    if (!too_many(table, count)) add_permutation(workload_, among, pattern, random_);
  } else if (kind == "all_to_all") {
    if (too_many(table, count * (count - 1))) return;
    add_all_to_all(workload_, among, static_cast<uint32_t>(at_once), pattern);
  } else {
    table.wrong("kind", "there is no job \"" + kind + "\"", todo);
  }
}

// Reads kinds of jobs whose ranks have communicators. Returns false for other kinds.
bool WorkloadReader::read_ranks(TableReader& table, const std::string& kind,
                                const std::vector<uint32_t>& among) {
  const auto call = call_named(kind);
  // An all-to-all without an algorithm consists of plain flows.
  const bool flows = call == CallKind::kAllToAll && !table.has("algorithm");
  if (kind == "training") {
    workload_.jobs.push_back(read_training_job(table, among));
  } else if (kind == "program") {
    workload_.jobs.push_back(read_program_job(table, errors_, among));
  } else if (call && !flows && !between_two(*call)) {
    workload_.jobs.push_back(read_collective_job(table, *call, among));
  } else {
    return false;
  }
  for (const Program& program : workload_.jobs.back().programs) actions_ += program.actions.size();
  if (actions_ > params::file::kMaxActions) {
    table.wrong("kind",
                "the jobs have more than " + std::to_string(params::file::kMaxActions) + " actions",
                "use fewer layers, microbatches or jobs");
  }
  return true;
}

void WorkloadReader::incast(TableReader& table, const std::vector<uint32_t>& among,
                            const PatternShape& pattern) {
  table.need("to", "name the host that receives");
  const auto to = host(table, "to", table.text("to", ""));
  const uint64_t senders = table.integer("senders", 0, 1, 1'000'000);
  if (errors_.any()) return;
  const uint64_t others =
      among.size() - static_cast<size_t>(std::count(among.begin(), among.end(), *to));
  if (others < std::max<uint64_t>(senders, 1)) {
    return table.wrong(table.has("senders") ? "senders" : "hosts",
                       "there are " + std::to_string(others) + " hosts besides the receiver",
                       "use fewer senders, or more hosts");
  }
  const uint64_t used = table.has("senders") ? senders : others;
  if (too_many(table, used)) return;
  add_incast(workload_, among, {*to, static_cast<uint32_t>(used)}, pattern, random_);
}

void WorkloadReader::read_flow(TableReader& table) {
  table.need("from", "name the host that sends");
  table.need("to", "name the host that receives");
  const auto from = host(table, "from", table.text("from", ""));
  const auto to = host(table, "to", table.text("to", ""));
  const uint64_t next = workload_.flows.empty() ? 1 : workload_.flows.back().id + 1;
  const uint64_t id = table.integer("id", next, 1, INT64_MAX);
  const PatternShape pattern = shape(table);
  if (errors_.any() || too_many(table, 1)) return;
  if (*from == *to) return table.wrong("to", "the host sends to itself", "name two hosts");
  workload_.flows.push_back(
      {.id = id, .from = *from, .to = *to, .bytes = pattern.bytes, .start = pattern.start});
}

bool WorkloadReader::too_many(TableReader& table, uint64_t more) {
  if (workload_.flows.size() + more <= params::file::kMaxFlows) return false;
  table.wrong("kind",
              "the workload has more than " + std::to_string(params::file::kMaxFlows) + " flows",
              "use fewer hosts or jobs");
  return true;
}

PatternShape WorkloadReader::shape(TableReader& table) {
  const std::string todo = "give the size of each flow, like \"2MB\"";
  table.need("bytes", todo);
  const Bytes bytes = table.bytes("bytes", {});
  if (bytes.count == 0 || bytes.count > kMaxFlowBytes) {
    table.wrong("bytes", "a flow has 1 byte to 65,535 GiB", todo);
  }
  return {bytes, table.time("start", {})};
}

std::vector<uint32_t> WorkloadReader::hosts(TableReader& table) {
  std::vector<uint32_t> chosen;
  const auto names = table.names("hosts", kHostsTodo);
  if (!names) {
    for (uint32_t i = 0; i < topology_.hosts.size(); ++i) chosen.push_back(i);
    return chosen;
  }
  // A list longer than the topology has a duplicate; without the limit, repeated ranges could
  // exhaust memory.
  for (size_t i = 0; i < names->size() && chosen.size() <= topology_.hosts.size(); ++i) {
    add_hosts(table, (*names)[i], chosen);
  }
  std::vector<uint32_t> sorted = chosen;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) {
    table.wrong("hosts", topology_.hosts[*twice].name + " is there twice", kHostsTodo);
  }
  return chosen;
}

// Accepts "h3", or "h0..h7": all hosts from the first to the last, in the topology's order.
void WorkloadReader::add_hosts(TableReader& table, const std::string& text,
                               std::vector<uint32_t>& chosen) {
  const size_t dots = text.find("..");
  const auto first = host(table, "hosts", text.substr(0, dots));
  const auto last = dots == std::string::npos ? first : host(table, "hosts", text.substr(dots + 2));
  if (!first || !last) return;
  if (*last < *first) return table.wrong("hosts", "\"" + text + "\" goes backwards", kHostsTodo);
  for (uint32_t i = *first; i <= *last; ++i) chosen.push_back(i);
}

std::optional<uint32_t> WorkloadReader::host(TableReader& table, std::string_view key,
                                             const std::string& name) {
  const auto found = numbers_.find(name);
  if (found != numbers_.end()) return found->second;
  table.wrong(
      key, "there is no host '" + name + "' in the topology",
      "its hosts are " + topology_.hosts.front().name + " to " + topology_.hosts.back().name);
  return std::nullopt;
}

// On the first hosts; a description that leaves the number of ranks open is for all hosts.
Result<Workload> foreign_workload(const std::string& path, const Topology& topology) {
  Result<ForeignJob> made =
      read_foreign_job(path, {.open_ranks = static_cast<uint32_t>(topology.hosts.size())});
  if (!made) return fail(std::move(made).error());
  Workload workload;
  workload.jobs.push_back(std::move(made->job));
  workload.notes = std::move(made->notes);
  if (Result<void> valid = validate(workload, topology); !valid) return fail(valid.error());
  return workload;
}

}  // namespace

Result<Workload> read_workload_file(const std::string& path, const Topology& topology,
                                    uint64_t seed) {
  if (is_foreign_job(path)) return foreign_workload(path, topology);
  Result<std::string> text = read_text_file(path, "check the path of the workload file");
  if (!text) return fail(std::move(text).error());
  if (path.ends_with(".cm")) return parse_htsim_matrix(*text, path, topology);
  return parse_workload(*text, path, topology, seed);
}

Result<Workload> parse_workload(std::string_view text, const std::string& name,
                                const Topology& topology, uint64_t seed) {
  const Result<DocumentValue> document = parse_document(text, name);
  if (!document) return fail(document.error());
  if (Result<void> version = check_version(*document, name, kWorkloadFileVersion); !version) {
    return fail(version.error());
  }
  return WorkloadReader(*document, name, topology, seed).read();
}

}  // namespace heddle::topology
