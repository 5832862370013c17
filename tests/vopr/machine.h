// Machine: one host of a run: its process with the production driver, run by simulator::World, and
// the resources of its program: memory to send from and receive into, and the oracle of received
// bytes. Each life of the process gets new ones.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "simulator/checks/memory_check.h"
#include "simulator/world.h"
#include "tests/vopr/arena.h"
#include "tests/vopr/checkers/accounts.h"
#include "tests/vopr/checkers/memory_bound.h"
#include "tests/vopr/checkers/turn_budget.h"
#include "tests/vopr/options.h"
#include "transport/endpoint.h"

namespace heddle::vopr {

// The program on a machine. Called only while the process is running and the caller exists.
class Caller {
 public:
  virtual ~Caller() = default;
  virtual void handle_notice(const transport::Notice& notice) = 0;
  virtual void handle_completion(const transport::Completion& completion) = 0;
  // Called after every turn, when all notices and completions were taken. Returns true if it posted
  // something.
  virtual bool act(Nanos now) = 0;
};

struct MachineOptions {
  uint32_t host = 0;
  HostOptions host_options;
  ChunkOptions chunks;
  bool virtual_memory = false;
  uint32_t named = 0;  // see MemoryBound
  events::Sink* sink = nullptr;
  simulator::EncryptionObserver* encryption_observer = nullptr;  // shared by all machines of a run
};

class Machine final : private simulator::TransportProgram,
                      private simulator::CallObserver,
                      private simulator::Agent {
 public:
  // The account for allocations of its endpoint and driver.
  static uint32_t account_of(uint32_t host) { return host + 1; }

  static constexpr uint16_t kPort = 4791;
  static constexpr uint64_t kArenaBytes = 6 << 20;
  static constexpr uint64_t kVirtualArenaBytes = uint64_t{64} << 20;

  Machine(simulator::World& world, const MachineOptions& options, Report& report);
  ~Machine() override;

  // The program; must outlive the machine's turns.
  void set_caller(Caller* caller) { caller_ = caller; }

  // Applies a process fault; a new life starts with new memory.
  void apply(simulator::ProcessChangeKind kind);

  bool up() const { return process_.running(); }
  uint32_t life() const { return process_.lives(); }
  transport::Address address() const { return process_.address(); }
  const HostOptions& host_options() const { return options_.host_options; }
  Nanos now() const { return process_.now(); }
  transport::Endpoint& endpoint() { return process_.endpoint(); }
  simulator::SimDatapath& datapath() { return process_.datapath(); }
  engine::Driver& driver() { return process_.driver(); }
  simulator::MemoryCheck& memory() { return desk_->memory; }
  // Receive buffers, and send payloads in host memory.
  Arena& receives() { return desk_->receives; }
  Arena& sends() { return desk_->sends; }
  std::byte* host_memory(const transport::Payload& payload);
  // Requests a turn soon, or at a time of the network's clock.
  void poke() {
    asked_ = true;
    process_.poke();
  }
  void poke_at(Nanos at) { world_.network().schedule(agent_, at); }

  const TurnBudget& turns() const { return turns_; }
  const MemoryBound& held() const { return held_; }
  // Bytes on its account before the machine was created.
  int64_t before() const { return before_; }

 private:
  // The resources of the program in one life.
  struct Desk {
    Desk(simulator::SimDatapath& datapath, const MachineOptions& options);

    std::vector<std::unique_ptr<std::byte[]>> memories;
    Arena receives;
    Arena sends;
    simulator::MemoryCheck memory;
  };

  void begin_life();
  void end_life();
  bool handle_turn(simulator::TransportProcess& process) override;
  void handle_drive(bool begins) override {
    charge(begins ? account_of(options_.host) : kNobodysAccount);
  }
  void handle_call(bool inside) override {
    if (inside) {
      caller_pays_ = charge(kNobodysAccount);
    } else {
      charge(caller_pays_);
    }
  }
  void run(Nanos now) override;
  // Reports findings of the memory's oracle since the last call.
  void take_findings();

  simulator::World& world_;
  MachineOptions options_;
  Report& report_;
  uint32_t index_;  // in the world
  simulator::TransportProcess& process_;
  simulator::AgentId agent_;
  Caller* caller_ = nullptr;
  std::optional<Desk> desk_;
  size_t findings_taken_ = 0;
  engine::DriverStatistics counted_;
  bool asked_ = false;  // the program requested the next turn
  TurnBudget turns_;
  MemoryBound held_;
  int64_t before_ = 0;
  uint32_t caller_pays_ = kNobodysAccount;  // during a call of the datapath
};

}  // namespace heddle::vopr
