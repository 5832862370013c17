// Terminal: what goes to standard output and standard error, and how: results to the one, errors
// and the progress line to the other, the line only where a person looks at it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace heddle::cli {

// Exit statuses of every command.
inline constexpr int kDone = 0;
inline constexpr int kFoundWrong = 1;  // it ran, and what it looked at is not right
inline constexpr int kCouldNotRun = 2;

// Takes the places of standard streams that are closed, so that no socket gets one and is sent what
// was meant for a person. To be called before anything is opened.
void hold_standard_streams();
// Writes to standard output at once, so that a reader behind a pipe sees lines as they come.
void print(std::string_view text);
// Whether all that was printed could be written. Errors: kSystem (a full disk).
Result<void> check_output();
// "heddle: what: why (todo)" on standard error; where that cannot be written, nothing happens.
void print_error(const Error& error);
void print_warning(std::string_view text);

// The exit statuses, for the end of a command's help.
inline constexpr const char* kExitStatusHelp = R"(

Exit status: 0 done, 1 something arrived changed, 2 could not run; stopped by a signal: 128 and its
number (130 for Ctrl-C, 143 for SIGTERM).)";

// A line on standard error that is written over as work goes on; nothing where that is no terminal.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  bool visible() const { return visible_; }
  void show(std::string_view text);
  void clear();

 private:
  bool visible_ = false;
  size_t shown_ = 0;
};

}  // namespace heddle::cli
