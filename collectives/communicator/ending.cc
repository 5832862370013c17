// Ending: see ending.h.
#include "collectives/communicator/ending.h"

#include <utility>

#include "collectives/params.h"

namespace heddle::collectives {

void Ending::fail(Failure failure) {
  if (!works()) return;
  failure_ = std::move(failure);
  resources_.mesh.send_failure(*failure_);
  give_up_at_ = resources_.endpoint.now() + params::kFailureNoticeTime;
  state_ = State::kNotifying;
}

bool Ending::advance() {
  if (state_ == State::kNotifying) {
    if (!resources_.mesh.all_sent() && resources_.endpoint.now() < give_up_at_) return false;
    withdraw();
    state_ = State::kSettling;
    return true;
  }
  if (resources_.endpoint.now() >= give_up_at_) drop_unsettled();
  if (!settled()) return false;
  state_ = State::kFailed;
  return true;
}

// Ends what is posted to ranks that live, and leaves their connections open. A rank that another
// has found to be gone is not waited for.
void Ending::withdraw() {
  Mesh& mesh = resources_.mesh;
  const Members& members = resources_.members;
  mesh.shut_memory();
  const bool gone = failure_->code == ErrorCode::kPeerDead && failure_->rank < members.size() &&
                    failure_->rank != members.rank;
  if (gone) mesh.drop(failure_->rank);
  running_.visit([](RunningCall& running) { running.execution.withdraw(); });
  resources_.buffered_sends.withdraw();
  mesh.begin_keeping();
  give_up_at_ = resources_.endpoint.now() + params::kWithdrawTime;
}

void Ending::drop_unsettled() {
  running_.visit([this](RunningCall& running) {
    for (const uint32_t rank : running.execution.waits_for()) resources_.mesh.drop(rank);
  });
  if (resources_.buffered_sends.reap()) return;
  resources_.mesh.drop_connection(resources_.buffered_sends.unfinished());
}

bool Ending::settled() {
  bool settled = true;
  running_.visit(
      [&settled](RunningCall& running) { settled = running.execution.settled() && settled; });
  return resources_.buffered_sends.reap() && settled;
}

// --- a close ---

void Ending::begin_goodbye() {
  goodbye_ = works() ? Goodbye::kGraceful : Goodbye::kFailing;
  if (closes()) resources_.mesh.begin_close();
  goodbye_until_ = resources_.endpoint.now() + params::kGoodbyeTime;
}

bool Ending::goodbye_said() const {
  if (closes() && resources_.mesh.closed()) return true;
  if (goodbye_ == Goodbye::kFailing && failed()) return true;
  return resources_.endpoint.now() >= goodbye_until_;
}

}  // namespace heddle::collectives
