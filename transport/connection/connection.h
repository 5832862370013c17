// Connection: one conversation with a peer, both ways, as a state machine. It composes what each
// file beside it does alone: messages out (Outgoing) and in (Incoming), what is under way
// (SendController), acknowledgements (AckMaker); and adds the handshake, control frames, keep-alive
// and close. Driven by the endpoint: packets and time in, packets out; see transport/endpoint.h for
// the grammar.
#pragma once

#include <cstdint>
#include <span>

#include "transport/connection/fences.h"
#include "transport/connection/shared.h"
#include "transport/credits/credit_balance.h"
#include "transport/path/discovery.h"
#include "transport/path/nic_pairs.h"
#include "transport/recovery/ack_maker.h"
#include "transport/security/session.h"
#include "transport/send/send_controller.h"
#include "transport/wire/control.h"
#include "transport/wire/handshake.h"
#include "transport/wire/immediate.h"

namespace heddle::transport {

// With more than so many frames waiting, answers that are on their way among them and beside those
// of what is posted here, no question of the peer is answered: it comes again. A peer that takes no
// answers makes no queue of them, and takes no records from other connections.
inline constexpr size_t kMostAnswers = 1024;

class Connection final : private SentBurstListener {
 public:
  Connection(Shared& shared, ConnectionId id, WireId wire_id, const Address& peer);
  ~Connection() override;

  // --- making it ---
  // This side asks. Errors: kInvalid for a name that is not in a table.
  Result<void> begin_connect(Nanos now, const ConnectionOptions& options);
  // The peer asked, at this NIC, and proved its address. Errors: kInvalid for a congestion name
  // nobody knows, kUnavailable where no datagram of a usable size passes.
  Result<void> begin_accept(Nanos now, const InitPacket& init, uint8_t nic);
  // The peer asks again, perhaps from another of its NICs: our answer was lost.
  void repeat_accept(const InitPacket& init, const Address& from, uint8_t nic);
  // Whether this init made it.
  bool made_by(const InitPacket& init) const {
    return accept_ && peer_id_ == init.connection && accept_->nonce == init.nonce;
  }

  // --- requests; see Endpoint ---
  Result<void> post_send(Nanos now, ChannelId channel, const Payload& payload,
                         OperationId operation, AckWish wish);
  Result<void> post_receive(Nanos now, ChannelId channel, const Payload& buffer,
                            OperationId operation, Fill fill);
  bool post_cancel(Nanos now, ChannelId channel, Direction direction, OperationId operation);
  void fill_at_once(ChannelId channel, OperationId receive) {
    incoming_.fill_at_once(channel, receive);
  }
  Result<void> post_paths(Nanos now, std::span<const uint16_t> paths);
  Result<void> post_discovery(Nanos now);
  void post_close(Nanos now);
  void post_abort(Nanos now);

  // --- input ---
  // A row of data segments whose headers continue each other.
  void handle_data(Nanos now, const DataRow& row);
  // `packet`: what of it is in the frame of `run`, whose segment `index` it is.
  void handle_control(Nanos now, const RxRun& run, uint32_t index,
                      std::span<const std::byte> packet);
  void handle_placed(Nanos now, const PlacedEvent& event);
  // A packet of which a switch left only the header.
  void handle_trimmed(Nanos now, const ConnectionHeader& header);
  // `nic`: of this host, that it came to.
  void handle_retry(Nanos now, const RetryPacket& retry, uint8_t nic);
  void handle_accept(Nanos now, const AcceptPacket& accept, uint8_t nic);
  void handle_refusal(Nanos now, ErrorCode code, events::CloseCause cause, const char* why,
                      const char* todo, uint64_t nonce);
  // False: not believed, since no packet that it names awaits an acknowledgement.
  bool handle_reset(Nanos now, const ResetPacket& reset);
  void handle_network_error(Nanos now, const NetworkError& error);
  void handle_timeout(Nanos now);

  // --- with cluster keys (connection_keyed.cc) ---
  // The key that proves the packets of this handshake; null: it is not keyed.
  const RingKey* key() const { return key_.get(); }
  const KeyNonce& key_nonce() const { return initiator_nonce_; }
  // The key that a packet with this header claims; null, and why: it need not be opened.
  SealKey* opener(const ConnectionHeader& header, events::DropReason& why);
  // For a row of data packets whose payload is not protected. `apart`: part of it was here before,
  // so that each is to be asked for alone.
  HeaderTags* checker(const ConnectionHeader& header, uint32_t segments, events::DropReason& why,
                      bool& apart);
  // A packet with this header was opened: it is from the peer.
  void note_opened(const ConnectionHeader& header);
  // Whether the peer has shown that it has the session's keys.
  bool confirmed() const { return confirmed_; }
  // Something without proof says that there will be no connection: it is told if none comes.
  void note_hint(const char* why) { hint_ = why; }

  // --- output ---
  // Adds what may leave; true: the batch is full and there may be more.
  bool transmit(Nanos now, TxBatch& batch);
  Nanos next_timeout() const;
  bool predict(Prediction& prediction) const;

  // --- what it is ---
  ConnectionId id() const { return id_; }
  WireId wire_id() const { return wire_id_; }
  const Address& peer() const { return peer_; }
  // Whether the peer may send from there.
  bool is_peer(const Address& from) const {
    return peer_.host == from.host || (pairs_ && pairs_->knows(from));
  }
  uint32_t peer_id() const { return peer_id_; }
  WireId peer_wire_id() const { return peer_wire_id_; }
  // The address it was made with: where the peer receives may change.
  Address made_with() const { return {peer_.host, peer_.scope, made_with_port_}; }
  bool handshaking() const { return state_ == events::ConnectionState::kHandshaking; }
  bool over() const { return state_ == events::ConnectionState::kClosed; }
  // Over, and nothing is left to say: it may be destroyed.
  bool gone() const { return over() && last_words_left_ == 0 && !fencing_; }
  const ConnectionStatistics& statistics();
  std::vector<PathStatistics> path_statistics() const;
  // False: nobody asked for them.
  bool ways(FabricWays& found) const;
  size_t bytes_held() const;
  // Whether it has payload to come or to go: then its peer is watched closely.
  bool busy() const { return outgoing_.posted() > 0 || incoming_.posted() > 0; }
  // Forgets that it received payload, if that was before `horizon`.
  void settle_receiving(Nanos horizon);

 private:
  // connection.cc
  void set_state(Nanos now, events::ConnectionState state);
  void finish(Nanos now, events::CloseCause cause, Error error);
  void end_receives();
  void heard(Nanos now);
  void end_by_protocol_error(Nanos now, const char* what);
  void advance_close(Nanos now);
  void count_needless(const SentBurst& run, uint32_t first, uint32_t count);
  void say_last(CloseReason reason, uint8_t times = 1);
  void watch(Nanos now);
  Nanos grant_due(Nanos now, const Payload& buffer, bool heard) const;
  uint64_t own_window() const;
  void on_acked(const SentBurst& run, uint32_t first, uint32_t count, bool was_lost) override;
  void on_lost(const SentBurst& run, uint32_t first, uint32_t count,
               events::LossCause cause) override;

  // connection_handshake.cc
  HandshakeParameters own_parameters() const;
  Result<void> open(Nanos now, const HandshakeParameters& peer, std::string_view congestion,
                    Nanos first_rtt);
  bool send_init(Nanos now, TxBatch& batch);
  bool send_accept(TxBatch& batch);

  // connection_keyed.cc
  void begin_session(const KeyNonce& initiator_nonce, const KeyNonce& acceptor_nonce);
  // The key of the next burst of so many segments, before its headers are written; null: in clear.
  SealKey* seal_next(Nanos now, uint32_t segments);
  void protect(TxBurst& burst, std::byte* headers, SealKey* seal);
  bool may_open(const ConnectionHeader& header, uint32_t segments, events::DropReason& why,
                bool& apart);
  // Whether tags stand behind data headers, instead of behind sealed payload.
  bool tags_headers() const {
    return session_ && shared_.options.protection == Protection::kHeaders;
  }
  uint32_t tag_bytes() const { return session_ ? kTagBytes : 0; }

  // connection_receive.cc
  bool known_number(Nanos now, const ConnectionHeader& header, uint64_t low, uint64_t high);
  bool impossible_number(Nanos now, const ConnectionHeader& header, uint64_t last);
  void handle_row_apart(Nanos now, const DataRow& row);
  // A control packet that is being taken in.
  struct ControlInput {
    const RxRun& run;
    uint32_t index;
    std::span<const std::byte> packet;
    ConnectionHeader header;
    bool crowded = false;        // many answers wait already: questions in it come again
    uint32_t message_bytes = 0;  // of the message in it
    uint32_t datagram_bytes = 0;
    bool refused = false;      // something in it breaks a rule: the packet does not count
    bool comes_again = false;  // there is no room for something in it: nor does it then
    bool acknowledges = false;
  };
  bool new_sealed(Nanos now, const ConnectionHeader& header, bool numbered);
  bool handle_frames(Nanos now, Reader& reader, ControlInput& input);
  bool handle_message(Nanos now, Reader& reader, ControlInput& input);
  bool handle_frame(Nanos now, FrameType type, Reader& reader, ControlInput& input);
  // What the peer posts on other channels is not remembered: it never meets anything.
  bool sends_on(ChannelId channel) const { return channel < shared_.options.max_channels; }
  void handle_close_frame(Nanos now, CloseReason reason);
  void count_receiving(Nanos now);

  // connection_transmit.cc
  enum class Sent : uint8_t { kOne, kNothing, kFull };
  Sent send_burst(Nanos now, TxBatch& batch);
  Sent send_message(Nanos now, TxBatch& batch, const Piece& piece, const SendQuota& quota);
  uint8_t flags_of(const Piece& piece, uint32_t bytes, const SendQuota& quota) const;
  bool rest_leaves(const Piece& piece, const SendQuota& quota) const;
  void count_sent(Nanos now, const Piece& piece, const SentBurst& run, uint16_t path,
                  uint32_t bytes);
  Sent send_control(Nanos now, TxBatch& batch);
  void write_frames(SentBurst& run, Writer& writer);
  static uint32_t answers_in(const SentBurst& run);
  void tell(const ControlRecord& record);
  void send_frames_by(Nanos at);
  bool control_due(Nanos now) const;
  bool send_last_words(Nanos now, TxBatch& batch);
  Sent write_control(Nanos now, TxBatch& batch, uint16_t path, bool ping, uint32_t padded_to);
  ConnectionHeader header(Nanos now, PacketType type, uint16_t path, uint8_t flags) const;
  void write_record(ControlRecord& record, Writer& writer);
  TxBurst single(size_t bytes, uint16_t path, const std::byte* packet) const;
  void take_truncated();

  // connection_credits.cc
  // Of a segment: everything but its payload.
  uint32_t data_header_bytes() const { return kDataHeaderBytes + tag_bytes(); }
  static uint64_t cost_of(const SentBurst& run, uint32_t first, uint32_t count) {
    return credit_cost(run.bytes(first, count), count);
  }
  void wish_for_credits();
  bool agree_on_credits(const HandshakeParameters& wishes);
  void open_credits(uint64_t theirs, uint64_t ours);
  void update_demand(Nanos now);
  bool has_credit(const Piece& piece);
  uint32_t segments_with_credit(const Piece& piece, uint32_t segments, uint32_t step) const;
  bool handle_credit_frame(Nanos now, FrameType type, Reader& reader);
  void count_arrival(Nanos now, uint64_t bytes, uint32_t datagrams, bool repeat);
  void measure_for_credits(Nanos now);
  void write_answers(Nanos now, Writer& writer);

  // connection_trimmed.cc
  static constexpr size_t kMostTrims = 64;  // that wait to be told of
  bool handle_trim_frame(Nanos now, Reader& reader);
  void write_trims(Writer& writer);

  // connection_discovery.cc
  // A look at the ways of the fabric, under way or kept for whoever asked.
  struct Discovering {
    Discovering(Nanos now, uint16_t paths) : discovery(now, paths) {}
    Discovery discovery;
    uint64_t mark = 0;  // that its probes carry
    bool kept = false;  // somebody asked for what it finds
    bool told = false;  // done
  };
  void plan_discovery(Nanos now);
  void begin_discovery(Nanos now);
  bool discover(Nanos now, TxBatch& batch);
  void send_probe(Nanos now, TxBatch& batch, const Discovery::Probe& probe);
  void handle_time_exceeded(const NetworkError& error);
  bool quotes_own_packet(const NetworkError& error) const;
  void end_discovery(Nanos now);
  void tell_routers(Nanos now, const FabricWays& found);

  // connection_nics.cc
  bool tells_nics() const { return shared_.options.chunk_paths == 0; }
  void turn_to_nic(uint32_t number);
  void open_nics(Nanos now, const HandshakeParameters& peer);
  void direct(TxBurst& burst) const;
  void watch_nics(Nanos now);
  bool talk_between_nics(Nanos now, TxBatch& batch);
  void send_nic_frame(Nanos now, TxBatch& batch, FrameType type, const NicPairs::Message& message);
  bool handle_nic_frame(Nanos now, FrameType type, Reader& reader, const ControlInput& input);

  // connection_placed.cc
  void open_placed(const HandshakeParameters& peer, SendOptions& send);
  Sent send_chunk(Nanos now, TxBatch& batch, const Piece& piece);
  Sent send_empty_chunk(Nanos now, TxBatch& batch, uint16_t path);
  void write_chunk(Nanos now, TxBatch& batch, uint16_t path, const Immediate& immediate,
                   const TxBurst& burst, const RemotePlace& place);
  void handle_arrived(Nanos now, const PlacedEvent& event);
  void handle_fenced(const PlacedEvent& event);
  bool handle_fence_frame(Nanos now, FrameType type, const FenceFrame& fence);
  void take_fences();
  void watch_fences(Nanos now);

  // connection_keepalive.cc
  void check_peer(Nanos now);
  void check_handshake(Nanos now);
  void declare_dead(Nanos now, const char* why);

  Shared& shared_;
  ConnectionId id_;
  uint32_t peer_id_ = 0;
  WireId wire_id_;           // what packets to this side call it
  WireId peer_wire_id_ = 0;  // and packets to the peer
  Address peer_;
  uint16_t made_with_port_;
  uint8_t nic_ = 0;  // of this host, that the handshake goes by
  events::ConnectionState state_ = events::ConnectionState::kHandshaking;
  bool initiator_ = false;

  Outgoing outgoing_;
  Incoming incoming_;
  SendController sender_;
  AckMaker acks_{shared_.ranges};
  AckMaker chunk_acks_{shared_.ranges};  // of remote writes
  Fences fences_;
  Nanos fence_at_ = Nanos::never();  // when a message that waits for a fence asks for it
  uint32_t chunk_bytes_ = 0;         // 0: nothing is written remotely
  bool fencing_ = false;  // over, but its receives wait until nothing can be written any more
  Error end_error_;       // told when they have ended
  bool end_graceful_ = false;
  CreditBalance credit_;                  // to send with, where credits are agreed
  Nanos demand_at_ = Nanos::never();      // when a demand that got nothing is told again
  CreditAccount account_;                 // of the peer, with shared_.credits
  std::vector<TrimFrame> trimmed_;        // what the peer is to be told of
  bool reads_trims_ = false;              // the peer
  uint32_t answers_under_way_ = 0;        // of frames_: neither acknowledged nor lost
  Ring<ControlRecord> frames_;            // that the peer must get and that are not on their way
  Nanos frames_due_at_ = Nanos::never();  // they may wait for company until then

  std::unique_ptr<NicPairs> pairs_;  // where a side has several NICs, and both know of such
  uint32_t path_changes_seen_ = 0;   // when it was last looked which lanes work
  uint32_t routers_told_ = 0;        // a hash of the latest routers that were told
  std::unique_ptr<Discovering> discovering_;
  Nanos discover_at_ = Nanos::never();            // the next look, where there are any
  uint64_t discovered_after_bytes_ = UINT64_MAX;  // sent, when the latest look began
  bool discovers_ = false;                        // by itself
  bool fixed_ = false;                            // the caller chose the paths

  // Handshake.
  ConnectionOptions options_;
  std::unique_ptr<InitPacket> init_;  // while this side asks
  Nanos began_at_;
  Nanos init_at_ = Nanos::never();  // when to send the next init
  uint8_t inits_sent_ = 0;
  std::unique_ptr<AcceptPacket> accept_;  // where the peer asked
  bool accept_due_ = false;

  // With cluster keys.
  KeyNonce initiator_nonce_{};  // of the handshake
  std::shared_ptr<const RingKey> key_;
  std::unique_ptr<Session> session_;  // once both nonces are known
  Nanos epoch_began_at_;              // of what is sealed
  bool confirmed_ = false;
  const char* hint_ = nullptr;

  // The peer's life.
  Nanos heard_at_;
  Nanos keepalive_at_ = Nanos::never();
  Nanos refused_since_ =
      Nanos::never();  // ICMP says that nobody listens, and nothing was heard since
  bool ping_due_ = false;

  // Close.
  bool close_wanted_ = false;
  bool close_sent_ = false;
  bool close_acked_ = false;
  CloseReason last_words_ = CloseReason::kAborted;  // sent when it is over
  uint8_t last_words_left_ = 0;                     // packets that say so, each on another path
  Nanos close_by_ = Nanos::never();

  Nanos payload_at_;               // payload last received
  uint32_t expected_step_ = 0;     // of the rows that arrive: payload of a segment
  bool receiving_ = false;         // counted in shared_.receiving
  uint64_t needless_repeats_ = 0;  // in segments of what was repeated
  ConnectionStatistics statistics_;
};

}  // namespace heddle::transport
