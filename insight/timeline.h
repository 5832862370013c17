// Timeline: what each process did and when, on one clock: calls, waits, phases, messages, and what
// recovery did. One pass, in the order of each process's events; only what is open is kept.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/nanos.h"
#include "events/events.h"

namespace heddle::insight {

enum class MomentKind : uint8_t { kCall, kWait, kPhase, kMessage, kRecovery };

// Something that took a while, or (where begin is end) happened.
struct Moment {
  uint32_t process = 0;
  MomentKind kind = MomentKind::kCall;
  uint32_t row = 0;  // of calls: no two on one row overlap, and low rows are used first
  std::string name;
  int64_t begin_ns = 0;  // since 1970
  int64_t end_ns = 0;
  uint64_t bytes = 0;
  // Of calls only.
  uint64_t communicator = 0;
  uint64_t number = 0;
  std::string algorithm;
  bool ok = true;
  bool ended = true;  // else it was under way when the events end
};

class TimelineBuilder {
 public:
  using Sink = std::function<void(const Moment&)>;
  explicit TimelineBuilder(Sink sink) : sink_(std::move(sink)) {}

  // What makes a process's times those of the job, since 1970.
  using ToJob = std::function<int64_t(int64_t)>;
  uint32_t add_process(ToJob to_job);
  // A moment is told at its end.
  void add(uint32_t process, const events::AnyEvent& event);
  // Tells what was not at its end.
  void finish();

 private:
  struct State {
    ToJob to_job;
    int64_t latest_ns = 0;
    std::map<std::pair<uint64_t, uint32_t>, Moment> calls;
    std::vector<bool> rows;  // taken
    std::map<std::pair<uint64_t, uint32_t>, Moment> waits;
    Moment phase;  // without a name: none
  };

  static int64_t time_of(const State& state, Nanos time);
  Moment moment(uint32_t process, MomentKind kind, Nanos at);
  void tell_message(uint32_t process, Nanos at, std::string name, uint64_t bytes);
  void close(Moment& moment, int64_t end_ns);
  template <typename Event>
  void on(uint32_t /*process*/, const Event& /*event*/) {}
  void on(uint32_t process, const events::CallMade& event);
  void on(uint32_t process, const events::CallStarted& event);
  void on(uint32_t process, const events::CallEnded& event);
  void on(uint32_t process, const events::WaitBegun& event);
  void on(uint32_t process, const events::WaitEnded& event);
  void on(uint32_t process, const events::Mark& event);
  void on(uint32_t process, const events::MessageCompleted& event);
  void on(uint32_t process, const events::SharedMessageCompleted& event);
  void on(uint32_t process, const events::Recovery& event);
  void on(uint32_t process, const events::BurstLost& event);

  Sink sink_;
  std::vector<State> states_;
};

}  // namespace heddle::insight
