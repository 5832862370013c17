// What the subcommands of `heddle lab` take on their command lines, and the functions that run
// them. lab_command.cc builds the options.
#pragma once

#include <string>
#include <vector>

#include "apps/cli/terminal.h"
#include "base/result.h"

namespace heddle::cli {

struct LabOptions {
  std::string topology;
  std::string name;
  std::string option_name;  // of down: the same as an option
  std::string host;
  std::vector<std::string> words;
  std::string kind;     // of a fault
  unsigned number = 0;  // of parallel links
  std::string interval = "500ms";
  bool one_way = false;
  bool both_ways = false;
  bool reorder = false;
  bool play = false;
  bool all = false;
  bool json = false;
  bool watch = false;
};

// Prints the error; the exit status of what could not run.
inline int could_not(const Error& error) {
  print_error(error);
  return kCouldNotRun;
}

// Likewise, of a command that starts another program.
inline int program_failed(const Error& error) {
  print_error(error);
  return kProgramFailed;
}

// Each returns an exit status.
int run_lab_up(const LabOptions& options);
int run_lab_run(const LabOptions& options);
int run_lab_down(const LabOptions& options);
int run_lab_exec(const LabOptions& options);
int run_lab_list(const LabOptions& options);
int run_lab_status(const LabOptions& options);
int run_lab_fault(const LabOptions& options);

}  // namespace heddle::cli
