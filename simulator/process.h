// Process: a program with an endpoint on a simulated host, scheduled as by an operating system. It
// runs when its driver requested a turn or when input arrives; a turn takes time. It can be stopped
// (SIGSTOP), abandoned by its caller (the engine's takeover policy then drives), killed without a
// close, and started again as a new process without state. Derived classes define the endpoint.
#pragma once

#include <cstdint>

#include "base/nanos.h"
#include "base/random.h"
#include "simulator/network.h"
#include "simulator/sim_datapath.h"

namespace heddle::simulator {

struct ProcessOptions {
  SimDatapathOptions datapath;
  Nanos turn_time = nanos(500);  // CPU time per turn; at least 1 ns
  Nanos datagram_time;           // additional time per datagram sent or received
  Nanos wake_delay_most;         // maximum random delay between input and its turn
};

class Process : private Agent, private Wakeup {
 public:
  // Creates it stopped; see start(). `network` must outlive it.
  Process(Network& network, const ProcessOptions& options, uint64_t seed);
  ~Process() override;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Each call has no effect if the state is already reached.
  void start();
  void kill();   // its port closes: the host refuses packets
  void pause();  // no turn until resume(); input waits while the queue has room
  void resume();
  // The caller stops making calls, or resumes.
  void set_caller_away(bool away);
  // The caller posted an operation: requests a turn as soon as the CPU is free.
  void poke();

  bool running() const { return datapath_ != nullptr; }
  bool attended() const { return running() && !paused_ && !away_; }
  uint32_t lives() const { return lives_; }
  transport::Address address() const;
  // The time on this host's clock.
  Nanos now() const { return network_.now() + options_.datapath.clock_offset; }
  Network& network() { return network_; }
  const ProcessOptions& options() const { return options_; }
  uint64_t turns() const { return turns_; }

 protected:
  // Creates the endpoint, with random choices from `seed`; returns its datapath.
  virtual SimDatapath& begin_life(uint64_t seed) = 0;
  virtual void end_life() = 0;
  // The caller runs a turn and handles its results; returns the time of the next one, like
  // Driver::turn().
  virtual Nanos caller_turn() = 0;
  // The helper's check; returns the time of the next one.
  virtual Nanos helper_look() = 0;

 private:
  void run(Nanos now) override;
  void handle_ready() override;
  void schedule(Nanos at);
  uint64_t datagrams() const;

  Network& network_;
  ProcessOptions options_;
  Random random_;
  AgentId agent_;
  SimDatapath* datapath_ = nullptr;
  uint32_t lives_ = 0;
  bool paused_ = false;
  bool away_ = false;
  Nanos busy_until_;
  uint64_t turns_ = 0;
};

}  // namespace heddle::simulator
