// SharedCommunicator: a communicator that a progress thread drives. Several threads may post to it
// at once: calls have the order in which they were posted, which must be the same on all ranks. The
// rules of Communicator apply, those for failures included.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "collectives/call.h"
#include "collectives/communicator.h"
#include "collectives/members.h"
#include "collectives/pending_call.h"
#include "collectives/progress_thread.h"

namespace heddle::collectives {

class DrivenCommunicator;

struct CallOptions {
  // A call that is not done in this time fails its communicator, on all ranks, with kTimeout and
  // the ranks that it waits for. A timeout of PendingCall::wait() ends only the wait.
  Nanos timeout = Nanos::never();
  // Called by the progress thread when the call has ended, before waiting threads are woken. It
  // must not wait for other calls. Its captures are destroyed afterwards, in that thread.
  std::function<void(const Result<void>&)> on_end;
};

class SharedCommunicator {
 public:
  // As Communicator::create(). Also kClosed in a child of fork().
  static Result<std::unique_ptr<SharedCommunicator>> create(
      std::shared_ptr<ProgressThread> thread, const Members& members,
      const CommunicatorOptions& options = {});
  // Running calls fail, on all ranks. Returns at once: the thread closes the connections.
  ~SharedCommunicator();
  SharedCommunicator(const SharedCommunicator&) = delete;
  SharedCommunicator& operator=(const SharedCommunicator&) = delete;

  uint32_t rank() const { return members_.rank; }
  uint32_t size() const { return members_.size(); }
  const Members& members() const { return members_; }

  // communicator.h defines `count` and the buffers of a call. Errors: kInvalid (sizes, root,
  // buffers), kClosed (in a child of fork()), or why the communicator has failed.
  Result<PendingCall> post(Call call, CallOptions options = {});
  // Calls that begin together: one for each in the answer. Nothing is posted on an error.
  Result<std::vector<PendingCall>> post_group(std::vector<Call> calls,
                                              std::vector<CallOptions> options = {});

  // While `call` runs, the calling thread waits for it when it sleeps on such an object, as under
  // PendingCall::Waiting. Found by samples where recordings or sinks want waits, so a wait begins
  // 2 ms late at most (8 ms while other threads wait), and a shorter one may be missed.
  void watch_caller(const PendingCall& call, const AwaitedObject& object);

  // Ends all calls, here and on all other ranks; `why` is their error.
  void abort(ErrorCode code, const std::string& why);
  void abort();
  // Why it failed; nothing while it works.
  std::optional<Error> failure() const;

  // As Communicator::revoke().
  void revoke();
  // As Communicator::shrink(); waits for the ranks that are left. Also kClosed (in a child of
  // fork()).
  struct Shrunk {
    std::unique_ptr<SharedCommunicator> communicator;
    std::vector<uint32_t> former_ranks;
  };
  Result<Shrunk> shrink(const ShrinkOptions& options = {});

  // As Communicator::split(); waits for all ranks. Null for a negative colour. Errors: kTimeout
  // (after which the communicator has failed), those of calls.
  Result<std::unique_ptr<SharedCommunicator>> split(int32_t colour, int32_t key,
                                                    Nanos timeout = Nanos::never());

 private:
  SharedCommunicator(std::shared_ptr<ProgressThread> thread, const Members& members,
                     const CommunicatorOptions& options);
  Result<void> check(const std::vector<Call>& calls) const;

  const std::shared_ptr<ProgressThread> thread_;
  const Members members_;
  const CommunicatorOptions options_;
  std::shared_ptr<DrivenCommunicator> driven_;
  uint32_t splits_ = 0;
};

}  // namespace heddle::collectives
