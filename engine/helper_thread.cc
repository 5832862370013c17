// HelperThread: see helper_thread.h. It sleeps in epoll on the clients' descriptors. Each is armed
// for one event (EPOLLONESHOT), so input that an active caller handles wakes the helper at most
// once.
#include "engine/helper_thread.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/own_mutex.h"
#include "base/per_process.h"
#include "base/thread.h"

namespace heddle::engine {
namespace {

constexpr uint64_t kWakeToken = 0;

Nanos monotonic_now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return seconds(time.tv_sec) + nanos(time.tv_nsec);
}

// Waits at most `span`; rounds up to whole milliseconds where the kernel lacks epoll_pwait2
// (ENOSYS) or a sandbox refuses it (EPERM).
int epoll_wait_span(int epoll, epoll_event* events, int most, Nanos span) {
  timespec time{};
  const int64_t count = std::max<int64_t>(0, span.count);
  time.tv_sec = count / 1'000'000'000;
  time.tv_nsec = count % 1'000'000'000;
  const bool endless = span == Nanos::never();
  // By its number: glibc has it only since 2.35.
  const auto ready = static_cast<int>(syscall(__NR_epoll_pwait2, epoll, events, most,
                                              endless ? nullptr : &time, nullptr, size_t{0}));
  if (ready >= 0 || (errno != ENOSYS && errno != EPERM)) return ready;
  if (endless) return epoll_wait(epoll, events, most, -1);
  const int64_t whole_ms = (std::min(count, seconds(60).count) + 999'999) / 1'000'000;
  return epoll_wait(epoll, events, most, static_cast<int>(whole_ms));
}

}  // namespace

class HelperThread::Body {
 public:
  Body() : epoll_(epoll_create1(EPOLL_CLOEXEC)), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    CHECK(epoll_ >= 0 && wake_ >= 0);
    epoll_event event{.events = EPOLLIN, .data = {.u64 = kWakeToken}};
    CHECK(epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_, &event) == 0);
  }

  ~Body() {
    CHECK(!thread_.joinable());
    close(wake_);
    close(epoll_);
  }

  Result<void> add(HelperClient& client) {
    const OwnMutex::Lock life = life_mutex_.lock();
    {
      const OwnMutex::Lock lock = mutex_.lock();
      Entry entry{.client = &client, .token = ++last_token_, .due = monotonic_now()};
      entry.descriptor = client.descriptor();
      epoll_event event{.events = EPOLLONESHOT, .data = {.u64 = entry.token}};
      entry.watched =
          entry.descriptor >= 0 && epoll_ctl(epoll_, EPOLL_CTL_ADD, entry.descriptor, &event) == 0;
      entries_.push_back(entry);
    }
    if (!thread_.joinable()) {
      Result<Thread> started = start_thread("heddle-helper", [this] { run(); });
      if (!started) {
        forget(client);
        return fail(started.error());
      }
      thread_ = std::move(*started);
    }
    wake();
    return {};
  }

  void remove(HelperClient& client) {
    const OwnMutex::Lock life = life_mutex_.lock();
    if (!forget(client)) return;
    wake();
    thread_.join();
    thread_ = Thread();
  }

  void nudge(HelperClient& client) {
    client.ask_for_look();
    wake();
  }

  bool running() const {
    const OwnMutex::Lock life = life_mutex_.lock();
    return thread_.joinable();
  }

 private:
  struct Entry {
    HelperClient* client = nullptr;
    uint64_t token = 0;
    Nanos due;
    int descriptor = -1;
    bool watched = false;  // registered with epoll
  };

  // True if it was the last client. False if clients remain or it was not found.
  bool forget(const HelperClient& client) {
    const OwnMutex::Lock lock = mutex_.lock();
    const auto found = std::find_if(entries_.begin(), entries_.end(),
                                    [&](const Entry& entry) { return entry.client == &client; });
    if (found == entries_.end()) return false;
    if (found->watched) epoll_ctl(epoll_, EPOLL_CTL_DEL, found->descriptor, nullptr);
    entries_.erase(found);
    return entries_.empty();
  }

  void wake() {
    const uint64_t one = 1;
    const ssize_t written = write(wake_, &one, sizeof one);
    static_cast<void>(written);  // EAGAIN: a wake-up is already pending
  }

  void run() {
    std::array<epoll_event, 32> events;
    while (true) {
      Nanos span = Nanos::never();
      {
        const OwnMutex::Lock lock = mutex_.lock();
        if (entries_.empty()) return;
        span = look_at_due();
      }
      const int ready = epoll_wait_span(epoll_, events.data(), events.size(), span);
      const OwnMutex::Lock lock = mutex_.lock();
      for (int i = 0; i < ready; ++i) note_event(events[static_cast<size_t>(i)].data.u64);
    }
  }

  // Checks every client that is due; returns the time until the next one is.
  Nanos look_at_due() {
    Nanos earliest = Nanos::never();
    for (Entry& entry : entries_) {
      const Nanos now = monotonic_now();
      if (entry.client->take_ask() || entry.due <= now) {
        const HelperClient::Look look = entry.client->helper_look();
        entry.due = look.after >= Nanos::never() - now ? Nanos::never() : now + look.after;
        if (look.on_input && entry.watched) watch(entry);
      }
      earliest = std::min(earliest, entry.due);
    }
    return earliest == Nanos::never() ? earliest : earliest - monotonic_now();
  }

  void watch(const Entry& entry) {
    epoll_event event{.events = EPOLLIN | EPOLLONESHOT, .data = {.u64 = entry.token}};
    epoll_ctl(epoll_, EPOLL_CTL_MOD, entry.descriptor, &event);
  }

  void note_event(uint64_t token) {
    if (token == kWakeToken) {
      uint64_t count = 0;
      const ssize_t got = read(wake_, &count, sizeof count);
      static_cast<void>(got);
      return;
    }
    for (Entry& entry : entries_) {
      if (entry.token == token) entry.due = Nanos{};
    }
  }

  const int epoll_;
  const int wake_;
  mutable OwnMutex life_mutex_;  // serializes add() and remove(), which start and end the thread
  Thread thread_;
  OwnMutex mutex_;  // guards the members below; not held while the thread sleeps
  std::vector<Entry> entries_;
  uint64_t last_token_ = kWakeToken;
};

HelperThread::HelperThread() : body_(std::make_unique<Body>()) {}
HelperThread::~HelperThread() = default;
Result<void> HelperThread::add(HelperClient& client) { return body_->add(client); }
void HelperThread::remove(HelperClient& client) { body_->remove(client); }
void HelperThread::nudge(HelperClient& client) { body_->nudge(client); }
bool HelperThread::running() const { return body_->running(); }

HelperThread& HelperThread::of_process() {
  // Never destroyed, because endpoints may outlive main(). A child of fork() inherits the object
  // without its thread, perhaps in the middle of a change; the child abandons it and makes a new
  // one.
  static constinit PerProcess<HelperThread> helper;
  return helper.get();
}

}  // namespace heddle::engine
