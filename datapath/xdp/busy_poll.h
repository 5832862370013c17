// XdpBusyPoll: preferred busy polling of one XDP socket: its system calls run the driver's poll
// function (NAPI) of its queue on the calling thread, in place of the NIC's interrupts (af_xdp.rst
// and napi.rst of the kernel's Documentation/networking). XdpSocket owns it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace heddle::datapath {

// The socket, as XdpBusyPoll uses it.
struct BusyPollKernel {
  std::function<int(int option, int value)> set;  // an option of SOL_SOCKET; errno, or 0
  std::function<uint32_t()> napi;                 // of the socket's queue; 0: the kernel knows none
};

// Of an XDP socket, which must outlive it.
BusyPollKernel busy_poll_kernel(int socket);

class XdpBusyPoll {
 public:
  enum class State : uint8_t {
    kOff,
    kPending,  // accepted, but the kernel does not know the queue's NAPI yet
    kOn,
  };

  XdpBusyPoll() = default;  // off
  // Sets the options of the socket, which is not bound yet. `span_us`: the value of SO_BUSY_POLL;
  // 0: off. A refusal leaves it off, with a remark.
  XdpBusyPoll(BusyPollKernel kernel, uint32_t span_us);

  State state() const { return state_; }
  // Asks for the NAPI of a bound socket. `received`: a frame has arrived, so that a kernel that
  // does not know the NAPI now never will: then off, with a remark.
  void settle(bool received);
  // For the log: why it is off although wanted, or the part that is missing; else empty.
  const std::string& remark() const { return remark_; }

 private:
  void withdraw();

  BusyPollKernel kernel_;
  State state_ = State::kOff;
  std::string remark_;
};

}  // namespace heddle::datapath
