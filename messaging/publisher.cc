// See publisher.h.
#include "messaging/publisher.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/clocks.h"
#include "base/hash.h"
#include "messaging/backoff.h"
#include "messaging/nats/connector.h"
#include "messaging/nats/loop.h"
#include "messaging/params.h"
#include "messaging/refusal.h"
#include "messaging/waiting_messages.h"

namespace heddle::messaging {

class Publisher::Body : public Loop {
 public:
  explicit Body(PublisherOptions options)
      : options_(std::move(options)),
        connector_(options_.address, options_.access, options_.name),
        backoff_(static_cast<uint64_t>(steady_now().count) ^ hash_text(options_.name)),
        waiting_({params::kMostWaiting, params::kMostWaitingBytes}) {}
  ~Body() { end_loop(); }

  Result<void> start() {
    return start_loop("publisher", [this] { run(); });
  }

  void post(Message message) {
    {
      const std::scoped_lock lock(mutex_);
      if (message.newest_only) {
        newest_ = message;
        newest_at_ = steady_now();
      }
      count_dropped(waiting_.add(std::move(message)));
    }
    changed_.notify_all();
  }

  bool finish(Nanos within) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::nanoseconds(within.count),
                             [this] { return waiting_.size() + in_flight_ == 0; });
  }

  PublisherState state() const {
    const std::scoped_lock lock(mutex_);
    PublisherState made = state_;
    made.waiting = waiting_.size() + in_flight_;
    return made;
  }

 private:
  void run() {
    while (!ends()) {
      Result<NatsConnection> made = connector_.connect([this] { return ends(); });
      if (ends()) return;
      if (made) {
        set_connected();
        const Error why = publish_until_lost(*made);
        if (ends()) return;
        lose(why, true);
      } else {
        lose(made.error(), false);
      }
      pause_for(backoff_.next());
    }
  }

  // Returns why it is lost.
  Error publish_until_lost(NatsConnection& connection) {
    while (!ends()) {
      std::vector<Message> batch = next_batch();
      const Result<void> sent = send(connection, batch);
      settle(sent.has_value(), std::move(batch));
      if (!sent) return sent.error();
    }
    return {};
  }

  void settle(bool sent, std::vector<Message> batch) {
    {
      const std::scoped_lock lock(mutex_);
      in_flight_ = 0;
      if (sent) {
        state_.published += batch.size();
      } else {
        count_dropped(waiting_.put_back(std::move(batch)));
      }
    }
    changed_.notify_all();
  }

  // Without one, once in a while, to see whether the server is still there.
  std::vector<Message> next_batch() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::nanoseconds(quiet().count),
                      [this] { return ends_ || waiting_.size() > 0; });
    std::vector<Message> batch = waiting_.take(params::kMostAtOnce, params::kMostBytesAtOnce);
    in_flight_ = batch.size();
    return batch;
  }

  Nanos quiet() const {
    if (options_.repeat_every == Nanos{}) return params::kSignOfLife;
    return std::min(params::kSignOfLife, options_.repeat_every);
  }

  Result<void> send(NatsConnection& connection, std::vector<Message>& batch) {
    const size_t most = connection.most_bytes();
    for (const Message& each : batch) {
      if (each.text.size() > most || refused_.contains(each.subject)) continue;
      if (Result<void> sent = connection.publish(each.subject, each.text); !sent) return sent;
    }
    if (const auto last = to_repeat(); last && !refused_.contains(last->subject)) {
      if (Result<void> sent = connection.publish(last->subject, last->text); !sent) return sent;
    }
    if (Result<void> flushed = connection.flush(params::kAnswerWithin); !flushed) return flushed;
    set_confirmed();
    std::erase_if(batch, [this, most](const Message& each) {
      if (each.text.size() <= most) return false;
      drop_too_long(each, most);
      return true;
    });
    drop_refused(connection.refusal(), batch);
    return {};
  }

  // The last one of `newest_only`, if it is time to send it again.
  std::optional<Message> to_repeat() {
    const std::scoped_lock lock(mutex_);
    const Nanos now = steady_now();
    const Nanos since = std::max(newest_at_, repeated_at_);
    if (options_.repeat_every == Nanos{} || !newest_ || now - since < options_.repeat_every) {
      return std::nullopt;
    }
    if (now - newest_at_ >= params::kLongestRepeat) return std::nullopt;
    repeated_at_ = now;
    return newest_;
  }

  // Others go on. This connection sends no more of a refused subject: libnats keeps the last
  // refusal, so another one would not be seen. A server whose rules change ends connections.
  void drop_refused(const std::string& why, std::vector<Message>& batch) {
    for (const Message& each : batch) {
      if (refuses(why, each.subject)) refused_.insert(each.subject);
    }
    const std::scoped_lock lock(mutex_);
    const size_t dropped = std::erase_if(
        batch, [this](const Message& each) { return refused_.contains(each.subject); });
    state_.dropped += dropped;
    if (dropped > 0) state_.complaint = "the server refuses what is published: " + why;
  }

  void drop_too_long(const Message& message, size_t most) {
    const std::scoped_lock lock(mutex_);
    ++state_.dropped;
    state_.complaint = fmt::format("a message of {} bytes was dropped: the server takes {}",
                                   message.text.size(), most);
  }

  void set_connected() {
    refused_.clear();
    confirmed_ = false;
    const std::scoped_lock lock(mutex_);
    state_.connected = true;
  }

  // A connection that is lost before it has carried anything is no reason to hurry.
  void set_confirmed() {
    if (std::exchange(confirmed_, true)) return;
    backoff_.reset();
    const std::scoped_lock lock(mutex_);
    state_.complaint.clear();
  }

  void lose(const Error& why, bool was_connected) {
    const std::scoped_lock lock(mutex_);
    state_.connected = false;
    if (was_connected) ++state_.losses;
    state_.complaint = why.message();
  }

  void count_dropped(uint64_t messages) { state_.dropped += messages; }

  const PublisherOptions options_;
  // Of its thread alone.
  Connector connector_;
  Backoff backoff_;
  std::set<std::string> refused_;  // subjects, by this connection
  bool confirmed_ = false;         // this connection has carried something
  // Guarded by mutex_.
  WaitingMessages waiting_;
  size_t in_flight_ = 0;           // that the server has not confirmed yet
  std::optional<Message> newest_;  // of `newest_only`, the last one that was posted
  Nanos newest_at_;
  Nanos repeated_at_;
  PublisherState state_;
};

Result<std::unique_ptr<Publisher>> Publisher::start(PublisherOptions options) {
  if (!nats_library().why_not.empty()) {
    return fail(ErrorCode::kUnavailable, "cannot publish", nats_library().why_not,
                "apt-get install libnats3.4");
  }
  auto body = std::make_unique<Body>(std::move(options));
  if (Result<void> started = body->start(); !started) return fail(std::move(started).error());
  return std::unique_ptr<Publisher>(new Publisher(std::move(body)));
}

Publisher::Publisher(std::unique_ptr<Body> body) : body_(std::move(body)) {}
Publisher::~Publisher() = default;

void Publisher::post(Message message) { body_->post(std::move(message)); }

PublisherState Publisher::state() const { return body_->state(); }

bool Publisher::finish(Nanos within) { return body_->finish(within); }

}  // namespace heddle::messaging
