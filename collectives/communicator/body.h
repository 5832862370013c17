// Communicator::Body: the calls of a communicator and how they come to their ends. Only the files
// beside it include this. It passes calls, progress and time between the parts that own a
// communicator's state: what the ranks agreed on, calls that have not begun, running calls, calls
// that wait for other ranks, the ending, and the ranks that are left.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "collectives/communicator.h"
#include "collectives/communicator/agreed_tuning.h"
#include "collectives/communicator/call_queue.h"
#include "collectives/communicator/ending.h"
#include "collectives/communicator/running_calls.h"
#include "collectives/communicator/stalled_calls.h"
#include "collectives/communicator/survivors.h"
#include "collectives/execution/execution.h"
#include "collectives/execution/request_table.h"

namespace heddle::collectives {

class Communicator::Body {
 public:
  Body(std::shared_ptr<Links> links, const Members& members, const CommunicatorOptions& options);
  ~Body();

  // Takes calls that check_call() has accepted.
  uint64_t submit(Call call);
  uint64_t open_group();
  void close_group();
  bool advance();
  void fail_all(Failure failure);
  // The ranks that the oldest call waits for, as text.
  std::string waits_for() const;
  Attention attend();
  void begin_goodbye();
  bool goodbye_said() const { return ending_.goodbye_said(); }
  void say_goodbye();
  // When all calls have ended.
  void begin_shrink(const ShrinkOptions& options) { survivors_.ask(options); }
  std::optional<Result<Survivors::Left>> take_left() { return survivors_.take(); }
  CommunicatorOptions options_of_next() const { return agreed_.options_of_next(); }
  bool busy() const { return requests_under_way_ > 0; }
  bool works() const { return ending_.works(); }
  const std::optional<Failure>& failure() const { return ending_.failure(); }
  const std::optional<Tuning>& tuning() const { return agreed_.tuning(); }
  // Emits the events of a caller that waits, from begin() to its own end.
  class ObservedWait {
   public:
    ObservedWait(Body& body, uint64_t request) : body_(body), request_(request) {}
    ~ObservedWait() {
      if (begun_) body_.report_waiting(request_, false);
    }
    ObservedWait(const ObservedWait&) = delete;
    ObservedWait& operator=(const ObservedWait&) = delete;
    void begin() {
      if (!begun_) body_.report_waiting(request_, true);
      begun_ = true;
    }

   private:
    Body& body_;
    const uint64_t request_;
    bool begun_ = false;
  };
  void report_waiting(uint64_t request, bool begins);

  const std::shared_ptr<Links> links_;
  const Members members_;
  const CommunicatorOptions options_;
  engine::Endpoint& endpoint_;
  RequestTable requests_;
  uint32_t splits_ = 0;

 private:
  void start_agreement_step();
  void go_on_agreeing();
  bool start_collectives();
  bool start_messages();
  bool start(RunningCall& running, WaitingCall waiting, engine::Channel channel);
  bool run(RunningCall& running);
  bool meet_itself();
  void finish_request(uint64_t request, bool ok);
  void handle_reports();
  bool advance_failing();
  void end_calls();
  bool starts_now() const { return group_ == 0 && tuning().has_value(); }
  void observe_made(const WaitingCall& made);
  void observe_started(const RunningCall& running, const Shape& shape, engine::Channel channel);
  void observe_ended(uint64_t request, bool ok);

  Resources resources_;
  Survivors survivors_;
  AgreedTuning agreed_;
  CallQueue queue_;
  RunningCalls running_;
  StalledCalls stalled_;
  Ending ending_;
  uint64_t group_ = 0;
  uint32_t requests_under_way_ = 0;
};

}  // namespace heddle::collectives
