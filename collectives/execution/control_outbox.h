// ControlOutbox: control messages of a communicator that its ranks have not acknowledged yet, with
// the memory that they are sent from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "collectives/execution/slots.h"
#include "collectives/links.h"
#include "engine/endpoint.h"

namespace heddle::collectives {

class ControlOutbox {
 public:
  // Must outlive it.
  explicit ControlOutbox(Links& links);
  ControlOutbox(const ControlOutbox&) = delete;
  ControlOutbox& operator=(const ControlOutbox&) = delete;

  // Writes a message to kControlBytes and returns its length; 0: it does not fit.
  using Write = std::function<size_t(std::byte*)>;
  bool send(engine::Connection connection, uint32_t rank, const Write& write);
  // The same for a message that a rank may be sent in any number: not while too many are on their
  // way to it.
  bool send_again(engine::Connection connection, uint32_t rank, const Write& write);
  bool all_acknowledged();
  // Their connections end.
  void abandon();

 private:
  struct Unacknowledged {
    engine::Operation send;
    Slot slot;
    uint32_t rank = 0;
  };

  Links& links_;
  engine::Endpoint& endpoint_;
  SlotPool& slots_;
  std::vector<Unacknowledged> in_flight_;
  std::map<uint32_t, size_t> of_rank_;  // how many are in flight
};

}  // namespace heddle::collectives
