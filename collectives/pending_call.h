// PendingCall: a running call on a shared communicator. Any thread may hold, test and await it. It
// may outlive the communicator and the progress thread, whose destruction ends the call.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/nanos.h"
#include "base/result.h"
#include "collectives/params.h"

namespace heddle::collectives {

class CallState;

// A thread that waits for a call by another library's means sleeps on such an object, which has the
// lock and condition variable: a future, say.
struct AwaitedObject {
  static constexpr size_t kMostBytes = params::kMostAwaitedBytes;
  size_t bytes = 0;
  // It begins with one of these, where they are not 0: as an object of a class with virtual
  // functions begins with the address of a table of them, of which libraries may have one each.
  std::array<uintptr_t, 2> first_words{};
};

class PendingCall {
 public:
  PendingCall() = default;
  explicit PendingCall(std::shared_ptr<CallState> state) : state_(std::move(state)) {}

  // False: there is no call.
  explicit operator bool() const { return state_ != nullptr; }
  bool done() const;
  // How it ended; CHECKs that it has. May be asked again.
  Result<void> result() const;
  // Sleeps until it has ended. Errors: kTimeout (the call continues; names the ranks it waits for),
  // kClosed (in a child of fork()), or why it failed.
  Result<void> wait(Nanos timeout = Nanos::never()) const;

  // While it exists, its creator only waits for the call, by other means than wait(): recordings
  // count that time as exposed.
  class Waiting {
   public:
    explicit Waiting(const PendingCall& call);
    ~Waiting();
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    const std::shared_ptr<CallState> state_;
  };

 private:
  friend class SharedCommunicator;
  std::shared_ptr<CallState> state_;
};

}  // namespace heddle::collectives
