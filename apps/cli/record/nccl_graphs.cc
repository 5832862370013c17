// See nccl_graphs.h.
#include "apps/cli/record/nccl_graphs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "apps/cli/terminal.h"
#include "base/document.h"

namespace heddle::cli {
namespace {

constexpr const char* kTodo = "give files or folders that exist and can be read";

// The regular files of a folder by name, or the file itself.
Result<std::vector<std::string>> files_of(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return std::vector<std::string>{path};
  std::vector<std::string> files;
  std::filesystem::directory_iterator at(path, error);
  for (; !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
    std::error_code none;
    if (at->is_regular_file(none)) files.push_back(at->path().string());
  }
  if (error) return fail(ErrorCode::kUnavailable, "cannot read " + path, error.message(), kTodo);
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

void add_nccl_graph_option(CLI::App& command, std::vector<std::string>& files) {
  command
      .add_option("--nccl-graph", files,
                  "NCCL's log, its graph or topology dump, or a folder of them: expect traffic "
                  "along NCCL's rings and trees; may be given several times")
      ->allow_extra_args(false)
      ->type_name("FILE");
}

Result<topology::NcclGraphs> read_nccl_graphs(const std::vector<std::string>& files) {
  if (files.empty()) return topology::NcclGraphs{};
  topology::NcclGraphReader reader;
  for (const std::string& path : files) {
    const auto inside = files_of(path);
    if (!inside) return fail(inside.error());
    for (const std::string& file : *inside) {
      const Result<std::string> text = read_text_file(file, kTodo);
      if (!text) return fail(text.error());
      if (const Result<void> added = reader.add(*text, file); !added) return fail(added.error());
    }
  }
  auto graphs = reader.finish();
  if (!graphs) return fail(graphs.error());
  for (const std::string& note : graphs->notes) print_warning(note);
  return graphs;
}

void note_unused_graphs(const topology::NcclGraphs& graphs, const insight::Traffic& traffic) {
  if (graphs.by_ranks.empty()) return;
  for (const insight::CommunicatorFacts& each : traffic.communicators) {
    if (graphs.of(each.size) != nullptr) return;
  }
  print_warning(
      fmt::format("no communicator of the recording has {} ranks, as NCCL's rings and "
                  "trees have: traffic is expected in rank order",
                  graphs.by_ranks.rbegin()->first));
}

}  // namespace heddle::cli
