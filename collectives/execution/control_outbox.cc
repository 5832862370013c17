// ControlOutbox: see control_outbox.h.
#include "collectives/execution/control_outbox.h"

#include "collectives/execution/control.h"
#include "collectives/params.h"

namespace heddle::collectives {

ControlOutbox::ControlOutbox(Links& links)
    : links_(links), endpoint_(links.endpoint()), slots_(links.control_slots()) {}

bool ControlOutbox::send(engine::Connection connection, uint32_t rank, const Write& write) {
  Result<Slot> slot = slots_.lend();
  if (!slot) return false;
  const size_t bytes = write(slot->start);
  const Result<engine::Operation> sent =
      bytes == 0 ? fail(ErrorCode::kExhausted, "it does not fit")
                 : endpoint_.send(connection, kControlChannel, slot->first(bytes));
  if (!sent) {
    slots_.give_back(*slot);
    return false;
  }
  in_flight_.push_back({*sent, *slot, rank});
  ++of_rank_[rank];
  return true;
}

bool ControlOutbox::send_again(engine::Connection connection, uint32_t rank, const Write& write) {
  const auto found = of_rank_.find(rank);
  if (found != of_rank_.end() && found->second >= params::kUnacknowledgedControl) return false;
  return send(connection, rank, write);
}

bool ControlOutbox::all_acknowledged() {
  std::erase_if(in_flight_, [this](Unacknowledged& each) {
    if (!endpoint_.peek(each.send).done) return false;
    slots_.give_back(each.slot);
    if (--of_rank_[each.rank] == 0) of_rank_.erase(each.rank);
    return true;
  });
  return in_flight_.empty();
}

void ControlOutbox::abandon() {
  for (const Unacknowledged& each : in_flight_) links_.return_later(each.send, each.slot);
  in_flight_.clear();
  of_rank_.clear();
}

}  // namespace heddle::collectives
