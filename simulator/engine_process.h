// EngineProcess: a process whose endpoint is the engine's, with the simulated network beneath and
// the caller's turns in the simulator's hands, for programs that are written over the engine's
// face.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/endpoint.h"
#include "engine/options.h"
#include "simulator/process.h"

namespace heddle::simulator {

struct EngineProcessOptions {
  ProcessOptions process;
  // Its drive and seed are chosen here.
  engine::Options engine;
};

class EngineProcess;

// What runs in the process. It never waits: it looks (peek, status, accept without time) and posts.
class EngineProgram {
 public:
  virtual ~EngineProgram() = default;
  // After every turn of its caller. True: it posted, so another turn is due at once.
  virtual bool handle_turn(EngineProcess& process) = 0;
};

class EngineProcess final : public Process {
 public:
  EngineProcess(Network& network, const EngineProcessOptions& options, uint64_t seed);
  ~EngineProcess() override { kill(); }

  // May be null; must outlive the process's turns.
  void set_program(EngineProgram* program) { program_ = program; }

  // Only while it runs.
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
