// TransportProcess: a process with a bare transport::Endpoint and the production driver, for
// programs that use the transport's interface: post_*, completions, notices.
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
  // The datapath sets eager_region, max_datagram_bytes, receive_capacity and the options of remote
  // writes; max_paths is lowered to the datapath's maximum.
  transport::EndpointOptions transport;
  events::Sink* sink = nullptr;
  Nanos takeover_after = millis(5);
  // Eager memory is virtual and holds references; real payload needs real memory.
  bool virtual_eager = true;
};

class TransportProcess;

// The program of the process.
class TransportProgram {
 public:
  virtual ~TransportProgram() = default;
  // Called after every turn of the caller: takes notices and completions, and posts operations.
  // True: it posted, so another turn is due at once.
  virtual bool handle_turn(TransportProcess& process) = 0;
  // The driver begins or ends a turn.
  virtual void handle_drive(bool begins) { static_cast<void>(begins); }
};

class TransportProcess final : public Process {
 public:
  TransportProcess(Network& network, const TransportProcessOptions& options, uint64_t seed);
  ~TransportProcess() override { kill(); }

  // May be null; must outlive the process's turns.
  void set_program(TransportProgram* program) { program_ = program; }

  // Virtual memory that initially holds the bytes of `pattern`; peers may write to it where the
  // network supports remote writes.
  transport::RegionId register_virtual(uint64_t pattern, uint64_t bytes);

  // Only while the process runs.
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

    std::vector<std::byte> eager;  // if not virtual
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
