// RoceNic: a NIC that carries messages over reliable queue pairs by itself, without a process: it
// arbitrates between its queue pairs in turn, each at its own rate, and replies to what arrives.
// RoceHost posts messages and is notified of their ends.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/network.h"
#include "simulator/roce/requester.h"
#include "simulator/roce/responder.h"
#include "simulator/roce_options.h"
#include "transport/statistics.h"

namespace heddle::simulator::roce {

// The owner of a NIC's messages.
class NicUser {
 public:
  virtual ~NicUser() = default;
  // Part of a flow's message has arrived; `last`: and all of it.
  virtual void handle_arrived(uint32_t flow, uint64_t offset, const Content& content,
                              bool last) = 0;
  virtual void handle_acked(uint32_t flow) = 0;
  // A queue pair has failed with this message; called for each one.
  virtual void handle_failed(uint32_t flow) = 0;
};

class RoceNic : private Port, private Agent {
 public:
  // Both must outlive it. `options.mtu_bytes` is what the fabric passes.
  RoceNic(Network& network, NicId nic, const RoceOptions& options, NicUser& user);
  ~RoceNic() override;
  RoceNic(const RoceNic&) = delete;
  RoceNic& operator=(const RoceNic&) = delete;

  NicId nic() const { return nic_; }
  // Each returns the number of the new end of a queue pair.
  uint32_t add_responder(const QueuePairAddress& back);
  uint32_t add_requester(const QueuePairAddress& address);

  // The number that add_requester() returns next.
  uint32_t next_requester() const { return static_cast<uint32_t>(requesters_.size()); }

  void post(uint32_t requester, const Message& message);
  const Requester& requester(uint32_t number) const { return requesters_[number]; }

  void add_statistics(transport::ConnectionStatistics& sum) const;
  void add_counters(RoceCounters& sum) const;

 private:
  // Runs at the earliest timeout of the NIC's requesters.
  class Timer : public Agent {
   public:
    explicit Timer(RoceNic& nic) : nic_(nic) {}
    void run(Nanos now) override { nic_.check_timeouts(now); }

   private:
    RoceNic& nic_;
  };
  struct Received {
    Responder responder;
    QueuePairAddress back;  // for replies: `peer` is the requester's number
  };

  void handle_packet(PacketId packet) override;
  void handle_room() override { send_ready(); }
  void run(Nanos now) override;
  void send_ready();
  size_t next_ready(Nanos now, Nanos& earliest) const;
  void activate(uint32_t requester);
  void handle_send(const Packet& packet, const Header& header);
  void reply(const Received& received, Opcode opcode);
  void check_timeouts(Nanos now);
  void set_timer(Nanos at);

  Network& network_;
  NicId nic_;
  RoceOptions options_;
  NicUser& user_;
  AgentId agent_;
  Timer timer_;
  AgentId timer_agent_;
  Nanos timer_at_ = Nanos::never();
  std::vector<Requester> requesters_;
  std::vector<Received> responders_;
  std::vector<uint32_t> active_;  // requesters with packets to send
  std::vector<uint8_t> is_active_;
  size_t turn_ = 0;  // index into active_
  uint64_t queue_pairs_failed_ = 0;
};

}  // namespace heddle::simulator::roce
