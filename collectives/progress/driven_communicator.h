// DrivenCommunicator: a communicator on the progress thread, and its running calls. Only that
// thread may call its functions, except failure().
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/own_mutex.h"
#include "collectives/communicator.h"
#include "collectives/progress/call_state.h"

namespace heddle::collectives {

// A call that was posted, and what its poster holds of it.
struct PostedCall {
  Call call;
  Nanos timeout = Nanos::never();
  std::shared_ptr<CallState> state;
};

class DrivenCommunicator {
 public:
  Result<void> open(const std::shared_ptr<Links>& links, const Members& members,
                    const CommunicatorOptions& options);
  // The same for one that another was shrunk to.
  void adopt(engine::Endpoint& endpoint, std::unique_ptr<Communicator> communicator);
  // Begins them together where there are several.
  void post(std::vector<PostedCall> calls);
  // As Communicator::attend(); ends calls that are done or too late.
  Communicator::Attention attend();
  void abort(ErrorCode code, const std::string& why) {
    if (communicator_) communicator_->abort(code, why);
  }
  // `state` ends when take_shrunk() has the result.
  void begin_shrink(const ShrinkOptions& options, std::shared_ptr<CallState> state);
  Result<Communicator::Shrunk> take_shrunk();
  std::string waits_for() const {
    return communicator_ ? communicator_->waits_for() : "it has left";
  }

  void begin_leaving();
  // Whether it is leaving and needs no more looks.
  bool left();
  // Ends what is not over, and says goodbye if that was not done.
  void close();

  // Why it failed, for any thread; in a child of fork() that it is the parent's.
  std::optional<Error> failure() const;

 private:
  struct Running {
    Request request;
    std::shared_ptr<CallState> state;
    Nanos timeout;
    Nanos deadline;
  };

  void end_done();
  void end_shrink();
  Nanos heed_deadlines();
  void end_all(const Error& error);

  std::unique_ptr<Communicator> communicator_;
  engine::Endpoint* endpoint_ = nullptr;
  std::vector<Running> running_;
  std::shared_ptr<CallState> shrinking_;  // null: it is not
  std::optional<Result<Communicator::Shrunk>> shrunk_;
  Nanos next_deadline_ = Nanos::never();
  bool leaving_ = false;
  mutable OwnMutex failure_mutex_;
  std::optional<Error> failure_;
};

}  // namespace heddle::collectives
