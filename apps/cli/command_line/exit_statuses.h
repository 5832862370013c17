// Exit statuses: what the program's exit status says, for people and for the reference.
#pragma once

#include <string>
#include <string_view>

namespace heddle::cli {

// Whether the command of these words ("lab run") starts another program, whose exit status it has.
bool runs_a_program(std::string_view words);
// The status for a failure of the command's own: 125 where it runs another program, else 2.
int own_failure_status(std::string_view words);

// Ends of help: of a command that takes a status of its own words for "found something wrong".
std::string exit_status_help(std::string_view found_wrong, std::string_view could_not);
// Of a command that runs another program: when its status is the program's, and what a failure of
// its own is.
std::string program_status_help(std::string_view done,
                                std::string_view own_failure = "heddle itself failed");

// docs/reference/exit_statuses.md.
std::string exit_statuses_markdown();
// `heddle help exit-status`.
std::string exit_statuses_text();

}  // namespace heddle::cli
