// Drive: see nccl/drive.h. The calling thread has the part of NCCL's main thread: it initializes
// the plugin, hands work to the two threads and waits.
#include "nccl/drive.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>

#include "nccl/drive/clock.h"
#include "nccl/drive/failure.h"
#include "nccl/drive/payload.h"
#include "nccl/drive/plan.h"
#include "nccl/drive/plugin_log.h"
#include "nccl/drive/run_exchange.h"
#include "nccl/drive/service.h"
#include "nccl/drive/traffic.h"
#include "nccl/drive/worker_thread.h"
#include "nccl/params.h"
#include "nccl/result_name.h"

namespace heddle::nccl {
namespace {

using namespace params::drive;

Unexpected init_failure(const char* call, Status status) {
  return fail(error_code(status), fmt::format("{} of the plugin", call),
              fmt::format("it returned {} ({})", result_name(status), int{status}),
              plugin_log_hint());
}

class Drive {
 public:
  Drive(NetPlugin& plugin, Exchange& exchange, const DriveOptions& options, Plan plan)
      : plugin_(plugin), exchange_(exchange), options_(options), plan_(std::move(plan)) {}

  Result<DriveResult> run() {
    Result<void> ran = start();
    if (ran) ran = run_rounds();
    if (ran) ran = meet_at_end();
    if (!ran) ran = fail(publish_failure(exchange_, options_.rank, ran.error()));
    const Result<void> ended = end();
    if (!ran) return fail(ran.error());
    if (!ended) return fail(ended.error());
    return std::move(result_);
  }

 private:
  Result<void> start() {
    if (Result<void> opened = open_plugin(); !opened) return opened;
    Result<std::unique_ptr<WorkerThread>> service = WorkerThread::start("nccl-service");
    if (!service) return fail(service.error());
    service_thread_ = *std::move(service);
    Result<std::unique_ptr<WorkerThread>> progress = WorkerThread::start("nccl-progress");
    if (!progress) return fail(progress.error());
    progress_thread_ = *std::move(progress);
    service_ = std::make_unique<Service>(plugin_, exchange_, options_, context_);
    Result<void> opened = service_thread_->call([this] { return service_->open(plan_, setting_); });
    result_.connect_polls = service_->polls();
    if (!opened) return opened;
    traffic_ = std::make_unique<Traffic>(setting_, service_->sends(), service_->receives(),
                                         options_.patience);
    return {};
  }

  Result<void> open_plugin() {
    const uint64_t comm_id = payload_seed(fmt::format("{} ranks", options_.size));
    initialized_ = true;  // NCCL 2.28 finalizes after a failed init, too
    Status status = plugin_.init(&context_, comm_id, {kUndefinedTrafficClass}, write_plugin_log,
                                 accept_profiler_event);
    if (status != kSuccess) return init_failure("init", status);
    int devices = 0;
    status = plugin_.devices(&devices);
    if (status != kSuccess) return init_failure("devices", status);
    if (options_.device < 0 || options_.device >= devices) {
      return fail(ErrorCode::kInvalid, fmt::format("cannot use device {}", options_.device),
                  fmt::format("the plugin reports {} device{}", devices, devices == 1 ? "" : "s"),
                  devices > 0 ? "choose a smaller number" : "NCCL would take its next plugin");
    }
    v12::Properties properties{};
    status = plugin_.get_properties(options_.device, &properties);
    if (status != kSuccess) return init_failure("getProperties", status);
    result_.plugin = plugin_.name();
    result_.version = plugin_.version();
    result_.device = properties.name == nullptr ? "" : properties.name;
    setting_ = {.plugin = &plugin_,
                .result = &result_,
                .in_flight = plan_.in_flight,
                .check = options_.check,
                .optional_receive = plan_.optional_receive};
    if (options_.pattern == TrafficPattern::kP2p) {
      setting_.group = std::clamp(properties.max_recvs, 1, kMaxGroupedReceives);
    }
    return {};
  }

  Result<void> run_rounds() {
    if (options_.iterations > 0) return run_round(options_.iterations);
    uint64_t iterations = 1;
    for (uint64_t round = 0;; ++round) {
      const Result<uint64_t> agreed = agree_on_round(round, iterations);
      if (!agreed) return fail(agreed.error());
      if (*agreed == 0) return {};
      if (Result<void> ran = run_round(*agreed); !ran) return ran;
      iterations = next_round();
    }
  }

  // Iterations that still fit; 0 at the end.
  uint64_t next_round() const {
    const Nanos left = options_.duration - result_.elapsed;
    if (left.count <= 0) return 0;
    const int64_t each =
        std::max<int64_t>(result_.elapsed.count / static_cast<int64_t>(result_.iterations), 1);
    const auto fit = static_cast<uint64_t>(left.count / each / kRoundPart);
    return std::clamp<uint64_t>(fit, 1, kMostIterationsARound);
  }

  // Rank 0 decides; all ranks must run as many.
  Result<uint64_t> agree_on_round(uint64_t round, uint64_t iterations) {
    const std::string key = fmt::format("round.{}", round);
    if (options_.rank == 0) {
      const Result<void> put = exchange_.put(key, std::to_string(iterations));
      if (!put) return fail(put.error());
      return iterations;
    }
    const Result<std::string> text = await_value(exchange_, options_, key);
    if (!text) return fail(text.error());
    uint64_t agreed = 0;
    const char* const end = text->data() + text->size();
    if (std::from_chars(text->data(), end, agreed).ptr == end) return agreed;
    return fail(ErrorCode::kInvalid, fmt::format("'{}' in the exchange", key), "it is no number");
  }

  Result<void> run_round(uint64_t iterations) {
    const Nanos began = monotonic_now();
    const Nanos cpu_began = process_cpu_time();
    progress_thread_->post([this, iterations] { return traffic_->run(iterations); });
    const Result<void> ran = wait_for_progress();
    result_.cpu += process_cpu_time() - cpu_began;
    result_.elapsed += monotonic_now() - began;
    result_.iterations += iterations;
    return ran;
  }

  // With registered buffers the service thread registers memory meanwhile.
  Result<void> wait_for_progress() {
    const bool registers = options_.pattern == TrafficPattern::kRegistered;
    Result<void> registered;
    Nanos next_look = monotonic_now() + kFailurePause;
    while (true) {
      std::optional<Result<void>> ran =
          progress_thread_->wait(registers ? kRegisterPause : kMainPause);
      if (ran) return registered ? *std::move(ran) : registered;
      if (options_.stopped && options_.stopped()) traffic_->cancel();
      if (const Nanos now = monotonic_now(); now >= next_look) {
        next_look = now + kFailurePause;
        const Result<std::optional<Error>> failure = read_failure(exchange_);
        // The failure takes the place of "stopped" when this rank publishes its own.
        if (failure && *failure) traffic_->cancel();
      }
      if (!registers || !registered) continue;
      registered = service_thread_->call([this] { return service_->register_once(); });
      if (!registered) traffic_->cancel();
    }
  }

  // A rank that closed early could take messages with it that a peer still waits for.
  Result<void> meet_at_end() {
    const Result<void> put = exchange_.put(fmt::format("finished.{}", options_.rank), "");
    if (!put) return put;
    for (int rank = 0; rank < options_.size; ++rank) {
      const Result<std::string> finished =
          await_value(exchange_, options_, fmt::format("finished.{}", rank));
      if (!finished) return fail(finished.error());
    }
    return {};
  }

  Result<void> end() {
    Result<void> closed;
    if (service_ != nullptr) {
      closed = service_thread_->call([this] { return service_->close(); });
    }
    progress_thread_.reset();
    service_thread_.reset();
    if (!initialized_) return closed;
    const Status status = plugin_.finalize(context_);
    if (closed && status != kSuccess) return init_failure("finalize", status);
    return closed;
  }

  NetPlugin& plugin_;
  Exchange& exchange_;
  const DriveOptions& options_;
  const Plan plan_;
  DriveResult result_;
  StreamSetting setting_;
  void* context_ = nullptr;
  bool initialized_ = false;
  std::unique_ptr<Service> service_;
  std::unique_ptr<Traffic> traffic_;
  std::unique_ptr<WorkerThread> service_thread_;
  std::unique_ptr<WorkerThread> progress_thread_;
};

}  // namespace

double DriveResult::gbytes_per_s() const {
  return elapsed.count == 0 ? 0
                            : static_cast<double>(bytes_sent) / static_cast<double>(elapsed.count);
}

double DriveResult::cpu_seconds_per_gb() const {
  return bytes_sent == 0 ? 0 : static_cast<double>(cpu.count) / static_cast<double>(bytes_sent);
}

bool is_plugin_failure(ErrorCode code) {
  return code == ErrorCode::kTruncated || code == ErrorCode::kPeerDead ||
         code == ErrorCode::kTimeout || code == ErrorCode::kSystem;
}

Result<DriveResult> drive(NetPlugin& plugin, Exchange& exchange, const DriveOptions& options) {
  Result<Plan> plan = make_plan(options);
  if (!plan) return fail(plan.error());
  Result<RunExchange> run = join_run(exchange, options, plugin.name());
  if (!run) return fail(run.error());
  Result<DriveResult> result = Drive(plugin, *run, options, *std::move(plan)).run();
  if (result) result->run = run->run();
  return result;
}

}  // namespace heddle::nccl
