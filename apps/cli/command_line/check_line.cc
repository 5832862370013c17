// CheckLine: see check_line.h.
#include "apps/cli/command_line/check_line.h"

#include <fmt/format.h>

#include <map>

#include "apps/cli/command_line/line_cursor.h"
#include "apps/cli/command_line/old_spellings.h"
#include "apps/cli/command_line/option_text.h"
#include "apps/cli/command_line/spelling.h"

namespace heddle::cli {
namespace {

using Kind = LineStep::Kind;

std::string full_name(const CLI::App& command) {
  const std::string words = words_of(command);
  return words.empty() ? "heddle" : "heddle " + words;
}

std::string see_help(const CLI::App& command) {
  return fmt::format("see '{} --help'", full_name(command));
}

std::vector<std::string> command_names(CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* each : command.get_subcommands([](CLI::App*) { return true; })) {
    if (!each->get_group().empty()) names.push_back(each->get_name());
  }
  return names;
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

class LineCheck {
 public:
  LineCheck(CLI::App& root, std::vector<std::string>& words) : words_(words), cursor_(root) {}

  CheckedLine run() {
    CheckedLine checked;
    for (size_t i = 0; i < words_.size() && !error_ && !help_ && !version_; ++i) take(i);
    if (!error_ && !help_ && !version_) check_end();
    checked.command = &cursor_.command();
    checked.wants_help = help_;
    checked.wants_version = version_;
    checked.error = std::move(error_);
    return checked;
  }

 private:
  void take(size_t at) {
    if (cursor_.pending() != nullptr && names_option(words_[at])) return want_value();
    std::vector<LineStep> steps;
    LineCursor before = cursor_;
    cursor_.take(words_[at], steps);
    for (const LineStep& step : steps) {
      if (step.kind == Kind::kUnknownOption && replaced(at, step.text)) {
        cursor_ = before;
        return take(at);
      }
      check(step);
      if (error_ || help_ || version_) return;
    }
    before_ = words_[at];
  }

  // Whether the word, where a value should stand, is an option of the command.
  bool names_option(const std::string& word) const {
    return word.starts_with("--") && word.size() > 2 &&
           cursor_.find_option(word.substr(0, word.find('='))) != nullptr;
  }

  bool replaced(size_t at, const std::string& option) {
    const OldSpelling* const old = find_old_spelling(words_of(cursor_.command()), option);
    if (old == nullptr || old->now.empty() || !words_[at].starts_with(option)) return false;
    words_[at].replace(0, option.size(), old->now);
    return true;
  }

  void check(const LineStep& step) {
    switch (step.kind) {
      case Kind::kCommand:
        seen_.clear();
        return;
      case Kind::kMark:
        return;
      case Kind::kOption:
        ++seen_[step.option];
        help_ = step.option == cursor_.command().get_help_ptr();
        version_ = step.option == cursor_.command().get_version_ptr();
        return;
      case Kind::kValue:
        return check_value(step);
      case Kind::kArgument:
        ++seen_[step.option];
        return check_value(step);
      case Kind::kUnknownOption:
        if (!cursor_.command().get_allow_extras()) refuse_option(step.text);
        return;
      case Kind::kExcess:
        if (!cursor_.command().get_allow_extras()) refuse_word(step.text);
        return;
    }
  }

  void check_value(const LineStep& step) {
    if (is_flag(*step.option) && value_text(*step.option).empty()) {
      return wrong(fmt::format("{} takes no value, and '{}' was given", short_name(*step.option),
                               step.text));
    }
    const std::string why = refusal(*step.option, step.text);
    if (why.empty()) return;
    if (step.kind == Kind::kArgument) return wrong_word(why);
    wrong(fmt::format("{}: {}", short_name(*step.option), why));
  }

  void refuse_option(const std::string& option) {
    const CLI::App& command = cursor_.command();
    const std::string why = fmt::format("'{}' has no option {}", full_name(command), option);
    const OldSpelling* const old = find_old_spelling(words_of(command), option);
    const std::string meant = nearest(option, option_names(command));
    if (old != nullptr) {
      error_ = {why + " any more", fmt::format("{}; {}", old->todo, see_help(command))};
    } else if (!meant.empty()) {
      error_ = {why, fmt::format("did you mean {}? {}", meant, see_help(command))};
    } else {
      wrong(why);
    }
  }

  void refuse_word(const std::string& word) {
    CLI::App& command = cursor_.command();
    const std::vector<std::string> names = command_names(command);
    if (names.empty() || !cursor_.may_name_command()) {
      return wrong_word(fmt::format("'{}' is one argument too many", word));
    }
    const std::string words = words_of(command);
    const std::string why =
        fmt::format("there is no command '{}{}{}'", words, words.empty() ? "" : " ", word);
    const std::string meant = nearest(word, names);
    if (meant.empty()) return wrong(why);
    error_ = {
        why, fmt::format("did you mean '{} {}'? {}", full_name(command), meant, see_help(command))};
  }

  void want_value() {
    const CLI::Option& option = *cursor_.pending();
    wrong(fmt::format("{} needs a value: {}", short_name(option), value_text(option)));
  }

  // What only the whole line shows: what is missing, and what does not go together.
  void check_end() {
    if (cursor_.pending() != nullptr) return want_value();
    for (const CLI::Option* option : cursor_.command().get_options()) {
      if (seen_.contains(option)) {
        for (const CLI::Option* other : option->get_excludes()) {
          if (!seen_.contains(other)) continue;
          return wrong(
              fmt::format("{} and {} exclude each other", short_name(*option), short_name(*other)));
        }
        for (const CLI::Option* other : option->get_needs()) {
          if (seen_.contains(other)) continue;
          return wrong(fmt::format("{} needs {}", short_name(*option), short_name(*other)));
        }
      } else if (option->get_required()) {
        return wrong(fmt::format("{} is missing", short_name(*option)));
      }
    }
  }

  // A word that may have been meant as the value of the flag before it, which once took one.
  void wrong_word(const std::string& why) {
    const OldSpelling* const old = find_old_spelling(words_of(cursor_.command()), before_);
    error_ = {why, old != nullptr ? std::string(old->todo) : see_help(cursor_.command())};
  }

  void wrong(const std::string& why) { error_ = {why, see_help(cursor_.command())}; }

  std::vector<std::string>& words_;
  LineCursor cursor_;
  std::map<const CLI::Option*, int> seen_;  // of the command
  std::string before_;                      // the word before
  bool help_ = false;
  bool version_ = false;
  std::optional<LineError> error_;
};

}  // namespace

CheckedLine check_line(CLI::App& root, std::vector<std::string>& words) {
  return LineCheck(root, words).run();
}

std::string refusal(CLI::Option& option, const std::string& value) {
  std::vector<std::string> parts;
  const char delimiter = option.get_delimiter();
  for (size_t from = 0; from <= value.size();) {
    const size_t end = delimiter == '\0' ? std::string::npos : value.find(delimiter, from);
    parts.push_back(value.substr(from, end == std::string::npos ? end : end - from));
    if (end == std::string::npos) break;
    from = end + 1;
  }
  for (int i = 0;; ++i) {
    const CLI::Validator* check = nullptr;
    try {
      check = option.get_validator(i);
    } catch (const CLI::OptionNotFound&) {
      return {};
    }
    for (const std::string& part : parts) {
      if (std::string why = (*check)(part); !why.empty()) return why;
    }
  }
}

}  // namespace heddle::cli
