// See stream.h.
#include "bench/diagnosis/stream.h"

#include <algorithm>
#include <cmath>

#include "bench/diagnosis/draw.h"
#include "bench/diagnosis/stream_network.h"

namespace heddle::bench {
namespace {

using events::Algorithm;
using events::ElementType;
using events::Operation;

constexpr uint64_t kClock = 201;  // purposes of draws
constexpr uint64_t kDeath = 202;
constexpr uint64_t kWorld = 7;
constexpr double kCallNs = 20e3;  // from a call to its start
constexpr double kElements = 1'000'000;
constexpr double kMessageBytes = 100'000;
constexpr double kDeadAfterNs = 5e9;  // peers are declared dead
constexpr double kObservedNs = 90e9;  // of a job that hangs
constexpr double kKeepAliveNs = 1e9;

class StreamMaker {
 public:
  explicit StreamMaker(const FaultCase& job)
      : job_(job), computation_(job), network_(job), now_(job.ranks) {
    for (uint32_t rank = 0; rank < job.ranks; ++rank) {
      made_.processes.push_back(identity_of(job, rank));
      made_.ends.push_back({.closed = true,
                            .complete = true,
                            .clock_error_ns = static_cast<int64_t>(job.noise.clock_error_ns)});
      Random clock = random_at(job.seed, kClock, job.host_of(rank), 0);
      clock_error_.push_back(job.noise.clock_error_ns * uniform(clock, -1, 1));
      now_[rank] = 1e6;
      emit(rank, now_[rank], events::CommunicatorMade{{}, kWorld, rank, job.ranks});
      for (uint32_t peer = 0; peer < job.ranks; ++peer) {
        if (peer != rank)
          emit(rank, now_[rank], events::CommunicatorLinked{{}, kWorld, peer, peer + 1});
      }
    }
  }

  ObservedJob make() {
    for (step_ = 0; step_ < job_.steps && !over_; ++step_) {
      if (step_ == job_.truth.onset_step) begin_fault();
      do_step();
    }
    finish();
    made_.sort();
    return std::move(made_);
  }

 private:
  struct Call {
    Operation operation = Operation::kAllreduce;
    bool waits = true;  // the caller, at once
  };
  struct UnderWay {
    uint32_t number = 0;
    std::vector<double> ended;
  };

  template <typename Event>
  void emit(uint32_t rank, double at, const Event& event) {
    if (at >= kNoTime || (rank == job_.truth.rank && at > death_)) return;
    last_ = std::max(last_, at);
    const double shown = std::max(0.0, at + clock_error_[rank]);
    made_.events.push_back({static_cast<int64_t>(shown), rank, event});
  }

  void begin_fault() {
    double first = kNoTime;
    for (const double now : now_) first = std::min(first, now);
    made_.onset_ns = static_cast<int64_t>(first);
    network_.set_onset(first);
  }

  bool at_onset(Fault fault) const {
    return job_.truth.fault == fault && step_ == job_.truth.onset_step;
  }

  void compute(uint32_t slice) {
    for (uint32_t rank = 0; rank < job_.ranks; ++rank) {
      now_[rank] += computation_.ns(rank, step_, slice);
    }
    if (slice == 0 && at_onset(Fault::kStoppedRank)) {
      made_.onset_ns = static_cast<int64_t>(now_[job_.truth.rank]);
      now_[job_.truth.rank] = kNoTime;
    }
  }

  void do_step() {
    for (uint32_t slice = 0; slice < job_.calls && !over_; ++slice) {
      compute(slice);
      switch (job_.shape) {
        case Shape::kBuckets:
          call({Operation::kAllreduce, false});
          break;
        case Shape::kSharded:
          call({slice % 2 == 0 ? Operation::kAllgather : Operation::kReducescatter, true});
          break;
        case Shape::kExperts:
          call({slice < 2 ? Operation::kAlltoallv : Operation::kAllreduce, true});
          break;
        case Shape::kExchange:
          call({Operation::kAlltoall, true});
          break;
      }
    }
    wait_for_all();
  }

  Transfer transfer(const Call& call, uint32_t number, const std::vector<double>& started,
                    const std::vector<double>& load) {
    const bool exchange =
        call.operation == Operation::kAlltoall || call.operation == Operation::kAlltoallv;
    if (exchange) return network_.exchange(number, started, load);
    const uint32_t passes = call.operation == Operation::kAllreduce ? 2 : 1;
    return network_.ring(number, started, passes * (job_.ranks - 1));
  }

  void call(const Call& call) {
    const uint32_t number = ++calls_;
    const bool unequal = call.operation == Operation::kAlltoallv;
    const bool exchange = unequal || call.operation == Operation::kAlltoall;
    // Counts of an all-to-all-v may differ.
    const bool mismatch = at_onset(Fault::kMismatch) && !unequal && first_of_step();
    std::vector<double> started(job_.ranks);
    std::vector<double> load(job_.ranks, 1.0);
    for (uint32_t rank = 0; rank < job_.ranks; ++rank) {
      if (unequal) load[rank] = computation_.load(rank, step_);
      double count = std::round(kElements * load[rank]);
      if (mismatch && rank == job_.truth.rank) count -= 1;
      started[rank] = now_[rank] + kCallNs;
      if (!under_way_.empty())
        started[rank] = std::max(started[rank], under_way_.back().ended[rank]);
      emit(rank, now_[rank],
           events::CallMade{{},
                            kWorld,
                            number,
                            number,
                            call.operation,
                            ElementType::kFloat,
                            static_cast<uint64_t>(count),
                            0,
                            0});
      emit(rank, started[rank],
           events::CallStarted{{},
                               kWorld,
                               number,
                               call.operation,
                               exchange ? Algorithm::kPairwise : Algorithm::kRing,
                               2,
                               2,
                               24,
                               128 << 10});
    }
    if (mismatch) return fail_all(number);
    Transfer moved = transfer(call, number, started, load);
    if (at_onset(Fault::kFrozenRank) && first_of_step())
      moved = freeze(call, number, started, moved, load);
    record(number, moved);
    under_way_.push_back({number, moved.ended});
    if (call.waits) wait_for_all();
  }

  bool first_of_step() { return std::exchange(onset_call_, false); }

  // In the midst of what would be the rank's part of the operation; the others' are as they then
  // come to be.
  Transfer freeze(const Call& call, uint32_t number, const std::vector<double>& started,
                  const Transfer& healthy, const std::vector<double>& load) {
    const uint32_t rank = job_.truth.rank;
    Random random = random_at(job_.seed, kDeath, 0, 0);
    death_ = uniform(random, started[rank], healthy.ended[rank]);
    made_.onset_ns = static_cast<int64_t>(death_);
    made_.ends[rank].closed = false;
    network_.set_death(rank, death_);
    return transfer(call, number, started, load);
  }

  void record(uint32_t number, const Transfer& moved) {
    for (const Arrival& each : moved.arrivals) {
      if (!job_.waits) break;
      const auto bytes = static_cast<uint64_t>(kMessageBytes * each.load);
      if (job_.host_of(each.from) == job_.host_of(each.to)) {
        emit(each.to, each.at,
             events::SharedMessageCompleted{
                 {}, each.from + 1, 2, 0, bytes, events::Direction::kReceived, false});
      } else {
        emit(
            each.to, each.at,
            events::MessageCompleted{{}, each.from + 1, 2, 0, bytes, events::Direction::kReceived});
      }
    }
    for (uint32_t rank = 0; rank < job_.ranks; ++rank) {
      emit(rank, moved.ended[rank], events::CallEnded{{}, kWorld, number, true});
    }
  }

  void wait_for_all() {
    over_ = true;
    for (uint32_t rank = 0; rank < job_.ranks; ++rank) {
      for (const UnderWay& each : under_way_) {
        if (each.ended[rank] <= now_[rank]) continue;
        if (job_.waits) {
          emit(rank, now_[rank], events::WaitBegun{{}, kWorld, each.number});
          emit(rank, each.ended[rank], events::WaitEnded{{}, kWorld, each.number});
        }
        now_[rank] = each.ended[rank];
        if (now_[rank] == kNoTime) open_.emplace_back(rank, each.number);
      }
      if (now_[rank] < kNoTime) over_ = false;
    }
    under_way_.clear();
  }

  // Headings of messages differ: the ranks' calls fail.
  void fail_all(uint32_t number) {
    const double latest = *std::max_element(now_.begin(), now_.end());
    made_.onset_ns = static_cast<int64_t>(latest);
    for (uint32_t rank = 0; rank < job_.ranks; ++rank) {
      emit(rank, latest + 1e6, events::CallEnded{{}, kWorld, number, false});
    }
    over_ = true;
  }

  // Jobs that hang are observed on; peers of a dead process learn of it, and the job ends.
  void finish() {
    double until = last_;
    if (job_.truth.fault == Fault::kStoppedRank) until = last_ + kObservedNs;
    if (death_ < kNoTime) {
      const double failed = std::max(last_, death_ + kDeadAfterNs);
      for (const auto& [rank, number] : open_) {
        if (job_.waits) emit(rank, failed, events::CallEnded{{}, kWorld, number, false});
      }
      until = job_.waits ? failed + kKeepAliveNs : last_ + kObservedNs;
    }
    made_.ended_ns = static_cast<int64_t>(last_);
    if (job_.waits) {
      for (uint32_t rank = 0; rank < job_.ranks; ++rank) {
        for (double at = kKeepAliveNs; at <= until; at += kKeepAliveNs) {
          emit(rank, at,
               events::WireBin{{}, 1, 0, 0, 0, events::Direction::kSent, {}, 100'000, 1, 80, 0});
        }
      }
    }
    made_.until_ns = static_cast<int64_t>(until);
  }

  const FaultCase& job_;
  const Computation computation_;
  StreamNetwork network_;
  ObservedJob made_;
  std::vector<double> clock_error_;  // by rank
  std::vector<double> now_;          // of each rank's program
  std::vector<UnderWay> under_way_;
  std::vector<std::pair<uint32_t, uint32_t>> open_;  // ranks and calls that never end
  double death_ = kNoTime;                           // of the process that the fault stops
  double last_ = 0;                                  // event
  uint32_t step_ = 0;
  uint32_t calls_ = 0;
  bool onset_call_ = true;  // the onset's first call is yet to come
  bool over_ = false;
};

}  // namespace

ObservedJob make_stream(const FaultCase& job) { return StreamMaker(job).make(); }

}  // namespace heddle::bench
