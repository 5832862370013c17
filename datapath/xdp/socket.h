// XdpSocket: one XDP socket, of one engine, for one queue of an interface, with its own rings for
// receiving and sending. The frames of all queues of a NIC are in one memory (umem), registered by
// the first socket. XdpReceiver and XdpTransmitter use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "datapath/xdp/busy_poll.h"
#include "datapath/xdp/mapping.h"
#include "datapath/xdp/queue.h"
#include "datapath/xdp/rings.h"

namespace heddle::datapath {

struct XdpSocketOptions {
  uint32_t interface = 0;
  std::string interface_name;  // for the log
  uint8_t engine = 0;
  bool zero_copy = false;
  bool multi_buffer = false;  // a packet may take several frames
  uint32_t busy_poll_us = 0;  // 0: off
  int first_socket = -1;      // that registered the memory; -1: this one does
  int first_of_queue = -1;    // that made the queue's rings; -1: this one does
};

class XdpSocket {
 public:
  // Null on failure. `memory` holds the frames of all queues; it and `queue` outlive the socket.
  static std::unique_ptr<XdpSocket> open(const XdpSocketOptions& options, XdpQueue& queue,
                                         std::span<std::byte> memory, XdpFailure& failure);

  int descriptor() const { return socket_.number(); }
  bool zero_copy() const { return zero_copy_; }
  const XdpBusyPoll& busy_poll() const { return busy_poll_; }
  std::byte* memory() const { return memory_.data(); }
  const FrameLayout& layout() const { return queue_.layout(); }

  // --- receiving: entries of the ring are lent until give_back() ---
  uint32_t received() { return receive_.available(); }
  const XdpDescriptor& received_at(uint32_t index) const { return receive_.at(index); }
  // Returns the frames of the first `count` entries to the kernel, in their order.
  void give_back(uint32_t count) { queue_.give_back(receive_, count); }
  // Lets the driver run (busy polling, or after the fill ring was empty); no input is lost.
  void poll_driver() const;
  // True if input arrives by poll_driver(), so that a receive without input calls it.
  bool busy_polls() const { return busy_poll_.state() == XdpBusyPoll::State::kOn; }
  // Called with received(): decides a busy polling that waits for the first frame, and logs it.
  void settle_busy_poll();
  bool receive_needs_wakeup() const { return queue_.receive_needs_wakeup(); }
  // Datagrams that the kernel dropped because no frame or ring slot was free.
  uint64_t dropped() const;

  // --- sending ---
  // True if `frames` frames are free and fit the ring; collects completed ones.
  bool has_room(uint32_t frames);
  // The address of a free frame; needs has_room().
  uint64_t take_frame();
  void put(const XdpDescriptor& descriptor) { transmit_.write(descriptor); }
  // Makes put() descriptors visible, and lets the kernel send. Returns errno, or 0: done, or the
  // driver sends by itself.
  int submit(uint64_t& calls);
  // As submit(), of what it left.
  int push(uint64_t& calls);
  // True if descriptors wait for a further push().
  bool unfinished() const {
    return (sends_in_calls() || wakeup_failed_) && transmit_.pending() > 0;
  }

 private:
  XdpSocket(const XdpSocketOptions& options, XdpQueue& queue, std::span<std::byte> memory);

  bool make_rings(XdpFailure& failure);
  void configure();
  bool map_rings(XdpFailure& failure);
  bool bind_to_queue(XdpFailure& failure);
  // The kernel sends within submit() and push() only: in copy mode it copies there, and with
  // preferred busy polling a driver without copies runs there and is not woken (xsk_no_wakeup()).
  bool sends_in_calls() const {
    return !zero_copy_ || busy_poll_.state() != XdpBusyPoll::State::kOff;
  }
  int wake_driver(uint64_t& calls);

  XdpSocketOptions options_;
  XdpQueue& queue_;
  std::span<std::byte> memory_;
  Descriptor socket_;
  std::vector<Mapping> mappings_;
  ReadRing<XdpDescriptor> receive_;
  WriteRing<XdpDescriptor> transmit_;
  std::vector<uint64_t> free_;  // addresses of frames for sending
  bool zero_copy_ = false;
  XdpBusyPoll busy_poll_;
  bool wakeup_failed_ = false;  // the latest of a driver that sends by itself
};

}  // namespace heddle::datapath
