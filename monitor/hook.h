// Hook: a command of the user's that is run for each change of a job's faults, with the change as
// JSON on its standard input: it sends a message, drains a node, opens a ticket.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "base/nanos.h"
#include "launch/background_command.h"

namespace heddle::monitor {

class Hook {
 public:
  // `command` is for the shell; `warn` gets a sentence where it fails.
  Hook(std::string command, std::function<void(const std::string& text)> warn);

  // One runs at a time, the others wait, up to params::kMostWaiting.
  void add(std::string input);
  // Starts the next one, and ends one that runs for too long. To be called often.
  void poll(Nanos now);
  bool busy() const { return running_ || !waiting_.empty(); }

 private:
  void start(Nanos now);
  void look_after(Nanos now);

  std::string command_;
  std::function<void(const std::string& text)> warn_;
  std::deque<std::string> waiting_;
  std::optional<launch::BackgroundCommand> running_;
};

}  // namespace heddle::monitor
