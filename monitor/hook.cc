// See hook.h.
#include "monitor/hook.h"

#include <fmt/format.h>

#include <utility>

#include "monitor/params.h"

namespace heddle::monitor {

Hook::Hook(std::string command, std::function<void(const std::string& text)> warn)
    : command_(std::move(command)), warn_(std::move(warn)) {}

void Hook::add(std::string input) {
  if (waiting_.size() < params::kMostWaiting) {
    waiting_.push_back(std::move(input));
    return;
  }
  warn_(fmt::format("{} runs of '{}' wait: one more is left out", waiting_.size(), command_));
}

void Hook::poll(Nanos now) {
  look_after(now);
  if (!running_ && !waiting_.empty()) start(now);
}

void Hook::start(Nanos now) {
  const std::string input = std::move(waiting_.front());
  waiting_.pop_front();
  Result<launch::BackgroundCommand> started = launch::BackgroundCommand::start(
      {.words = {"/bin/sh", "-c", command_}, .input = input, .limit = params::kLongestHook}, now);
  if (started) {
    running_ = std::move(*started);
  } else {
    warn_(started.error().message());
  }
}

void Hook::look_after(Nanos now) {
  if (!running_) return;
  const std::optional<launch::CommandResult> result = running_->poll(now);
  if (!result) return;
  running_.reset();
  if (result->timed_out) {
    warn_(fmt::format("'{}' ran for longer than {} s, and was ended", command_,
                      params::kLongestHook / seconds(1)));
  } else if (result->exit_status != 0) {
    warn_(fmt::format("'{}' ended with {}", command_, result->exit_status));
  }
}

}  // namespace heddle::monitor
