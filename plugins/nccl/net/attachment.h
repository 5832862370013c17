// Attachment: one endpoint of a device as the comms of a process share it, its listen comms and the
// links to other processes. A device has one, or HEDDLE_NCCL_THREADS of them. Service and progress
// threads of several communicators use it at once. It lives as long as a comm, a listen comm or the
// device list refers to it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/own_mutex.h"
#include "base/result.h"
#include "engine/endpoint.h"
#include "plugins/nccl/net/handle.h"
#include "plugins/nccl/net/incoming_link.h"
#include "plugins/nccl/net/outgoing_link.h"
#include "plugins/nccl/net/registration.h"

namespace heddle::nccl {

class ReceiveComm;
class SendComm;

class Attachment : public std::enable_shared_from_this<Attachment> {
 public:
  // Gives the numbers that handles carry; unpredictable outside of tests. Never 0.
  using Numbers = std::function<uint64_t()>;

  // `name`: of the device, for the log.
  Attachment(std::string name, std::shared_ptr<engine::Endpoint> endpoint, Numbers numbers);
  ~Attachment();
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;

  // Begins to listen: the listener's number, for accept() and close_listener(), and `handle`.
  uint64_t listen(HandleBytes handle);
  void close_listener(uint64_t listener);
  // One step of connecting; null: not yet, call again with the same `handle`. Errors: those of
  // read_handle(), of connecting, and the cause if the peer cannot be reached.
  Result<std::unique_ptr<SendComm>> connect(HandleBytes handle);
  // One step of accepting; null: no comm has come yet. Errors: kInvalid (no such listener).
  Result<std::unique_ptr<ReceiveComm>> accept(uint64_t listener);

  // Takes in connections and control records that have come.
  void pump();
  // Keeps memory registered that a send may still read, as long as the attachment lives.
  void keep(std::unique_ptr<Registration> memory);
  // One turn of the endpoint, unless another thread drives it.
  void turn();
  // Waits until the links that had comms are closed on both sides, until `deadline` of now() at the
  // latest.
  void wait_closed(Nanos deadline);
  Nanos now() const { return endpoint_->now(); }
  // A comm of this link has ended: a link without comms is closed.
  void release(const std::shared_ptr<OutgoingLink>& link);

  const std::string& name() const { return name_; }
  engine::Endpoint& endpoint() const { return *endpoint_; }
  std::shared_ptr<engine::Endpoint> shared_endpoint() const { return endpoint_; }

 private:
  // Comms that arrived for a listener and were not accepted yet.
  struct Arrived {
    std::shared_ptr<IncomingLink> link;
    uint32_t comm = 0;
  };
  struct Connect {
    uint64_t listener = 0;
    std::shared_ptr<OutgoingLink> link;
    Nanos began;
    Nanos called_at;
    Nanos again_at;  // not before, after the peer's endpoint was full
  };

  Result<std::shared_ptr<OutgoingLink>> link_to(const Handle& handle);
  void drop_closed_links();
  // Whether a listener has a comm of it that was not accepted yet.
  bool is_awaited(const IncomingLink& link) const;

  const std::string name_;
  const std::shared_ptr<engine::Endpoint> endpoint_;
  const Numbers numbers_;
  const uint64_t process_;
  OwnMutex mutex_;                                   // guards all that follows
  std::vector<std::unique_ptr<Registration>> kept_;  // goes after the links
  std::map<uint64_t, std::deque<Arrived>> listeners_;
  std::map<uint64_t, Connect> connects_;  // not open yet; by the number in NCCL's handle
  std::multimap<uint64_t, std::shared_ptr<OutgoingLink>> outgoing_;  // by the peer's process
  std::vector<std::shared_ptr<OutgoingLink>> closing_;
  std::vector<std::shared_ptr<IncomingLink>> incoming_;
};

}  // namespace heddle::nccl
