// SimulatedRank: a RankProgram in a process of the simulated world, which gives it its turns and
// the time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "jobs/rank_program.h"
#include "simulator/engine_process.h"

namespace heddle::jobs {

class SimulatedRank : public simulator::EngineProgram,
                      private simulator::Agent,
                      private RankSurface {
 public:
  // All outlive it. It waits for begin() when it is ready. `zero`: time 0, once it is known.
  SimulatedRank(JobSurroundings& surroundings, uint32_t rank, simulator::EngineProcess& process,
                const Nanos& zero);
  ~SimulatedRank() override;
  SimulatedRank(const SimulatedRank&) = delete;
  SimulatedRank& operator=(const SimulatedRank&) = delete;

  RankProgram& program() { return *program_; }
  const RankProgram& program() const { return *program_; }

 private:
  bool handle_turn(simulator::EngineProcess& process) override;
  void run(Nanos now) override;
  Nanos now() const override;
  void wake_at(Nanos at) override;
  void on_step(uint32_t step) override;

  simulator::EngineProcess& process_;
  const Nanos& zero_;
  simulator::AgentId agent_;
  std::unique_ptr<RankProgram> program_;
};

}  // namespace heddle::jobs
