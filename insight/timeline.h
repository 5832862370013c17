// Timeline: the calls, waits, phases, messages and recovery actions of each process, and what each
// machine reported, on one clock.
// One pass, in the order of each process's events; only unfinished moments are kept.
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

// Transfers, kernels and host work are NCCL's.
enum class MomentKind : uint8_t {
  kCall,
  kWait,
  kPhase,
  kMessage,
  kRecovery,
  kTransfer,
  kKernel,
  kHost,
  kNode,  // what a machine reported itself
};

// An activity with a duration, or an event (begin equals end).
struct Moment {
  uint32_t process = 0;
  MomentKind kind = MomentKind::kCall;
  uint32_t row = 0;  // of calls: calls on one row do not overlap; the lowest free row is used
  std::string name;
  int64_t begin_ns = 0;  // since 1970
  int64_t end_ns = 0;
  uint64_t bytes = 0;
  // Set for calls only.
  uint64_t communicator = 0;
  uint64_t number = 0;
  std::string algorithm;
  bool ok = true;
  std::string detail;  // of a transfer: what it waited for
  bool ended = true;   // false: in progress when the events end
};

class TimelineBuilder {
 public:
  using Sink = std::function<void(const Moment&)>;
  explicit TimelineBuilder(Sink sink) : sink_(std::move(sink)) {}

  // Converts a process's times to those of the job, since 1970.
  using ToJob = std::function<int64_t(int64_t)>;
  uint32_t add_process(ToJob to_job);
  // A moment is reported at its end.
  void add(uint32_t process, const events::AnyEvent& event);
  // Reports the moments that have not ended.
  void finish();

 private:
  struct State {
    ToJob to_job;
    int64_t latest_ns = 0;
    std::map<std::pair<uint64_t, uint32_t>, Moment> calls;
    std::vector<bool> rows;  // true: in use
    std::map<std::pair<uint64_t, uint32_t>, Moment> waits;
    Moment phase;  // empty name: no phase yet
  };

  static int64_t time_of(const State& state, Nanos time);
  Moment moment(uint32_t process, MomentKind kind, Nanos at);
  void add_message(uint32_t process, Nanos at, std::string name, uint64_t bytes);
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
  void on(uint32_t process, const events::LibraryCall& event);
  void on(uint32_t process, const events::Recovery& event);
  void on(uint32_t process, const events::BurstLost& event);
  void on(uint32_t process, const events::ProxyOp& event);
  void on(uint32_t process, const events::ProxyStep& event);
  void on(uint32_t process, const events::KernelChannel& event);
  void on(uint32_t process, const events::KernelPhase& event);
  void on(uint32_t process, const events::HostWork& event);
  void on(uint32_t process, const events::KernelMessage& event);
  void on(uint32_t process, const events::NicLinkChanged& event);
  template <typename Event>
  void report_transfer(uint32_t process, const Event& event, const std::string& what);
  void report_span(Moment moment, Nanos took);

  Sink sink_;
  std::vector<State> states_;
};

}  // namespace heddle::insight
