// LineCursor: reads a command line word by word along the tree of commands, as CLI11 will, and says
// what each word is. The check of a command line and its completion both stand on it.
#pragma once

#include <CLI/App.hpp>
#include <map>
#include <string>
#include <vector>

namespace heddle::cli {

// What a word, or a part of it, is.
struct LineStep {
  enum class Kind : uint8_t {
    kCommand,        // the name of a command; the cursor is in it now
    kOption,         // an option; its value follows where it takes one
    kValue,          // a value of `option`
    kArgument,       // a value of the positional `option`
    kMark,           // "--"
    kUnknownOption,  // `text` names no option of the command
    kExcess,         // no argument is left for it
  };
  Kind kind = Kind::kExcess;
  CLI::Option* option = nullptr;
  std::string text;       // the value, or the option as it was written, without its value
  bool attached = false;  // the value is in one word with its option
};

class LineCursor {
 public:
  explicit LineCursor(CLI::App& root) : command_(&root) {}

  // Appends what the word is to `steps`: several for "-vp7" and "--port=7".
  void take(const std::string& word, std::vector<LineStep>& steps);

  CLI::App& command() const { return *command_; }
  // The option whose value must come next; null: none.
  CLI::Option* pending() const { return pending_; }
  // The option that takes further values if they come; null: none.
  CLI::Option* greedy() const { return greedy_; }
  // The positional argument that the next plain word is for; null: none is left.
  CLI::Option* next_argument() const;
  // True if all following words are arguments, even with a leading dash.
  bool only_arguments() const { return only_arguments_; }
  // The option of the command that is spelled so ("--port", "-p"); null where there is none. Of a
  // command that hands options on to its parent's runs, the parent's too.
  CLI::Option* find_option(const std::string& spelling) const;
  // Whether names of commands may come now.
  bool may_name_command() const;

 private:
  CLI::App* find_command(const std::string& word) const;
  bool missing_required_argument() const;
  void take_long(const std::string& word, std::vector<LineStep>& steps);
  void take_short(const std::string& word, std::vector<LineStep>& steps);
  void take_argument(const std::string& word, std::vector<LineStep>& steps);
  void expect_values(CLI::Option* option, bool has_one);

  CLI::App* command_;
  CLI::Option* pending_ = nullptr;
  CLI::Option* greedy_ = nullptr;
  bool only_arguments_ = false;
  bool seen_subcommand_ = false;
  std::map<const CLI::Option*, int> taken_;  // arguments of the command
};

// Whether the option stands for itself and takes no value of its own word.
bool is_flag(const CLI::Option& option);
// "perf", "lab run"; empty for the root.
std::string words_of(const CLI::App& command);

}  // namespace heddle::cli
