// LineCursor: see line_cursor.h.
#include "apps/cli/command_line/line_cursor.h"

#include <algorithm>

#include "apps/cli/command_line/params.h"

namespace heddle::cli {
namespace {

using Kind = LineStep::Kind;

bool looks_like_option(const std::string& word) {
  if (word.size() < 2 || word[0] != '-') return false;
  const bool negative_number = word[1] >= '0' && word[1] <= '9';
  return !negative_number;
}

bool takes_many(const CLI::Option& option) {
  return option.get_allow_extra_args() &&
         option.get_items_expected_max() > params::command_line::kMany;
}

}  // namespace

bool is_flag(const CLI::Option& option) { return option.get_items_expected_max() == 0; }

std::string words_of(const CLI::App& command) {
  std::string words;
  for (const CLI::App* at = &command; at->get_parent() != nullptr; at = at->get_parent()) {
    words = at->get_name() + (words.empty() ? "" : " ") + words;
  }
  return words;
}

void LineCursor::take(const std::string& word, std::vector<LineStep>& steps) {
  if (pending_ != nullptr) {
    CLI::Option* const option = pending_;
    expect_values(option, true);
    steps.push_back({Kind::kValue, option, word});
    return;
  }
  if (only_arguments_) return take_argument(word, steps);
  if (word == "--") {
    // A list of values ends here; otherwise arguments begin.
    only_arguments_ = greedy_ == nullptr;
    greedy_ = nullptr;
    steps.push_back({Kind::kMark, nullptr, word});
    return;
  }
  if (CLI::App* const next = find_command(word); next != nullptr) {
    command_ = next;
    seen_subcommand_ = false;
    greedy_ = nullptr;
    taken_.clear();
    steps.push_back({Kind::kCommand, nullptr, word});
    return;
  }
  if (looks_like_option(word)) {
    greedy_ = nullptr;
    return word.starts_with("--") ? take_long(word, steps) : take_short(word, steps);
  }
  if (greedy_ != nullptr) {
    steps.push_back({Kind::kValue, greedy_, word});
    return;
  }
  take_argument(word, steps);
}

CLI::Option* LineCursor::next_argument() const {
  for (CLI::Option* option : command_->get_options()) {
    if (!option->get_positional()) continue;
    const auto known = taken_.find(option);
    const int count = known == taken_.end() ? 0 : known->second;
    if (count < option->get_items_expected_min() || option->get_allow_extra_args()) return option;
  }
  return nullptr;
}

CLI::Option* LineCursor::find_option(const std::string& spelling) const {
  for (CLI::App* at = command_; at != nullptr; at = at->get_parent()) {
    CLI::Option* const found = at->get_option_no_throw(spelling);
    if (found != nullptr && found->nonpositional()) return found;
    if (!at->get_allow_extras()) return nullptr;
  }
  return nullptr;
}

bool LineCursor::may_name_command() const {
  return !only_arguments_ && pending_ == nullptr && !seen_subcommand_ &&
         !missing_required_argument();
}

CLI::App* LineCursor::find_command(const std::string& word) const {
  if (!may_name_command()) return nullptr;
  const auto found =
      command_->get_subcommands([&word](CLI::App* each) { return each->check_name(word); });
  return found.empty() ? nullptr : found.front();
}

bool LineCursor::missing_required_argument() const {
  const CLI::Option* const next = next_argument();
  return next != nullptr && next->get_required() && !taken_.contains(next);
}

void LineCursor::take_long(const std::string& word, std::vector<LineStep>& steps) {
  const size_t equals = word.find('=');
  const std::string name = word.substr(0, equals);
  CLI::Option* const option = find_option(name);
  if (option == nullptr) {
    steps.push_back({Kind::kUnknownOption, nullptr, name});
    return;
  }
  steps.push_back({Kind::kOption, option, name});
  const bool has_value = equals != std::string::npos;
  if (has_value) steps.push_back({Kind::kValue, option, word.substr(equals + 1), true});
  if (!is_flag(*option)) expect_values(option, has_value && equals + 1 < word.size());
}

void LineCursor::take_short(const std::string& word, std::vector<LineStep>& steps) {
  for (size_t at = 1; at < word.size(); ++at) {
    const std::string name = std::string("-") + word[at];
    CLI::Option* const option = find_option(name);
    if (option == nullptr) {
      steps.push_back({Kind::kUnknownOption, nullptr, name});
      return;
    }
    steps.push_back({Kind::kOption, option, name});
    if (is_flag(*option)) continue;
    const std::string value = word.substr(at + 1);
    if (!value.empty()) steps.push_back({Kind::kValue, option, value, true});
    return expect_values(option, !value.empty());
  }
}

void LineCursor::take_argument(const std::string& word, std::vector<LineStep>& steps) {
  CLI::Option* const option = next_argument();
  if (option == nullptr) {
    steps.push_back({Kind::kExcess, nullptr, word});
    return;
  }
  ++taken_[option];
  if (command_->get_positionals_at_end()) only_arguments_ = true;
  steps.push_back({Kind::kArgument, option, word});
}

void LineCursor::expect_values(CLI::Option* option, bool has_one) {
  pending_ = has_one ? nullptr : option;
  greedy_ = has_one && takes_many(*option) ? option : nullptr;
}

}  // namespace heddle::cli
