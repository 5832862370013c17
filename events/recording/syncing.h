// Syncing: a thread that periodically writes a mapped file to disk, so that its contents survive a
// crash of the host. Durable recordings have one.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/nanos.h"
#include "base/own_mutex.h"
#include "base/result.h"
#include "base/thread.h"

namespace heddle::events::recording {

class Syncing {
 public:
  // The mapping must outlive it.
  Syncing(std::byte* start, size_t bytes, Nanos every);
  // Errors: kExhausted (no thread).
  Result<void> start();
  // Writes once more, except in a child of fork().
  ~Syncing();
  Syncing(const Syncing&) = delete;
  Syncing& operator=(const Syncing&) = delete;

  // Number of complete writes, and of failed ones.
  uint64_t done() const { return done_.load(); }
  uint64_t failed() const { return failed_.load(); }

 private:
  void run();
  void write();

  std::byte* const start_;
  const size_t bytes_;
  const Nanos every_;
  std::atomic<uint64_t> done_{0};
  std::atomic<uint64_t> failed_{0};
  OwnMutex mutex_;
  bool ends_ = false;  // under mutex_
  std::condition_variable changed_;
  Thread thread_;
};

// Makes the file's directory entry durable. Errors: kInvalid (a file system in memory), kSystem.
Result<void> make_findable(int descriptor, const std::string& directory);

}  // namespace heddle::events::recording
