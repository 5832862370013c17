// See busy_poll.h.
#include "datapath/xdp/busy_poll.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "datapath/xdp/params.h"

namespace heddle::datapath {

namespace {

constexpr int kPreferBusyPoll = 69;        // SO_PREFER_BUSY_POLL, Linux 5.11
constexpr int kBusyPollBudgetOption = 70;  // SO_BUSY_POLL_BUDGET, likewise

std::string refusal(const char* option, int error) {
  std::string text =
      std::string("the kernel refuses ") + option + " (" + std::strerror(error) + ")";
  if (error == EPERM) text += ", which needs CAP_NET_ADMIN";
  if (error == ENOPROTOOPT) text += ", which needs Linux 5.11 and CONFIG_NET_RX_BUSY_POLL";
  return text;
}

}  // namespace

BusyPollKernel busy_poll_kernel(int socket) {
  BusyPollKernel kernel;
  kernel.set = [socket](int option, int value) {
    return setsockopt(socket, SOL_SOCKET, option, &value, sizeof value) == 0 ? 0 : errno;
  };
  kernel.napi = [socket] {
    uint32_t id = 0;
    socklen_t length = sizeof id;
    const int done = getsockopt(socket, SOL_SOCKET, SO_INCOMING_NAPI_ID, &id, &length);
    return done == 0 ? id : 0;
  };
  return kernel;
}

XdpBusyPoll::XdpBusyPoll(BusyPollKernel kernel, uint32_t span_us) : kernel_(std::move(kernel)) {
  if (span_us == 0) return;
  // First the one that an unprivileged process or an older kernel lacks.
  if (const int error = kernel_.set(kPreferBusyPoll, 1); error != 0) {
    remark_ = "no busy polling: " + refusal("SO_PREFER_BUSY_POLL", error);
    return;
  }
  if (const int error = kernel_.set(SO_BUSY_POLL, static_cast<int>(span_us)); error != 0) {
    withdraw();
    remark_ = "no busy polling: " + refusal("SO_BUSY_POLL", error);
    return;
  }
  state_ = State::kPending;
  if (const int error = kernel_.set(kBusyPollBudgetOption, xdp_params::kBusyPollBudget);
      error != 0) {
    remark_ = "busy polling takes the kernel's number of packets a call: " +
              refusal("SO_BUSY_POLL_BUDGET", error);
  }
}

// Linux 5.11 to 6.12 learns the NAPI from the first frame, or for zero copy from the first call;
// Linux 6.13 (in copy mode 6.15) and newer at bind(), from drivers that link their NAPIs with their
// queues.
void XdpBusyPoll::settle(bool received) {
  if (state_ != State::kPending) return;
  if (kernel_.napi() != 0) {
    state_ = State::kOn;
  } else if (received) {
    withdraw();
    remark_ = "no busy polling: the kernel knows no NAPI of this queue";
  }
}

// Else a kernel that learns of a NAPI later would leave wakeups out.
void XdpBusyPoll::withdraw() {
  state_ = State::kOff;
  kernel_.set(SO_BUSY_POLL, 0);
  kernel_.set(kPreferBusyPoll, 0);
}

}  // namespace heddle::datapath
