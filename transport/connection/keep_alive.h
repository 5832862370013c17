// KeepAlive: whether the peer still answers. It asks for probes while the peer is silent, and
// reports the peer dead when probes stay unanswered or its host says that the port is closed. The
// connection reports what it hears and sends the probes.
#pragma once

#include <algorithm>

#include "base/nanos.h"
#include "transport/connection/observer.h"
#include "transport/send/send_controller.h"

namespace heddle::transport {

class KeepAlive {
 public:
  // Probes that are unanswered for `dead_after` mean that the peer is dead.
  KeepAlive(SendController& sender, const Observer& observer, ConnectionId connection,
            Nanos dead_after)
      : sender_(sender), observer_(observer), connection_(connection), dead_after_(dead_after) {}

  // The connection is open. `probe`: the peer is to be probed at once.
  void open(Nanos now, bool probe);
  // A packet of the peer arrived.
  void on_heard(Nanos now) {
    heard_at_ = now;
    port_closed_at_ = Nanos::never();
    sender_.peer_was_heard();
  }
  // Something is about to be posted on an idle connection: the next check comes sooner.
  void watch(Nanos now) { check_at_ = std::min(check_at_, now + interval()); }
  // ICMP reports that the peer's port is closed. ICMP is not authenticated, so the peer is probed
  // and declared dead only if it stays silent.
  void on_port_closed(Nanos now);

  // True if a packet that requests an acknowledgement must be sent.
  bool probe_due() const { return probe_due_; }
  void request_probe() { probe_due_ = true; }
  void note_probe_sent() { probe_due_ = false; }

  struct Check {
    bool done = false;                  // a check was due
    const char* death_cause = nullptr;  // not null: the peer is dead, and why
  };
  // Checks the peer if that is due. `busy`: operations are posted.
  Check handle_timeout(Nanos now, bool busy);
  Nanos next_timeout() const {
    const Nanos unanswered = sender_.first_unanswered();
    const Nanos dead_at = unanswered == Nanos::never() ? unanswered : unanswered + dead_after_;
    return std::min(check_at_, dead_at);
  }

 private:
  // Between checks while something waits for the peer.
  Nanos interval() const { return dead_after_ / 5; }
  bool unanswered_too_long(Nanos now) const;
  bool port_closed_too_long(Nanos now) const;
  Check check(Nanos now, bool busy);

  SendController& sender_;
  const Observer& observer_;
  ConnectionId connection_;
  Nanos dead_after_;
  Nanos heard_at_;
  Nanos check_at_ = Nanos::never();
  Nanos port_closed_at_ = Nanos::never();  // nothing was heard since
  bool probe_due_ = false;
};

}  // namespace heddle::transport
