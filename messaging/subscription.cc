// See subscription.h.
#include "messaging/subscription.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/clocks.h"
#include "base/hash.h"
#include "messaging/backoff.h"
#include "messaging/nats/connector.h"
#include "messaging/nats/loop.h"
#include "messaging/params.h"

namespace heddle::messaging {

class Subscription::Body : public Loop {
 public:
  explicit Body(SubscriptionOptions options)
      : options_(std::move(options)),
        connector_(options_.address, options_.access, options_.name),
        backoff_(static_cast<uint64_t>(steady_now().count) ^ hash_text(options_.pattern)) {}
  ~Body() { end_loop(); }

  Result<void> start() {
    return start_loop("subscription", [this] { run(); });
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
    while (!ends()) {
      Result<NatsConnection> made = connector_.connect([this] { return ends(); });
      if (ends()) return;
      const Error why = made ? receive_until_lost(*made) : made.error();
      if (ends()) return;
      lose(why);
      pause_for(backoff_.next());
    }
  }

  // Returns why it is lost.
  Error receive_until_lost(NatsConnection& connection) {
    if (Result<void> made = connection.subscribe(options_.pattern); !made) return made.error();
    Nanos asked_at = steady_now();
    if (Result<void> made = connection.flush(params::kAnswerWithin); !made) return made.error();
    set_connected(connection.refusal(), asked_at);
    backoff_.reset();
    uint64_t dropped = 0;
    while (!ends()) {
      Result<std::optional<Received>> next = connection.next(params::kLook);
      if (!next) return next.error();
      const uint64_t more = connection.dropped();
      keep(std::move(*next), more - dropped);
      dropped = more;
      if (steady_now() - asked_at < params::kSignOfLife) continue;
      asked_at = steady_now();
      if (Result<void> made = connection.flush(params::kAnswerWithin); !made) return made.error();
      set_answered(asked_at);
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

  void set_answered(Nanos at) {
    const std::scoped_lock lock(mutex_);
    state_.answered_at = at;
  }

  void set_connected(const std::string& refusal, Nanos at) {
    const std::scoped_lock lock(mutex_);
    state_.connected = true;
    state_.connected_at = at;
    state_.answered_at = at;
    state_.complaint = refusal.empty() ? "" : "the server sends nothing: " + refusal;
  }

  void lose(const Error& why) {
    const std::scoped_lock lock(mutex_);
    if (std::exchange(state_.connected, false)) ++state_.losses;
    state_.complaint = why.message();
  }

  const SubscriptionOptions options_;
  // Of its thread alone.
  Connector connector_;
  Backoff backoff_;
  // Guarded by mutex_.
  std::vector<Received> received_;
  size_t bytes_ = 0;  // of these
  SubscriptionState state_;
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
