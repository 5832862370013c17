// See driver.h.
#include "steering/driver.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>
#include <utility>

#include "base/clocks.h"
#include "base/quantity.h"

namespace heddle::steering {
namespace {

constexpr const char* kNotLogged = "the audit log cannot be written";

int64_t realtime_ns() { return wall_now().count; }

}  // namespace

Driver::Driver(DriverOptions options)
    : options_(std::move(options)), steering_(options_.policy, options_.job, options_.act) {}

Result<std::unique_ptr<Driver>> Driver::make(DriverOptions options) {
  if (options.audit.empty() && options.act) {
    return fail(ErrorCode::kInvalid, "cannot act", "there is no audit log",
                "name a file with --audit, or as 'audit' in the policy");
  }
  std::unique_ptr<Driver> made(new Driver(std::move(options)));
  if (made->options_.audit.empty()) return made;
  const Nanos horizon = History::horizon(made->options_.policy.limits);
  Result<Audit> audit = Audit::open(made->options_.audit, realtime_ns() - horizon.count);
  if (!audit) return fail(std::move(audit).error());
  made->audit_ = std::move(*audit);
  if (Result<void> begun = made->begin_log(); !begun) return fail(std::move(begun).error());
  made->audit_->end();
  if (made->audit_->damaged() > 0) {
    made->options_.warned(fmt::format("what cannot be read and is left out: {} of {}",
                                      counted_text(made->audit_->damaged(), "line"),
                                      made->options_.audit));
  }
  return made;
}

Driver::~Driver() {
  running_.reset();
  if (!steering_.task()) return;
  keep(steering_.drop(steering_.task()->started ? Outcome::kInterrupted : Outcome::kNotTested,
                      "the monitor was ended", realtime_ns()));
}

void Driver::warn_once(const std::string& text) {
  if (std::exchange(warned_, text) != text) options_.warned(text);
}

// Learns what other monitors have done since.
Result<void> Driver::begin_log() {
  return audit_->begin([this](const Decision& each) { steering_.learn(each); });
}

// False, with a warning: they are not in the log.
bool Driver::log(const std::vector<Decision>& decisions) {
  if (!audit_ || decisions.empty()) return !options_.act || decisions.empty();
  if (const Result<void> begun = begin_log(); !begun) {
    warn_once(begun.error().message());
    return false;
  }
  bool all = true;
  for (const Decision& each : decisions) {
    const Result<void> added = audit_->append(each);
    if (!added) warn_once(added.error().message());
    all = all && added;
  }
  audit_->end();
  if (all) warned_.clear();
  return all;
}

void Driver::keep(const Decision& decision) {
  log({decision});
  options_.decided(decision);
}

void Driver::keep(const std::optional<Decision>& decision) {
  if (decision) keep(*decision);
}

void Driver::finish(const std::function<Nanos()>& now, const std::function<bool()>& interrupted) {
  do {
    while (busy() && !interrupted()) {
      poll(now());
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    if (interrupted()) return;
    look(state_, now());
  } while (busy());
}

void Driver::look(const monitor::WatchState& state, Nanos now) {
  state_ = state;
  Look look{state.lasting, {}, now, realtime_ns(), state.began_realtime_ns};
  for (const monitor::WatchedProcess& each : state.processes) look.hosts.push_back(each.host);
  const bool was_busy = busy();
  const std::vector<Decision> decisions = steering_.look(look);
  log(decisions);
  for (const Decision& each : decisions) options_.decided(each);
  if (!was_busy && busy()) stage_ = Stage::kTest;
}

void Driver::run(const std::vector<std::string>& words, Nanos now) {
  const monitor::AlarmChange change{!steering_.task()->base.undo, steering_.task()->alarm};
  Result<launch::BackgroundCommand> started = launch::BackgroundCommand::start(
      {.words = words,
       .input =
           monitor::json_of(change, state_).dump(-1, ' ', false, Json::error_handler_t::replace) +
           "\n",
       .limit = options_.policy.limits.command_time,
       .keep_output = true},
      now);
  if (started) {
    running_ = std::move(*started);
  } else {
    keep(steering_.drop(stage_ == Stage::kCommand ? Outcome::kFailed : Outcome::kNotTested,
                        started.error().message(), realtime_ns()));
  }
}

void Driver::poll(Nanos now) {
  if (running_) {
    const std::optional<launch::CommandResult> result = running_->poll(now);
    if (!result) return;
    running_.reset();
    const int64_t at_ns = realtime_ns();
    if (stage_ == Stage::kTest) {
      keep(steering_.tested(*result, at_ns));
      stage_ = Stage::kQuestion;
    } else if (stage_ == Stage::kQuestion) {
      keep(steering_.asked(*result, at_ns));
      stage_ = Stage::kCommand;
    } else {
      keep(steering_.ended(*result, at_ns));
    }
  }
  if (busy() && !running_) go_on(now);
}

// Begins the task's next stage.
void Driver::go_on(Nanos now) {
  const Task& task = *steering_.task();
  if (stage_ == Stage::kTest && !task.test.empty()) {
    const Decision testing = steering_.testing(realtime_ns());
    options_.decided(testing);
    if (log({testing})) return run(task.test, now);
    return options_.decided(steering_.drop(Outcome::kRefused, kNotLogged, realtime_ns()));
  }
  if (stage_ != Stage::kCommand && !task.question.empty()) {
    stage_ = Stage::kQuestion;
    return run(task.question, now);
  }
  stage_ = Stage::kCommand;
  start(now);
}

// An action that is not in the log is not taken. The log is held from the last look at the limits
// to the line that uses them up, so that monitors beside this one keep them too.
void Driver::start(Nanos now) {
  if (const Result<void> begun = begin_log(); !begun) {
    warn_once(begun.error().message());
    return options_.decided(steering_.drop(Outcome::kRefused, kNotLogged, realtime_ns()));
  }
  const std::vector<std::string> command = steering_.task()->command;
  const Decision decision = steering_.start(realtime_ns());
  const Result<void> added = audit_->append(decision);
  audit_->end();
  if (!added) warn_once(added.error().message());
  if (decision.outcome != Outcome::kStarted || added) options_.decided(decision);
  if (decision.outcome != Outcome::kStarted) return;
  if (added) return run(command, now);
  Decision failed = steering_.drop(Outcome::kFailed, kNotLogged, realtime_ns());
  failed.test = decision.test;
  options_.decided(failed);
}

}  // namespace heddle::steering
