// The texts and causes of each ending.
#include "transport/connection/ending.h"

#include <utility>

#include "transport/connection/params.h"

namespace heddle::transport {

using events::CloseCause;

namespace {

using namespace params::liveness;

Error closed_error(const char* why = "", const char* todo = "") {
  return {ErrorCode::kClosed, "connection closed", why, todo};
}

}  // namespace

Ending closed_gracefully() { return {CloseCause::kGraceful, closed_error()}; }

Ending closed_by_peer(CloseReason reason) {
  switch (reason) {
    case CloseReason::kUnheard:
      return {CloseCause::kResetByPeer,
              {ErrorCode::kPeerDead, "connection lost", "the peer heard nothing from here any more",
               "look at the network from here to there, and at what kept this process from "
               "running"}};
    case CloseReason::kAborted:
    case CloseReason::kProtocolError:
      return {CloseCause::kResetByPeer, closed_error("the peer gave it up")};
    case CloseReason::kGraceful:
      // All that the peer sent is acknowledged. One more packet confirms the close.
      return {CloseCause::kGraceful, closed_error("by the peer"), CloseReason::kFinished};
    case CloseReason::kFinished:
      break;
  }
  return {CloseCause::kGraceful, closed_error("by the peer")};
}

Ending closed_while_opening() { return {CloseCause::kAborted, closed_error()}; }

Ending aborted_here() {
  return {CloseCause::kAborted, closed_error("aborted here"), CloseReason::kAborted};
}

Ending close_timed_out() {
  return {CloseCause::kAborted,
          {ErrorCode::kTimeout, "connection closed", "the peer did not take everything in time",
           "post its receives before closing"},
          CloseReason::kAborted};
}

Ending failed_to_open(Error error) {
  return {CloseCause::kRefused, std::move(error), CloseReason::kAborted};
}

Ending protocol_violated(const char* violation) {
  return {CloseCause::kProtocolError,
          {ErrorCode::kClosed, "connection ended by a protocol error", violation,
           "run the same version of heddle on both sides; if it is, report this"},
          CloseReason::kProtocolError};
}

Ending reset_by_peer() {
  return {CloseCause::kResetByPeer,
          {ErrorCode::kPeerDead, "connection lost", "the peer does not know it any more",
           "was the other side restarted?"}};
}

Ending peer_died(const char* why) {
  return {CloseCause::kPeerDead,
          {ErrorCode::kPeerDead, "the peer is gone", why, "look at its process and its host"},
          CloseReason::kUnheard,
          kFinalPacketsToDead};
}

Ending port_closed() {
  return {CloseCause::kRefused,
          {ErrorCode::kUnavailable, "cannot connect", "no program listens on that port",
           "start the other side first, or name its port"}};
}

}  // namespace heddle::transport
