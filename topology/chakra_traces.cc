// See chakra_traces.h: files of a job by their names, around the readers in chakra/.
#include "topology/chakra_traces.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <functional>
#include <optional>
#include <utility>

#include "base/document.h"
#include "topology/chakra/groups.h"
#include "topology/chakra/job_of_traces.h"
#include "topology/chakra/trace.h"
#include "topology/chakra/traces_of_job.h"
#include "topology/params.h"

namespace heddle::topology {
namespace {

constexpr const char* kGroupsFile = "comm_groups.json";
constexpr const char* kPathTodo = "check the path of the traces";
constexpr const char* kNames = "name them NAME.RANK.et or NAME.RANK.json, with ranks from 0";

using ReadFile = std::function<Result<std::string>(const std::string&)>;

struct TraceName {
  std::string job;  // with its folder
  uint32_t rank = 0;
  bool json = false;
};

// Of NAME.RANK.et and NAME.RANK.json; nothing: it is no name of a trace.
std::optional<TraceName> trace_name(std::string_view file) {
  TraceName name;
  const size_t slash = file.rfind('/');
  const size_t folder = slash == std::string_view::npos ? 0 : slash + 1;
  if (file.ends_with(".json")) {
    name.json = true;
    file.remove_suffix(5);
  } else if (file.ends_with(".et")) {
    file.remove_suffix(3);
  } else {
    return std::nullopt;
  }
  const size_t dot = file.rfind('.');
  if (dot == std::string_view::npos || dot <= folder) return std::nullopt;
  const std::string_view digits = file.substr(dot + 1);
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), name.rank);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  name.job = file.substr(0, dot);
  return name;
}

bool is_groups(std::string_view file) {
  return file == kGroupsFile || file.ends_with("/" + std::string(kGroupsFile));
}

Unexpected no_set(const std::string& why, const std::string& todo) {
  return fail(ErrorCode::kInvalid, "cannot read a set of Chakra traces", why, todo);
}

// Traces by rank, and whether they are JSON. Errors: kInvalid where files are of two jobs, or a
// rank is missing.
using TraceFiles = std::map<uint32_t, std::pair<std::string, bool>>;
Result<TraceFiles> traces_in(const std::vector<std::string>& files) {
  TraceFiles by_rank;
  std::string job;
  for (const std::string& file : files) {
    const auto name = trace_name(file);
    if (!name) continue;
    if (by_rank.empty()) job = name->job;
    if (name->job != job) {
      return no_set(file + " and " + job + ".*.et are of two jobs", "name one of them: " + job);
    }
    if (!by_rank.try_emplace(name->rank, file, name->json).second) {
      return no_set("rank " + std::to_string(name->rank) + " of " + job + " has two traces",
                    "remove one: " + file);
    }
  }
  if (by_rank.empty()) return no_set("there is no trace", kNames);
  uint32_t next = 0;
  for (const auto& [rank, file] : by_rank) {
    if (rank == next++) continue;
    return no_set("there is no trace of rank " + std::to_string(next - 1) + " of " + job, kNames);
  }
  return by_rank;
}

// Reads and converts one file after the other, so that memory is that of the job and one trace.
Result<ForeignJob> job_in(const std::vector<std::string>& files, const ReadFile& read) {
  const auto traces = traces_in(files);
  if (!traces) return fail(traces.error());
  chakra::ProcessGroups groups(static_cast<uint32_t>(traces->size()));
  for (const std::string& file : files) {
    if (!is_groups(file)) continue;
    const Result<std::string> text = read(file);
    if (!text) return fail(text.error());
    if (Result<void> taken = groups.read_file(*text, file); !taken) return fail(taken.error());
  }
  chakra::TraceQuota quota;
  uint64_t bytes = 0;
  chakra::JobOfTraces made(static_cast<uint32_t>(traces->size()), groups);
  for (const auto& [rank, file] : *traces) {
    const auto& [name, json] = file;
    Result<std::string> text = read(name);
    if (!text) return fail(text.error());
    bytes += text->size();
    if (bytes > params::chakra::kMostBytes) {
      return no_set("the files up to " + name + " have more than 8 GiB", "use fewer iterations");
    }
    auto trace =
        json ? chakra::parse_json(*text, name, quota) : chakra::parse_protobuf(*text, name, quota);
    if (!trace) return fail(trace.error());
    std::string().swap(*text);
    trace->rank = rank;
    if (Result<void> taken = groups.read_nodes(*trace); !taken) return fail(taken.error());
    if (Result<void> added = made.add(*trace); !added) return fail(added.error());
  }
  return made.make();
}

// The files of a folder that are traces or their groups, of one job where `prefix` names it.
Result<std::vector<std::string>> files_in(const std::string& folder, const std::string& prefix) {
  std::vector<std::string> files;
  std::error_code error;
  for (std::filesystem::directory_iterator each(folder, error), end; !error && each != end;
       each.increment(error)) {
    const std::string file = each->path().string();
    const auto name = trace_name(file);
    if (is_groups(file) || (name && (prefix.empty() || name->job == prefix))) files.push_back(file);
  }
  if (error) {
    return fail(ErrorCode::kUnavailable, "cannot read " + folder, error.message(), kPathTodo);
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

Result<ForeignJob> read_chakra_traces(const std::string& path) {
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(path, ignored);
  const auto name = trace_name(path);
  const std::string prefix = folder ? "" : name ? name->job : path;
  std::string parent = folder ? path : std::filesystem::path(path).parent_path().string();
  const bool here = parent.empty();
  if (here) parent = ".";
  const auto names = files_in(parent, here ? "./" + prefix : prefix);
  const bool found = names && std::any_of(names->begin(), names->end(), trace_name);
  if (!found && !std::filesystem::exists(path, ignored)) {
    return fail(ErrorCode::kUnavailable, "cannot read " + path, "it does not exist", kPathTodo);
  }
  if (!names) return fail(names.error());
  return job_in(*names, [](const std::string& file) -> Result<std::string> {
    std::error_code missing;
    // A pipe that lies in a folder may have no writer.
    if (!std::filesystem::is_regular_file(file, missing) && !missing) {
      return fail(ErrorCode::kInvalid, "cannot read " + file, "it is no regular file", kPathTodo);
    }
    return read_text_file(file, kPathTodo);
  });
}

Result<ForeignJob> parse_chakra_traces(const std::map<std::string, std::string>& files) {
  std::vector<std::string> names;
  for (const auto& [file, contents] : files) names.push_back(file);
  return job_in(names,
                [&](const std::string& file) -> Result<std::string> { return files.at(file); });
}

std::vector<std::string> chakra_export_notes(const Job& job) {
  uint64_t steps = 1;
  uint64_t rounded = 0;
  for (const JobRank& rank : job.ranks) {
    const Program& program = job.programs[rank.program];
    steps = std::max<uint64_t>(steps, program.repeat);
    for (const Action& action : program.actions) {
      const bool gathers = action.call == CallKind::kAllGather || action.call == CallKind::kGather;
      if (action.kind != ActionKind::kCall || !gathers) continue;
      const size_t ranks = job.communicators[rank.communicators[action.communicator]].ranks.size();
      if (action.bytes % ranks != 0) rounded += program.repeat;
    }
  }
  std::vector<std::string> notes;
  if (steps > 1) {
    notes.push_back(std::to_string(steps) + " steps become one: traces do not have steps");
  }
  if (rounded > 0) {
    notes.push_back(std::to_string(rounded) +
                    " gathers have blocks of different sizes, and each becomes as large as the "
                    "largest: traces have the size of one");
  }
  return notes;
}

Result<std::map<std::string, std::string>> chakra_traces_of(const Job& job, const std::string& name,
                                                            ChakraFormat format) {
  uint64_t nodes = 0;
  for (uint32_t rank = 0; rank < job.ranks.size(); ++rank) nodes += chakra::nodes_of(job, rank);
  if (nodes > params::chakra::kMostWritten) {
    return fail(ErrorCode::kExhausted, "cannot write the job as Chakra traces",
                "it has up to " + std::to_string(nodes) + " nodes, and 2,000,000 are the most",
                "use fewer steps or ranks");
  }
  std::map<std::string, std::string> files;
  for (uint32_t rank = 0; rank < job.ranks.size(); ++rank) {
    const chakra::Trace trace = chakra::trace_of(job, rank);
    const bool json = format == ChakraFormat::kJson;
    files[name + "." + std::to_string(rank) + (json ? ".json" : ".et")] =
        json ? chakra::json_of(trace) : chakra::protobuf_of(trace);
  }
  std::string groups;
  for (uint32_t i = 0; i < job.communicators.size(); ++i) {
    const std::string group = chakra::group_name_of(job, i);
    if (group.empty()) continue;
    groups += (groups.empty() ? "{\n  \"" : ",\n  \"") + group + "\": [";
    for (const uint32_t rank : job.communicators[i].ranks) groups += std::to_string(rank) + ", ";
    groups.erase(groups.size() - 2);
    groups += "]";
  }
  if (!groups.empty()) files[kGroupsFile] = groups + "\n}\n";
  return files;
}

}  // namespace heddle::topology
