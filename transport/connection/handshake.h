// Handshake: how a connection is made: init, cookie and accept; what each side offers, and what
// both agree on. The endpoint passes it the packets of strangers; the connection asks it what to
// send and when.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "transport/extensions/extension_set.h"
#include "transport/wire/handshake.h"

namespace heddle::transport {

class Handshake {
 public:
  Handshake(ConnectionParts& parts, ExtensionSet& extensions)
      : parts_(parts), extensions_(extensions) {}

  // --- this side asks ---
  // Errors: kInvalid for a name that is not in a table.
  Result<void> begin_connect(Nanos now, const ConnectionOptions& options);
  // Whether this nonce is that of its init.
  bool is_answer(uint64_t nonce) const { return init_ && init_->nonce == nonce; }
  void on_retry(Nanos now, const RetryPacket& retry, uint8_t nic);
  // Takes over what the peer answered, and settles the options.
  void on_accept(const AcceptPacket& accept, uint8_t nic);
  // Forgets the init: everything in it is agreed.
  void end() { init_.reset(); }
  // Something without proof says that there will be no connection: an error that it times out with
  // mentions that.
  void note_hint(const char* why) { hint_ = why; }
  bool timed_out(Nanos now) const;
  Error timeout_error() const;

  // --- the peer asks ---
  void begin_accept(const InitPacket& init, uint8_t nic);
  // The accept leaves, perhaps again.
  void send_accept_for(const InitPacket& init);
  bool accept_due() const { return accept_due_; }
  // Whether this init began it.
  bool made_by(const InitPacket& init) const;

  // --- both ---
  const ConnectionOptions& options() const { return options_; }
  Agreement agreement_with(const HandshakeParameters& peer) const;
  // Errors: kUnavailable (no datagram of a usable size passes), kInvalid (a congestion controller
  // without that name).
  Result<OpenPlan> plan(const HandshakeParameters& peer, Nanos first_rtt);
  // Whether an ICMP error is about a packet of this connection. Only a host that saw one knows what
  // it begins with: the peer's id of the connection, or the nonce of the handshake.
  bool quotes_own_packet(const NetworkError& error) const;
  // Adds the init, or the accept, that is due. False: the batch has no room.
  bool send_init(Nanos now, TxBatch& batch);
  bool send_accept(TxBatch& batch);
  // While the connection is not open.
  Nanos next_timeout() const;
  bool init_due(Nanos now) const { return init_at_ <= now; }

 private:
  HandshakeParameters own_parameters() const;
  void choose_nic(uint32_t number);
  void add_init(TxBatch& batch);

  ConnectionParts& parts_;
  ExtensionSet& extensions_;
  ConnectionOptions options_;
  std::unique_ptr<InitPacket> init_;      // while this side asks
  std::unique_ptr<AcceptPacket> accept_;  // where the peer asked
  Nanos began_at_;
  Nanos init_at_ = Nanos::never();  // when to send the next init
  const char* hint_ = nullptr;
  uint8_t inits_sent_ = 0;
  uint16_t next_path_ = 0;  // of the next init
  bool accept_due_ = false;
};

}  // namespace heddle::transport
