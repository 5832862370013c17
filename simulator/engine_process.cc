// The lifetime of an engine endpoint in a simulated process.
#include "simulator/engine_process.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace heddle::simulator {

EngineProcess::EngineProcess(Network& network, const EngineProcessOptions& options, uint64_t seed)
    : Process(network, options.process, seed), options_(options) {}

SimDatapath& EngineProcess::begin_life(uint64_t seed) {
  engine::Options options = options_.engine;
  options.drive = engine::Drive::kExternal;
  options.seed = seed;
  datapath_ = std::make_shared<SimDatapath>(network(), options_.process.datapath);
  Result<std::unique_ptr<engine::Endpoint>> made = engine::Endpoint::create(datapath_, options);
  CHECK(made.has_value());
  endpoint_ = std::move(made).value();
  return *datapath_;
}

// The endpoint's destructor would notify its peers; a killed process sends nothing.
void EngineProcess::end_life() {
  datapath_->fall_silent();
  endpoint_.reset();
  datapath_.reset();
}

Nanos EngineProcess::caller_turn() {
  const Nanos time = datapath_->now();
  const Nanos wanted = endpoint_->turn();
  const bool posted = program_ != nullptr && program_->handle_turn(*this);
  if (posted) return time;
  return program_ == nullptr ? wanted : std::min(wanted, program_->due_at());
}

}  // namespace heddle::simulator
