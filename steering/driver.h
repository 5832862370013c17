// Driver: runs what Steering decides: the audit log, active tests, commands, one at a time and
// beside the watch. `heddle monitor` calls it after each look, and often between them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "launch/background_command.h"
#include "monitor/documents.h"
#include "steering/audit.h"
#include "steering/steering.h"

namespace heddle::steering {

struct DriverOptions {
  Policy policy;
  JobName job;
  std::string audit;  // file; empty: none, for a dry run
  bool act = false;
  std::function<void(const Decision& decision)> decided;
  std::function<void(const std::string& text)> warned;
};

class Driver {
 public:
  // Errors: those of the audit log; kInvalid where there is none and it shall act.
  static Result<std::unique_ptr<Driver>> make(DriverOptions options);
  // What runs is ended, and that is logged.
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  void look(const monitor::WatchState& state, Nanos now);
  void poll(Nanos now);
  // After the job's end: takes what its last look asks for, to the end or until `interrupted`.
  void finish(const std::function<Nanos()>& now, const std::function<bool()>& interrupted);
  // A test or a command runs.
  bool busy() const { return steering_.task().has_value(); }

 private:
  explicit Driver(DriverOptions options);
  Result<void> begin_log();
  bool log(const std::vector<Decision>& decisions);
  void keep(const Decision& decision);
  void keep(const std::optional<Decision>& decision);
  void run(const std::vector<std::string>& words, Nanos now);
  void go_on(Nanos now);
  void start(Nanos now);
  void warn_once(const std::string& text);

  enum class Stage : uint8_t { kTest, kQuestion, kCommand };

  DriverOptions options_;
  Steering steering_;
  std::optional<Audit> audit_;
  monitor::WatchState state_;  // of the last look, for commands' input
  std::optional<launch::BackgroundCommand> running_;
  Stage stage_ = Stage::kTest;
  std::string warned_;
};

}  // namespace heddle::steering
