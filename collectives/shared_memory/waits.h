// Waits: the poll source of shared memory. It reads one counter a peer to see whether a message has
// arrived, and lets peers wake the endpoint's driver when it sleeps. One an endpoint. The driver
// may be another thread than the one that adds and removes links.
#pragma once

#include <cstdint>
#include <vector>

#include "base/own_mutex.h"
#include "collectives/shared_memory/cells.h"
#include "engine/endpoint.h"

namespace heddle::collectives {

class Waits final : public engine::PollSource {
 public:
  // The endpoint must outlive it.
  explicit Waits(engine::Endpoint& endpoint) : endpoint_(endpoint) {}
  ~Waits() override;

  // The memory stays until remove().
  void add(Side& mine, const Side& theirs);
  void remove(const Side& mine);

  bool arrived() override;
  bool before_sleep() override;
  void after_sleep() override;
  // The eventfd by which peers wake this endpoint; -1: it has none.
  int wake_descriptor() const { return endpoint_.wake_descriptor(); }

 private:
  struct Watch {
    Side* mine;
    const Side* theirs;
    uint64_t seen;
  };
  bool look();

  engine::Endpoint& endpoint_;
  OwnMutex mutex_;
  std::vector<Watch> watches_;
};

// Counts an event for the other side of a pair, and wakes it if it sleeps.
void notify(Side& mine, Side& theirs, int wake_descriptor);

}  // namespace heddle::collectives
