// BackgroundCommand: a command that runs beside this program, on this machine: its words, a text on
// its standard input, a time limit, and what it wrote. It never blocks its caller, and its process
// group ends with the object. A monitor runs hooks, active tests and actions so.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/nanos.h"
#include "base/result.h"

namespace heddle::launch {

struct CommandOptions {
  std::vector<std::string> words;  // a program and its arguments, without a shell
  std::string input;               // on standard input
  std::string settings;            // not empty: at /dev/fd/3, for what others must not see
  Nanos limit = seconds(30);       // then it is ended
  // Standard output and standard error are kept. False: both are standard error of this program.
  bool keep_output = false;
};

struct CommandResult {
  int exit_status = 0;     // as a shell has it: 128 and the number of the signal that ended it
  bool timed_out = false;  // it was ended at the limit
  std::string output;      // kept standard output, its first MiB
  std::string last_error;  // the last line of kept standard error, printable
};

class BackgroundCommand {
 public:
  // Errors: kSystem (no process or descriptor can be made). A program that is not found is a result
  // with the exit status 127.
  static Result<BackgroundCommand> start(const CommandOptions& options, Nanos now);
  // Ends its process group.
  ~BackgroundCommand();
  BackgroundCommand(BackgroundCommand&& other) noexcept;
  BackgroundCommand& operator=(BackgroundCommand&& other) noexcept;

  // Its result once it has ended, or was ended at the limit, with what is left of its process
  // group; then the object is done. To be called often.
  std::optional<CommandResult> poll(Nanos now);

 private:
  BackgroundCommand(pid_t process, Nanos ends_at) : process_(process), ends_at_(ends_at) {}
  void end();
  void drain();

  pid_t process_ = -1;
  Nanos ends_at_;
  Descriptor output_pipe_;
  Descriptor errors_pipe_;
  std::string output_;  // so far
  std::string errors_;  // the last part of it
};

}  // namespace heddle::launch
