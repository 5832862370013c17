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
// Of commands that start another program, whose exit status is theirs: failures of their own, as
// env(1) and timeout(1) number them. See base/exec.h for 126 and 127.
inline constexpr int kProgramFailed = 125;

// Takes the places of standard streams that are closed, so that no socket gets one and is sent what
// was meant for a person. To be called before anything is opened.
void hold_standard_streams();
// Writes to standard output at once, so that a reader behind a pipe sees lines as they come.
void print(std::string_view text);
// Whether all that was printed could be written. Errors: kSystem (a full disk).
Result<void> check_output();
// "heddle: what: why (todo)" on standard error; where that cannot be written, nothing happens.
void print_error(const Error& error);
// "heddle: warning: text": something that the user may want to change. An empty text is no warning.
void print_warning(std::string_view text);
// "heddle: text": what a long command is doing.
void print_progress(std::string_view text);

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
