// TransportProcess: a process whose endpoint is a bare transport::Endpoint with the production
// driver, for programs that speak the transport's own language: post_*, completions, notices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/driver.h"
#include "engine/takeover.h"
#include "simulator/process.h"
#include "transport/endpoint.h"

namespace heddle::events {
class Sink;
}

namespace heddle::simulator {

struct TransportProcessOptions {
  ProcessOptions process;
  // Its eager_region, max_datagram_bytes, receive_capacity and what tells of remote writes are
  // taken from the datapath, max_paths is lowered to what the datapath has.
  transport::EndpointOptions transport;
  events::Sink* sink = nullptr;
  Nanos takeover_after = millis(5);
  // Eager memory holds names of virtual bytes; real payload needs real memory.
  bool virtual_eager = true;
};

class TransportProcess;

// What runs in the process.
class TransportProgram {
 public:
  virtual ~TransportProgram() = default;
  // After every turn of its caller: takes notices and completions and posts what comes next. True:
  // it posted, so another turn is due at once.
  virtual bool handle_turn(TransportProcess& process) = 0;
  // The driver begins a turn, or has ended it.
  virtual void handle_drive(bool begins) { static_cast<void>(begins); }
};

class TransportProcess final : public Process {
 public:
  TransportProcess(Network& network, const TransportProcessOptions& options, uint64_t seed);
  ~TransportProcess() override { kill(); }

  // May be null; must outlive the process's turns.
  void set_program(TransportProgram* program) { program_ = program; }

  // Virtual memory that holds the bytes of `pattern` at first; where the network can, peers may
  // write it remotely.
  transport::RegionId register_virtual(uint64_t pattern, uint64_t bytes);

  // Only while it runs.
  transport::Endpoint& endpoint() { return life_->endpoint; }
  SimDatapath& datapath() { return life_->datapath; }
  engine::Driver& driver() { return life_->driver; }

 private:
  struct Life {
    Life(Network& network, const TransportProcessOptions& options, uint64_t seed);

    static transport::EndpointOptions endpoint_options(SimDatapath& datapath,
                                                       const TransportProcessOptions& options,
                                                       uint64_t seed,
                                                       std::vector<std::byte>& eager);

    std::vector<std::byte> eager;  // where it is not virtual
    SimDatapath datapath;
    transport::Endpoint endpoint;
    engine::Driver driver;
    engine::Takeover takeover;
    Nanos helper_wanted = Nanos::never();
  };

  SimDatapath& begin_life(uint64_t seed) override;
  void end_life() override { life_.reset(); }
  Nanos caller_turn() override;
  Nanos helper_look() override;
  Nanos drive();

  TransportProcessOptions options_;
  TransportProgram* program_ = nullptr;
  std::unique_ptr<Life> life_;
};

}  // namespace heddle::simulator
