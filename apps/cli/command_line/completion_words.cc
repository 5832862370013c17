// Completion words: see completion_words.h. The type of a value says what it may be: "a|b" one of
// these, FILE and FOLDER a path, HOST a host.
#include "apps/cli/command_line/completion_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "apps/cli/command_line/line_cursor.h"
#include "apps/cli/command_line/option_text.h"
#include "apps/cli/command_line/value_types.h"
#include "apps/cli/setting_text.h"
#include "engine/cores.h"
#include "lab/lab.h"

namespace heddle::cli {
namespace {

// A word that is being written, in the part before its value ("--cc=", "h0,") and the rest.
struct Written {
  std::string before;
  std::string rest;
};

class Completing {
 public:
  explicit Completing(CLI::App& root) : root_(root), cursor_(root) {}

  Completions run(const std::vector<std::string>& words) {
    std::vector<LineStep> steps;
    for (size_t i = 0; i + 1 < words.size(); ++i) {
      cursor_.take(words[i], steps);
      note_lab(steps);
      // What a program that is to be started takes is its own matter, unless it is this one.
      const bool program =
          steps.back().kind == LineStep::Kind::kArgument && is_program(*steps.back().option);
      if (program) return of_program({words.begin() + static_cast<std::ptrdiff_t>(i), words.end()});
    }
    const std::string last = words.empty() ? "" : words.back();
    if (cursor_.pending() != nullptr) {
      add_values(*cursor_.pending(), {"", last});
    } else if (!cursor_.only_arguments() && last.starts_with('-')) {
      add_options(last);
    } else {
      add_plain(last);
    }
    return std::move(found_);
  }

 private:
  static bool is_program(const CLI::Option& option) {
    return option.get_type_name() == kProgramType;
  }

  void note_lab(const std::vector<LineStep>& steps) {
    const LineStep& step = steps.back();
    if (step.kind == LineStep::Kind::kValue && short_name(*step.option) == "--lab") {
      lab_ = step.text;
    }
  }

  Completions of_program(const std::vector<std::string>& words) {
    const bool own = std::filesystem::path(words.front()).filename() == "heddle";
    if (own) return complete(root_, {words.begin() + 1, words.end()});
    found_.files = true;
    return std::move(found_);
  }

  void add(const Written& written, const std::string& value, const std::string& about = "") {
    if (value.starts_with(written.rest)) found_.words.emplace_back(written.before + value, about);
  }

  void add_options(const std::string& last) {
    const size_t equals = last.find('=');
    if (equals != std::string::npos) {
      const CLI::Option* const option = cursor_.find_option(last.substr(0, equals));
      const Written written{last.substr(0, equals + 1), last.substr(equals + 1)};
      if (option != nullptr) add_values(*option, written);
      return;
    }
    for (CLI::App* at = &cursor_.command(); at != nullptr; at = at->get_parent()) {
      for (const CLI::Option* option : at->get_options()) {
        if (is_shown(*option) && option->nonpositional()) add_names(*option, last);
      }
      if (!at->get_allow_extras()) return;
    }
  }

  void add_names(const CLI::Option& option, const std::string& last) {
    const std::string about = option.get_description();
    for (const std::string& name : option.get_lnames()) add({"", last}, "--" + name, about);
    for (const std::string& name : option.get_snames()) add({"", last}, "-" + name, about);
  }

  void add_plain(const std::string& last) {
    if (cursor_.may_name_command()) {
      for (const CLI::App* each :
           cursor_.command().get_subcommands([](CLI::App*) { return true; })) {
        if (!each->get_group().empty()) add({"", last}, each->get_name(), each->get_description());
      }
    }
    if (cursor_.greedy() != nullptr) add_values(*cursor_.greedy(), {"", last});
    const CLI::Option* const argument = cursor_.next_argument();
    if (argument == nullptr) return;
    if (is_program(*argument)) {
      found_.programs = true;
    } else {
      add_values(*argument, {"", last});
    }
  }

  void add_values(const CLI::Option& option, const Written& written) {
    const std::string type = option.get_type_name();
    const std::string name = short_name(option);
    if (type == kAssignmentType) return add_settings(written);
    if (type.find('|') != std::string::npos) return add_choices(option, type, written);
    if (type == kLabType) return add_labs(written);
    if (name == "--ranks") return add_ranks(written);
    if (type == kCommandType) return add_commands(written);
    found_.files = type == "FILE" || type == "RECORDING";
    found_.folders = type == "FOLDER";
    found_.hosts = type == kHostType;
    if (type == kHostListType) return add_host_list(written);
    const bool place = type == "HOST" || type == "TARGET";
    if (!place && !found_.hosts) return;
    for (const std::string& host : lab_hosts(place)) add(written, host);
  }

  void add_choices(const CLI::Option& option, const std::string& type, const Written& written) {
    Written last = written;
    const size_t comma = written.rest.rfind(',');
    if (option.get_delimiter() == ',' && comma != std::string::npos) {
      last = {written.before + written.rest.substr(0, comma + 1), written.rest.substr(comma + 1)};
    }
    for (size_t from = 0; from <= type.size();) {
      const size_t end = std::min(type.find_first_of("|,", from), type.size());
      add(last, type.substr(from, end - from));
      from = end + 1;
    }
  }

  void add_settings(const Written& written) {
    const size_t equals = written.rest.find('=');
    for (const ConfigKey& key : config_keys()) {
      if (equals == std::string::npos) {
        add(written, std::string(key.name) + "=", std::string(key.doc));
        found_.open = true;
      } else if (key.name == written.rest.substr(0, equals)) {
        for (const std::string& value : setting_values(key)) {
          add(written, std::string(key.name) + "=" + value);
        }
      }
    }
  }

  void add_labs(const Written& written) {
    for (const std::string& name : lab::lab_names()) add(written, name);
  }

  // Of the lab that is named, else of the one that is meant without a name.
  std::vector<std::string> lab_hosts(bool with_switches) const {
    std::vector<std::string> names;
    const Result<lab::Lab> lab = lab::open_lab(lab_);
    if (!lab) return names;
    for (const auto& host : lab->layout.topology.hosts) names.push_back(host.name);
    if (!with_switches) return names;
    for (const auto& each : lab->layout.topology.switches) names.push_back(each.name);
    return names;
  }

  void add_host_list(const Written& written) {
    const size_t comma = written.rest.rfind(',');
    const size_t from = comma == std::string::npos ? 0 : comma + 1;
    const std::string before = "," + written.rest.substr(0, from);
    for (const std::string& host : lab_hosts(false)) {
      if (before.find("," + host + ",") != std::string::npos) continue;
      add({written.before + written.rest.substr(0, from), written.rest.substr(from)}, host);
    }
    found_.open = true;
  }

  // The hosts of the lab, one a core, and the powers of two below.
  void add_ranks(const Written& written) {
    const auto cores = static_cast<size_t>(engine::usable_cores());
    std::vector<size_t> counts = {cores, lab_hosts(false).size()};
    for (size_t count = 1; count <= std::max<size_t>(cores, 8); count *= 2) counts.push_back(count);
    std::sort(counts.begin(), counts.end());
    counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
    for (const size_t count : counts) {
      if (count > 0) add(written, std::to_string(count));
    }
  }

  // Of `heddle help`: the command so far is what stands before.
  void add_commands(const Written& written) {
    for (const CLI::App* each : root_.get_subcommands([](CLI::App*) { return true; })) {
      if (!each->get_group().empty()) add(written, each->get_name(), each->get_description());
    }
  }

  CLI::App& root_;
  LineCursor cursor_;
  std::string lab_;
  Completions found_;
};

}  // namespace

Completions complete(CLI::App& root, const std::vector<std::string>& words) {
  return Completing(root).run(words);
}

std::string completions_text(const Completions& completions) {
  std::string text;
  for (const auto& [word, about] : completions.words) {
    text += about.empty() ? word + "\n" : word + "\t" + about + "\n";
  }
  if (completions.files) text += ":files\n";
  if (completions.folders) text += ":folders\n";
  if (completions.hosts) text += ":hosts\n";
  if (completions.programs) text += ":programs\n";
  if (completions.open) text += ":open\n";
  return text;
}

}  // namespace heddle::cli
