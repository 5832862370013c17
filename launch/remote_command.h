// RemoteCommand: a command on another machine that runs as if it ran here: what it writes is
// written here, signals reach it, and it ends with this process. On the other machine `heddle
// agent`, which a remote shell starts, runs it (agent.h).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/nanos.h"
#include "launch/params.h"
#include "launch/remote_shell.h"

namespace heddle::launch {

struct RemoteCommand {
  std::vector<std::string> words;     // "heddle" first: the other machine's agent itself
  std::vector<std::string> settings;  // "NAME=value", added to its environment
  // By a variable's name: texts that are to be in no file system. The variable names a file of the
  // agent's memory that has the text.
  std::vector<std::pair<std::string, std::string>> secrets;
  Nanos grace =
      params::kGrace;  // from a signal that ends it, or the loss of this process, to SIGKILL
  // It runs in the folder that this process is in, where the other machine has one of that name.
  bool same_folder = true;
  // When it starts, by the other machine's wall clock, if that is soon; zero: at once. Commands on
  // several machines begin together by it, however long logging in takes.
  Nanos start_at;
  std::string input;  // its standard input; UTF-8, below 32 MiB
};

// What a command of heddle on another machine needs of this process' environment: HEDDLE_* and
// torchrun's variables.
std::vector<std::string> settings_for_others();

// Runs it to its end, in a process that is made for it: it takes this process' signals. Of this
// process' standard input the command gets nothing. Returns its exit status, 128 and the number of
// a signal that ended it, or kOwnFailure where it could not be started; why, is written to standard
// error.
int run_remote(const RemoteShell& shell, const std::string& host, const RemoteCommand& command);

}  // namespace heddle::launch
