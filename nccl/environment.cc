// See environment.h.
#include "nccl/environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "nccl/params.h"

namespace heddle::nccl {
namespace {

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

bool searched_anyway(const std::string& folder) {
  return folder == "/lib" || folder == "/usr/lib" || folder.starts_with("/lib/") ||
         folder.starts_with("/usr/lib/") || folder.starts_with("/lib64") ||
         folder.starts_with("/usr/lib64");
}

std::string interface_list(const std::vector<Nic>& nics) {
  std::string names;
  for (const Nic& nic : nics) names += (names.empty() ? "=" : ",") + nic.name;
  return names;
}

// The folder that LD_LIBRARY_PATH must have; empty: none.
std::string wanted_folder(const EnvironmentFacts& facts) {
  if (facts.library.empty()) return {};
  std::string folder = folder_of(facts.library);
  return searched_anyway(folder) ? std::string() : folder;
}

std::string note_of(const std::string& name, const std::string& value, const std::string& part) {
  if (value.empty() || value.find("heddle") != std::string::npos) return {};
  std::string printable = value;  // it is part of a comment of a script
  std::ranges::replace_if(
      printable, [](unsigned char each) { return std::iscntrl(each) != 0; }, '?');
  return fmt::format("{}={} takes the place of heddle's {}: unset it to use heddle's", name,
                     printable, part);
}

}  // namespace

std::string shell_quoted(const std::string& word) {
  std::string quoted = "'";
  for (const char each : word) {
    if (each == '\'') {
      quoted += "'\\''";
    } else {
      quoted += each;
    }
  }
  return quoted + "'";
}

int threads_for(const EnvironmentFacts& facts) {
  if (facts.threads) return *facts.threads;
  const bool fast = std::ranges::any_of(
      facts.chosen, [](const Nic& nic) { return nic.speed_mbits >= params::kFastNicMbits; });
  const int of_a_process = facts.usable_cores / std::max(1, facts.gpus);
  const int nics = std::max(1, static_cast<int>(facts.chosen.size()));
  const int of_files = (facts.descriptors - kDescriptorsOfProgram) / (kDescriptorsOfNic * nics);
  const int threads = std::min({params::kMostThreads, of_a_process / 2, of_files});
  return fast && threads > 1 ? threads : 0;
}

std::vector<Variable> nccl_variables(const EnvironmentFacts& facts) {
  std::vector<Variable> variables = {
      {"NCCL_NET_PLUGIN", "heddle", "NCCL loads libnccl-net-heddle.so"},
      {"NCCL_NET", "heddle", "without heddle the job stops instead of using another network"}};
  if (const std::string folder = wanted_folder(facts); !folder.empty()) {
    const bool has = (":" + facts.search_path + ":").find(":" + folder + ":") != std::string::npos;
    const std::string rest = facts.search_path.empty() ? "" : ":" + facts.search_path;
    variables.push_back(
        {"LD_LIBRARY_PATH", has ? facts.search_path : folder + rest, "where the library lies"});
  }
  const std::string names =
      facts.selection.empty() ? interface_list(facts.chosen) : facts.selection;
  if (!names.empty()) {
    variables.push_back({"HEDDLE_IFNAME", names, "interfaces that become NCCL's devices"});
  }
  if (!facts.nics_file.empty()) {
    variables.push_back({"HEDDLE_NCCL_NICS", facts.nics_file, "their rails, planes and speeds"});
  }
  if (const int threads = threads_for(facts); threads > 0) {
    variables.push_back({"HEDDLE_NCCL_THREADS", std::to_string(threads),
                         "threads of each device; one drives some 20 Gb/s in each direction"});
  }
  return variables;
}

std::vector<std::string> nccl_notes(const EnvironmentFacts& facts) {
  std::vector<std::string> notes = {
      "the profiler and the tuner are in the same library: NCCL takes them from it where "
      "NCCL_PROFILER_PLUGIN and NCCL_TUNER_PLUGIN are unset"};
  for (std::string note : {note_of("NCCL_PROFILER_PLUGIN", facts.profiler, "profiler"),
                           note_of("NCCL_TUNER_PLUGIN", facts.tuner, "tuner")}) {
    if (!note.empty()) notes.push_back(std::move(note));
  }
  return notes;
}

std::string shell_text(const EnvironmentFacts& facts) {
  std::string text;
  for (const Variable& variable : nccl_variables(facts)) {
    text += fmt::format("# {}\n", variable.about);
    if (variable.name == "LD_LIBRARY_PATH") {
      text += fmt::format("export LD_LIBRARY_PATH={}\"${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}\"\n",
                          shell_quoted(wanted_folder(facts)));
    } else {
      text += fmt::format("export {}={}\n", variable.name, shell_quoted(variable.value));
    }
  }
  for (const std::string& note : nccl_notes(facts)) text += fmt::format("# {}\n", note);
  return text;
}

}  // namespace heddle::nccl
