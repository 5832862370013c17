// RankProcess: one rank of a run as a process, and what it writes.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "launch/plan.h"
#include "launch/ranks/line_tag.h"

namespace heddle::launch {

// The environment variables that all ranks of a run share.
struct RunIdentity {
  std::string run;           // HEDDLE_RUN
  std::string folder;        // of the run, removed with it
  std::string store;         // HEDDLE_STORE
  std::string token;         // HEDDLE_TOKEN: a secret of the run
  uint16_t master_port = 0;  // MASTER_PORT
  std::string key_file;      // HEDDLE_KEY_FILE; empty: as it is
};

// What one process is started as.
struct RankRole {
  uint32_t number = 0;  // its rank, or behind those of the start where it joins
  RankPlace place;
  bool joins = false;       // a job that runs
  std::string member_file;  // see member_files.h; empty: it has none
};

class RankProcess {
 public:
  // Starts it. All signals are as usual in it, none is blocked. Errors: kUnavailable (no such
  // program, lab or host), kPermission, kSystem; `failure_status` is set where a program could not
  // be started, to the exit status for it.
  static Result<std::unique_ptr<RankProcess>> start(const RunPlan& plan,
                                                    const RunIdentity& identity, RankRole role,
                                                    int& failure_status);
  ~RankProcess();
  RankProcess(const RankProcess&) = delete;
  RankProcess& operator=(const RankProcess&) = delete;

  pid_t process() const { return process_; }
  uint32_t number() const { return role_.number; }
  const RankPlace& place() const { return role_.place; }
  bool running() const { return !status_; }
  // waitpid() said so.
  void set_ended(int status) { status_ = status; }
  bool failed() const;
  // As in a shell: 128 plus the number of a signal that ended it.
  int exit_status() const;
  bool ended_by_signal() const;
  // "it ended with exit status 3".
  std::string how_it_ended() const;

  // Where its output comes from while it is tagged; -1: not, or it has ended.
  std::array<int, 2> outputs() const { return {streams_[0].descriptor, streams_[1].descriptor}; }
  // Passes on what has come, without waiting.
  void pass_output();

 private:
  struct Stream {
    int descriptor = -1;
    LineTag tag{""};
  };

  explicit RankProcess(RankRole role) : role_(std::move(role)) {}

  RankRole role_;
  pid_t process_ = 0;
  std::optional<int> status_;
  std::array<Stream, 2> streams_;  // standard output and standard error
};

}  // namespace heddle::launch
