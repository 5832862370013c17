// Agent lines: what run_remote() and the agent say to each other. The first line on the agent's
// standard input is the command as JSON; each further one is a signal's number, or empty: a sign of
// life. The agent's first line on standard error is the greeting; from there on standard error is
// the command's.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "launch/remote_command.h"

namespace heddle::launch {

// What the agent writes once it has read a command: lines of their own, whatever was written
// before. A change of the lines changes the number.
inline constexpr std::string_view kGreeting = "\nheddle agent 1\n";

struct AgentOrder {
  RemoteCommand command;
  std::string folder;  // where it should run
  // To the common start, as seen where it was ordered: an agent that would wait longer has another
  // clock, and begins at once.
  Nanos longest_wait;
};

// With the newline. Errors: kInvalid for words that are no UTF-8.
Result<std::string> order_line(const AgentOrder& order);
// Of a line without its newline. Errors: kInvalid; kVersion for that of another version, which
// names the machine to upgrade.
Result<AgentOrder> parse_order(std::string_view line);

}  // namespace heddle::launch
