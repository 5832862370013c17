// Process: a program with an endpoint on a simulated host, scheduled as an operating system would.
// It gets a turn when its driver asked for one and when something arrives; a turn takes time. It
// can be stopped (SIGSTOP), left by its caller (then the engine's takeover policy drives), killed
// without a goodbye, and started again as a new process that knows nothing. What an endpoint is
// stands in the derived classes.
#pragma once

#include <cstdint>

#include "base/nanos.h"
#include "base/random.h"
#include "simulator/network.h"
#include "simulator/sim_datapath.h"

namespace heddle::simulator {

struct ProcessOptions {
  SimDatapathOptions datapath;
  Nanos turn_time = nanos(500);  // of the CPU, a turn; at least 1 ns
  Nanos datagram_time;           // and for each datagram sent or received in it
  Nanos wake_delay_most;         // until it runs after something arrived, at random up to this
};

class Process : private Agent, private Wakeup {
 public:
  // Not running yet; see start(). `network` must outlive it.
  Process(Network& network, const ProcessOptions& options, uint64_t seed);
  ~Process() override;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Nothing happens where it is so already.
  void start();
  void kill();   // its port is closed: the host refuses what comes
  void pause();  // no turn until resume(); what arrives waits as far as there is room
  void resume();
  // The caller makes no calls any more, or makes them again.
  void set_caller_away(bool away);
  // Its caller posted something: a turn as soon as the CPU is free.
  void poke();

  bool running() const { return datapath_ != nullptr; }
  bool attended() const { return running() && !paused_ && !away_; }
  uint32_t lives() const { return lives_; }
  transport::Address address() const;
  // Of this host's clock.
  Nanos now() const { return network_.now() + options_.datapath.clock_offset; }
  Network& network() { return network_; }
  const ProcessOptions& options() const { return options_; }
  uint64_t turns() const { return turns_; }

 protected:
  // Makes the endpoint with random choices from `seed`; returns the datapath that it lives on.
  virtual SimDatapath& begin_life(uint64_t seed) = 0;
  virtual void end_life() = 0;
  // The caller gives a turn and looks at what it brought; returns when it wants the next, as
  // Driver::turn().
  virtual Nanos caller_turn() = 0;
  // The helper looks; returns when it wants to look again.
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
