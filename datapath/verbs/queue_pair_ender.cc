// QueuePairEnder: see queue_pair_ender.h. The thread shares its state, so that it can outlive the
// ender; it starts with the first queue pair, and a process without verbs has none.
#include "datapath/verbs/queue_pair_ender.h"

#include <sys/eventfd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/log.h"
#include "base/own_mutex.h"
#include "datapath/verbs/params.h"

namespace heddle::datapath {

class QueuePairEnder::Body {
 public:
  explicit Body(std::shared_ptr<VerbsDevice> device)
      : notification_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)), device_(std::move(device)) {}

  uint64_t add(std::unique_ptr<QueuePair> pair) {
    const OwnMutex::Lock lock = mutex_.lock();
    waiting_.push_back(std::move(pair));
    one_came_.notify_one();
    return ++added_;
  }

  // Where there is no thread.
  uint64_t end_here(std::unique_ptr<QueuePair> pair) {
    pair.reset();
    ended_.store(++added_);
    return added_;
  }

  void keep(std::shared_ptr<void> memory) { kept_.push_back(std::move(memory)); }
  uint64_t latest() const { return added_; }  // the driving thread adds
  uint64_t waiting() const { return added_ - ended_.load(); }
  bool has_ended() const { return ended_.load() != freed_; }
  uint64_t ended() {
    if (!has_ended()) return freed_;
    std::vector<std::unique_ptr<QueuePair>> done;
    {
      const OwnMutex::Lock lock = mutex_.lock();
      done.swap(done_);
      freed_ = ended_.load();
    }
    return freed_;  // the device's counts belong to this thread, so the objects end here
  }

  void wait_for(uint64_t number) {
    OwnMutex::Lock lock = mutex_.lock();
    one_ended_.wait(lock, [this, number] { return ended_.load() >= number; });
  }

  // Whether the thread has nothing left to do.
  bool stop(Nanos at_most) {
    OwnMutex::Lock lock = mutex_.lock();
    stops_ = true;
    one_came_.notify_one();
    return one_ended_.wait_for(lock, std::chrono::nanoseconds(at_most.count),
                               [this] { return waiting_.empty(); });
  }

  // Of the thread.
  void run() {
    OwnMutex::Lock lock = mutex_.lock();
    while (true) {
      one_came_.wait(lock, [this] { return stops_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      QueuePair& pair = *waiting_.front();
      lock.unlock();
      // Until it is gone, a write of it could land, so it counts as none that has ended.
      while (!pair.destroy()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      lock.lock();
      done_.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
      ended_.fetch_add(1);
      one_ended_.notify_all();
      notify();
    }
  }

  int descriptor() const { return notification_.number(); }
  void take_notification() const {
    eventfd_t count = 0;
    static_cast<void>(eventfd_read(notification_.number(), &count));  // EAGAIN: there was none
  }

 private:
  void notify() const {
    static_cast<void>(eventfd_write(notification_.number(), 1));  // EAGAIN: it is readable already
  }

  const Descriptor notification_;
  const std::shared_ptr<VerbsDevice> device_;  // outlives what is below
  std::vector<std::shared_ptr<void>> kept_;    // outlives the queue pairs below
  OwnMutex mutex_;
  std::condition_variable one_came_;
  std::condition_variable one_ended_;
  std::deque<std::unique_ptr<QueuePair>> waiting_;  // the first one may be in the thread's hands
  std::vector<std::unique_ptr<QueuePair>> done_;
  std::atomic<uint64_t> ended_{0};
  uint64_t freed_ = 0;
  uint64_t added_ = 0;
  bool stops_ = false;
};

QueuePairEnder::QueuePairEnder(std::shared_ptr<VerbsDevice> device, Nanos ends_within)
    : body_(std::make_shared<Body>(std::move(device))), ends_within_(ends_within) {}

QueuePairEnder::~QueuePairEnder() {
  if (!thread_.joinable()) return;
  if (body_->stop(ends_within_)) {
    thread_.join();
    return;
  }
  log_warn("RDMA: queue pairs still end; a thread waits for them, and ends the device afterwards");
  thread_.detach();
}

// libmlx5 ends a process whose threads meet in it where the user has set this variable.
bool QueuePairEnder::may_have_a_thread() {
  const char* const single = std::getenv("MLX5_SINGLE_THREADED");
  return single == nullptr || std::string_view(single) == "0";
}

uint64_t QueuePairEnder::end(std::unique_ptr<QueuePair> pair) {
  pair->break_off();
  if (!may_have_a_thread()) return body_->end_here(std::move(pair));
  if (!thread_.joinable()) {
    Result<Thread> started = start_thread("heddle-qp-end", [body = body_] { body->run(); });
    if (!started) return body_->end_here(std::move(pair));
    thread_ = std::move(*started);
  }
  return body_->add(std::move(pair));
}

void QueuePairEnder::keep(std::shared_ptr<void> memory) { body_->keep(std::move(memory)); }
uint64_t QueuePairEnder::ended() { return body_->ended(); }
bool QueuePairEnder::has_ended() const { return body_->has_ended(); }
uint64_t QueuePairEnder::latest() const { return body_->latest(); }
uint64_t QueuePairEnder::waiting() const { return body_->waiting(); }
void QueuePairEnder::wait_for(uint64_t number) { body_->wait_for(number); }
int QueuePairEnder::descriptor() const { return body_->descriptor(); }
void QueuePairEnder::take_notification() { body_->take_notification(); }

}  // namespace heddle::datapath
