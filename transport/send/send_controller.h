// SendController: the sending half of a connection, put together from its parts: what may leave
// (SendWindow), on which path (PathScheduler), in datagrams of which size (PmtuProber), whether a
// path is alive (PathLiveness), what is lost (LossDetector), and which samples congestion control
// gets (CongestionFeedback). The connection asks for a quota, records what it sends, and passes in
// acknowledgements; a SentBurstListener is notified of what arrived and what is lost.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/random.h"
#include "transport/congestion/feedback.h"
#include "transport/connection/observer.h"
#include "transport/params.h"
#include "transport/path/control_path.h"
#include "transport/path/path_liveness.h"
#include "transport/path/path_scheduler.h"
#include "transport/path/path_set.h"
#include "transport/path/pmtu_prober.h"
#include "transport/path/probe_queue.h"
#include "transport/path/selector.h"
#include "transport/recovery/loss_detection.h"
#include "transport/recovery/wake_time.h"
#include "transport/send/send_window.h"

namespace heddle::transport {

struct SendOptions {
  uint16_t paths = 1;  // for datagrams
  StrategyPaths strategy_paths;
  std::unique_ptr<Controller> controller;
  std::unique_ptr<Selector> selector;
  uint32_t largest_datagram = 0;  // bytes that both ends could take
  uint32_t passed_datagram = 0;   // bytes that every path is known to pass; 0: the base size
  uint64_t peer_window_bytes = 0;
  uint32_t longest_burst = 0;  // in bytes, of several paths; 0: kMaxBurstBytes
  Nanos first_rtt;             // of the handshake; 0: unknown
};

// What may leave in one burst of payload.
struct SendQuota {
  uint16_t path = 0;
  uint32_t datagram_bytes = 0;  // of each segment, headers included
  uint32_t segments = 0;        // at most
  bool last_for_now = false;    // the window is used up after this burst
};

class SendController final : private SentBurstListener {
 public:
  static constexpr uint32_t kBaseDatagram = params::kBaseDatagram;
  static constexpr uint32_t kReceiveOverhead = params::kReceiveOverhead;

  // `observer` must outlive this.
  SendController(SentBurstPool& pool, const Observer& observer, ConnectionId connection,
                 SentBurstListener& listener)
      : pool_(pool),
        observer_(observer),
        listener_(listener),
        scheduler_(paths_),
        liveness_(paths_),
        connection_(connection) {}
  ~SendController() override { close(); }
  SendController(const SendController&) = delete;
  SendController& operator=(const SendController&) = delete;

  void open(Nanos now, SendOptions options);
  // Drops all records of what is in flight; the listener is not notified.
  void close();

  // --- sending ---
  // False: no payload may leave now (window, pacing, no path, no room for its record).
  bool poll_quota(Nanos now, Random& random, SendQuota& quota);
  // As poll_quota(), for datagrams where payload otherwise takes a strategy's paths: small messages
  // and retransmissions.
  bool poll_datagram_quota(Nanos now, SendQuota& quota);
  // Whether a burst of `bytes` should ask for an acknowledgement (SendWindow::worth_asking).
  bool worth_asking(uint64_t bytes, bool window_ends) const {
    return window_.worth_asking(bytes, window_ends);
  }
  // Whether these bytes, headers included, may leave before anything is acknowledged.
  bool window_holds(uint64_t bytes, uint64_t segments) const {
    return window_.holds(bytes, segments);
  }
  // There was nothing to send although the window had room.
  void note_idle() {
    window_.set_limited(false);
    end_burst();
  }
  // There was something to send, and another limit than the window held it back.
  void note_held_back() { window_.note_held_back(); }
  // What leaves next may take another path.
  void end_burst() { scheduler_.end_burst(); }
  // The path of the next control packet (ControlPath).
  uint16_t control_path() { return control_.take(paths_); }
  uint16_t next_control_path() { return control_.next(paths_); }
  // Whether a packet sent on this path now is likely to arrive, or no path is better.
  bool trusts(uint16_t path) const { return ControlPath::trusts(paths_, path); }
  // The record of a packet or burst that is about to leave on `path`, numbered; null: the pool is
  // empty. Fill it in, then call sent().
  SentBurst* record(uint16_t path, uint8_t segments);
  void sent(Nanos now, uint16_t path);
  uint64_t recorded_number() const { return pool_[recording_].first_number; }

  // A path on which a probe, a small packet, must be sent; false: none.
  bool poll_probe(uint16_t& path) { return probes_.pop(paths_, path); }
  bool wants_probe() const { return !probes_.empty(); }
  // A path on which a size probe of `bytes` must be sent; false: none.
  bool poll_size_probe(Nanos now, uint16_t& path, uint32_t& bytes) {
    const bool wanted = pmtu_.poll(paths_, window_.peer().capacity(), path, bytes);
    return window_.admits_probe(now, wanted ? bytes : 0);
  }
  bool wants_size_probe() const { return pmtu_.searching(); }

  // --- paths ---
  bool is_datagram_path(uint16_t path) const { return paths_.is_datagram_path(path); }
  // Of the path that a choice falls on first.
  uint32_t datagram_bytes() const { return paths_[scheduler_.first()].mtu.confirmed(); }
  uint16_t datagram_paths() const { return paths_.datagram_paths(); }
  uint16_t paths() const { return paths_.size(); }
  PathEpoch epoch(uint16_t path) const { return paths_[path].epoch; }
  // Payload takes these paths only, while one of them works; all paths again where the list is
  // empty. False: one of them is no path that carries payload.
  bool choose(Nanos now, std::span<const uint16_t> paths);
  // Of the chosen paths, for selectors that follow a plan.
  void set_shares(std::span<const PlannedShare> shares) { scheduler_.set_shares(shares); }
  // The path leads between other NICs from now on.
  void on_moved(uint16_t path);

  // --- what comes back ---
  void set_peer_window(uint64_t bytes) { window_.peer().set_capacity(bytes); }
  // False: it acknowledges what was never sent.
  bool on_ack(Nanos now, Nanos made_at, const AckFrame& frame);
  // After the acknowledgements of one packet: looks for silent paths.
  void after_acks(Nanos now);
  // A reliable NIC reported that it could not deliver the packet with this number, which ends its
  // path. The first probe waits as after `in_vain` that went unanswered. False: no such packet.
  bool on_send_failed(Nanos now, uint16_t path, uint64_t number, uint32_t in_vain = 0);
  // The peer has only the header of the packet with this number. False: it was never sent.
  bool on_trimmed(Nanos now, uint16_t path, uint64_t number);
  // The peer rejects what was sent on this path in earlier epochs. False: an epoch without order
  // to it.
  bool on_new_epoch(Nanos now, uint16_t path, PathEpoch epoch);
  // The network passes at most `datagram_bytes` on this path.
  void on_too_large(Nanos now, uint16_t path, uint32_t datagram_bytes);
  void peer_was_heard() {
    liveness_.on_peer_heard();
    control_.peer_was_heard();
  }

  void handle_timeout(Nanos now);
  Nanos next_timeout() const { return wake_.at(); }

  // --- state ---
  uint16_t current_path() const { return current_path_; }                // in a listener's call
  Nanos smoothed_rtt() const { return paths_.round_trip().smoothed(); }  // 0: never measured
  Nanos latest_rtt() const { return paths_.round_trip().latest(); }      // 0: never measured
  bool any_active() const { return scheduler_.active() > 0; }
  bool all_active() const { return paths_.all_active(); }
  uint32_t active() const { return scheduler_.active(); }  // paths that carry payload
  bool is_active(uint16_t path) const { return paths_[path].active(); }
  uint32_t path_changes() const { return liveness_.changes(); }  // of states, so far
  // Whether a path's state has changed since the last call.
  bool take_paths_changed() { return liveness_.take_changed(); }
  // Whether this packet was sent and may not have arrived.
  bool awaits(uint16_t path, uint64_t number) const {
    return path < datagram_paths() && paths_[path].sent.awaits(pool_, number);
  }
  bool in_flight_on(uint16_t path) const { return paths_[path].sent.in_flight_segments() > 0; }
  bool awaits_ack() const { return window_.in_flight_segments() > 0; }
  Nanos first_unanswered() const { return liveness_.first_unanswered(); }
  void note_probe(Nanos now) { liveness_.on_probe_sent(now); }
  void fill(ConnectionStatistics& statistics) const;
  void fill(std::vector<PathStatistics>& statistics) const;
  uint64_t spurious_segments() const { return losses_.spurious_segments(); }
  size_t bytes_held() const { return paths_.bytes_held() + scheduler_.bytes_held(); }

 private:
  void arm_pto(Nanos now, TxPath& path, const SentBurst& run);
  void measure(Nanos now, Nanos made_at, const AckFrame& frame, const AckOutcome& outcome);
  void feed_controller(Nanos now, const AckFrame& frame, const AckOutcome& outcome, Bytes before);
  void handle_spurious(Nanos now, uint16_t id, const AckOutcome& outcome);

  void on_path_event(Nanos now, uint16_t id, PathEvent event);
  void enter_state(Nanos now, uint16_t id, events::PathState state);
  void report_restriction(Nanos now);
  void check_path_timer(Nanos now, uint16_t id);
  void check_tail_loss(Nanos now);

  void find_losses(Nanos now, uint16_t id, Nanos acked_sent_at);
  void declare_lost(Nanos now, uint16_t id, events::LossCause cause);
  void take_losses(Nanos now, uint16_t id, events::LossCause cause);
  void report_size(Nanos now, uint16_t id, const std::optional<SizeChange>& change);
  void on_acked(const SentBurst& run, uint32_t first, uint32_t count, bool was_lost) override;
  void on_lost(const SentBurst& run, uint32_t first, uint32_t count,
               events::LossCause cause) override;

  SentPool pool_;
  const Observer& observer_;
  SentBurstListener& listener_;
  PathSet paths_;
  WakeTime wake_;
  SendWindow window_;
  CongestionFeedback feedback_;
  ProbeQueue probes_;
  PathScheduler scheduler_;
  PathLiveness liveness_;
  LossDetector losses_;
  LossBatch lost_;  // of the losses being declared
  PmtuProber pmtu_;
  ControlPath control_;
  uint16_t current_path_ = 0;
  uint32_t recording_ = kNoIndex;  // between record() and sent()
  ConnectionId connection_;
  Nanos newest_sent_at_;
};

}  // namespace heddle::transport
