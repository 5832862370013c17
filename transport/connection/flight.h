// Flight: what this side of a connection has under way, and what more may leave: the paths with
// their state, the congestion controller's window, pacing, the choice of a path, and recovery. It
// hands out permits for bursts, is told what left, and takes acknowledgements; a SentRunListener
// hears what arrived and what is lost.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/random.h"
#include "transport/congestion/controller.h"
#include "transport/congestion/loss_noise.h"
#include "transport/congestion/pacer.h"
#include "transport/connection/observer.h"
#include "transport/connection/receive_quota.h"
#include "transport/connection/row_limit.h"
#include "transport/path/selector.h"
#include "transport/path/tx_path.h"

namespace heddle::transport {

struct FlightOptions {
  uint16_t paths = 1;        // for datagrams
  uint16_t chunk_paths = 0;  // for remote writes; numbered after the others
  uint32_t chunk_bytes = 0;
  std::unique_ptr<Controller> controller;
  std::unique_ptr<Selector> selector;
  uint32_t largest_datagram = 0;  // that both ends could take
  uint32_t passed_datagram = 0;   // that every path is known to pass; 0: as any network does
  uint64_t peer_window_bytes = 0;
  uint32_t longest_burst = 0;  // in bytes, of several paths; 0: kMaxBurstBytes
  Nanos first_rtt;             // of the handshake; 0: unknown
};

// Leave for one data burst.
struct Permit {
  uint16_t path = 0;
  uint32_t datagram_bytes = 0;  // of each segment, headers included
  uint32_t segments = 0;        // at most
  bool last_for_now = false;    // the window is used up after this burst
};

class Flight final : private SentRunListener {
 public:
  // Every network is taken to pass datagrams of this size (IPv6 asks for 1,280 bytes with IP and
  // UDP headers).
  static constexpr uint32_t kBaseDatagram = 1200;
  // What a small datagram costs a receiver's socket buffer beyond its bytes, about.
  static constexpr uint32_t kReceiveOverhead = 512;

  Flight(SentRunPool& pool, Observer observer, ConnectionId connection, SentRunListener& listener)
      : pool_(pool), observer_(observer), connection_(connection), listener_(listener) {}
  ~Flight() override { close(); }
  Flight(const Flight&) = delete;
  Flight& operator=(const Flight&) = delete;

  void open(Nanos now, FlightOptions options);
  // Forgets everything under way, silently.
  void close();

  // --- leaving ---
  // False: no data may leave now (window, pacing, no path, no room for its record).
  bool permit(Nanos now, Random& random, Permit& permit);
  // As permit(), for datagrams where payload otherwise travels as chunks: small messages and
  // repeats.
  bool permit_datagrams(Nanos now, Permit& permit);
  // Whether as much has left without asking for an acknowledgement, with the next `bytes`, as makes
  // one overdue where the window is used up, or where it holds only few long bursts.
  bool worth_asking(uint64_t bytes, bool window_ends) const;
  // Whether so many bytes more, headers included, may leave before anything is acknowledged.
  bool window_holds(uint64_t bytes, uint64_t segments) const;
  // There was nothing to send although the window had room.
  void note_idle() {
    window_limited_ = false;
    end_burst();
  }
  // There was something to send, and another limit than the window kept it back.
  void note_held_back() {
    window_limited_ = short_of_window() || window_left() < largest_datagram_;
  }
  // What leaves next may take another path.
  void end_burst() { burst_left_ = 0; }
  // The path that the next control packet takes: active ones in turn. Before the peer was heard,
  // the one of the latest answer to its handshake: over another, packets would come before that
  // answer, and mean nothing yet.
  uint16_t control_path() { return heard_ ? next_control_path() : next_control_; }
  uint16_t next_control_path();
  // Whether what leaves on this path now is likely to arrive, or no path is better.
  bool trusts(uint16_t path) const;
  // The record of a packet or row that is about to leave on `path`, numbered; null: the pool is
  // empty. Fill it in, then call sent().
  SentRun* record(uint16_t path, uint8_t segments);
  void sent(Nanos now, uint16_t path);
  uint64_t recorded_number() const { return pool_[recording_].first_number; }

  // A path that a small packet must be sent on; false: none.
  bool poll_probe(uint16_t& path);
  // A path to be tried with a datagram of `bytes`; false: none.
  bool poll_size_probe(uint16_t& path, uint32_t& bytes);
  bool places(uint16_t path) const { return path >= datagram_paths_; }
  // Of the path that a choice falls on first.
  uint32_t datagram_bytes() const { return paths_[order_[0]].datagram_bytes; }
  // Chunk paths count from here.
  uint16_t first_chunk_path() const { return datagram_paths_; }
  uint16_t paths() const { return static_cast<uint16_t>(paths_.size()); }
  PathEpoch epoch(uint16_t path) const { return paths_[path].epoch; }
  bool wants_probe() const { return probes_wanted_ > 0; }
  // Whether poll_size_probe() is worth asking.
  bool wants_size_probe() const { return unsized_ > 0; }

  // --- what comes back ---
  void set_peer_window(uint64_t bytes) { quota_.set_capacity(bytes); }
  // False: it acknowledges what was never sent.
  bool on_ack(Nanos now, Nanos made_at, const AckFrame& frame);
  // Behind the acknowledgements of one packet: looks for paths that they should have told of.
  void after_acks(Nanos now);
  // A reliable NIC gave up the write with this number, and with it its path. False: there is none.
  bool on_write_failed(Nanos now, uint16_t path, uint64_t number);
  // The peer has only the header of the packet with this number. False: it was never sent.
  bool on_trimmed(Nanos now, uint16_t path, uint64_t number);
  // The peer rejects writes of earlier epochs on this path. False: an epoch without order to it.
  bool on_fenced(Nanos now, uint16_t path, PathEpoch epoch);
  // The network passes at most `datagram_bytes` on this path.
  void on_too_large(Nanos now, uint16_t path, uint32_t datagram_bytes);

  // The path goes between other NICs from now on.
  void on_moved(uint16_t path);

  // Payload goes over these paths only, while one of them works; over all again where there are
  // none. False: one of them is no path that carries payload.
  bool choose(Nanos now, std::span<const uint16_t> paths);

  void handle_timeout(Nanos now);
  Nanos next_timeout() const { return wake_at_; }

  // --- what it knows ---
  uint16_t current_path() const { return current_path_; }        // during a listener's call
  Nanos smoothed_rtt() const { return round_trip_.smoothed(); }  // zero: never measured
  Nanos latest_rtt() const { return round_trip_.latest(); }      // the same
  bool any_active() const { return active_ > 0; }
  // Whether no path is set aside.
  bool all_active() const;
  uint32_t active() const { return active_; }  // paths that carry payload
  // Whether a path was set aside or has returned since this was last asked.
  uint32_t path_changes() const { return path_changes_; }  // so far
  bool is_active(uint16_t path) const { return paths_[path].active(); }
  bool take_paths_changed() { return std::exchange(paths_changed_, false); }
  // Whether this packet was sent and may not have arrived.
  bool awaits(uint16_t path, uint64_t number) const {
    return path < datagram_paths_ && paths_[path].sent.awaits(pool_, number);
  }
  bool in_flight_on(uint16_t path) const { return paths_[path].sent.in_flight_segments() > 0; }
  bool awaits_ack() const { return in_flight_segments_ > 0; }
  Nanos first_unanswered() const { return first_unanswered_; }  // probe; never(): all were answered
  void peer_was_heard() {
    first_unanswered_ = Nanos::never();
    heard_ = true;
  }
  void note_probe(Nanos now) { first_unanswered_ = std::min(first_unanswered_, now); }
  void fill(ConnectionStatistics& statistics) const;
  void fill(std::vector<PathStatistics>& statistics) const;
  uint64_t spurious_segments() const { return spurious_segments_; }
  size_t bytes_held() const;

 private:
  static constexpr uint8_t kStaleAge = 4;  // phases

  // Whether it is of the kind that payload takes, and whether payload may take it by now.
  bool of_payload(uint16_t path) const { return chunk_paths_ == 0 || path >= datagram_paths_; }
  bool carries(uint16_t path) const {
    return of_payload(path) && (!paths_[path].left_out || strayed_);
  }
  void settle_choice(Nanos now);
  void count_active();
  uint64_t window_left() const;
  bool short_of_window() const;
  uint64_t gate(Nanos now);
  uint16_t choose_path(Nanos now, Random& random);
  uint16_t proven_path(Nanos now, Random& random);
  bool is_unproven(uint16_t path) const {
    return age(paths_[path]) >= kStaleAge && usable_ > 1 && !places(path);
  }
  // What is in flight takes so much of the peer's socket, were it to arrive at once.
  uint64_t held() const {
    return in_flight_bytes_ + uint64_t{kReceiveOverhead} * in_flight_segments_;
  }
  uint32_t datagrams_that_fit(Nanos now, uint64_t budget, uint64_t size);
  uint64_t path_cap() const;
  uint32_t burst_bytes() const;
  // Of a full packet on it.
  uint64_t packet_bytes(uint16_t id) const {
    return places(id) ? chunk_bytes_ : paths_[id].datagram_bytes;
  }
  uint32_t segment_bytes(uint16_t id) const {
    return static_cast<uint32_t>(packet_bytes(id)) - (places(id) ? 0 : kDataHeaderBytes);
  }
  PathSample sample_of(uint16_t path) const;
  UsablePaths usable() const;
  void refresh_usable(uint16_t path);
  void swap_places(uint32_t a, uint32_t b);
  void want_probe(uint16_t path);
  Nanos patience(const TxPath& path, Nanos longest) const;
  void wake_by(Nanos at) { wake_at_ = std::min(wake_at_, at); }
  void set_state(Nanos now, uint16_t path, events::PathState state);
  void set_aside(Nanos now, uint16_t path, events::LossCause cause);
  void bring_back(Nanos now, uint16_t path);
  void find_losses(Nanos now, uint16_t path, Nanos acked_sent_at);
  void take_losses(Nanos now, uint16_t path, events::LossCause cause);
  void forget_losses(Nanos now, uint16_t path);
  void forget_losses_later(Nanos now, TxPath& path);
  void on_acked(const SentRun& run, uint32_t first, uint32_t count, bool was_lost) override;
  void on_lost(const SentRun& run, uint32_t first, uint32_t count,
               events::LossCause cause) override;
  void measure(Nanos now, Nanos made_at, const AckFrame& frame, const AckOutcome& outcome);
  void tell_controller(Nanos now, const AckFrame& frame, const AckOutcome& outcome, Bytes before);
  Nanos phase_length() const;
  void advance_phase(Nanos now);
  uint8_t age(const TxPath& path) const { return static_cast<uint8_t>(phase_ - path.judged_in); }
  uint32_t recent_losses(const TxPath& path) const;
  bool few_trimmed(Nanos now, Bytes trimmed);
  static void forget_old_loss(TxPath& path, uint64_t acked_to);
  void handle_spurious(Nanos now, uint16_t path, const AckOutcome& outcome);
  void set_aside_silent_paths(Nanos now);
  Nanos lateness() const;
  void look_for_late_by(Nanos at);
  bool overtaken(uint16_t path, const SentRun& run) const;
  Nanos late_at(uint16_t path) const;
  void ask_late_paths(Nanos now);
  void handle_path_timeout(Nanos now, uint16_t path);
  void note_refused(uint32_t datagram_bytes);
  void size_passed(uint16_t path);
  void size_failed(uint16_t path);
  void find_size_again(uint16_t path);
  static bool is_large(const SentRun& run);
  void large_lost(const SentRun& run);
  void note_trouble(Nanos now, uint16_t path);
  bool others_clean(Nanos now, uint16_t path) const;

  SentPool pool_;
  Observer observer_;
  ConnectionId connection_;
  SentRunListener& listener_;
  std::unique_ptr<Controller> controller_;
  std::unique_ptr<Selector> selector_;
  LossNoise noise_;
  Pacer pacer_;
  RoundTrip round_trip_;

  std::vector<TxPath> paths_;
  std::vector<uint16_t> order_;  // the paths, usable ones first
  uint16_t datagram_paths_ = 0;
  uint16_t chunk_paths_ = 0;
  uint32_t chunk_bytes_ = 0;
  uint32_t usable_ = 0;
  uint32_t active_ = 0;   // of those that carry payload
  bool chosen_ = false;   // some are left out
  bool strayed_ = false;  // of those chosen none works: payload takes the others
  bool paths_changed_ = false;
  uint32_t path_changes_ = 0;
  uint16_t probes_wanted_ = 0;
  uint16_t next_probe_ = 0;
  uint32_t recording_ = kNoIndex;  // between record() and sent()

  RowLimit rows_;
  ReceiveQuota quota_;
  uint64_t in_flight_bytes_ = 0;
  uint32_t in_flight_segments_ = 0;
  uint32_t largest_datagram_ = 0;
  uint32_t longest_burst_ = kMaxBurstBytes;
  uint32_t refused_bytes_ = 0;  // the smallest datagram that did not pass; 0: all did
  uint32_t size_probes_out_ = 0;
  uint32_t unsized_ = 0;  // paths whose size is still to be found
  uint16_t next_control_ = 0;
  bool heard_ = false;  // from the peer, since it knows of the connection
  uint16_t next_size_probe_ = 0;
  uint16_t current_path_ = 0;
  uint16_t burst_path_ = 0;
  uint32_t burst_left_ = 0;  // bytes that may follow on burst_path_; 0: another is chosen
  uint32_t since_question_ = UINT32_MAX;  // bytes that left since an old path was asked
  Nanos asked_old_at_;
  Nanos burst_until_;
  uint64_t unasked_bytes_ = 0;  // sent since an acknowledgement was asked for
  bool window_limited_ = false;

  Nanos wake_at_ = Nanos::never();
  Nanos first_unanswered_ = Nanos::never();
  Nanos newest_sent_at_;
  Nanos newest_acked_sent_at_;  // over all paths
  uint16_t newest_acked_path_ = 0;
  uint16_t newest_asked_path_ = 0;  // of the newest packet that asked for an acknowledgement
  uint16_t trouble_path_ = 0;       // the latest two paths with loss or marks, and when
  Nanos trouble_at_;
  Nanos other_trouble_at_;
  Nanos silence_check_at_;
  Nanos late_check_at_ = Nanos::never();
  uint64_t lost_bytes_ = 0;  // of the losses being taken
  uint32_t lost_segments_ = 0;
  Nanos lost_sent_at_;
  Nanos episode_began_;  // losses of what was sent before belong together: one reduction
  uint32_t episode_lost_ = 0;
  uint32_t episode_spurious_ = 0;  // of these, segments that had arrived
  Nanos trimmed_until_;            // of one round trip
  Bytes trimmed_;
  uint64_t marks_ = 0;
  uint64_t spurious_segments_ = 0;
  Nanos phase_until_;
  uint8_t phase_ = 0;  // counts stretches of a few round trips: what was learnt of a path grows old
};

}  // namespace heddle::transport
