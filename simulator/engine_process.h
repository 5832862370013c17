// EngineProcess: a process with an engine endpoint on the simulated network, whose turns the
// simulator schedules. For programs that use the engine's interface.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/endpoint.h"
#include "engine/options.h"
#include "simulator/process.h"

namespace heddle::simulator {

struct EngineProcessOptions {
  ProcessOptions process;
  // Its drive mode and seed are overwritten.
  engine::Options engine;
};

class EngineProcess;

// The program of the process. It never waits: it polls (peek, status, accept without timeout) and
// posts.
class EngineProgram {
 public:
  virtual ~EngineProgram() = default;
  // Called after every turn of the caller. True: it posted, so another turn is due at once.
  virtual bool handle_turn(EngineProcess& process) = 0;
  // When another turn is due although nothing happens.
  virtual Nanos due_at() const { return Nanos::never(); }
};

class EngineProcess final : public Process {
 public:
  EngineProcess(Network& network, const EngineProcessOptions& options, uint64_t seed);
  ~EngineProcess() override { kill(); }

  // May be null; must outlive the process's turns.
  void set_program(EngineProgram* program) { program_ = program; }

  // Only while the process runs.
  engine::Endpoint& endpoint() { return *endpoint_; }
  SimDatapath& datapath() { return *datapath_; }

 private:
  SimDatapath& begin_life(uint64_t seed) override;
  void end_life() override;
  Nanos caller_turn() override;
  Nanos helper_look() override { return endpoint_->helper_turn(); }

  EngineProcessOptions options_;
  EngineProgram* program_ = nullptr;
  std::shared_ptr<SimDatapath> datapath_;
  std::unique_ptr<engine::Endpoint> endpoint_;
};

}  // namespace heddle::simulator
