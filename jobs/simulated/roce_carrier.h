// RoceCarrier: carries the messages of simulated ranks over their hosts' RoCE NICs, as NCCL's
// transport does over RDMA: a receiver that has posted announces its buffer with a short message of
// its own, and then the sender sends.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "base/pool.h"
#include "base/ring.h"
#include "collectives/message_carrier.h"
#include "simulator/engine_process.h"
#include "simulator/flow_run.h"
#include "simulator/roce_host.h"

namespace heddle::jobs {

class RoceCarrier final : public collectives::MessageCarrier, private simulator::RoceMessageUser {
 public:
  // The run must outlive it.
  explicit RoceCarrier(simulator::FlowRun& run) : run_(run), messages_(kMostMessages) {}
  RoceCarrier(const RoceCarrier&) = delete;
  RoceCarrier& operator=(const RoceCarrier&) = delete;

  // A rank on that host, before its first message; its process is woken when messages end.
  void add(uint32_t host, simulator::EngineProcess& process);

  uint64_t send(const Stream& stream, uint64_t bytes, std::span<const std::byte> head) override;
  uint64_t receive(const Stream& stream) override;
  State look(uint64_t ticket, std::span<std::byte> head) override;
  void forget(uint64_t ticket) override;

 private:
  // Two numbers of the NICs' a message: its announcement and its data.
  static constexpr uint32_t kMostMessages = simulator::RoceHost::kMessages / 2;

  struct Rank {
    simulator::RoceHost* nics = nullptr;
    simulator::EngineProcess* process = nullptr;
  };
  struct Side {
    Rank* rank = nullptr;
    bool posted = false;
    bool watched = true;  // its ticket has not ended
    State state = State::kWaiting;
  };
  struct Message {
    Side sender;
    Side receiver;
    uint64_t bytes = 0;
    std::vector<std::byte> head;
    bool announced = false;   // to the sender
    uint8_t in_progress = 0;  // at the NICs: until they are acknowledged, or have failed
  };
  // Messages of a stream of which one side has posted; the other side posts in the same order.
  struct Halves {
    Ring<uint32_t> sent;
    Ring<uint32_t> received;
  };
  using StreamKey = std::tuple<uint64_t, const Rank*, const Rank*, engine::Channel>;

  uint32_t meet(const Stream& stream, bool sends);
  void start_if_ready(uint32_t number);
  void hand_over(uint32_t number, bool announcement);
  void end(Side& side, State state);
  void free_if_over(uint32_t number);
  Side& side_of(uint64_t ticket);

  void handle_message_arrived(uint32_t message) override;
  void handle_message_acked(uint32_t message) override;
  void handle_message_failed(uint32_t message) override;

  simulator::FlowRun& run_;
  std::map<transport::Address, Rank> ranks_;
  std::map<StreamKey, Halves> streams_;
  Pool<Message> messages_;
};

}  // namespace heddle::jobs
