// A rank in the simulated world: see simulated_rank.h.
#include "jobs/simulated/simulated_rank.h"

#include "events/events.h"

namespace heddle::jobs {

SimulatedRank::SimulatedRank(JobSurroundings& surroundings, uint32_t rank,
                             simulator::EngineProcess& process, const Nanos& zero)
    : process_(process),
      zero_(zero),
      agent_(process.network().add_agent(*this)),
      program_(new RankProgram(surroundings, rank, *this)) {
  process.set_program(this);
  process.poke();
}

SimulatedRank::~SimulatedRank() {
  process_.set_program(nullptr);
  program_.reset();
  process_.network().remove_agent(agent_);
}

bool SimulatedRank::handle_turn(simulator::EngineProcess& process) {
  return program_->step(process.endpoint());
}

void SimulatedRank::run(Nanos /*now*/) { process_.poke(); }

Nanos SimulatedRank::now() const { return process_.network().now() - zero_; }

void SimulatedRank::wake_at(Nanos at) { process_.network().schedule(agent_, zero_ + at); }

// As a program marks its phases.
void SimulatedRank::on_step(uint32_t step) {
  process_.endpoint().observe(events::Mark{{}, events::Text("step"), step});
}

}  // namespace heddle::jobs
