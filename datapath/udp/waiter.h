// Waiter: sleeps until something has arrived, a socket may be written again, an error is there, or
// another thread calls wake(). One epoll set with the receive sockets, an eventfd, and a second
// epoll set with the send sockets, so that a look at these costs the same however many there are.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/descriptor.h"
#include "base/nanos.h"
#include "base/result.h"
#include "datapath/udp/network_errors.h"

namespace heddle::datapath {

class Waiter {
 public:
  // `errors` gets what the send sockets' error queues say; it must outlive the waiter.
  explicit Waiter(NetworkErrors& errors) : errors_(errors) {}

  // Errors: kExhausted (descriptors), kSystem.
  // Send sockets stand NIC by NIC, `paths` of each.
  Result<void> open(const std::vector<int>& receive_descriptors, std::vector<int> send_descriptors,
                    uint16_t paths);

  // See Datapath::wait. `retry_at`: something that no descriptor tells may be tried again then.
  void wait(Nanos until);
  // From any thread.
  void wake();
  // Readable when wait() would not sleep.
  int descriptor() const { return all_.number(); }
  // An eventfd: who writes to it does as wake() does.
  int wake_descriptor() const { return alarm_.number(); }
  void take_wake();

  // Ends the next wait() when this send socket can take more.
  void watch_room(size_t socket);
  // Ends the next wait() no later than at `time`.
  void retry_at(Nanos time) { retry_at_ = time; }

  // Looks at the send sockets without sleeping: one system call when nothing is there.
  void look_at_send_sockets();

 private:
  void sleep(Nanos span, uint32_t& sources);
  void watch(size_t socket, bool room);

  NetworkErrors& errors_;
  std::vector<int> send_descriptors_;
  uint16_t paths_ = 1;
  std::vector<bool> room_watched_;
  Descriptor all_;    // epoll
  Descriptor sends_;  // epoll
  Descriptor alarm_;  // eventfd
  std::atomic<bool> woken_ = false;
  Nanos retry_at_ = Nanos::never();
};

}  // namespace heddle::datapath
