// PlanReader: watches and reads a plan's file, again where it was replaced, on a thread of its own:
// a file server that hangs must not hold up an endpoint. PlanFollower drives it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/nanos.h"
#include "base/result.h"
#include "base/thread.h"
#include "engine/file_watch.h"
#include "engine/route_plan.h"

namespace heddle::engine {

// A file's identity and last change. All zero: there is no such file.
struct FileMark {
  uint64_t device = 0;
  uint64_t number = 0;
  uint64_t bytes = 0;
  Nanos changed;

  bool operator==(const FileMark&) const = default;
};

class PlanReader {
 public:
  explicit PlanReader(std::string file) : file_(std::move(file)) {}
  // A read that hangs goes on without this object.
  ~PlanReader();
  PlanReader(const PlanReader&) = delete;
  PlanReader& operator=(const PlanReader&) = delete;

  const std::string& file() const { return file_; }
  // Reads it now. Errors: those of RoutePlan::parse(); kUnavailable, kInvalid (no regular file).
  Result<RoutePlan> read();
  // Whether its replacement is noticed by now. If not, each start() tries to watch it again.
  bool watches() const { return watch_.watches(); }
  // FileWatch::take_change().
  bool take_change() { return watch_.take_change(); }
  // Begins to read it, if it is not what was read last; while that goes on: does nothing.
  void start();
  bool reading() const { return reading_; }
  // What start() has read, once. Nothing: it goes on, the file is the same, or it fails as before.
  std::optional<Result<RoutePlan>> take();

 private:
  struct Job;  // shared with the thread

  std::string file_;
  FileWatch watch_;
  FileMark read_;    // what was read last
  FileMark failed_;  // what could not be read last
  bool has_failed_ = false;
  bool reading_ = false;
  std::shared_ptr<Job> job_;
  Thread thread_;
};

}  // namespace heddle::engine
