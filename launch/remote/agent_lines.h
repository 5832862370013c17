// Agent lines: what run_remote() and the agent say to each other. The first line on the agent's
// standard input is the command as JSON, each further one a signal's number. The agent's first line
// on standard error is the greeting; from there on standard error is the command's.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "launch/remote_command.h"

namespace heddle::launch {

// What the agent writes once it has read a command. A change of the lines changes the number.
inline constexpr std::string_view kGreeting = "heddle agent 1";

struct AgentOrder {
  RemoteCommand command;
  std::string folder;  // where it should run
};

// With the newline.
std::string order_line(const AgentOrder& order);
// Of a line without its newline. Errors: kInvalid; kVersion for that of another version.
Result<AgentOrder> parse_order(std::string_view line);

}  // namespace heddle::launch
