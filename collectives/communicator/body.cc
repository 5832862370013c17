// Communicator::Body: see body.h.
#include "collectives/communicator/body.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "collectives/params.h"

namespace heddle::collectives {

Communicator::Body::Body(std::shared_ptr<Links> links, const Members& members,
                         const CommunicatorOptions& options)
    : links_(std::move(links)),
      members_(members),
      options_(options),
      endpoint_(links_->endpoint()),
      resources_(*links_, members_, options.tuning.chunk_bytes,
                 MeshOptions{.shares_memory = options.shared_memory != SharedMemory::kNever,
                             .pulls = options.shared_memory == SharedMemory::kAuto,
                             .carrier = options.carrier},
                 options.staging),
      survivors_(resources_.mesh, *links_, members_),
      agreed_(endpoint_, members_, options_),
      queue_(members_.rank, members_.size()),
      running_(resources_),
      stalled_(resources_.mesh, running_, queue_, members_.rank, options_.stalled_after),
      ending_(resources_, running_) {
  endpoint_.observe(
      events::CommunicatorMade{{}, members_.communicator, members_.rank, members_.size()});
  start_agreement_step();
}

Communicator::Body::~Body() {
  survivors_.leave();
  endpoint_.observe(events::CommunicatorEnded{{}, members_.communicator, failure().has_value()});
}

// --- calls ---

uint64_t Communicator::Body::submit(Call call) {
  const uint64_t request = requests_.open(group_);
  ++requests_under_way_;
  WaitingCall waiting = queue_.number(std::move(call), request);
  const bool message = waiting.call.between_two();
  const uint64_t number = waiting.number;
  observe_made(waiting);
  queue_.push(std::move(waiting));
  if (starts_now()) advance();
  if (!message) stalled_.note_made(number);
  return request;
}

uint64_t Communicator::Body::open_group() {
  if (group_ == 0) group_ = requests_.open_group();
  return group_;
}

void Communicator::Body::close_group() {
  requests_.close_group(group_);
  group_ = 0;
  advance();
}

bool Communicator::Body::start(RunningCall& running, WaitingCall waiting, engine::Channel channel) {
  const std::optional<Algorithm> algorithm = waiting.algorithm;
  running.take(std::move(waiting));
  const Shape shape = agreed_.shape_of(running.call, algorithm);
  observe_started(running, shape, channel);
  Result<void> begun = running.execution.begin(running.call, shape, running.number, channel);
  if (begun) return true;
  fail_all({begun.error().code, members_.rank, begun.error().message()});
  return false;
}

bool Communicator::Body::start_collectives() {
  bool moved = false;
  while (queue_.any_collective() && works()) {
    const uint64_t next = running_.next_collective();
    RunningCall& lane = running_.lane_of(next);
    if (lane.busy) break;
    WaitingCall waiting = queue_.take_collective();
    stalled_.note_begun(waiting);
    running_.note_collective_begun();
    moved = true;
    if (!start(lane, std::move(waiting), RunningCalls::channel_of(next))) break;
    handle_reports();
  }
  return moved;
}

// A message begins when all before it to (or from) the same rank are posted.
bool Communicator::Body::start_messages() {
  bool moved = meet_itself();
  for (size_t at = 0; works();) {
    std::optional<WaitingCall> waiting = queue_.take_message(at);
    if (!waiting) break;
    RunningCall& running = running_.idle_message();
    moved = true;
    if (start(running, *std::move(waiting), RunningCalls::kMessageChannel)) run(running);
  }
  return moved;
}

bool Communicator::Body::meet_itself() {
  bool moved = false;
  while (works()) {
    const std::optional<CallQueue::OwnPair> pair = queue_.own_pair();
    if (!pair) break;
    const auto& [send, receive] = *pair;
    const Signature sent = signature_of(send->call, send->number, members_.rank, true);
    const Signature received = signature_of(receive->call, receive->number, members_.rank, false);
    if (sent != received) {
      fail_all({ErrorCode::kInvalid, members_.rank,
                "rank " + std::to_string(members_.rank) + " sends itself " + sent.text() +
                    " and receives " + received.text()});
      break;
    }
    const uint64_t bytes = send->call.count * size_of(send->call.type);
    if (bytes > 0) std::memmove(receive->call.output, send->call.input, bytes);
    finish_request(send->request, true);
    finish_request(receive->request, true);
    queue_.erase(*pair);
    moved = true;
  }
  return moved;
}

bool Communicator::Body::advance() {
  if (!works()) return advance_failing();
  bool moved = false;
  if (starts_now()) {
    moved |= start_collectives();
    if (queue_.any_message()) moved |= start_messages();
  }
  running_.visit([this, &moved](RunningCall& running) {
    if (works()) moved |= run(running);
  });
  if (!moved && works()) {
    moved = resources_.mesh.poll();
    if (moved) handle_reports();
    if (works() && resources_.mesh.failure()) fail_all(*resources_.mesh.failure());
  }
  if (works()) stalled_.handle_time(moved || !busy(), endpoint_.now());
  return moved;
}

bool Communicator::Body::run(RunningCall& running) {
  const Execution::Progress progress = running.execution.advance();
  if (progress == Execution::Progress::kFailed) {
    fail_all(running.execution.failure());
    return true;
  }
  if (progress != Execution::Progress::kWaiting) stalled_.ask_late();
  if (running.call.between_two() && !running.posted && running.execution.posted()) {
    running.posted = true;
    queue_.note_posted(running.call);
  }
  if (progress != Execution::Progress::kDone) return progress == Execution::Progress::kMoved;
  running.busy = false;
  if (running.request == 0) {
    observe_ended(0, true);
    go_on_agreeing();
  } else {
    finish_request(running.request, true);
  }
  return true;
}

void Communicator::Body::finish_request(uint64_t request, bool ok) {
  --requests_under_way_;
  observe_ended(request, ok);
  requests_.finish(request, ok);
}

void Communicator::Body::handle_reports() {
  std::optional<Failure> failure = stalled_.handle_reports();
  if (failure) fail_all(*std::move(failure));
}

// --- the agreement's calls ---

void Communicator::Body::start_agreement_step() {
  Agreement::Step step = agreed_.begin_step();
  start(running_.lane_of(0), {std::move(step.call), step.number, 0, step.algorithm},
        RunningCalls::channel_of(0));
}

void Communicator::Body::go_on_agreeing() {
  const bool first = !agreed_.has_sizes();
  const Result<bool> agreed = agreed_.end_step();
  if (!agreed) {
    fail_all({agreed.error().code, members_.rank, agreed.error().message()});
    return;
  }
  if (first) resources_.chunks.set_slot_bytes(agreed_.slot_bytes());
  if (!*agreed) start_agreement_step();
}

// --- waiting ---

Communicator::Attention Communicator::Body::attend() {
  if (ending_.closes()) return {.again_at = ending_.goodbye_until()};
  const bool moved = advance();
  const Nanos now = endpoint_.now();
  const Nanos looks_at = resources_.mesh.looks_again_at();
  if (ending_.failed()) return {moved, std::min(survivors_.due_at(), looks_at)};
  if (!works()) return {moved, now + params::kFailurePollTime};
  if (!busy()) return {moved, looks_at};
  return {moved, std::min(stalled_.asks_at(now), looks_at)};
}

std::string Communicator::Body::waits_for() const {
  const RunningCall* const oldest = running_.oldest();
  if (oldest == nullptr) return "it has not begun";
  const Signature signature = signature_of(oldest->call, oldest->number, members_.rank,
                                           oldest->call.collective == Collective::kSend);
  // The rank it waits for may itself wait for a straggler.
  std::vector<uint32_t> missing = stalled_.missing(oldest->number);
  const bool late = !missing.empty();
  if (!late) missing = oldest->execution.waits_for();
  if (missing.empty()) return signature.text() + " is in progress and waits for no rank";
  std::string ranks;
  for (const uint32_t rank : missing) {
    ranks += (ranks.empty() ? "" : ", ") + std::to_string(rank);
  }
  const bool many = ranks.find(',') != std::string::npos;
  const char* const why = !late  ? ""
                          : many ? ", which have not called it"
                                 : ", which has not called it";
  return signature.text() + " waits for rank" + (many ? "s " : " ") + ranks + why;
}

// --- the end ---

void Communicator::Body::fail_all(Failure failure) { ending_.fail(std::move(failure)); }

bool Communicator::Body::advance_failing() {
  const bool moved = resources_.mesh.poll();
  if (ending_.failed()) return survivors_.advance() || moved;
  if (!ending_.advance()) return moved;
  if (ending_.failed()) end_calls();
  return true;
}

void Communicator::Body::end_calls() {
  const auto end = [this](uint64_t request) {
    if (request != 0) finish_request(request, false);
  };
  running_.visit([&end](RunningCall& running) {
    end(running.request);
    running.busy = false;
  });
  queue_.drain(end);
}

void Communicator::Body::begin_goodbye() {
  if (ending_.says_goodbye()) return;
  if (works() && (busy() || !tuning())) {
    fail_all({ErrorCode::kCancelled, members_.rank,
              "rank " + std::to_string(members_.rank) +
                  " ended the communicator with calls "
                  "in progress"});
  }
  ending_.begin_goodbye();
}

void Communicator::Body::say_goodbye() {
  begin_goodbye();
  while (!goodbye_said()) {
    if (!ending_.closes() && advance()) continue;
    const Nanos before = endpoint_.now();
    // Where the owner drives the endpoint, waiting is impossible.
    if (!endpoint_.progress(params::kFailurePollTime) && endpoint_.now() == before) break;
  }
  resources_.mesh.abort();
}

}  // namespace heddle::collectives
