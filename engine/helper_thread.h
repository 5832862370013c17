// HelperThread: one thread a process that looks after every inline endpoint whose caller stays
// away, so that acknowledgements, probes and closes go on. It starts with the first such endpoint
// and ends with the last, blocks all signals, and sleeps while there is nothing to do. takeover.h
// says when it may drive.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/nanos.h"
#include "base/result.h"

namespace heddle::engine {

// An endpoint as the helper sees it. Both calls come from the helper's thread.
class HelperClient {
 public:
  // What the helper should do next.
  struct Look {
    Nanos after;            // look again after this span
    bool on_input = false;  // or when descriptor() polls readable, if that is earlier
  };

  virtual Look helper_look() = 0;
  virtual int descriptor() const = 0;  // -1: none

  // Used by HelperThread::nudge() and its thread.
  void ask_for_look() { asked_.store(true); }
  bool take_ask() { return asked_.exchange(false); }

 protected:
  ~HelperClient() = default;

 private:
  std::atomic<bool> asked_{false};
};

class HelperThread {
 public:
  // The process's own; after fork() the child gets a new one.
  static HelperThread& of_process();

  HelperThread();
  ~HelperThread();
  HelperThread(const HelperThread&) = delete;
  HelperThread& operator=(const HelperThread&) = delete;

  // The first look comes soon. The client must be removed before it is destroyed. Errors:
  // kExhausted (no thread); then it is not known here.
  Result<void> add(HelperClient& client);
  // When it returns, the helper does not know the client any more.
  void remove(HelperClient& client);
  // From any thread: the next look at this client is due now, whatever its last answer was. Takes
  // no lock.
  void nudge(HelperClient& client);
  bool running() const;

 private:
  class Body;
  std::unique_ptr<Body> body_;
};

}  // namespace heddle::engine
