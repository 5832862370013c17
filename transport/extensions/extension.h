// Extension: an optional feature of the protocol, as the connection sees it. An extension owns the
// state of its feature, takes the frames of its types, and may send packets and frames of its own.
// extension_set.cc lists all of them. One with frames of its own needs more than a file here and a
// line there: see "New frame type" in CONTRIBUTING.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/nanos.h"
#include "transport/messages/outgoing.h"
#include "transport/options.h"
#include "transport/recovery/sent_bursts.h"
#include "transport/rx_run.h"
#include "transport/send/send_controller.h"
#include "transport/tx_batch.h"
#include "transport/wire/control.h"
#include "transport/wire/handshake.h"

namespace heddle::transport {

struct ConnectionParts;
struct Shared;

// What became of a frame of the peer.
struct FrameResult {
  bool readable = true;
  const char* violation = nullptr;  // not null: it breaks the protocol, and the connection ends
  bool refused = false;             // it exceeds a limit: its packet does not count
  bool comes_again = false;         // it had no effect: its packet is not acknowledged
};
inline constexpr FrameResult kMalformedFrame{false, nullptr};

// What a frame of the peer came in.
struct FrameOrigin {
  const RxRun& run;
  bool crowded = false;  // many answers wait: a frame that has one (has_answer()) must come again
};

// What the handshake has settled, to be adapted before the connection opens.
struct OpenPlan {
  SendOptions send;
  PeerLimits peer_limits;
};

// Both sides of a handshake that is complete.
struct Agreement {
  const HandshakeParameters& own;
  const HandshakeParameters& peer;
  const ConnectionOptions& options;
};

class Extension {
 public:
  // Hooks that are called often. An extension names those that it implements as bits of hooks().
  enum class Hook : uint8_t {
    kTransmit,
    kFramesDue,
    kFrames,  // write_frames()
    kTimeout,
    kAcked,
    kLost,
    kCount,
  };
  static constexpr uint32_t bit(Hook hook) { return 1u << static_cast<uint32_t>(hook); }

  explicit Extension(ConnectionParts& parts) : parts_(parts) {}
  virtual ~Extension() = default;
  Extension(const Extension&) = delete;
  Extension& operator=(const Extension&) = delete;

  // An endpoint begins: sets what the feature needs in the state that its connections share.
  static void open_endpoint(Shared& /*shared*/) {}

  virtual uint32_t hooks() const = 0;
  // Whether the open connection needs it; otherwise it is destroyed after on_open().
  virtual bool needed() const { return true; }

  // --- the handshake ---
  // Adds to what this side offers. `offered`: by the peer, which asked; null: this side asks.
  // `congestion`: the chosen controller's name; the name that is left there is sent.
  virtual void propose(const HandshakeParameters* /*offered*/, HandshakeParameters& /*own*/,
                       std::string& /*congestion*/) {}
  // The peer has accepted. `congestion`: the name that was sent; the one left there is used.
  virtual void settle(const HandshakeParameters& /*own*/, const HandshakeParameters& /*peer*/,
                      std::string& /*congestion*/) {}
  virtual void prepare(const HandshakeParameters& /*peer*/, OpenPlan& /*plan*/) {}
  virtual void on_open(Nanos /*now*/, const Agreement& /*agreement*/) {}
  // The connection is over.
  virtual void on_close() {}

  // --- received ---
  // A frame of one of its types; `reader` is behind the type.
  virtual FrameResult on_frame(Nanos /*now*/, FrameType /*type*/, Reader& /*reader*/,
                               const FrameOrigin& /*from*/) {
    return kMalformedFrame;
  }
  // A switch cut off all of a packet but this header.
  virtual void on_truncated_packet(const ConnectionHeader& /*header*/) {}
  virtual void on_network_error(const NetworkError& /*error*/) {}

  // --- sent ---
  // Adds packets of its own; true: the batch has no room for them.
  virtual bool transmit(Nanos /*now*/, TxBatch& /*batch*/) { return false; }
  // Whether a control packet is due for its frames. An extension that knows when it gets one sets
  // ConnectionParts::reports_due instead.
  virtual bool frames_due(Nanos /*now*/) const { return false; }
  // Writes frames that are not retransmitted, as far as the space goes; sets reports_due if some
  // are left.
  virtual void write_frames(Nanos /*now*/, Writer& /*writer*/) {}
  // Writes a frame of one of its types that is retransmitted (see ControlQueue).
  virtual void write_record(ControlRecord& /*record*/, Writer& /*writer*/) {}
  // Segments [first, first + count) of `sent` arrived, or are declared lost for this cause.
  virtual void on_acked(const SentBurst& /*sent*/, uint32_t /*first*/, uint32_t /*count*/,
                        bool /*was_lost*/) {}
  virtual void on_lost(const SentBurst& /*sent*/, uint32_t /*first*/, uint32_t /*count*/,
                       events::LossCause /*cause*/) {}

  // --- time ---
  virtual Nanos next_timeout() const { return Nanos::never(); }
  virtual void handle_timeout(Nanos /*now*/) {}
  // The peer was checked: time to give back memory that an idle connection does not need.
  virtual void release_memory(Nanos /*now*/) {}
  virtual size_t bytes_held() const = 0;

 protected:
  ConnectionParts& parts() { return parts_; }
  const ConnectionParts& parts() const { return parts_; }

 private:
  ConnectionParts& parts_;
};

}  // namespace heddle::transport
