// Agents: what runs at times that it requested on the network's clock. An agent runs once, at the
// earliest time that was scheduled since its last run.
#pragma once

#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/nanos.h"

namespace heddle::simulator {

class Agent {
 public:
  virtual ~Agent() = default;
  virtual void run(Nanos now) = 0;
};

using AgentId = uint32_t;

class Agents {
 public:
  AgentId add(Agent& agent) {
    if (free_.empty()) {
      free_.push_back(static_cast<AgentId>(agents_.size()));
      agents_.emplace_back();
    }
    const AgentId id = free_.back();
    free_.pop_back();
    agents_[id] = {&agent, Nanos::never()};
    return id;
  }
  void remove(AgentId agent) {
    CHECK(agents_[agent].agent != nullptr);
    agents_[agent] = {};
    free_.push_back(agent);
  }
  // False: it runs at that time or earlier anyway.
  bool schedule(AgentId agent, Nanos at) {
    if (at >= agents_[agent].at) return false;
    agents_[agent].at = at;
    return true;
  }
  bool due(AgentId agent, Nanos now) const { return agents_[agent].at == now; }
  void run(AgentId agent, Nanos now) {
    agents_[agent].at = Nanos::never();
    agents_[agent].agent->run(now);
  }

 private:
  struct State {
    Agent* agent = nullptr;
    Nanos at = Nanos::never();
  };

  std::vector<State> agents_;
  std::vector<AgentId> free_;
};

}  // namespace heddle::simulator
