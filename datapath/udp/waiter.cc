// See waiter.h.
#include "datapath/udp/waiter.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "datapath/udp/clock.h"
#include "transport/address.h"

namespace heddle::datapath {
namespace {

enum Source : uint32_t { kReceive = 1, kAlarm = 2, kSends = 4 };

bool add(const Descriptor& epoll, int descriptor, uint32_t events, uint64_t data) {
  epoll_event event{.events = events, .data = {.u64 = data}};
  return epoll_ctl(epoll.number(), EPOLL_CTL_ADD, descriptor, &event) == 0;
}

timespec to_timespec(Nanos span) {
  timespec time{};
  time.tv_sec = span.count / 1'000'000'000;
  time.tv_nsec = span.count % 1'000'000'000;
  return time;
}

}  // namespace

Result<void> Waiter::open(const std::vector<int>& receive_descriptors,
                          std::vector<int> send_descriptors, uint16_t paths) {
  paths_ = paths;
  all_ = Descriptor(epoll_create1(EPOLL_CLOEXEC));
  sends_ = Descriptor(epoll_create1(EPOLL_CLOEXEC));
  alarm_ = Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  bool done = all_.valid() && sends_.valid() && alarm_.valid() &&
              add(all_, alarm_.number(), EPOLLIN, kAlarm) &&
              add(all_, sends_.number(), EPOLLIN, kSends);
  for (const int receive : receive_descriptors) {
    done = done && add(all_, receive, EPOLLIN, kReceive);
  }
  // epoll always reports errors; other events are not requested until a socket is full.
  for (size_t i = 0; done && i < send_descriptors.size(); ++i) {
    done = add(sends_, send_descriptors[i], 0, i);
  }
  if (!done) {
    const bool too_many = errno == EMFILE || errno == ENFILE;
    return fail(too_many ? ErrorCode::kExhausted : ErrorCode::kSystem,
                "cannot watch the UDP sockets", std::strerror(errno),
                too_many ? "use fewer paths or engines, or raise the limit (`ulimit -n`)" : "");
  }
  send_descriptors_ = std::move(send_descriptors);
  room_watched_.assign(send_descriptors_.size(), false);
  return {};
}

Result<void> Waiter::watch_input(int descriptor) {
  if (add(all_, descriptor, EPOLLIN, kReceive)) return {};
  return fail(ErrorCode::kSystem, "cannot watch a socket", std::strerror(errno));
}

void Waiter::ignore_input(int descriptor) {
  epoll_ctl(all_.number(), EPOLL_CTL_DEL, descriptor, nullptr);
}

void Waiter::wait(Nanos until) {
  until = std::min(until, std::exchange(retry_at_, Nanos::never()));
  if (woken_.load()) {
    take_wake();
    return;
  }
  Nanos span = until;
  if (until != Nanos::never()) {
    span = until - monotonic_now();
    if (span.count <= 0) return;
  }
  uint32_t sources = 0;
  sleep(span, sources);
  if ((sources & kAlarm) != 0) take_wake();
  if ((sources & kSends) != 0) look_at_send_sockets();
}

// Sets the ready sources. Sandboxes without epoll_pwait2 return ENOSYS or EPERM.
void Waiter::sleep(Nanos span, uint32_t& sources) {
  std::array<epoll_event, 2 + transport::kMaxNics> events;
  const bool endless = span == Nanos::never();
  const timespec time = to_timespec(span);
  // By its number: glibc has it only since 2.35.
  auto ready =
      static_cast<int>(syscall(__NR_epoll_pwait2, all_.number(), events.data(), events.size(),
                               endless ? nullptr : &time, nullptr, size_t{0}));
  if (ready < 0 && (errno == ENOSYS || errno == EPERM)) {
    pollfd watched{.fd = all_.number(), .events = POLLIN};
    ready = ppoll(&watched, 1, endless ? nullptr : &time, nullptr);
    if (ready > 0) ready = epoll_wait(all_.number(), events.data(), events.size(), 0);
  }
  for (int i = 0; i < ready; ++i) {
    sources |= static_cast<uint32_t>(events[static_cast<size_t>(i)].data.u64);
  }
}

void Waiter::wake() {
  if (woken_.exchange(true)) return;  // a wake-up is already pending
  const uint64_t one = 1;
  const ssize_t written = write(alarm_.number(), &one, sizeof one);
  static_cast<void>(written);  // cannot fail: the counter is at most 1
}

// This order matters: a wake() between the two lines ends the same wait().
void Waiter::take_wake() {
  uint64_t count = 0;
  const ssize_t taken = read(alarm_.number(), &count, sizeof count);
  static_cast<void>(taken);
  woken_.store(false);
}

void Waiter::watch_room(size_t socket) {
  if (!room_watched_[socket]) watch(socket, true);
}

void Waiter::look_at_send_sockets() {
  std::array<epoll_event, 16> events;
  const int ready = epoll_wait(sends_.number(), events.data(), events.size(), 0);
  for (int i = 0; i < ready; ++i) {
    const epoll_event& event = events[static_cast<size_t>(i)];
    const auto socket = static_cast<size_t>(event.data.u64);
    const auto path = static_cast<uint16_t>(socket % paths_);
    if ((event.events & EPOLLERR) != 0) drain_error_queue(send_descriptors_[socket], path, errors_);
    if ((event.events & EPOLLOUT) != 0) watch(socket, false);
  }
}

void Waiter::watch(size_t socket, bool room) {
  epoll_event event{.events = room ? uint32_t{EPOLLOUT} : 0u, .data = {.u64 = socket}};
  epoll_ctl(sends_.number(), EPOLL_CTL_MOD, send_descriptors_[socket], &event);
  room_watched_[socket] = room;
}

}  // namespace heddle::datapath
