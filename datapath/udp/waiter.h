// Waiter: sleeps until something has arrived, a socket may be written again, an error is there, or
// another thread calls wake(). One epoll set with the receive socket, an eventfd, and a second
// epoll set with the send sockets, so that a look at these costs the same however many there are.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "datapath/udp/descriptor.h"
#include "datapath/udp/network_errors.h"

namespace heddle::datapath {

class Waiter {
 public:
  // `errors` gets what the send sockets' error queues say; it must outlive the waiter.
  explicit Waiter(NetworkErrors& errors) : errors_(errors) {}

  // Errors: kExhausted (descriptors), kSystem.
  Result<void> open(int receive_descriptor, std::vector<int> send_descriptors);

  // See Datapath::wait. `retry_at`: something that no descriptor tells may be tried again then.
  void wait(Nanos until);
  // From any thread.
  void wake();
  // Readable when wait() would not sleep.
  int descriptor() const { return all_.number(); }

  // Ends the next wait() when the send socket of this path can take more.
  void watch_room(uint16_t path);
  // Ends the next wait() no later than at `time`.
  void retry_at(Nanos time) { retry_at_ = time; }

  // Looks at the send sockets without sleeping: one system call when nothing is there.
  void look_at_send_sockets();

 private:
  void sleep(Nanos span, uint32_t& sources);
  void take_wake();
  void watch(uint16_t path, bool room);

  NetworkErrors& errors_;
  std::vector<int> send_descriptors_;
  std::vector<bool> room_watched_;
  Descriptor all_;    // epoll
  Descriptor sends_;  // epoll
  Descriptor alarm_;  // eventfd
  std::atomic<bool> woken_ = false;
  Nanos retry_at_ = Nanos::never();
};

}  // namespace heddle::datapath
