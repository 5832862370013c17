// The rules, one for each case: see outcomes.h.
#include "tests/vopr/checkers/outcomes.h"

#include "base/error_code.h"

namespace heddle::vopr {

using transport::Direction;

void Outcomes::judge(const Operation& operation) {
  if (ledger_.is_with_byzantine(*operation.side)) {
    // The result is the peer's choice, but more bytes than the buffer's capacity are an error.
    if (operation.ok && operation.bytes > operation.length()) {
      report_.fail(describe(operation) + " ended with " + std::to_string(operation.bytes) +
                   " bytes");
    }
    return;
  }
  const Operation* match = ledger_.match_of(operation);
  if (operation.ok) {
    judge_ok(operation, match);
  } else {
    judge_error(operation, match);
  }
}

void Outcomes::judge_ok(const Operation& operation, const Operation* match) {
  const bool sends = operation.direction == Direction::kSend;
  if (match == nullptr) {
    report_.fail(describe(operation) + " succeeded, but the peer never posted its match");
    return;
  }
  const Operation& send = sends ? operation : *match;
  const Operation& receive = sends ? *match : operation;
  if (send.length() > receive.length()) {
    report_.fail(describe(operation) + " succeeded, but does not fit into its receive");
  }
  if (operation.bytes != send.length()) {
    report_.fail(describe(operation) + " succeeded with " + std::to_string(operation.bytes) +
                 " bytes of a message of " + std::to_string(send.length()));
  }
}

void Outcomes::judge_error(const Operation& operation, const Operation* match) {
  const bool sends = operation.direction == Direction::kSend;
  bool allowed = false;
  switch (operation.error) {
    case ErrorCode::kCancelled:
      allowed = operation.cancelled || (match != nullptr && match->cancelled);
      break;
    case ErrorCode::kTruncated:
      allowed = match != nullptr && (sends ? operation.length() > match->length()
                                           : match->length() > operation.length());
      break;
    default:
      allowed = may_end_with(*operation.side, operation.error);
      break;
  }
  if (!allowed) {
    report_or_keep(*operation.side, operation.error,
                   describe(operation) + " failed with '" + name_of(operation.error) +
                       "', which nothing explains");
  }
}

// A host may refuse an init since the connection that it accepted has declared this side dead,
// while its own program stays away and has not received the notice of that end.
void Outcomes::report_or_keep(const Side& side, ErrorCode code, std::string what) {
  const bool may_be_late = options_.faults.idles > 0;
  if (may_be_late && code == ErrorCode::kUnavailable && side.initiator && !side.open) {
    kept_.push_back({&side, std::move(what)});
  } else {
    report_.fail(std::move(what));
  }
}

void Outcomes::judge_kept() {
  for (Kept& kept : kept_) {
    const Side* accepted = ledger_.accepted_by_peer_of(*kept.side);
    if (accepted != nullptr && accepted->error.code == ErrorCode::kPeerDead) continue;
    report_.fail(std::move(kept.what));
  }
  kept_.clear();
}

void Outcomes::judge(const Side& side) {
  for (const auto* posted_by_channel : {&side.sends, &side.receives}) {
    for (const PostedOperations& posted : *posted_by_channel) {
      if (posted.outstanding() == 0) continue;
      report_.fail(describe(side) +
                   " is over, but this is not: " + describe(*posted.operations[posted.done]));
    }
  }
  if (ledger_.is_with_byzantine(side)) return;
  judge_graceful(side);
  if (!may_end_with(side, side.error.code)) {
    report_or_keep(side, side.error.code,
                   describe(side) + " ended with '" + name_of(side.error.code) + "' (" +
                       side.error.message() + "), which nothing explains");
  }
}

// A graceful close waits for all sends, unless the peer ends the connection first.
void Outcomes::judge_graceful(const Side& side) {
  const Side* peer = ledger_.peer_of(side);
  const bool own = side.graceful && side.close_called && !side.abort_called && peer != nullptr &&
                   !peer->close_called && !peer->abort_called && !peer->crashed;
  if (!own) return;
  for (const PostedOperations& posted : side.sends) {
    for (const Operation* send : posted.operations) {
      if (send->ok || send->error != ErrorCode::kClosed) continue;
      report_.fail(describe(*send) + " was cut off by a close that should have waited for it");
      return;
    }
  }
}

bool Outcomes::handshake_may_time_out(const Side& side) const {
  const auto hosts = static_cast<uint32_t>(options_.hosts.size());
  if (options_.faults.may_silence() || side.peer_host > hosts) return true;
  if (options_.hosts.front().endpoint.keys.empty()) return false;
  // An initiator with keys rejects replies without a proof.
  if (side.peer_host == hosts) return true;
  // The peer closed before it retransmitted its lost reply: after that, the init is a replay.
  const Side* accepted = ledger_.accepted_by_peer_of(side);
  return accepted != nullptr && (accepted->ended() || accepted->close_called);
}

// The numbers after the hosts' are the foreigner with another version, then an unused address.
bool Outcomes::may_end_with(const Side& side, ErrorCode code) const {
  const Side* peer = ledger_.peer_of(side);
  const bool asks = side.initiator && !side.open;
  const auto hosts = static_cast<uint32_t>(options_.hosts.size());
  switch (code) {
    case ErrorCode::kClosed:
      return side.close_called || side.abort_called ||
             (peer != nullptr && (peer->close_called || peer->abort_called));
    case ErrorCode::kPeerDead:
      return options_.faults.may_silence() || ledger_.peer_is_gone(side);
    case ErrorCode::kTimeout:
      return side.close_called || (asks && handshake_may_time_out(side));
    case ErrorCode::kUnavailable: {
      if (!asks) return false;
      // Its answers were lost, and it ended or declared this side dead: the init is a replay.
      if (const Side* accepted = ledger_.accepted_by_peer_of(side); accepted != nullptr) {
        if (accepted->close_called || accepted->abort_called) return true;
        if (accepted->error.code == ErrorCode::kPeerDead) return true;
      }
      if (side.peer_host >= hosts) return side.peer_host > hosts;
      const transport::EndpointOptions& other = options_.hosts[side.peer_host].endpoint;
      return !other.accept || other.max_connections < 16 || options_.faults.crashes > 0 ||
             options_.faults.byzantine.there();  // which may hold all connections
    }
    case ErrorCode::kVersion:
      return asks && side.peer_host == hosts;
    default:
      return false;
  }
}

void Outcomes::judge_pairs() {
  for (const auto& operation : ledger_.operations()) {
    if (operation->direction != Direction::kSend || !operation->done) continue;
    const Operation* receive = ledger_.match_of(*operation);
    if (receive == nullptr || !receive->done) continue;
    if (operation->ok && !receive->ok) {
      report_.fail(describe(*operation) + " succeeded, but " + describe(*receive) +
                   " failed with '" + name_of(receive->error) + "'");
    }
    // The message may have arrived completely, and the connection ended before its sender received
    // the acknowledgement.
    const bool cut_off = !operation->ok && operation->error != ErrorCode::kCancelled &&
                         operation->error != ErrorCode::kTruncated;
    if (receive->ok && !operation->ok && !cut_off) {
      report_.fail(describe(*receive) + " succeeded, but " + describe(*operation) +
                   " failed with '" + name_of(operation->error) + "'");
    }
  }
}

}  // namespace heddle::vopr
