// HelperThread: one thread per process that drives inline endpoints whose caller is away, so that
// acknowledgements, probes and closes continue. It starts with the first such endpoint and ends
// with the last, blocks all signals, and sleeps when nothing is due. takeover.h decides when it may
// drive.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/nanos.h"
#include "base/result.h"

namespace heddle::engine {

// The helper's interface to an endpoint. Both calls come from the helper's thread.
class HelperClient {
 public:
  // When the helper should check this client again.
  struct Look {
    Nanos after;            // check again after this span
    bool on_input = false;  // or when descriptor() is readable, if that is earlier
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
  // The instance of this process; a child of fork() gets a new one.
  static HelperThread& of_process();

  HelperThread();
  ~HelperThread();
  HelperThread(const HelperThread&) = delete;
  HelperThread& operator=(const HelperThread&) = delete;

  // Adds a client, which must be removed before it is destroyed; its first check comes soon.
  // Errors: kExhausted (no thread); the client is then not added.
  Result<void> add(HelperClient& client);
  // After it returns, the helper no longer accesses the client.
  void remove(HelperClient& client);
  // Makes the next check of this client due now, whatever its last one returned. Any thread may
  // call it. Takes no lock.
  void nudge(HelperClient& client);
  bool running() const;

 private:
  class Body;
  std::unique_ptr<Body> body_;
};

}  // namespace heddle::engine
