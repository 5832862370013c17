// Communicator::Body: the calls of a communicator and how they come to their ends. Only
// the files beside it include this. Collectives are dealt to lanes in turn, each with channels of
// its own, so that calls run side by side and each lane's in order; messages between two ranks
// share one channel a connection.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ring.h"
#include "collectives/communicator.h"
#include "collectives/communicator/agreement.h"
#include "collectives/communicator/straggler_tracker.h"
#include "collectives/communicator/survivors.h"
#include "collectives/execution/execution.h"
#include "collectives/execution/request_table.h"
#include "collectives/params.h"
#include "collectives/table_file.h"

namespace heddle::collectives {

class Communicator::Body {
 public:
  static constexpr uint32_t kLanes = params::kLanes;
  static constexpr engine::Channel kMessageChannel = 1;
  static constexpr engine::Channel kFirstLane = 2;

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
  bool goodbye_said();
  void say_goodbye();
  // When all calls have ended.
  void begin_shrink(const ShrinkOptions& options) { shrinks_ = options; }
  // Once, when it is known.
  std::optional<Result<Survivors::Left>> take_left();
  // Of the communicator of those that are left: as these agreed, without costs of other ranks.
  CommunicatorOptions options_of_next() const;
  bool busy() const { return requests_under_way_ > 0; }
  bool works() const { return state_ == State::kWorking; }
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
  std::optional<Tuning> tuning_;  // as the ranks agreed
  std::optional<Failure> failure_;
  uint32_t splits_ = 0;

 private:
  enum class State : uint8_t {
    kWorking,
    kNotifying,  // the failure is sent to the other ranks
    kSettling,   // operations are withdrawn and end
    kFailed,
  };
  struct Running {
    explicit Running(Resources& resources) : execution(resources) {}
    Call call;
    uint64_t number = 0;
    uint64_t request = 0;
    bool busy = false;
    bool posted = false;  // messages between two: the next on its stream may begin
    Execution execution;
  };
  struct Waiting {
    Call call;
    uint64_t number = 0;
    uint64_t request = 0;  // 0: one of the agreement's own
    std::optional<Algorithm> algorithm;
  };
  // Calls of the past by number, to be compared with what others wait for.
  struct Past {
    uint64_t number = UINT64_MAX;
    Signature signature;
  };

  // The latest choice for a collective: programs repeat their calls.
  struct Choice {
    uint64_t bytes = UINT64_MAX;
    Algorithm algorithm = Algorithm::kRing;
  };

  Shape shape_of(const Call& call, std::optional<Algorithm> algorithm);
  Algorithm choose(Collective collective, uint64_t bytes);
  void begin_agreement();
  Tuning offered();
  void start_agreement_step();
  void go_on_agreeing();
  void keep_table();
  bool start_collectives();
  bool start_messages();
  bool start(Running& running, Waiting waiting, engine::Channel channel);
  bool run(Running& running);
  bool meet_itself();
  void finish_request(uint64_t request, bool ok);
  void handle_stalled();
  void answer_stalled(uint32_t from, uint64_t number);
  void handle_late(const Late& late);
  uint64_t oldest_call() const;
  void ask_late();
  void send_arrival(uint64_t number);
  void handle_time(bool moved);
  // Asks the ranks that stalled calls wait for.
  void ask_stalled();
  bool advance_failing();
  void withdraw();
  bool settle();
  void drop_unsettled();
  bool advance_shrinking();
  bool starts_now() const { return group_ == 0 && tuning_.has_value(); }
  uint64_t& turn_of(std::vector<uint64_t>& turns, const Call& call) const;
  void observe_made(const Call& call, uint64_t number, uint64_t request);
  void observe_started(const Running& running, const Shape& shape, engine::Channel channel);
  void observe_ended(uint64_t request, bool ok);

  std::unique_ptr<Resources> resources_;
  std::unique_ptr<Survivors> survivors_;
  std::optional<ShrinkOptions> shrinks_;  // shrink() was called
  bool left_taken_ = false;
  std::array<std::unique_ptr<Running>, kLanes> lanes_;
  std::vector<std::unique_ptr<Running>> messages_;  // busy and idle
  Ring<Waiting> collectives_waiting_;
  std::vector<Waiting> messages_waiting_;  // in the order of their calls
  std::vector<uint64_t> tickets_;          // by peer and direction: calls so far
  std::vector<uint64_t> turns_;            // and those that have posted everything
  uint64_t next_number_ = 0;
  uint64_t next_started_ = 0;
  uint64_t group_ = 0;
  uint32_t requests_under_way_ = 0;
  std::unique_ptr<Agreement> agreement_;  // until the ranks agree
  std::optional<Fabric> fabric_;          // of rank 0, where its table is read from or written to
  uint64_t chunk_bytes_;                  // this rank's until rank 0 has sent its own
  uint64_t burst_payload_bytes_ = 0;      // as rank 0 has sent
  std::array<Past, params::kPastCalls> past_{};
  std::array<Choice, kCollectives> choices_{};
  std::map<std::pair<uint32_t, uint64_t>, Signature> pending_remote_;  // by rank and number
  StragglerTracker late_;
  State state_ = State::kWorking;
  Nanos give_up_at_;
  std::optional<Nanos> waits_since_;  // nothing: it has just moved
  enum class Goodbye : uint8_t { kNone, kGraceful, kFailing };
  Goodbye goodbye_ = Goodbye::kNone;
  Nanos goodbye_until_;
};

}  // namespace heddle::collectives
