// Exit statuses: see exit_statuses.h.
#include "apps/cli/command_line/exit_statuses.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "apps/cli/command_line/page_text.h"
#include "apps/cli/terminal.h"

namespace heddle::cli {
namespace {

constexpr std::array<std::string_view, 6> kProgramRunners = {"run",    "lab run", "lab exec",
                                                             "lab vm", "record",  "plan lease"};
constexpr std::string_view kSignal = "128+N ended by signal N: 130 for Ctrl-C, 143 for SIGTERM";

struct Status {
  const char* number;
  const char* meaning;
};

constexpr std::array kOfAll = {
    Status{"0", "done"},
    Status{"1", "the command ran and found something wrong, as its help says"},
    Status{"2", "the command could not run; standard error says why"},
    Status{"128+N", "signal N ended it: 130 for Ctrl-C, 143 for SIGTERM"},
};

constexpr std::array kOfRunners = {
    Status{"the program's", "the program that was started has ended"},
    Status{"125", "heddle itself failed: a wrong command line, no such lab, no more processes"},
    Status{"126", "the program was found and could not be started"},
    Status{"127", "the program was not found"},
    Status{"128+N", "signal N ended the program, or heddle"},
};

template <size_t N>
std::string table(const std::array<Status, N>& statuses) {
  std::string text = "| exit status | |\n|---|---|\n";
  for (const Status& each : statuses) {
    text += fmt::format("| {} | {} |\n", each.number, each.meaning);
  }
  return text;
}

template <size_t N>
std::string lines(const std::array<Status, N>& statuses) {
  std::string text;
  for (const Status& each : statuses) {
    text += fmt::format("  {:<13}  {}\n", each.number, wrapped(each.meaning, 17));
  }
  return text;
}

}  // namespace

bool runs_a_program(std::string_view words) {
  return std::find(kProgramRunners.begin(), kProgramRunners.end(), words) != kProgramRunners.end();
}

int own_failure_status(std::string_view words) {
  return runs_a_program(words) ? kProgramFailed : kCouldNotRun;
}

std::string exit_status_help(std::string_view found_wrong, std::string_view could_not) {
  const std::string wrong =
      found_wrong.empty() ? std::string() : fmt::format("1 {}; ", found_wrong);
  return fmt::format("\n\nExit status: 0 done; {}2 {}; {}.", wrong, could_not, kSignal);
}

std::string program_status_help(std::string_view done, std::string_view own_failure) {
  return fmt::format(
      "\n\nExit status: {}; 125 {}; 126 the program could not be started; 127 the program was not "
      "found; {}.",
      done, own_failure, kSignal);
}

std::string exit_statuses_markdown() {
  return "# Exit statuses\n\nMade from the program by `heddle help exit-status --format markdown`; "
         "a "
         "test fails where they\ndiffer.\n\n" +
         table(kOfAll) +
         "\n`heddle run`, `heddle lab run`, `heddle lab exec`, `heddle lab vm`, `heddle record` "
         "and "
         "`heddle plan lease`\nstart another program. Their exit status is that program's; for "
         "failures of their own "
         "they use the numbers "
         "of\n`env` and `timeout`:\n\n" +
         table(kOfRunners);
}

std::string exit_statuses_text() {
  return "Exit status:\n" + lines(kOfAll) + "\n" +
         wrapped(
             "heddle run, heddle lab run, heddle lab exec, heddle lab vm, heddle record and heddle "
             "plan "
             "lease start another program:",
             0) +
         "\n" + lines(kOfRunners);
}

}  // namespace heddle::cli
