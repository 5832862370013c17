// See publisher.h.
#include "messaging/publisher.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

#include "base/thread.h"
#include "messaging/nats/connection.h"
#include "messaging/params.h"
#include "messaging/waiting_messages.h"

namespace heddle::messaging {

class Publisher::Body {
 public:
  explicit Body(PublisherOptions options)
      : options_(std::move(options)), waiting_({params::kMostWaiting, params::kMostWaitingBytes}) {}
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
    Result<Thread> thread = start_thread("publisher", [this] { run(); });
    if (!thread) return fail(std::move(thread).error());
    thread_ = std::move(*thread);
    return {};
  }

  void post(Message message) {
    {
      const std::scoped_lock lock(mutex_);
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
    Nanos wait = params::kFirstRetry;
    for (size_t attempt = 0; !ends(); ++attempt) {
      Result<NatsConnection> made =
          NatsConnection::make(options_.address, options_.access, options_.name, attempt);
      if (made) {
        set_connected();
        const Error why = publish_until_lost(*made);
        if (ends()) return;
        lose(why, true);
        wait = params::kFirstRetry;
      } else {
        lose(made.error(), false);
      }
      pause_for(wait);
      wait = std::min(wait * 2, params::kLongestRetry);
    }
  }

  // Returns why it is lost.
  Error publish_until_lost(NatsConnection& connection) {
    while (true) {
      std::vector<Message> batch = next_batch();
      if (batch.empty() && ends()) return {};
      const Result<void> sent = send(connection, batch);
      settle(sent.has_value(), std::move(batch));
      if (!sent) return sent.error();
    }
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
    changed_.wait_for(lock, std::chrono::nanoseconds(params::kSignOfLife.count),
                      [this] { return ends_ || waiting_.size() > 0; });
    std::vector<Message> batch = waiting_.take(params::kMostAtOnce);
    in_flight_ = batch.size();
    return batch;
  }

  Result<void> send(NatsConnection& connection, std::vector<Message>& batch) {
    const size_t most = connection.most_bytes();
    std::erase_if(batch, [this, most](const Message& each) {
      if (each.text.size() <= most) return false;
      drop_too_long(each, most);
      return true;
    });
    for (const Message& each : batch) {
      if (Result<void> sent = connection.publish(each.subject, each.text); !sent) return sent;
    }
    if (Result<void> flushed = connection.flush(params::kAnswerWithin); !flushed) return flushed;
    drop_refused(connection.refusal(), batch);
    return {};
  }

  // It goes on for others, or until the server's rules are changed: no reason to connect again.
  void drop_refused(const std::string& why, std::vector<Message>& batch) {
    if (why.empty() || batch.empty()) return;
    const std::scoped_lock lock(mutex_);
    state_.dropped += batch.size();
    state_.complaint = "the server refuses what is published: " + why;
    batch.clear();
  }

  void drop_too_long(const Message& message, size_t most) {
    const std::scoped_lock lock(mutex_);
    ++state_.dropped;
    state_.complaint = fmt::format("a message of {} bytes was dropped: the server takes {}",
                                   message.text.size(), most);
  }

  void set_connected() {
    const std::scoped_lock lock(mutex_);
    state_.connected = true;
    state_.complaint.clear();
  }

  void lose(const Error& why, bool was_connected) {
    const std::scoped_lock lock(mutex_);
    state_.connected = false;
    if (was_connected) ++state_.losses;
    state_.complaint = why.message();
  }

  void count_dropped(uint64_t messages) { state_.dropped += messages; }

  bool ends() const {
    const std::scoped_lock lock(mutex_);
    return ends_;
  }

  void pause_for(Nanos span) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::nanoseconds(span.count), [this] { return ends_; });
  }

  const PublisherOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  WaitingMessages waiting_;
  size_t in_flight_ = 0;  // that the server has not confirmed yet
  PublisherState state_;
  bool ends_ = false;
  Thread thread_;
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
