// Waits: sees at one glance whether any rank of this host has brought something, and has itself
// woken by them when the endpoint's driver sleeps. One an endpoint. The driver may be another
// thread than the one that adds and removes links.
#pragma once

#include <cstdint>
#include <vector>

#include "base/own_mutex.h"
#include "collectives/shared_memory/cells.h"
#include "engine/endpoint.h"

namespace heddle::collectives {

class Waits final : public engine::Companion {
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
  // Where others ring for this endpoint; -1: nowhere.
  int bell() const { return endpoint_.wake_descriptor(); }

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

// For the other side of a pair: makes it look, and wakes it where it sleeps.
void tell(Side& mine, Side& theirs, int bell);

}  // namespace heddle::collectives
