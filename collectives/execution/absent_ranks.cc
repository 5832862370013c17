// AbsentRanks: see absent_ranks.h.
#include "collectives/execution/absent_ranks.h"

#include <algorithm>

#include "collectives/execution/control.h"
#include "collectives/params.h"

namespace heddle::collectives {

void AbsentRanks::await(uint32_t rank) {
  const bool known = std::any_of(awaited_.begin(), awaited_.end(),
                                 [rank](const Awaited& each) { return each.rank == rank; });
  if (!known) awaited_.push_back({rank, endpoint_.now(), 0});
}

void AbsentRanks::forget(uint32_t rank) {
  std::erase_if(awaited_, [this, rank](const Awaited& awaited) {
    if (awaited.rank != rank) return false;
    if (awaited.probe != 0) endpoint_.abort(awaited.probe);
    return true;
  });
}

void AbsentRanks::forget_all() {
  for (const Awaited& awaited : awaited_) {
    if (awaited.probe != 0) endpoint_.abort(awaited.probe);
  }
  awaited_.clear();
}

std::optional<AbsentRanks::Gone> AbsentRanks::poll() {
  const Nanos now = endpoint_.now();
  for (Awaited& awaited : awaited_) {
    if (now - awaited.since < params::kProbeUnconnectedAfter) continue;
    Gone gone = {awaited.rank, silence_of(awaited, now)};
    if (gone.silence.empty()) continue;
    forget(gone.rank);
    return gone;
  }
  return std::nullopt;
}

Nanos AbsentRanks::looks_again_at() const {
  Nanos earliest = Nanos::never();
  for (const Awaited& awaited : awaited_) {
    const Nanos patience = awaited.probe == 0
                               ? params::kProbeUnconnectedAfter
                               : params::kProbeUnconnectedAfter + params::kProbeAnswerWithin;
    // An answer ends the wait by itself.
    const bool answered = awaited.probe != 0 &&
                          endpoint_.status(awaited.probe).state == engine::ConnectionState::kOpen;
    if (!answered) earliest = std::min(earliest, awaited.since + patience);
  }
  return earliest;
}

// What shows that its process is gone; empty: nothing does.
std::string AbsentRanks::silence_of(Awaited& awaited, Nanos now) {
  if (awaited.probe == 0) return ask(awaited);
  const engine::ConnectionStatus status = endpoint_.status(awaited.probe);
  if (status.state == engine::ConnectionState::kClosed) return status.error.message();
  const bool late =
      now - awaited.since >= params::kProbeUnconnectedAfter + params::kProbeAnswerWithin;
  if (status.state == engine::ConnectionState::kOpening && late) return "it does not answer";
  return "";
}

std::string AbsentRanks::ask(Awaited& awaited) {
  const Result<engine::Connection> made = endpoint_.connect(members_.addresses[awaited.rank]);
  if (!made) return made.error().message();
  awaited.probe = *made;
  Result<Slot> slot = links_.control_slots().lend();
  if (!slot) return "";  // whether its process lives is known all the same
  const size_t bytes = write_wanted(members_.communicator, slot->start);
  const Result<engine::Operation> sent = endpoint_.send(*made, kControlChannel, slot->first(bytes));
  if (sent) {
    links_.return_later(*sent, *slot);
  } else {
    links_.control_slots().give_back(*slot);
  }
  return "";
}

}  // namespace heddle::collectives
