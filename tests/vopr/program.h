// Program: uses the transport on one machine: connects, posts, cancels and closes at random, checks
// the results, and frees memory for immediate reuse. When the faults have stopped, it posts the
// operations that are needed for all others to end. After a crash of its process, only the ledger's
// record remains.
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
  kSettle,  // post missing operations, and wait
  kIdle,    // do nothing
  kClose,   // close every connection
};

// State shared by the programs of one run.
struct Stage {
  const Options& options;
  Report& report;
  Ledger& ledger;
  Outcomes& outcomes;
  Reached& reached;
  std::vector<transport::Address> addresses;  // of the hosts, the foreigner, and an unused address
  Phase phase = Phase::kFaults;
  uint64_t bytes_posted = 0;
  uint32_t reconnects_left = 0;
};

class Program final : public Caller {
 public:
  Program(Machine& machine, simulator::Network& network, uint32_t host, Stage& stage);

  // Requests a connection in its next turn.
  void connect_to(uint32_t peer) { wanted_.push_back(peer); }
  // Call when its process has crashed.
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
  Random fixed_;  // separate, so that the other choices of a seed stay the same
  std::vector<uint32_t> wanted_;
  std::vector<Side*> sides_;  // open ones of this process
  std::vector<Side*> ended_;  // whose end was notified and is to be judged
  Nanos act_at_;
  bool closing_ = false;
};

}  // namespace heddle::vopr
