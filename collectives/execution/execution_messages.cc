// Execution, second part: messages, and the signatures that travel with the first of each stream.
#include <bit>
#include <utility>

#include "collectives/execution/execution.h"

namespace heddle::collectives {

bool Execution::post(uint32_t slot) {
  Active& active = active_[slot];
  const Step& step = active.step;
  Message& message = active.message;
  if (!board_.may_post(slot)) return false;
  const bool ready = message.stored || board_.may_touch(slot);
  const bool announces = message.sends && message.signs && active.reached == nullptr;
  if (!ready && !announces) return false;
  const Result<Link*> link = resources_.mesh.reach(step.peer, message.sends);
  if (!link) {
    fail_with(link.error(), step.peer);
    return false;
  }
  if (*link == nullptr) return false;
  active.reached = *link;
  message.still_touched = board_.answered(slot) != 0;
  if ((*link)->names_memory() && !batch_) batch_.emplace(resources_.endpoint);
  const Result<void> posted = ready ? post_on(**link, active) : (*link)->announce(message);
  if (!posted) {
    const Failure cause = resources_.mesh.cause(step.peer, posted.error().code);
    fail_with(posted.error(), step.peer);
    if (resources_.mesh.failure()) failure_ = cause;
    return false;
  }
  if (!ready) return false;
  active.link = *link;
  if (message.still_touched) still_touched_ |= 1U << slot;
  note_progress(slot);
  // It may be there, or over, at once.
  look(slot);
  return true;
}

Result<void> Execution::post_on(Link& link, Active& active) {
  Message& message = active.message;
  if (link.names_memory() && !message.small && !message.copied && !message.stored) {
    Result<transport::Payload> named = memory_.name(place_of(active.step), active.step.bytes);
    if (!named) return fail(named.error());
    message.name = *named;
  }
  return link.post(message);
}

bool Execution::look(uint32_t slot) {
  Active& active = active_[slot];
  bool moved = false;
  if (!active.link->names_memory()) batch_.reset();  // it copies
  while (true) {
    const Link::Sight sight = active.link->look(active.message, budget_);
    note_progress(slot);
    if (!heed_signature(active)) return false;
    switch (sight.state) {
      case Link::Sight::State::kWaiting:
        return moved || sight.moved;
      case Link::Sight::State::kFailed:
        if (ended_badly(active, sight.error)) return false;
        finish(slot);
        return true;
      case Link::Sight::State::kDone:
        finish(slot);
        return true;
      case Link::Sight::State::kPiece:
        // What was pulled with the last of the budget waits for the next turn, not for the peer.
        if (!take_piece(slot, sight)) return moved || budget_ == 0;
        moved = true;
    }
  }
}

void Execution::note_progress(uint32_t slot) {
  Active& active = active_[slot];
  if (active.message.posted && !active.noted_posted) {
    active.noted_posted = true;
    board_.on_posted(slot);
  }
  if (!active.message.touched) return;
  board_.on_touched(slot);
  release_untouched();
}

// Of a receive whose memory is its own, what comes needs no copy.
void Execution::release_untouched() {
  for (uint32_t rest = still_touched_; rest != 0; rest &= rest - 1) {
    const auto slot = static_cast<uint32_t>(std::countr_zero(rest));
    if (board_.answered(slot) != 0) continue;
    still_touched_ &= ~(1U << slot);
    active_[slot].link->untouched(active_[slot].message);
  }
}

// False: all has failed.
bool Execution::heed_signature(Active& active) {
  if (std::exchange(active.message.signature_came, false)) {
    compare(active.step.peer, active.message.signature);
  }
  return !failed_;
}

// False: it did not matter.
bool Execution::ended_badly(Active& active, ErrorCode error) {
  const Step& step = active.step;
  // Who says goodbye has ended all its calls, so it has what was sent to it.
  if (active.message.sends && resources_.mesh.said_goodbye(step.peer)) return false;
  // If the peer means another call, that is what to say: its signature may have come as well.
  for (uint32_t rest = board_.live(); rest != 0; rest &= rest - 1) {
    Active& other = active_[static_cast<size_t>(std::countr_zero(rest))];
    if (other.link == nullptr || &other == &active) continue;
    if (other.link->look_at_signature(other.message) && !heed_signature(other)) return true;
  }
  failed_ = true;
  failure_ = resources_.mesh.cause(step.peer, error);
  return true;
}

void Execution::compare(uint32_t peer, const Signature& theirs) {
  const Signature mine = signature_with(peer, false);
  if (theirs == mine) return;
  failed_ = true;
  failure_ = {ErrorCode::kInvalid, peer,
              "rank " + std::to_string(resources_.members.rank) + " is in " + mine.text() +
                  ", rank " + std::to_string(peer) + " in " + theirs.text()};
}

void Execution::withdraw() {
  batch_.reset();
  for (uint32_t rest = board_.live(); rest != 0; rest &= rest - 1) {
    Active& active = active_[static_cast<size_t>(std::countr_zero(rest))];
    if (active.reached != nullptr) active.reached->withdraw(active.message);
  }
}

bool Execution::settled() {
  for (uint32_t rest = board_.live(); rest != 0; rest &= rest - 1) {
    const auto slot = static_cast<uint32_t>(std::countr_zero(rest));
    Active& active = active_[slot];
    if (active.reached == nullptr || active.reached->settled(active.message)) finish(slot);
  }
  if (!board_.empty()) return false;
  memory_.end();
  return true;
}

}  // namespace heddle::collectives
