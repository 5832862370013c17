// Communicator::Body: see body.h. The start, progress and end of calls; failures are in failure.cc.
#include "collectives/communicator/body.h"

#include <algorithm>
#include <cstring>

#include "collectives/communicator/split.h"

namespace heddle::collectives {
namespace {

bool between_two(const Call& call) {
  return call.collective == Collective::kSend || call.collective == Collective::kReceive;
}

}  // namespace

Communicator::Body::Body(std::shared_ptr<Links> links, const Members& members,
                         const CommunicatorOptions& options)
    : links_(std::move(links)),
      members_(members),
      options_(options),
      endpoint_(links_->endpoint()),
      tickets_(2 * size_t{members.size()}),
      turns_(2 * size_t{members.size()}),
      chunk_bytes_(options.tuning.chunk_bytes) {
  resources_ = std::make_unique<Resources>(
      *links_, members_, options.tuning.chunk_bytes,
      MeshOptions{.shares_memory = options.shared_memory != SharedMemory::kNever,
                  .pulls = options.shared_memory == SharedMemory::kAuto,
                  .carrier = options.carrier},
      options.staging);
  survivors_ = std::make_unique<Survivors>(resources_->mesh, *links_, members_);
  for (auto& lane : lanes_) lane = std::make_unique<Running>(*resources_);
  endpoint_.observe(
      events::CommunicatorMade{{}, members_.communicator, members_.rank, members_.size()});
  begin_agreement();
}

Communicator::Body::~Body() {
  // The others may have agreed on a communicator with this rank.
  if (shrinks_ && survivors_->begun() && !left_taken_) links_->refuse(number_after(members_));
  endpoint_.observe(events::CommunicatorEnded{{}, members_.communicator, failure_.has_value()});
}

// --- calls ---

uint64_t Communicator::Body::submit(Call call) {
  const uint64_t request = requests_.open(group_);
  ++requests_under_way_;
  const std::optional<Algorithm> asked = call.algorithm;
  Waiting waiting = {std::move(call), 0, request, asked};
  const bool message = between_two(waiting.call);
  const uint64_t number = message ? turn_of(tickets_, waiting.call)++ : next_number_++;
  waiting.number = number;
  observe_made(waiting.call, waiting.number, request);
  if (message) {
    messages_waiting_.push_back(std::move(waiting));
  } else {
    collectives_waiting_.push_back(std::move(waiting));
  }
  if (starts_now()) advance();
  if (!message && late_.any_asker()) send_arrival(number);
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

uint64_t& Communicator::Body::turn_of(std::vector<uint64_t>& turns, const Call& call) const {
  return turns[2 * size_t{call.root} + (call.collective == Collective::kSend ? 0 : 1)];
}

Algorithm Communicator::Body::choose(Collective collective, uint64_t bytes) {
  Choice& latest = choices_[static_cast<size_t>(collective)];
  if (latest.bytes != bytes) {
    latest = {bytes, tuning_->choose(collective, members_.size(), bytes)};
  }
  return latest.algorithm;
}

Shape Communicator::Body::shape_of(const Call& call, std::optional<Algorithm> algorithm) {
  Shape shape;
  shape.collective = call.collective;
  shape.rank = members_.rank;
  shape.size = members_.size();
  shape.root = call.root;
  shape.count = call.count;
  shape.element_bytes = static_cast<uint32_t>(size_of(call.type));
  shape.chunk_bytes = chunk_bytes_;
  shape.burst_payload_bytes = burst_payload_bytes_;
  shape.in_place = call.input == call.output;
  shape.exchange = {call.exchange.send_counts, call.exchange.send_offsets,
                    call.exchange.receive_counts, call.exchange.receive_offsets};
  if (call.group_ranks > 0) {
    shape.group_ranks = group_ranks_of(shape.size, call.group_ranks);
  } else {
    shape.group_ranks = tuning_ ? tuning_->group_ranks_among(shape.size) : shape.size;
  }
  if (between_two(call)) {
    shape.algorithm = Algorithm::kLinear;
  } else if (algorithm) {
    shape.algorithm = *algorithm;
  } else {
    const uint64_t bytes = call.count * shape.element_bytes;
    const bool whole = call.collective == Collective::kAllReduce ||
                       call.collective == Collective::kBroadcast ||
                       call.collective == Collective::kReduce;
    shape.algorithm = choose(call.collective, whole ? bytes : bytes * shape.size);
  }
  return shape;
}

bool Communicator::Body::start(Running& running, Waiting waiting, engine::Channel channel) {
  running.call = std::move(waiting.call);
  running.number = waiting.number;
  running.request = waiting.request;
  running.busy = true;
  running.posted = false;
  const Shape shape = shape_of(running.call, waiting.algorithm);
  observe_started(running, shape, channel);
  Result<void> begun = running.execution.begin(running.call, shape, running.number, channel);
  if (begun) return true;
  fail_all({begun.error().code, members_.rank, begun.error().message()});
  return false;
}

bool Communicator::Body::start_collectives() {
  bool moved = false;
  while (!collectives_waiting_.empty() && works()) {
    const uint64_t lane = next_started_ % kLanes;
    if (lanes_[lane]->busy) break;
    Waiting waiting = collectives_waiting_.pop_front();
    Past& past = past_[waiting.number % past_.size()];
    past = {waiting.number, signature_of(waiting.call, waiting.number, members_.rank, true)};
    ++next_started_;
    moved = true;
    const auto channel = static_cast<engine::Channel>(kFirstLane + lane * kStepChannels);
    if (!start(*lanes_[lane], std::move(waiting), channel)) break;
    handle_stalled();
  }
  return moved;
}

// A message begins when all before it to (or from) the same rank are posted.
bool Communicator::Body::start_messages() {
  bool moved = meet_itself();
  for (size_t i = 0; i < messages_waiting_.size() && works();) {
    Waiting& waiting = messages_waiting_[i];
    const bool to_itself = waiting.call.root == members_.rank;
    if (to_itself || turn_of(turns_, waiting.call) != waiting.number) {
      ++i;
      continue;
    }
    auto idle = std::find_if(messages_.begin(), messages_.end(),
                             [](const auto& running) { return !running->busy; });
    if (idle == messages_.end()) {
      messages_.push_back(std::make_unique<Running>(*resources_));
      idle = messages_.end() - 1;
    }
    Running& running = **idle;
    const bool started = start(running, std::move(waiting), kMessageChannel);
    messages_waiting_.erase(messages_waiting_.begin() + static_cast<int64_t>(i));
    moved = true;
    if (started) run(running);
  }
  return moved;
}

// The n-th send to itself meets the n-th receive from itself.
bool Communicator::Body::meet_itself() {
  bool moved = false;
  const auto first = [this](Collective collective) {
    return std::find_if(messages_waiting_.begin(), messages_waiting_.end(),
                        [this, collective](const Waiting& waiting) {
                          return waiting.call.collective == collective &&
                                 waiting.call.root == members_.rank;
                        });
  };
  while (works()) {
    const auto send = first(Collective::kSend);
    const auto receive = first(Collective::kReceive);
    if (send == messages_waiting_.end() || receive == messages_waiting_.end()) break;
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
    messages_waiting_.erase(std::max(send, receive));
    messages_waiting_.erase(std::min(send, receive));
    moved = true;
  }
  return moved;
}

bool Communicator::Body::advance() {
  if (state_ != State::kWorking) return advance_failing();
  bool moved = false;
  if (starts_now()) {
    moved |= start_collectives();
    if (!messages_waiting_.empty()) moved |= start_messages();
  }
  for (auto& lane : lanes_) {
    if (lane->busy && works()) moved |= run(*lane);
  }
  for (size_t i = 0; i < messages_.size() && works(); ++i) {
    if (messages_[i]->busy) moved |= run(*messages_[i]);
  }
  if (!moved && works()) {
    moved = resources_->mesh.poll();
    if (moved) handle_stalled();
    if (works() && resources_->mesh.failure()) fail_all(*resources_->mesh.failure());
  }
  if (works()) handle_time(moved);
  return moved;
}

bool Communicator::Body::run(Running& running) {
  const Execution::Progress progress = running.execution.advance();
  if (progress == Execution::Progress::kFailed) {
    fail_all(running.execution.failure());
    return true;
  }
  if (late_.any_unasked() && progress != Execution::Progress::kWaiting) ask_late();
  const bool message = between_two(running.call);
  if (message && !running.posted && running.execution.posted()) {
    running.posted = true;
    ++turn_of(turns_, running.call);
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

}  // namespace heddle::collectives
