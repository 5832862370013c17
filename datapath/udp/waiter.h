// Waiter: sleeps until input arrives, a socket is writable again, an error is queued, or another
// thread calls wake(). One epoll set holds the receive sockets, an eventfd, and a second epoll set
// with the send sockets, so that a check of these costs the same for any number.
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
  // Errors of the send sockets go to `errors`, which must outlive the waiter.
  explicit Waiter(NetworkErrors& errors) : errors_(errors) {}

  // `send_descriptors` holds `paths` sockets per NIC, NIC by NIC. Errors: kExhausted (descriptors),
  // kSystem.
  Result<void> open(const std::vector<int>& receive_descriptors, std::vector<int> send_descriptors,
                    uint16_t paths);

  // Input at this descriptor ends wait() too. Errors: kSystem.
  Result<void> watch_input(int descriptor);
  void ignore_input(int descriptor);

  // See Datapath::wait.
  void wait(Nanos until);
  // Any thread may call it.
  void wake();
  // Readable when wait() would not sleep.
  int descriptor() const { return all_.number(); }
  // An eventfd; a write to it equals wake().
  int wake_descriptor() const { return alarm_.number(); }
  void take_wake();

  // Ends the next wait() when this send socket is writable.
  void watch_room(size_t socket);
  // Ends the next wait() at `time` at the latest, for a retry that no descriptor signals.
  void retry_at(Nanos time) { retry_at_ = time; }

  // Checks the send sockets without sleeping: one system call when nothing is pending.
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
