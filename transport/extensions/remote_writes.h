// RemoteWrites: payload that the NIC writes into the peer's memory, chunk by chunk, instead of
// datagrams (see transport/placed.h). It sends chunks, acknowledges those that arrive, fences paths
// so that no late write changes a buffer that is complete, and recalls writes so that no NIC reads
// a buffer whose send has ended.
#pragma once

#include <array>
#include <vector>

#include "transport/connection/payload_strategy.h"
#include "transport/extensions/extension.h"
#include "transport/extensions/fences.h"
#include "transport/recovery/acknowledgements.h"

namespace heddle::transport {

class RemoteWrites final : public Extension, private PayloadStrategy {
 public:
  static constexpr std::array kFrames = {FrameType::kPlacedGrant, FrameType::kFenced,
                                         FrameType::kAskFence};

  static void open_endpoint(Shared& shared);
  explicit RemoteWrites(ConnectionParts& parts);

  uint32_t hooks() const override {
    return bit(Hook::kFramesDue) | bit(Hook::kFrames) | bit(Hook::kTimeout) | bit(Hook::kAcked) |
           bit(Hook::kLost);
  }
  bool needed() const override { return unit_bytes_ != 0; }
  void propose(const HandshakeParameters* offered, HandshakeParameters& own,
               std::string& congestion) override;
  void prepare(const HandshakeParameters& peer, OpenPlan& plan) override;
  void on_open(Nanos now, const Agreement& agreement) override;
  FrameResult on_frame(Nanos now, FrameType type, Reader& reader, const FrameOrigin& from) override;
  bool frames_due(Nanos now) const override { return acks_.due(now); }
  void write_frames(Nanos now, Writer& writer) override;
  void write_record(ControlRecord& record, Writer& writer) override;
  void on_acked(const SentBurst& sent, uint32_t first, uint32_t count, bool was_lost) override;
  void on_lost(const SentBurst& sent, uint32_t first, uint32_t count,
               events::LossCause cause) override;
  Nanos next_timeout() const override;
  void handle_timeout(Nanos now) override;
  void release_memory(Nanos now) override;
  size_t bytes_held() const override {
    return sizeof(*this) + acks_.bytes_held() + failures_.capacity();
  }

 private:
  // PayloadStrategy.
  bool claims(Piece& piece) override;
  SendResult send(Nanos now, TxBatch& batch, const Piece& piece) override;
  bool poll_quota(Nanos now, SendQuota& quota) override;
  bool claims_probe(uint16_t path) override;
  void send_probe(Nanos now, TxBatch& batch, uint16_t path) override;
  bool acks_pending() const override { return acks_.pending(); }
  uint16_t path_named(uint16_t name) const override;
  void on_data(Nanos now) override { await_fences(now); }
  void on_event(Nanos now, const NicEvent& event) override;
  void flush() override;
  bool close() override;
  bool drained() const override { return drained_; }

  // A write of a recorded packet.
  struct Chunk {
    uint16_t path = 0;
    uint32_t immediate = 0;
    RemotePlace place;
  };
  void write_chunk(Nanos now, TxBatch& batch, const Chunk& chunk, const TxBurst& burst);
  void recall(uint16_t chunk_path);
  uint16_t current_chunk_path() const;
  void on_arrived(Nanos now, const NicEvent& event);
  void on_write_failed(Nanos now, const NicEvent& event);
  void on_fenced(const NicEvent& event);
  FrameResult on_placed_grant(Reader& reader);
  bool on_fence_frame(Nanos now, FrameType type, const FenceFrame& fence);
  void await_fences(Nanos now);
  void count_chunk(bool lost);

  uint32_t unit_bytes_ = 0;      // of chunks; 0: the sides did not agree on remote writes
  uint32_t largest_chunk_ = 0;   // in units
  uint32_t chunk_units_ = 0;     // of the next chunk; fewer where chunks are lost
  uint32_t chunks_counted_ = 0;  // acknowledged or lost at this size
  uint32_t chunks_lost_ = 0;     // of these
  AckManager acks_;              // of chunks
  // By chunk path: how often it failed since it last carried payload, however long ago.
  std::vector<uint8_t> failures_;
  Fences fences_;
  Nanos fence_at_ = Nanos::never();  // when a message that waits for a fence requests it
  bool over_ = false;
  bool drained_ = false;  // no write of the peer can land any more
};

}  // namespace heddle::transport
