// When the peer is probed, and when it is considered dead.
#include "transport/connection/keep_alive.h"

#include "transport/connection/params.h"

namespace heddle::transport {
namespace {

using events::RecoveryStep;

using namespace params::liveness;

}  // namespace

void KeepAlive::open(Nanos now, bool probe) {
  heard_at_ = now;
  check_at_ = now + interval();
  probe_due_ = probe;
}

void KeepAlive::on_port_closed(Nanos now) {
  if (port_closed_at_ == Nanos::never()) {
    port_closed_at_ = now;
    probe_due_ = true;
    sender_.note_probe(now);
  }
  check_at_ = std::min(check_at_, port_closed_at_ + kPortClosedFor);
}

bool KeepAlive::unanswered_too_long(Nanos now) const {
  const Nanos unanswered = sender_.first_unanswered();
  return unanswered != Nanos::never() && now - unanswered >= dead_after_;
}

bool KeepAlive::port_closed_too_long(Nanos now) const {
  return port_closed_at_ != Nanos::never() && now - port_closed_at_ >= kPortClosedFor;
}

KeepAlive::Check KeepAlive::handle_timeout(Nanos now, bool busy) {
  if (sender_.first_unanswered() != Nanos::never()) watch(now);
  if (check_at_ <= now || unanswered_too_long(now) || port_closed_too_long(now)) {
    return check(now, busy);
  }
  return {};
}

KeepAlive::Check KeepAlive::check(Nanos now, bool busy) {
  if (unanswered_too_long(now)) return {true, "it stopped answering"};
  if (port_closed_too_long(now)) {
    return {true, "its host says that no program listens there any more"};
  }
  const bool waits = busy || sender_.first_unanswered() != Nanos::never();
  const Nanos period = waits ? interval() : interval() * kIdleFactor;
  const Nanos silent_since = std::max(heard_at_, Nanos{});
  if (now >= silent_since + period && now >= check_at_) {
    probe_due_ = true;
    sender_.note_probe(now);
    observer_.step(now, connection_, UINT16_MAX, RecoveryStep::kPeerProbe);
    check_at_ = now + interval();
  } else {
    check_at_ = std::max(silent_since + period, now + millis(1));
  }
  return {true, nullptr};
}

}  // namespace heddle::transport
