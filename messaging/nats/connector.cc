// See connector.h.
#include "messaging/nats/connector.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "base/clocks.h"
#include "base/quantity.h"
#include "base/thread.h"
#include "messaging/params.h"

namespace heddle::messaging {
namespace {

// Attempts that were left alone and still last.
std::atomic<int>& abandoned() {
  static std::atomic<int> count = 0;
  return count;
}

// Destructors of this process and of OpenSSL must not run while such an attempt uses them.
void leave_at_once(int status, void* /*none*/) {
  if (abandoned() == 0) return;
  std::fflush(nullptr);
  _exit(status);
}

void count_abandoned() {
  static std::once_flag once;
  std::call_once(once, [] { on_exit(leave_at_once, nullptr); });
  ++abandoned();
}

// One attempt, shared by its thread and the caller.
class Attempt {
 public:
  void end(Result<NatsConnection> made) {
    std::unique_lock lock(mutex_);
    if (!left_) {
      result_.emplace(std::move(made));
      lock.unlock();
      ended_.notify_all();
      return;
    }
    lock.unlock();
    { const Result<NatsConnection> closed = std::move(made); }
    --abandoned();
  }

  // Nothing: it lasts.
  std::optional<Result<NatsConnection>> wait(Nanos within) {
    std::unique_lock lock(mutex_);
    ended_.wait_for(lock, std::chrono::nanoseconds(within.count), [this] { return !!result_; });
    return std::exchange(result_, std::nullopt);
  }

  void leave() {
    const std::scoped_lock lock(mutex_);
    if (result_) return;
    left_ = true;
    count_abandoned();
  }

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  std::optional<Result<NatsConnection>> result_;
  bool left_ = false;
};

}  // namespace

Result<NatsConnection> Connector::connect(const std::function<bool()>& ends) {
  const size_t number = attempt_++;
  const std::string failed =
      "cannot use the NATS server " + address_.servers[number % address_.servers.size()].text();
  if (abandoned() >= params::kMostAbandoned) {
    return fail(ErrorCode::kExhausted, failed,
                fmt::format("{} attempts to connect have not ended", params::kMostAbandoned),
                "see that the server answers");
  }
  const auto attempt = std::make_shared<Attempt>();
  Result<Thread> thread = start_thread(
      "nats connect", [attempt, address = address_, access = access_, name = name_, number] {
        attempt->end(NatsConnection::make(address, access, name, number));
      });
  if (!thread) return fail(std::move(thread).error());
  thread->detach();
  const Nanos end = steady_now() + params::kConnectWithin;
  while (!ends() && steady_now() < end) {
    if (auto result = attempt->wait(params::kLook)) return std::move(*result);
  }
  attempt->leave();
  return fail(ErrorCode::kUnavailable, failed,
              "it has not answered for " + duration_text(params::kConnectWithin),
              "see that a server of NATS runs there, and that it speaks TLS if it shall");
}

}  // namespace heddle::messaging
