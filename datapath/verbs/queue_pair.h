// QueuePair: one RC or UC queue pair in one direction: it sends writes to one peer, or it receives
// them. It is made in the state INIT, so that its number can be sent to the peer, and connected
// once the peer's is known. One of UD sends datagrams to any peer, or receives them from any; it is
// started without a peer, and datapath/ud posts on it by handle(). After destroy() no write of it
// lands, and it reads no memory; the kernel may take a second for that (queue_pair_ender.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"
#include "datapath/verbs.h"
#include "datapath/verbs/device.h"
#include "transport/address.h"

struct ibv_qp;

namespace heddle::datapath {

struct QueuePairOptions {
  RdmaMode mode = RdmaMode::kReliable;
  bool receives = false;  // else it sends
  uint64_t id = 0;        // of all its completions
  uint8_t traffic_class = 0;
  // UD: requests that its queue holds, and the key that a datagram must carry to be received.
  uint32_t depth = 0;
  uint32_t key = 0;
};

// The other end.
struct QueuePairPeer {
  transport::Address address;  // its host is its GID
  uint32_t queue_pair = 0;
  uint32_t first_number = 0;  // of a receiving one: which the sender's packets begin with
  uint8_t mtu = 1;            // the smaller of both
};

struct RemoteWriteRequest {
  const std::byte* from = nullptr;
  uint32_t bytes = 0;  // 0: only the immediate
  uint32_t local_key = 0;
  uint64_t to = 0;
  uint32_t remote_key = 0;
  uint32_t immediate = 0;
};

class QueuePair {
 public:
  // Errors: kExhausted (the device has no more), kSystem.
  static Result<std::unique_ptr<QueuePair>> create(VerbsDevice& device,
                                                   const QueuePairOptions& options);
  // Destroys it where destroy() has not.
  ~QueuePair();
  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;

  uint32_t number() const { return number_; }
  // Connects it. `own_first_number`: of a sending one.
  Result<void> connect(const QueuePairPeer& peer, uint32_t own_first_number);
  // UD: from now on it receives or sends.
  Result<void> start();
  ibv_qp* handle() const { return pair_; }
  // Ends it early: all its requests complete with an error. A request whose completion came is one
  // that reads no memory any more.
  void break_off();
  // False: the kernel is busy with it, and it lives. Another thread may call it, while no other
  // call is made.
  bool destroy();

  // Posts all of them by one call, in order; returns the number that the queue took.
  size_t post_writes(std::span<const RemoteWriteRequest> writes);
  // Lets `count` more writes arrive. False: the queue pair does not work any more.
  bool post_receives(uint32_t count);

 private:
  QueuePair(VerbsDevice& device, const QueuePairOptions& options)
      : device_(device), options_(options) {}

  Result<void> make();
  Result<void> modify(const char* what, void* attributes, int mask);

  VerbsDevice& device_;
  QueuePairOptions options_;
  ibv_qp* pair_ = nullptr;
  uint32_t number_ = 0;
  uint32_t reserved_ = 0;
  bool broken_off_ = false;
};

}  // namespace heddle::datapath
