// ProgressThread: a thread that drives an endpoint and the communicators on it, so that data moves
// whatever the program's own threads do, and any of them may call. It sleeps while no call is in
// flight. SharedCommunicator is what programs use; see shared_communicator.h.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "engine/endpoint.h"

namespace heddle::collectives {

class ProgressBody;

class ProgressThread {
 public:
  // The endpoint accepts connections and must outlive the thread; no other code may drive it or
  // take its connections. Errors: kExhausted (the system allows no more threads).
  static Result<std::unique_ptr<ProgressThread>> create(engine::Endpoint& endpoint);
  // Ends running calls, closes the connections to the other ranks (at most 3 s) and stops. No
  // effect in a child of fork(): thread and communicators are the parent's.
  ~ProgressThread();
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

  engine::Endpoint& endpoint() const;
  // Refuses connections for a communicator that does not exist here and never will.
  void refuse(uint64_t communicator);
  // Whether the calling thread is one of these: calls' on_end run there, and nothing may wait.
  static bool is_current();
  // How often it has looked at its communicators.
  uint64_t turns() const;
  // Those that are alive or still say goodbye.
  size_t communicators() const;

 private:
  explicit ProgressThread(std::shared_ptr<ProgressBody> body);
  friend class SharedCommunicator;
  std::shared_ptr<ProgressBody> body_;
};

}  // namespace heddle::collectives
