// Program: what uses the transport on one machine: it connects, posts, withdraws and closes at
// random, checks what it gets, and gives memory back for reuse at once. When the faults have
// stopped it makes sure that everything posted can end. It survives the crash of its process only
// as a record in the ledger.
#pragma once

#include <unordered_map>
#include <vector>

#include "base/random.h"
#include "simulator/network.h"
#include "tests/vopr/checkers/ledger.h"
#include "tests/vopr/checkers/outcomes.h"
#include "tests/vopr/machine.h"
#include "tests/vopr/options.h"
#include "tests/vopr/reached.h"

namespace heddle::vopr {

enum class Phase : uint8_t {
  kFaults,  // act at random
  kSettle,  // post what is missing, and wait
  kIdle,    // do nothing
  kClose,   // close every connection
};

// What the programs of one run share.
struct Stage {
  const Options& options;
  Report& report;
  Ledger& ledger;
  Outcomes& outcomes;
  Reached& reached;
  std::vector<transport::Address> addresses;  // of the hosts, of a foreigner, of nobody
  Phase phase = Phase::kFaults;
  uint64_t bytes_posted = 0;
  uint32_t reconnects_left = 0;
};

class Program final : public Caller {
 public:
  Program(Machine& machine, simulator::Network& network, uint32_t host, Stage& stage);

  // Asks for a connection at its next turn.
  void connect_to(uint32_t peer) { wanted_.push_back(peer); }
  // Its process is gone.
  void on_crash();

  void handle_notice(const transport::Notice& notice) override;
  void handle_completion(const transport::Completion& completion) override;
  bool act(Nanos now) override;

 private:
  void connect(uint32_t peer);
  void fix_a_path(transport::ConnectionId connection);
  void act_at_random();
  void act_on(Side& side);
  void post_send(Side& side, transport::ChannelId channel, uint64_t length);
  void post_receive(Side& side, transport::ChannelId channel, uint64_t capacity);
  void check_refused(Side& side, transport::Direction direction, transport::ChannelId channel,
                     const Error& error);
  void send_at_random(Side& side);
  void receive_at_random(Side& side);
  void withdraw_unmatched(Side& side, transport::Direction direction);
  void cancel(Operation& operation);
  void cancel_one(Side& side);
  void misuse(Side& side);
  void post_missing(Side& side);
  void close(Side& side);
  std::optional<transport::Payload> make_payload(uint64_t length, uint64_t pattern);
  void take_back(const Operation& operation);
  uint64_t draw_length();
  bool per_thousand(uint32_t chance) { return random_.below(1000) < chance; }

  Machine& machine_;
  simulator::Network& network_;
  uint32_t host_;
  Stage& stage_;
  Random random_;
  Random fixed_;  // apart, so that the rest of what a seed does stays as it is
  std::vector<uint32_t> wanted_;
  std::vector<Side*> sides_;  // alive ones of this process
  std::vector<Side*> ended_;  // whose end was told and is to be judged
  Nanos act_at_;
  bool closing_ = false;
};

}  // namespace heddle::vopr
