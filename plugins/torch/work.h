// HeddleWork: torch's handle of running calls. It completes on the progress thread, or on a side
// thread if results must be copied, and holds references to the tensors until then.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/own_mutex.h"
#include "collectives/shared_communicator.h"
#include "plugins/torch/buffer.h"
#include "plugins/torch/c10d.h"

namespace heddle::pytorch {

// What a method of the process group has prepared.
struct Plan {
  c10d::OpType type = c10d::OpType::UNKNOWN;
  const char* title = "heddle";          // of the profiler
  std::vector<collectives::Call> calls;  // which begin together
  std::vector<Buffer> buffers;           // that the calls work on
  Tensors results;                       // of the future
  Tensors inputs;                        // for the profiler
  int source = -1;                       // of a receive
  std::function<void()> after;           // once the calls are done, on a side thread; may throw
  std::string about;                     // put before errors; may be empty
};

class HeddleWork final : public c10d::Work {
 public:
  // Throws what the communicator refuses.
  static c10::intrusive_ptr<HeddleWork> start(
      const std::shared_ptr<collectives::SharedCommunicator>& communicator, int rank, Plan plan,
      std::chrono::milliseconds timeout);
  HeddleWork(int rank, Plan plan, std::weak_ptr<collectives::SharedCommunicator> communicator);

  // A receive whose source is not known yet: receive_from() starts the call of the plan, or
  // refuse() ends it. wait() without a timeout calls `give_up` when `limit` is over, which refuses
  // it unless it has a source.
  static c10::intrusive_ptr<HeddleWork> prepare_receive(int rank, Plan plan,
                                                        std::chrono::milliseconds limit);
  void set_give_up(std::function<void()> give_up) { give_up_ = std::move(give_up); }
  // `peer` is the rank of `source` in the communicator. Neither may be called by the progress
  // thread.
  static void receive_from(const c10::intrusive_ptr<HeddleWork>& self,
                           const std::shared_ptr<collectives::SharedCommunicator>& communicator,
                           uint32_t source, uint32_t peer);
  void refuse(const Error& error);
  // What it holds of Python's goes here, or on a side thread where this is the progress thread.
  ~HeddleWork() override;

  int sourceRank() const override;
  std::vector<at::Tensor> result() override { return plan_.results; }
  bool wait(std::chrono::milliseconds timeout) override;
  void abort() override;
  // The calling thread may wait for it, or for one that follows from it, without a call of this
  // class: while the calls run, recordings see that wait by the thread's sleep.
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;

 private:
  static Result<std::vector<collectives::PendingCall>> post(
      const c10::intrusive_ptr<HeddleWork>& self,
      const std::shared_ptr<collectives::SharedCommunicator>& communicator,
      std::chrono::milliseconds timeout);
  // Whether it was the last.
  bool end_call(const Result<void>& result);
  static void end(c10::intrusive_ptr<HeddleWork> self);
  void copy_results();
  void complete(std::exception_ptr error);
  std::string waits_for();
  void give_up_when_over();
  void watch_caller();

  Plan plan_;
  const std::weak_ptr<collectives::SharedCommunicator> communicator_;
  std::vector<collectives::PendingCall> pending_;  // only the starting thread and wait()
  std::function<void()> give_up_;                  // the same
  std::chrono::milliseconds limit_{0};             // 0: none
  std::chrono::steady_clock::time_point began_;
  OwnMutex end_mutex_;
  size_t to_end_ = 0;                               // under end_mutex_
  std::string error_;                               // under end_mutex_
  bool ended_ = false;                              // under end_mutex_
  c10::intrusive_ptr<c10::ivalue::Future> future_;  // under end_mutex_
};

}  // namespace heddle::pytorch
