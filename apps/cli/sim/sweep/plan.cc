// Runs of a sweep and their keys: see plan.h.
#include "apps/cli/sim/sweep/plan.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "apps/cli/command_line/check_line.h"
#include "apps/cli/program.h"
#include "apps/cli/sim/sweep/behaviour.h"
#include "apps/cli/sim_command.h"
#include "base/document.h"
#include "base/hash.h"

namespace heddle::cli {
namespace {

using nlohmann::json;

Unexpected refuse(const std::string& why, const std::string& todo) {
  return fail(ErrorCode::kInvalid, "cannot sweep", why, todo);
}

// They write to one place, or say what the sweep says itself.
constexpr const char* kNotOfRuns[] = {"json", "series", "trace", "html", "format", "output"};

Result<void> check_name(const std::string& name) {
  for (const char* each : kNotOfRuns) {
    if (name != each) continue;
    return refuse(fmt::format("--{} is for one run alone", name),
                  "leave it out, and repeat the run that you want to look at");
  }
  return {};
}

Result<void> check_others(const std::vector<std::string>& others) {
  for (const std::string& word : others) {
    if (!word.starts_with("--")) continue;
    if (auto fine = check_name(word.substr(2, word.find('=') - 2)); !fine) return fine;
  }
  return {};
}

// A word that `heddle sim` does not understand is reported before anything is run.
Result<void> check_words(std::vector<std::string> words) {
  CLI::App scratch{"", "heddle"};
  Invocation invocation;
  add_sim_command(scratch, invocation);
  if (const CheckedLine checked = check_line(scratch, words); checked.error) {
    return refuse(checked.error->why, checked.error->todo);
  }
  std::reverse(words.begin(), words.end());  // as CLI11 takes them
  try {
    scratch.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    return refuse(error.what(), "see 'heddle sim --help' for the options of runs");
  }
  return {};
}

// Hashes of files' texts; each is read once.
class FileHashes {
 public:
  Result<uint64_t> of(const std::string& path) {
    const auto known = hashes_.find(path);
    if (known != hashes_.end()) return known->second;
    const Result<std::string> text = read_text_file(path, "check the path");
    if (!text) return fail(text.error());
    return hashes_[path] = hash_text(*text);
  }

 private:
  std::map<std::string, uint64_t> hashes_;
};

// The identity of a run: program and fixed arguments, then the varied options in the order of their
// names, so that the order on the command line does not matter.
Result<std::string> key_of(SweepRun& run, const SweepInput& input, FileHashes& hashes) {
  std::string text = run.made_by + '\n';
  std::vector<std::pair<std::string, std::string>> all = run.choice;
  if (!input.topology.empty()) all.emplace_back("topology", input.topology);
  if (!input.workload.empty()) all.emplace_back("workload", input.workload);
  std::sort(all.begin(), all.end());
  for (const std::string& word : input.others) text += word + '\n';
  for (const auto& [name, value] : all) {
    std::string identity = value;
    if (name == "topology" || name == "workload") {
      const Result<uint64_t> hash = hashes.of(value);
      if (!hash) return fail(hash.error());
      run.files.emplace_back(value, *hash);
      // What kind of file it is says its name.
      identity =
          fmt::format("{:016x}{}", *hash, value.substr(std::min(value.rfind('.'), value.size())));
    }
    text += fmt::format("{}={}\n", name, identity);
  }
  return fmt::format("{:016x}", hash_text(text));
}

Result<void> check_names(const SweepInput& input) {
  const auto varies = [&](const char* name) {
    return std::any_of(input.variations.begin(), input.variations.end(),
                       [name](const Variation& each) { return each.name == name; });
  };
  for (const auto& [name, file] :
       {std::pair("topology", input.topology), std::pair("workload", input.workload)}) {
    if (file.empty() == varies(name)) continue;
    return file.empty() ? refuse(fmt::format("there is no --{}", name), "name its file")
                        : refuse(fmt::format("--{} is given and varied", name), "do one of both");
  }
  for (const Variation& each : input.variations) {
    if (auto fine = check_name(each.name); !fine) return fine;
  }
  return check_others(input.others);
}

}  // namespace

Result<std::vector<SweepRun>> plan_sweep(const SweepInput& input) {
  if (Result<void> fine = check_names(input); !fine) return fail(fine.error());
  Result<std::vector<Choice>> choices = combinations(input.variations);
  if (!choices) return fail(choices.error());
  FileHashes hashes;
  const std::string made_by = behaviour_text();
  std::set<std::pair<std::string, std::string>> checked;
  std::set<std::string> keys;
  std::vector<SweepRun> runs;
  for (Choice& choice : *choices) {
    SweepRun run{
        .choice = std::move(choice), .words = {"sim"}, .made_by = made_by, .key = {}, .files = {}};
    const auto add = [&run](const std::string& name, const std::string& value) {
      run.words.push_back(fmt::format("--{}={}", name, value));
    };
    if (!input.topology.empty()) add("topology", input.topology);
    if (!input.workload.empty()) add("workload", input.workload);
    run.words.insert(run.words.end(), input.others.begin(), input.others.end());
    for (const auto& [name, value] : run.choice) add(name, value);
    bool fresh = runs.empty();  // a value that no run before had
    for (const auto& each : run.choice) fresh |= checked.insert(each).second;
    if (Result<void> fine = fresh ? check_words(run.words) : Result<void>(); !fine) {
      return fail(fine.error());
    }
    run.words.push_back("--json");
    Result<std::string> key = key_of(run, input, hashes);
    if (!key) return fail(key.error());
    run.key = std::move(key).value();
    if (!keys.insert(run.key).second) {
      return refuse("two of its runs are the same: files that are varied hold the same",
                    "name each content once");
    }
    runs.push_back(std::move(run));
  }
  return runs;
}

bool SweepRun::files_are_the_same() const {
  FileHashes now;
  return std::all_of(files.begin(), files.end(), [&now](const auto& file) {
    const Result<uint64_t> hash = now.of(file.first);
    return hash && *hash == file.second;
  });
}

std::optional<json> row_of(const SweepRun& run, const std::string& output, int exit_status) {
  json document = json::parse(output, nullptr, false);
  if (!document.is_object() || document.value("stopped", true)) return std::nullopt;
  // A line has what sums a run up.
  for (const char* name : {"flows", "links", "routes", "paths_used", "series", "stopped"}) {
    document.erase(name);
  }
  json vary = json::object();
  for (const auto& [name, value] : run.choice) vary[name] = value;
  for (json& job : document["jobs"]) job.erase("calls");
  document["vary"] = std::move(vary);
  document["made_by"] = run.made_by;
  document["key"] = run.key;
  document["exit_status"] = exit_status;
  return document;
}

}  // namespace heddle::cli
