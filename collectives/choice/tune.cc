// Tune: see tune.h.
#include "collectives/tune.h"

#include <optional>
#include <utility>
#include <vector>

#include "collectives/choice/measurement.h"

namespace heddle::collectives {
namespace {

class Tuner {
 public:
  Tuner(Communicator& communicator, engine::Endpoint& endpoint, const TuneOptions& options)
      : communicator_(communicator), endpoint_(endpoint), options_(options) {}

  Result<TuneResult> run() {
    if (Result<void> met = run_call({.collective = Collective::kBarrier}); !met) {
      return fail(met.error());
    }
    // Now the ranks agree on what is pinned.
    const Tuning tuning = communicator_.tuning().value_or(Tuning());
    measurement_.emplace(
        communicator_.size(),
        full_measurement(options_.largest_bytes, options_.time,
                         groupings_of(communicator_.size(), tuning.pinned_group_ranks)));
    buffer_.resize(measurement_->buffer_bytes() / sizeof(float));
    TuneResult result;
    const Nanos began = endpoint_.now();
    for (std::optional<size_t> group = 0; group;) {
      if (options_.on_size) options_.on_size(measurement_->bytes(*group));
      const Nanos group_began = endpoint_.now();
      Result<Times> times = run_group(*group, began, group_began);
      if (!times) return fail(times.error());
      result.largest_bytes = measurement_->bytes(*group);
      result.calls += static_cast<uint32_t>(measurement_->calls(*group));
      result.took = times->elapsed;
      group = measurement_->after(*group, times->group, times->elapsed);
    }
    result.sound = measurement_->sound();
    result.tuning = measurement_->result(tuning);
    return result;
  }

 private:
  // As the slowest rank has them, so that all ranks go on alike.
  struct Times {
    Nanos group;
    Nanos elapsed;
  };

  Result<Times> run_group(size_t group, Nanos began, Nanos group_began) {
    // By row: the mean of its calls but the first, which warms up. A single call's longest time
    // over all ranks would be too long, since one rank waits in it for the other.
    std::vector<int64_t> took;
    Nanos row_began;
    int64_t timed = 0;
    for (size_t call = 0; call < measurement_->calls(group); ++call) {
      if (options_.stopped && options_.stopped()) {
        return fail(ErrorCode::kCancelled, "the measurement was stopped", "by a signal");
      }
      const bool first = measurement_->begins_row(group, call);
      if (first) {
        const Result<void> met = run_call({.collective = Collective::kBarrier});
        if (!met) return fail(met.error());
        took.push_back(0);
        timed = 0;
      }
      if (auto ran = run_call(measurement_->call(group, call, buffer_.data())); !ran) {
        return fail(ran.error());
      }
      if (first) {
        row_began = endpoint_.now();
      } else {
        took.back() = (endpoint_.now() - row_began).count / ++timed;
      }
    }
    const Nanos now = endpoint_.now();
    took.push_back((now - group_began).count);
    took.push_back((now - began).count);
    const Result<void> shared = run_call({.collective = Collective::kAllReduce,
                                          .type = DataType::kInt64,
                                          .op = ReduceOp::kMax,
                                          .count = took.size(),
                                          .input = took.data(),
                                          .output = took.data(),
                                          .exchange = {}});
    if (!shared) return fail(shared.error());
    size_t row = 0;
    for (size_t call = 0; call < measurement_->calls(group); ++call) {
      if (call > 0 && measurement_->begins_row(group, call)) ++row;
      measurement_->note(group, call, nanos(took[row]));
    }
    measurement_->use_groups(measurement_->best_groups());
    return Times{nanos(took[took.size() - 2]), nanos(took.back())};
  }

  Result<void> run_call(Call call) {
    const Result<Request> request = communicator_.post(std::move(call));
    return request ? communicator_.wait(*request) : fail(request.error());
  }

  Communicator& communicator_;
  engine::Endpoint& endpoint_;
  const TuneOptions& options_;
  std::optional<Measurement> measurement_;
  std::vector<float> buffer_;
};

}  // namespace

Result<TuneResult> tune(Communicator& communicator, engine::Endpoint& endpoint,
                        const TuneOptions& options) {
  if (communicator.size() < 2) {
    return fail(ErrorCode::kInvalid, "cannot measure collectives", "there is one rank alone",
                "start at least two ranks");
  }
  return Tuner(communicator, endpoint, options).run();
}

}  // namespace heddle::collectives
