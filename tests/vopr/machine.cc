// The lives of a process and its resources; the calls of its program in a turn: see machine.h.
#include "tests/vopr/machine.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"

namespace heddle::vopr {

using simulator::ProcessChangeKind;

namespace {

// Turns between two checks of the endpoint's memory.
constexpr uint64_t kLookEvery = 32;

simulator::TransportProcessOptions process_options(const MachineOptions& options) {
  const HostOptions& host = options.host_options;
  simulator::TransportProcessOptions process;
  simulator::SimDatapathOptions& datapath = process.process.datapath;
  datapath.nic = options.host;
  datapath.further_nics = host.further_nics;
  datapath.port = Machine::kPort;
  datapath.max_paths = host.endpoint.max_paths;
  datapath.receive_capacity = host.socket_bytes;
  datapath.coalesces = host.coalesces;
  datapath.predicts = host.predicts;
  datapath.ecn = host.ecn;
  datapath.timestamps = host.timestamps;
  datapath.clock_offset = host.clock_offset;
  datapath.drops_gso_bursts = host.drops_gso_bursts;
  datapath.chunk_paths = host.chunk_paths;
  datapath.chunk_bytes = options.chunks.bytes;
  datapath.chunk_events = options.chunks.events;
  datapath.fence_takes = options.chunks.fence_takes;
  datapath.chunks.reliable = options.chunks.shape == PayloadShape::kReliableChunks;
  datapath.chunks.timeout = options.chunks.repeat_after;
  datapath.chunks.tries = options.chunks.tries;
  datapath.chunks.stall_every = options.chunks.stall_every;
  datapath.chunks.stall_for = options.chunks.stall_for;
  process.process.turn_time = host.turn_time;
  process.process.wake_delay_most = host.wake_delay_most;
  process.transport = host.endpoint;
  process.sink = options.sink;
  process.virtual_eager = options.virtual_memory;
  return process;
}

// An arena of host memory, or of virtual memory.
Arena make_arena(simulator::SimDatapath& datapath, const MachineOptions& options,
                 std::vector<std::unique_ptr<std::byte[]>>& memories) {
  if (options.virtual_memory) {
    constexpr uint64_t kBytes = Machine::kVirtualArenaBytes;
    return {datapath.register_virtual(memories.size(), kBytes), kBytes};
  }
  memories.push_back(std::make_unique_for_overwrite<std::byte[]>(Machine::kArenaBytes));
  return {*datapath.register_memory(memories.back().get(), Machine::kArenaBytes),
          Machine::kArenaBytes};
}

}  // namespace

Machine::Desk::Desk(simulator::SimDatapath& datapath, const MachineOptions& options)
    : receives(make_arena(datapath, options, memories)),
      sends(make_arena(datapath, options, memories)),
      memory(datapath) {
  memory.watch(receives.region());
  memory.watch(sends.region());
}

Machine::Machine(simulator::World& world, const MachineOptions& options, Report& report)
    : world_(world),
      options_(options),
      report_(report),
      index_(world.processes()),
      process_(world.add(process_options(options))),
      agent_(world.network().add_agent(*this)),
      turns_(options.host, report),
      held_(options.host, options.host_options.endpoint, options.named, report),
      before_(bytes_on(account_of(options.host))) {
  process_.set_program(this);
  begin_life();
}

Machine::~Machine() {
  end_life();
  process_.set_program(nullptr);
  process_.kill();
  world_.network().remove_agent(agent_);
}

void Machine::begin_life() {
  desk_.emplace(process_.datapath(), options_);
  datapath().set_encryption_observer(options_.encryption_observer);
  datapath().set_call_observer(this);
  const transport::RegionId receives = desk_->receives.region();
  const transport::MemoryToken token = datapath().token(receives);
  if (token.length > 0) endpoint().set_token(receives, token);
  findings_taken_ = 0;
  counted_ = {};
}

void Machine::end_life() {
  if (!desk_) return;
  take_findings();
  desk_.reset();
}

void Machine::apply(ProcessChangeKind kind) {
  if (kind == ProcessChangeKind::kKill || kind == ProcessChangeKind::kVanish) end_life();
  world_.apply({{}, index_, kind});
  if (kind == ProcessChangeKind::kStart && !desk_) begin_life();
}

void Machine::run(Nanos) {
  if (up()) poke();
}

bool Machine::handle_turn(simulator::TransportProcess&) {
  const Nanos now = world_.now();
  const engine::DriverStatistics& count = driver().statistics();
  const bool had_work = count.turns_with_input != counted_.turns_with_input ||
                        count.turns_with_output != counted_.turns_with_output;
  turns_.on_turn(now, had_work || std::exchange(asked_, false));
  counted_ = count;
  if (count.turns % kLookEvery == 0) {
    held_.look(endpoint(), bytes_on(account_of(options_.host)) - before_);
  }
  take_findings();
  transport::Notice notice;
  transport::Completion completion;
  // Notices first: completions may refer to connections that they open.
  while (endpoint().poll_notice(notice)) caller_->handle_notice(notice);
  while (endpoint().poll_completion(completion)) caller_->handle_completion(completion);
  asked_ = caller_->act(now);
  return asked_;
}

void Machine::take_findings() {
  const std::vector<std::string>& found = desk_->memory.violations();
  for (; findings_taken_ < found.size(); ++findings_taken_) {
    report_.fail("memory of host " + std::to_string(options_.host) + ": " + found[findings_taken_]);
  }
}

std::byte* Machine::host_memory(const transport::Payload& payload) {
  return datapath().regions().resolve(payload);
}

}  // namespace heddle::vopr
