// See job_file.h. job_file_text.cc writes such files.
#include "apps/cli/size/job_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "apps/cli/command_line/check_line.h"
#include "apps/cli/command_line/line_cursor.h"
#include "apps/cli/command_line/option_text.h"
#include "apps/cli/command_line/spelling.h"
#include "base/document.h"

namespace heddle::cli {
namespace {

constexpr int64_t kVersionOfFiles = 1;
constexpr const char* kArgument = "job-file";

std::vector<std::string> question_names(CLI::App& size) {
  std::vector<std::string> names;
  for (const CLI::App* each : size.get_subcommands([](CLI::App*) { return true; })) {
    names.push_back(each->get_name());
  }
  return names;
}

// "--site-rate" of "site_rate", and back.
std::string option_of(std::string key) {
  std::replace(key.begin(), key.end(), '_', '-');
  return "--" + key;
}

std::string key_of(const CLI::Option& option) {
  std::string key = option.get_lnames().front();
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

class JobFile {
 public:
  JobFile(CLI::App& size, std::string file) : size_(size), file_(std::move(file)) {}

  Result<void> read() {
    const Result<std::string> text = read_text_file(file_, "give the path of a job file");
    if (!text) return fail(text.error());
    Result<DocumentValue> document = parse_document(*text, file_);
    if (!document) return fail(document.error());
    document_ = std::move(*document);
    if (Result<void> known = check_version(); !known) return known;
    if (Result<void> known = find_question(); !known) return known;
    for (const DocumentValue& entry : document_.items) {
      if (entry.key == "version" || entry.key == "question") continue;
      if (Result<void> taken = take_table(entry); !taken) return taken;
    }
    return {};
  }

  const std::string& question() const { return question_; }

  struct Entry {
    CLI::Option* option = nullptr;
    std::string name;  // "--gpus"
    std::string word;  // "--gpus=64"
    FilePlace place;
  };
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::string place(int line, int column) const {
    return fmt::format("{}:{}:{}", file_, line, column);
  }

  Unexpected wrong(const std::string& place, std::string why, std::string todo) const {
    return fail(ErrorCode::kInvalid, "cannot read " + place, std::move(why), std::move(todo));
  }
  Unexpected wrong_key(const DocumentValue& entry, std::string why, std::string todo) const {
    return wrong(place(entry.key_line, entry.key_column), std::move(why), std::move(todo));
  }
  Unexpected wrong_value(const DocumentValue& entry, std::string why, std::string todo) const {
    return wrong(place(entry.line, entry.column), std::move(why), std::move(todo));
  }

  Result<void> check_version() const {
    const DocumentValue* const version = document_.find("version");
    if (version == nullptr) {
      return wrong(place(1, 1), "the schema version is missing",
                   fmt::format("write version = {}", kVersionOfFiles));
    }
    if (version->kind == DocumentKind::kInteger && version->integer == kVersionOfFiles) return {};
    return fail(ErrorCode::kVersion, "cannot read " + place(version->line, version->column),
                "the file has another schema version",
                fmt::format("this heddle reads version = {}", kVersionOfFiles));
  }

  Result<void> find_question() {
    const std::vector<std::string> names = question_names(size_);
    const std::string todo =
        fmt::format("write question = \"cluster\", or another of {}", fmt::join(names, ", "));
    const DocumentValue* const question = document_.find("question");
    if (question == nullptr) return wrong(place(1, 1), "the question is missing", todo);
    const bool known = question->kind == DocumentKind::kText &&
                       std::find(names.begin(), names.end(), question->text) != names.end();
    if (!known) return wrong_value(*question, "there is no such question", todo);
    question_ = question->text;
    command_ = size_.get_subcommand(question_);
    return {};
  }

  Result<void> take_table(const DocumentValue& table) {
    if (table.kind != DocumentKind::kTable) {
      const bool known = command_->get_option_no_throw(option_of(table.key)) != nullptr;
      return wrong_key(table, fmt::format("'{}' stands outside of a table", table.key),
                       known
                           ? fmt::format("move it below [{}]", job_file_table(option_of(table.key)))
                           : "keys are version, question and the tables [job], [parallelism], "
                             "[sites], [power] and [hardware]");
    }
    for (const DocumentValue& entry : table.items) {
      if (Result<void> taken = take_key(table.key, entry); !taken) return taken;
    }
    return {};
  }

  Result<void> take_key(const std::string& table, const DocumentValue& entry) {
    const std::string name = option_of(entry.key);
    CLI::Option* const option = command_->get_option_no_throw(name);
    const bool written = entry.key.find('-') == std::string::npos;
    if (option == nullptr || !is_job_key(*option) || !written) return unknown_key(entry);
    if (job_file_table(name) != table) {
      return wrong_key(entry, fmt::format("'{}' does not belong in [{}]", entry.key, table),
                       fmt::format("move it below [{}]", job_file_table(name)));
    }
    if (is_flag(*option)) {
      if (entry.kind != DocumentKind::kBoolean) {
        return wrong_value(entry, fmt::format("'{}' is neither true nor false", entry.key),
                           "write true or false");
      }
      if (entry.boolean) add(entry, *option, name, name);
      return {};
    }
    return take_value(entry, *option, name);
  }

  Unexpected unknown_key(const DocumentValue& entry) const {
    std::vector<std::string> keys;
    for (const CLI::Option* each : command_->get_options()) {
      if (is_job_key(*each)) keys.push_back(key_of(*each));
    }
    const std::string meant = nearest(entry.key, keys);
    return wrong_key(
        entry, fmt::format("'{}' is not an option of heddle size {}", entry.key, question_),
        fmt::format("{}keys are the options of 'heddle size {} --help', with _ for -",
                    meant.empty() ? "" : fmt::format("did you mean {}? ", meant), question_));
  }

  Result<void> take_value(const DocumentValue& entry, CLI::Option& option,
                          const std::string& name) {
    std::string text;
    if (entry.kind == DocumentKind::kText) text = entry.text;
    if (entry.kind == DocumentKind::kInteger) text = fmt::format("{}", entry.integer);
    if (entry.kind == DocumentKind::kFraction) text = fmt::format("{}", entry.fraction);
    if (text.empty()) {
      return wrong_value(entry,
                         fmt::format("'{}' has no value of {}", entry.key, value_text(option)),
                         "write a number, or a text in quotes");
    }
    if (const std::string why = refusal(option, text); !why.empty()) {
      return wrong_value(entry, fmt::format("{}: {}", entry.key, why),
                         fmt::format("see {} in 'heddle size {} --help'", name, question_));
    }
    add(entry, option, name, name + "=" + beside_file(option, text));
    return {};
  }

  // A relative path is one from the file's folder.
  std::string beside_file(const CLI::Option& option, const std::string& text) const {
    const bool path = text.find_first_of("./") != std::string::npos;
    if (!names_file(option) || !path) return text;
    const std::filesystem::path there = std::filesystem::path(file_).parent_path() / text;
    std::error_code error;
    return std::filesystem::exists(there, error) ? there.string() : text;
  }

  void add(const DocumentValue& entry, CLI::Option& option, const std::string& name,
           std::string word) {
    const FilePlace at{place(entry.line, entry.column), entry.text};
    entries_.push_back({&option, name, std::move(word), at});
  }

  CLI::App& size_;
  CLI::App* command_ = nullptr;
  const std::string file_;
  DocumentValue document_;
  std::string question_;
  std::vector<Entry> entries_;
};

// The index of the word that names a job file; words.size(): there is none.
size_t find_job_file(CLI::App& root, const std::vector<std::string>& words) {
  if (words.empty() || words.front() != "size") return words.size();
  LineCursor cursor(root);
  for (size_t i = 0; i < words.size(); ++i) {
    std::vector<LineStep> steps;
    cursor.take(words[i], steps);
    for (const LineStep& step : steps) {
      const bool argument = step.kind == LineStep::Kind::kArgument;
      if (argument && step.option->get_single_name() == kArgument &&
          refusal(*step.option, step.text).empty()) {
        return i;
      }
    }
  }
  return words.size();
}

// The options that words of the command line give, with those that they exclude.
std::set<std::string> given_options(CLI::App& root, const std::vector<std::string>& words) {
  std::set<std::string> names;
  LineCursor cursor(root);
  for (const std::string& word : words) {
    std::vector<LineStep> steps;
    cursor.take(word, steps);
    for (const LineStep& step : steps) {
      if (step.kind != LineStep::Kind::kOption) continue;
      names.insert(short_name(*step.option));
      for (const CLI::Option* each : step.option->get_excludes()) names.insert(short_name(*each));
    }
  }
  return names;
}

}  // namespace

Result<void> expand_job_file(CLI::App& root, std::vector<std::string>& words, FilePlaces& places) {
  const size_t at = find_job_file(root, words);
  if (at == words.size()) return {};
  CLI::App& size = *root.get_subcommand("size");
  JobFile job(size, words[at]);
  if (Result<void> read = job.read(); !read) return read;
  std::vector<std::string> rest(words.begin() + 1, words.end());
  rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(at) - 1);
  std::string asked = job.question();
  if (!rest.empty() && at > 1) {
    const std::vector<std::string> names = question_names(size);
    const auto named =
        std::find_first_of(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(at) - 1,
                           names.begin(), names.end());
    if (named != rest.begin() + static_cast<std::ptrdiff_t>(at) - 1) {
      asked = *named;
      rest.erase(named);
    }
  }
  words = {"size", asked};
  words.insert(words.end(), rest.begin(), rest.end());
  const std::set<std::string> given = given_options(root, words);
  CLI::App& question = *size.get_subcommand(asked);
  for (const JobFile::Entry& entry : job.entries()) {
    // Another question than the file's takes of it what it knows.
    if (given.contains(entry.name) || question.get_option_no_throw(entry.name) == nullptr) continue;
    words.push_back(entry.word);
    places[entry.name] = entry.place;
  }
  return {};
}

void add_job_file(CLI::App& command, std::string& file, const std::string& about) {
  const auto refuse = [&command](const std::string& text) -> std::string {
    if (text.ends_with(".toml")) return {};
    const auto all = command.get_subcommands([](CLI::App*) { return true; });
    if (all.empty()) return fmt::format("'{}' is no job file, which ends in .toml", text);
    std::vector<std::string> names;
    for (const CLI::App* each : all) names.push_back(each->get_name());
    const std::string meant = nearest(text, names);
    return fmt::format("there is no command 'size {}', and a job file ends in .toml{}", text,
                       meant.empty() ? "" : fmt::format("; did you mean 'heddle size {}'?", meant));
  };
  command.add_option(kArgument, file, about)->type_name("FILE")->check(CLI::Validator(refuse, ""));
}

bool is_job_key(const CLI::Option& option) {
  if (!option.nonpositional() || option.get_lnames().empty()) return false;
  const std::set<std::string> kOthers = {"help", "json", "report", "write"};
  return !kOthers.contains(option.get_lnames().front());
}

}  // namespace heddle::cli
