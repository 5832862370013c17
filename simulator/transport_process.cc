// The lifetime of a bare transport endpoint in a process.
#include "simulator/transport_process.h"

#include <algorithm>

namespace heddle::simulator {
namespace {

// Shared, because only one process runs at a time, and thousands of them would need 10 kB each.
datapath::RxBatch& shared_input() {
  static thread_local datapath::RxBatch batch;
  return batch;
}

}  // namespace

TransportProcess::TransportProcess(Network& network, const TransportProcessOptions& options,
                                   uint64_t seed)
    : Process(network, options.process, seed), options_(options) {}

TransportProcess::Life::Life(Network& network, const TransportProcessOptions& options,
                             uint64_t seed)
    : datapath(network, options.process.datapath),
      endpoint(endpoint_options(datapath, options, seed, eager), seed, options.sink),
      driver(endpoint, datapath, &shared_input()),
      takeover(datapath.now(), options.takeover_after) {}

transport::EndpointOptions TransportProcess::Life::endpoint_options(
    SimDatapath& datapath, const TransportProcessOptions& options, uint64_t seed,
    std::vector<std::byte>& eager) {
  transport::EndpointOptions made = options.transport;
  const datapath::Capabilities& can = datapath.capabilities();
  made.max_datagram_bytes = can.max_datagram_bytes;
  made.receive_capacity = can.receive_capacity;
  made.max_paths = std::min(made.max_paths, can.max_paths);
  made.default_paths = std::min(made.default_paths, made.max_paths);
  made.chunk_paths = can.chunk_paths;
  made.chunk_bytes = can.chunk_bytes;
  made.reliable_chunks = can.reliable_chunks;
  made.nics = datapath.local_nics();
  made.reply_port = datapath.local_address().port;
  made.eager_region = transport::kNoRegion;
  if (made.eager_bytes.count > 0 && options.virtual_eager) {
    made.eager_region = datapath.register_virtual(seed, made.eager_bytes.count);
  } else if (made.eager_bytes.count > 0) {
    eager.resize(made.eager_bytes.count);
    made.eager_region = *datapath.register_memory(eager.data(), eager.size());
  }
  return made;
}

transport::RegionId TransportProcess::register_virtual(uint64_t pattern, uint64_t bytes) {
  const transport::RegionId region = life_->datapath.register_virtual(pattern, bytes);
  const transport::MemoryToken token = life_->datapath.token(region);
  if (token.length > 0) life_->endpoint.set_token(region, token);
  return region;
}

SimDatapath& TransportProcess::begin_life(uint64_t seed) {
  life_ = std::make_unique<Life>(network(), options_, seed);
  return life_->datapath;
}

Nanos TransportProcess::drive() {
  if (program_ != nullptr) program_->handle_drive(true);
  const Nanos wanted = life_->driver.turn();
  if (program_ != nullptr) program_->handle_drive(false);
  return wanted;
}

Nanos TransportProcess::caller_turn() {
  const Nanos time = life_->datapath.now();
  life_->takeover.on_caller(time);
  const Nanos wanted = drive();
  const bool posted = program_ != nullptr && program_->handle_turn(*this);
  return posted ? time : wanted;
}

Nanos TransportProcess::helper_look() {
  const Nanos time = life_->datapath.now();
  if (life_->takeover.helper_may_drive(time)) life_->helper_wanted = drive();
  return life_->takeover.next_look(time, life_->helper_wanted, true);
}

}  // namespace heddle::simulator
