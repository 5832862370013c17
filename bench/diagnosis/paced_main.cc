// heddle-bench-paced: writes the recordings of a job of any number of ranks as time passes, as its
// processes would, for a monitor to watch. Eight ranks a host; each step has all-reduces within the
// hosts and one of all ranks. From one step on a rank is slow, or never calls again.
// bench/run diagnosis scale starts it.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clocks.h"
#include "base/hash.h"
#include "base/nanos.h"
#include "events/recording.h"

namespace heddle::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint32_t kHostRanks = 8;
constexpr uint64_t kWorld = 1;
constexpr uint64_t kFirstHost = 2;
constexpr double kComputing = 0.8;  // of a step
constexpr double kJitter = 0.01;
constexpr Nanos kHostTransfer = millis(2);
constexpr Nanos kWorldTransfer = millis(5);
constexpr uint32_t kMessages = 2 * (kHostRanks - 1);

struct Arguments {
  std::string folder;
  uint32_t ranks = 64;
  uint32_t steps = 60;
  uint32_t step_ms = 1000;
  uint32_t calls = 8;  // of each host, in a step
  uint32_t fault_step = UINT32_MAX;
  uint32_t fault_rank = 0;
  double slowness = 0;  // of its computation; 0: it stops
  uint64_t ring_kib = 256;
  bool messages = false;
};

// From 0 to 1; depends on the arguments alone.
double chance(uint64_t a, uint64_t b) {
  return static_cast<double>(mix_bits(a * 0x9e3779b97f4a7c15 + b + 1) >> 11) * 0x1p-53;
}

class Rank {
 public:
  // Errors: those of Recording::create().
  static Result<Rank> make(const Arguments& arguments, uint32_t number) {
    auto recording = events::Recording::create(
        {.directory = arguments.folder,
         .most = Bytes{arguments.ring_kib << 10},
         .level = arguments.messages ? events::RecordLevel::kMessages : events::RecordLevel::kBins,
         .identity = {{"host", fmt::format("h{:05}", number / kHostRanks)},
                      {"pid", std::to_string(1000 + number)},
                      {"rank", std::to_string(number)},
                      {"command", "a job that never ran"}}});
    if (!recording) return fail(recording.error());
    // A name as on that host: in one folder a free one would be searched longer and longer.
    const std::string name =
        fmt::format("{}/h{:05}.{}.0.heddle", arguments.folder, number / kHostRanks, 1000 + number);
    if (std::rename((*recording)->path().c_str(), name.c_str()) != 0) {
      return fail(ErrorCode::kSystem, "cannot call a file " + name, "", "choose another folder");
    }
    return Rank(arguments, number, std::move(*recording));
  }

  void open(Nanos at) {
    const uint32_t place = number_ % kHostRanks;
    put(at, events::CommunicatorMade{{}, kWorld, number_, arguments_->ranks});
    put(at, events::CommunicatorMade{{}, host(), place, kHostRanks});
    put(at, events::CommunicatorLinked{{}, host(), (place + 1) % kHostRanks, 1});
    put(at, events::CommunicatorLinked{{}, host(), (place + kHostRanks - 1) % kHostRanks, 2});
    now = at;
  }

  void compute(uint32_t step, uint32_t slice, bool slow) {
    const double usual =
        kComputing * 1e6 * arguments_->step_ms / static_cast<double>(arguments_->calls + 1);
    const double jitter = 1 + kJitter * (2 * chance(number_, uint64_t{step} << 16 | slice) - 1);
    const double much = slow ? 1 + arguments_->slowness : 1;
    now = now + nanos(static_cast<int64_t>(usual * jitter * much));
  }

  void begin_call(uint64_t communicator) {
    uint32_t& call = communicator == kWorld ? world_calls_ : host_calls_;
    ++call;
    put(now, events::CallMade{{},
                              communicator,
                              call,
                              call,
                              events::Operation::kAllreduce,
                              events::ElementType::kFloat,
                              1'000'000,
                              0,
                              0});
    put(now + micros(10), events::CallStarted{{},
                                              communicator,
                                              call,
                                              events::Operation::kAllreduce,
                                              events::Algorithm::kRing,
                                              communicator == kWorld ? uint16_t{9} : uint16_t{2},
                                              1,
                                              24,
                                              128 << 10});
    put(now + micros(15), events::WaitBegun{{}, communicator, call});
  }

  void end_call(uint64_t communicator, Nanos began, Nanos ended) {
    const uint32_t call = communicator == kWorld ? world_calls_ : host_calls_;
    if (arguments_->messages && communicator != kWorld) move(began, ended);
    put(ended - micros(2),
        events::WireBin{{}, 1, 0, 0, 0, events::Direction::kSent, micros(100), 100'000, 9, 9'000});
    put(ended - micros(1),
        events::WireBin{
            {}, 0, 65535, 0, 0, events::Direction::kReceived, micros(100), 100'000, 9, 9'000});
    put(ended, events::CallEnded{{}, communicator, call, true});
    put(ended + micros(1), events::WaitEnded{{}, communicator, call});
    now = ended + micros(2);
  }

  void keep_alive(Nanos at) {
    put(at, events::WireBin{{}, 1, 0, 0, 0, events::Direction::kSent, micros(100), 100'000, 1, 90});
  }

  uint64_t host() const { return kFirstHost + number_ / kHostRanks; }
  uint64_t events() const { return events_; }
  Nanos now;

 private:
  Rank(const Arguments& arguments, uint32_t number, std::shared_ptr<events::Recording> recording)
      : arguments_(&arguments), number_(number), recorder_(recording->add_writer()) {}

  template <typename Event>
  void put(Nanos at, Event event) {
    event.time = at;
    recorder_->on_any(event);
    ++events_;
  }

  // Messages around the ring within the host.
  void move(Nanos began, Nanos ended) {
    const Nanos each{(ended - began).count / (kMessages + 1)};
    for (uint32_t i = 1; i <= kMessages; ++i) {
      const Nanos at = began + each * static_cast<int64_t>(i);
      ++sequence_;
      put(at, events::MessageCompleted{
                  {}, 2, 2, sequence_, 500'000, events::Direction::kReceived, each});
      put(at + micros(2),
          events::MessageCompleted{{}, 1, 2, sequence_, 500'000, events::Direction::kSent, each});
    }
  }

  const Arguments* arguments_;
  uint32_t number_;
  std::unique_ptr<events::Recorder> recorder_;
  uint32_t host_calls_ = 0;
  uint32_t world_calls_ = 0;
  uint32_t sequence_ = 0;
  uint64_t events_ = 0;
};

class Job {
 public:
  explicit Job(const Arguments& arguments) : arguments_(arguments) {}

  Result<void> open() {
    for (uint32_t number = 0; number < arguments_.ranks; ++number) {
      Result<Rank> made = Rank::make(arguments_, number);
      if (!made) return fail(std::move(made).error());
      ranks_.push_back(std::move(*made));
    }
    const Nanos began = wall_now();
    for (Rank& each : ranks_) each.open(began);
    say({{"ready", arguments_.ranks}});
    return {};
  }

  void run() {
    for (uint32_t step = 0; step < arguments_.steps; ++step) {
      if (step == arguments_.fault_step) {
        say({{"onset_realtime_ns", ranks_.front().now.count}});
        if (arguments_.slowness <= 0) return hang(step);
      }
      take_step(step);
    }
  }

  void finish(Nanos cpu) {
    uint64_t all = 0;
    for (const Rank& each : ranks_) all += each.events();
    say({{"events", all},
         {"seconds", 1e-9 * static_cast<double>((ranks_.front().now - began_).count)},
         {"cpu_s", 1e-9 * static_cast<double>(cpu.count)},
         {"late_s", 1e-9 * static_cast<double>(latest_.count)}});
  }

 private:
  static void say(const Json& document) {
    fmt::print("{}\n", document.dump());
    std::fflush(stdout);
  }

  // What is written is of the past: a step is when it has ended.
  void wait_until(Nanos end) {
    if (began_ == Nanos{}) began_ = ranks_.front().now;
    const Nanos left = end - wall_now();
    latest_ = std::max(latest_, Nanos{} - left);
    if (left > Nanos{}) std::this_thread::sleep_for(std::chrono::nanoseconds(left.count));
  }

  bool is_slow(uint32_t rank, uint32_t step) const {
    return rank == arguments_.fault_rank && step >= arguments_.fault_step;
  }

  // Its pace, for waiting, before its events: the slowest host's.
  void take_step(uint32_t step) {
    const Nanos length = millis(arguments_.step_ms);
    wait_until(ranks_.front().now + length);
    for (uint32_t slice = 0; slice < arguments_.calls; ++slice) {
      for (size_t first = 0; first < ranks_.size(); first += kHostRanks) {
        Nanos latest;
        for (size_t i = first; i < first + kHostRanks; ++i) {
          ranks_[i].compute(step, slice, is_slow(static_cast<uint32_t>(i), step));
          ranks_[i].begin_call(ranks_[i].host());
          latest = std::max(latest, ranks_[i].now);
        }
        for (size_t i = first; i < first + kHostRanks; ++i) {
          ranks_[i].end_call(ranks_[i].host(), latest, latest + kHostTransfer);
        }
      }
    }
    Nanos latest;
    for (uint32_t i = 0; i < ranks_.size(); ++i) {
      ranks_[i].compute(step, arguments_.calls, is_slow(i, step));
      ranks_[i].begin_call(kWorld);
      latest = std::max(latest, ranks_[i].now);
    }
    for (Rank& each : ranks_) each.end_call(kWorld, latest, latest + kWorldTransfer);
  }

  // All but one call, and wait to the end.
  void hang(uint32_t step) {
    for (uint32_t i = 0; i < ranks_.size(); ++i) {
      if (i == arguments_.fault_rank) continue;
      ranks_[i].compute(step, 0, false);
      ranks_[i].begin_call(kWorld);
    }
    for (; step < arguments_.steps; ++step) {
      const Nanos at = ranks_.front().now + millis(arguments_.step_ms);
      wait_until(at);
      for (Rank& each : ranks_) {
        each.now = at;
        each.keep_alive(at);
      }
    }
  }

  const Arguments& arguments_;
  std::vector<Rank> ranks_;
  Nanos began_;
  Nanos latest_;  // by which it was behind its own time
};

int run(const Arguments& arguments) {
  Job job(arguments);
  if (const Result<void> opened = job.open(); !opened) {
    fmt::print(stderr, "heddle-bench-paced: {}\n", opened.error().message());
    return 2;
  }
  job.run();
  job.finish({static_cast<int64_t>(1e9 * static_cast<double>(clock()) / CLOCKS_PER_SEC)});
  return 0;
}

}  // namespace
}  // namespace heddle::bench

int main(int argc, char** argv) {
  heddle::bench::Arguments arguments;
  CLI::App app("Writes the recordings of a job that never ran, as time passes.");
  app.add_option("folder", arguments.folder, "where to write them")->required();
  app.add_option("--ranks", arguments.ranks, "a multiple of 8")
      ->check(CLI::Range(8, 65'536))
      ->check([](const std::string& text) {
        return std::stoul(text) % heddle::bench::kHostRanks == 0 ? "" : "give a multiple of 8";
      });
  app.add_option("--steps", arguments.steps, "how many");
  app.add_option("--step-ms", arguments.step_ms, "how long each is")->check(CLI::Range(10, 60'000));
  app.add_option("--calls", arguments.calls, "of each host in a step");
  app.add_option("--fault-step", arguments.fault_step, "from this one on a rank is slow, or stops");
  app.add_option("--fault-rank", arguments.fault_rank, "which one");
  app.add_option("--slowness", arguments.slowness, "by this share of its time; 0: it stops");
  app.add_option("--ring-kib", arguments.ring_kib, "of each file");
  app.add_flag("--messages", arguments.messages, "those within the hosts, too");
  CLI11_PARSE(app, argc, argv);
  return heddle::bench::run(arguments);
}
