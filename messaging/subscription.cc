// See subscription.h.
#include "messaging/subscription.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include "base/thread.h"
#include "messaging/nats/connection.h"
#include "messaging/params.h"

namespace heddle::messaging {

class Subscription::Body {
 public:
  explicit Body(SubscriptionOptions options) : options_(std::move(options)) {}
  ~Body() {
    {
      const std::scoped_lock lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;

  Result<void> start() {
    Result<Thread> thread = start_thread("subscription", [this] { run(); });
    if (!thread) return fail(std::move(thread).error());
    thread_ = std::move(*thread);
    return {};
  }

  std::vector<Received> take() {
    const std::scoped_lock lock(mutex_);
    bytes_ = 0;
    return std::exchange(received_, {});
  }

  SubscriptionState state() const {
    const std::scoped_lock lock(mutex_);
    return state_;
  }

 private:
  void run() {
    Nanos wait = params::kFirstRetry;
    for (size_t attempt = 0; !ends(); ++attempt) {
      Result<NatsConnection> made =
          NatsConnection::make(options_.address, options_.access, options_.name, attempt);
      if (made) {
        const Error why = receive_until_lost(*made);
        if (ends()) return;
        lose(why);
        wait = params::kFirstRetry;
      } else {
        lose(made.error());
      }
      pause_for(wait);
      wait = std::min(wait * 2, params::kLongestRetry);
    }
  }

  // Returns why it is lost.
  Error receive_until_lost(NatsConnection& connection) {
    if (Result<void> made = connection.subscribe(options_.pattern); !made) return made.error();
    if (Result<void> made = connection.flush(params::kAnswerWithin); !made) return made.error();
    set_connected(connection.refusal());
    uint64_t dropped = 0;
    while (!ends()) {
      Result<std::optional<Received>> next = connection.next(params::kLook);
      if (!next) return next.error();
      const uint64_t more = connection.dropped();
      keep(std::move(*next), more - dropped);
      dropped = more;
    }
    return {};
  }

  void keep(std::optional<Received> message, uint64_t dropped) {
    const std::scoped_lock lock(mutex_);
    state_.dropped += dropped;
    if (!message) return;
    const size_t bytes = message->subject.size() + message->text.size();
    if (received_.size() >= params::kMostReceived || bytes_ + bytes > params::kMostReceivedBytes) {
      ++state_.dropped;
      return;
    }
    ++state_.received;
    bytes_ += bytes;
    received_.push_back(std::move(*message));
  }

  void set_connected(const std::string& refusal) {
    const std::scoped_lock lock(mutex_);
    state_.connected = true;
    state_.complaint = refusal.empty() ? "" : "the server sends nothing: " + refusal;
  }

  void lose(const Error& why) {
    const std::scoped_lock lock(mutex_);
    if (std::exchange(state_.connected, false)) ++state_.losses;
    state_.complaint = why.message();
  }

  bool ends() const {
    const std::scoped_lock lock(mutex_);
    return ends_;
  }

  void pause_for(Nanos span) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::nanoseconds(span.count), [this] { return ends_; });
  }

  const SubscriptionOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Received> received_;
  size_t bytes_ = 0;  // of these
  SubscriptionState state_;
  bool ends_ = false;
  Thread thread_;
};

Result<std::unique_ptr<Subscription>> Subscription::start(SubscriptionOptions options) {
  if (!nats_library().why_not.empty()) {
    return fail(ErrorCode::kUnavailable, "cannot subscribe", nats_library().why_not,
                "apt-get install libnats3.4");
  }
  auto body = std::make_unique<Body>(std::move(options));
  if (Result<void> started = body->start(); !started) return fail(std::move(started).error());
  return std::unique_ptr<Subscription>(new Subscription(std::move(body)));
}

Subscription::Subscription(std::unique_ptr<Body> body) : body_(std::move(body)) {}
Subscription::~Subscription() = default;

std::vector<Received> Subscription::take() { return body_->take(); }

SubscriptionState Subscription::state() const { return body_->state(); }

}  // namespace heddle::messaging
