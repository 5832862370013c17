// One rank of a job: see rank_program.h.
#include "jobs/rank_program.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "base/check.h"

namespace heddle::jobs {

using collectives::Collective;
using collectives::DataType;
using topology::Action;
using topology::ActionKind;
using topology::CallKind;

namespace {

constexpr uint64_t kFirstCommunicator = 1;

DataType type_of(uint8_t element_bytes) {
  if (element_bytes == 8) return DataType::kUint64;
  if (element_bytes == 4) return DataType::kUint32;
  return element_bytes == 2 ? DataType::kUint16 : DataType::kUint8;
}

// What is the larger buffer where the data is in blocks.
uint64_t blocks_of(const Action& action, uint64_t ranks) {
  return topology::in_blocks(action.call) ? ranks : 1;
}

}  // namespace

uint64_t whole_bytes(const Action& action, uint64_t ranks) {
  const uint64_t unit = action.element_bytes * blocks_of(action, ranks);
  return (action.bytes + unit - 1) / unit * unit;
}

uint64_t largest_call(const topology::Job& job) {
  uint64_t most = 0;
  for (const topology::Program& program : job.programs) {
    for (const Action& action : program.actions) {
      if (action.kind != ActionKind::kCall) continue;
      // As whole_bytes() in any communicator, which has no more ranks than the job.
      most = std::max(most, action.bytes + action.element_bytes * job.ranks.size());
    }
  }
  return most;
}

std::vector<uint64_t> communicator_numbers(std::span<const topology::Job> jobs, size_t job) {
  uint64_t next = kFirstCommunicator;
  for (const topology::Job& before : jobs.first(job)) next += before.communicators.size();
  std::vector<uint64_t> numbers(jobs[job].communicators.size());
  std::iota(numbers.begin(), numbers.end(), next);
  return numbers;
}

std::vector<std::vector<uint32_t>> ranks_in_communicators(const topology::Job& job) {
  std::vector<std::vector<uint32_t>> places;
  for (const topology::JobCommunicator& communicator : job.communicators) {
    places.emplace_back(job.ranks.size(), topology::JobRank::kNone);
    for (uint32_t i = 0; i < communicator.ranks.size(); ++i) {
      places.back()[communicator.ranks[i]] = i;
    }
  }
  return places;
}

RankProgram::RankProgram(JobSurroundings& surroundings, uint32_t rank, RankSurface& surface)
    : all_(surroundings), rank_(rank), surface_(surface) {}

const topology::Program& RankProgram::program() const {
  return all_.job.programs[all_.job.ranks[rank_].program];
}

void RankProgram::begin(Nanos at) {
  if (done()) return;
  phase_ = Phase::kWorking;
  begins_at_ = at;
  surface_.wake_at(at);
}

void RankProgram::fail(const std::string& why) {
  if (done()) return;
  if (all_.outcome.error.empty()) {
    all_.outcome.error = "rank " + std::to_string(rank_) + ": " + why;
    all_.outcome.failed_at = now();
  }
  phase_ = Phase::kDone;
}

std::string RankProgram::waits_for() const {
  if (under_way_.empty()) {
    return pending_.holds(topology::kEveryLabel) ? "every action waits for another one"
                                                 : "it has nothing in progress";
  }
  const UnderWay& oldest = under_way_.front();
  return std::string(name_of(oldest.action->call)) + ": " +
         communicators_[oldest.place]->waits_for();
}

// --- steps ---

bool RankProgram::step(engine::Endpoint& endpoint) {
  bool got_on = false;
  if (!links_) {
    make_communicators(endpoint);
    got_on = true;
  }
  if (!opened_ && knows_tunings()) {
    opened_ = true;
    open_connections();
  }
  // Most turns of a simulated rank process a packet that ends nothing. With attend() the owner
  // polls the endpoint itself, between two steps.
  const bool looks = attends_ || endpoint.take_changes() || again_;
  const bool moved = looks && advance();
  got_on |= looks && reap();
  if (phase_ == Phase::kOpening && opened_ && under_way_.empty()) {
    phase_ = Phase::kReady;
    got_on = true;
  }
  if (phase_ == Phase::kWorking) got_on |= go_on();
  if (got_on) ++all_.progress;
  again_ = moved || got_on;
  return again_;
}

void RankProgram::make_communicators(engine::Endpoint& endpoint) {
  links_ = std::make_shared<collectives::Links>(endpoint);
  for (const uint32_t each : all_.job.ranks[rank_].communicators) {
    calls_.push_back(0);
    communicators_.emplace_back();
    if (each == topology::JobRank::kNone) continue;
    collectives::Members members{.communicator = all_.communicators[each],
                                 .rank = all_.rank_in[each][rank_],
                                 .addresses = {}};
    for (const uint32_t member : all_.job.communicators[each].ranks) {
      members.addresses.push_back(all_.addresses[member]);
    }
    auto made = collectives::Communicator::create(links_, members, all_.options);
    if (!made) return fail(made.error().message());
    communicators_.back() = std::move(*made);
  }
}

bool RankProgram::knows_tunings() const {
  if (all_.tuning_is_final) return true;
  return std::all_of(communicators_.begin(), communicators_.end(),
                     [](const auto& each) { return !each || each->tuning(); });
}

// One call of each kind, of an element a rank: connections are there when time 0 comes.
void RankProgram::open_connections() {
  std::set<std::tuple<uint32_t, CallKind, uint32_t, collectives::Algorithm>> done;
  for (const Action& action : program().actions) {
    if (action.kind != ActionKind::kCall || this->done()) continue;
    const collectives::Call call = call_of(action);
    const auto kind = std::tuple{action.communicator, action.call, action.root,
                                 call.algorithm.value_or(collectives::Algorithm::kLinear)};
    if (done.insert(kind).second) post(action, kOpens);
  }
}

bool RankProgram::advance() {
  bool moved = false;
  attend_at_ = Nanos::never();
  for (const auto& communicator : communicators_) {
    if (!communicator) continue;
    if (!attends_) {
      moved |= communicator->advance();
      continue;
    }
    const collectives::Communicator::Attention attention = communicator->attend();
    moved |= attention.moved;
    attend_at_ = std::min(attend_at_, attention.again_at);
  }
  return moved;
}

// Takes what has ended.
bool RankProgram::reap() {
  bool moved = false;
  for (size_t i = 0; i < under_way_.size();) {
    const Result<bool> ended = communicators_[under_way_[i].place]->peek(under_way_[i].request);
    if (!ended) {
      fail(ended.error().message());
      under_way_.clear();
      return true;
    }
    if (!*ended) {
      ++i;
      continue;
    }
    // Beside RoCE flows, which open nothing, a job may begin while its connections open.
    if (phase_ == Phase::kWorking && under_way_[i].number != kOpens) {
      note_ended(under_way_[i]);
      pending_.call_ended(under_way_[i].number);
    }
    under_way_.erase(under_way_.begin() + static_cast<int64_t>(i));
    moved = true;
  }
  return moved;
}

// --- the program ---

// The first running call that it waits for; null: none.
const RankProgram::UnderWay* RankProgram::awaited() const {
  const auto found =
      std::find_if(under_way_.begin(), under_way_.end(), [this](const UnderWay& each) {
        return wait_.label() == topology::kEveryLabel || each.label == wait_.label();
      });
  return found == under_way_.end() ? nullptr : &*found;
}

// As programs do that wait for one call after the other.
bool RankProgram::must_wait() {
  const UnderWay* const next = awaited();
  if (next != nullptr && reported_.id == next->request.id && reported_place_ == next->place)
    return true;
  report_progress();
  if (next == nullptr) return pending_.holds(wait_.label());
  reported_ = next->request;
  reported_place_ = next->place;
  communicators_[reported_place_]->report_waiting(reported_, true);
  return true;
}

void RankProgram::report_progress() {
  if (reported_) communicators_[reported_place_]->report_waiting(reported_, false);
  reported_ = {};
}

bool RankProgram::go_on() {
  if (now() < begins_at_) return false;
  bool moved = false;
  while (!done()) {
    moved |= start_pending();
    if (done()) break;
    if (wait_.waits()) {
      if (must_wait()) break;
      wait_.end(now(), pending_.computed(now()));
    }
    moved = true;
    if (!act()) break;
  }
  arm();
  return moved;
}

// Starts what may start; true: something began or ended.
bool RankProgram::start_pending() {
  bool moved = pending_.compute(now());
  while (const auto call = pending_.take_call()) {
    moved = true;
    if (!post(*call->action, call->number)) return true;
  }
  return moved;
}

// It wants to be woken when a computation ends.
void RankProgram::arm() {
  const Nanos next = pending_.next_end();
  if (next == Nanos::never() || next == armed_for_) return;
  armed_for_ = next;
  surface_.wake_at(next);
}

void RankProgram::wait_for(uint32_t label, bool computes) {
  wait_.begin(label, computes, now(), pending_.computed(now()));
}

// The next action, or the end of a step. False: it has ended.
bool RankProgram::act() {
  const topology::Program& all = program();
  if (!in_step_) {
    if (step_ == all.repeat || all.actions.empty()) {
      phase_ = Phase::kDone;
      ++all_.outcome.ranks_done;
      return false;
    }
    if (all_.outcome.steps.size() == step_) all_.outcome.steps.emplace_back();
    StepOutcome& step = all_.outcome.steps[step_];
    step.begun = std::min(step.begun, now());
    in_step_ = true;
    surface_.on_step(step_);
  }
  if (next_ == all.actions.size()) {
    // Calls without a wait of the program end in their step.
    if (pending_.holds(topology::kEveryLabel)) {
      wait_for(topology::kEveryLabel, false);
      return true;
    }
    end_step();
    return true;
  }
  const Action& action = all.actions[next_++];
  if (action.kind == ActionKind::kWait) {
    wait_for(action.label, false);
    return true;
  }
  pending_.add(action);
  if (action.label == topology::kNoLabel) {
    wait_for(action.label, action.kind == ActionKind::kCompute);
  }
  return true;
}

void RankProgram::end_step() {
  StepOutcome& step = all_.outcome.steps[step_];
  step.ended = std::max(step.ended, now());
  const Nanos computed = pending_.computed(now());
  step.computed += computed;
  step.computed_most = std::max(step.computed_most, computed);
  const Nanos exposed = wait_.take_exposed();
  step.exposed += exposed;
  step.exposed_most = std::max(step.exposed_most, exposed);
  ++step.ranks_ended;
  pending_.end_step();
  in_step_ = false;
  next_ = 0;
  ++step_;
}

// --- calls ---

uint64_t RankProgram::ranks_of(const Action& action) const {
  const uint32_t communicator = all_.job.ranks[rank_].communicators[action.communicator];
  return all_.job.communicators[communicator].ranks.size();
}

// Contents mean nothing, so all calls of all ranks use the same buffers; in place where a program
// would.
collectives::Call RankProgram::call_of(const Action& action) const {
  const uint64_t ranks = ranks_of(action);
  const uint64_t bytes = whole_bytes(action, ranks);
  const uint64_t block = bytes / blocks_of(action, ranks);
  const uint32_t communicator = all_.job.ranks[rank_].communicators[action.communicator];
  std::byte* const mine = all_.buffer + all_.rank_in[communicator][rank_] * block;
  collectives::Call call{.collective = static_cast<Collective>(action.call),
                         .type = type_of(action.element_bytes),
                         .op = collectives::ReduceOp::kMax,
                         .root = action.root,
                         .count = block / action.element_bytes,
                         .input = all_.buffer,
                         .output = all_.buffer,
                         .exchange = {}};
  if (action.call == CallKind::kAllGather || action.call == CallKind::kGather) call.input = mine;
  if (action.call == CallKind::kReduceScatter || action.call == CallKind::kScatter) {
    call.output = mine;
  }
  if (action.call == CallKind::kAllToAll) call.output = all_.buffer + all_.buffer_bytes;
  if (!topology::between_two(action.call)) call.algorithm = chosen(action);
  if (action.algorithm) call.group_ranks = action.algorithm->group_ranks;
  return call;
}

std::optional<collectives::Algorithm> RankProgram::chosen(const Action& action) const {
  if (action.algorithm) return static_cast<collectives::Algorithm>(action.algorithm->algorithm);
  const uint64_t ranks = ranks_of(action);
  const uint64_t bytes = whole_bytes(action, ranks);
  const auto collective = static_cast<Collective>(action.call);
  if (!all_.tuning_is_final) {
    return communicators_[action.communicator]->algorithm_for(collective, bytes);
  }
  return all_.options.tuning.choose(collective, static_cast<uint32_t>(ranks), bytes);
}

// With kOpens of an element a rank.
bool RankProgram::post(const Action& action, uint32_t number) {
  collectives::Call call = call_of(action);
  if (number == kOpens) call.count = std::min<uint64_t>(call.count, 1);
  auto request = communicators_[action.communicator]->post(std::move(call));
  if (!request) {
    fail(request.error().message());
    return false;
  }
  UnderWay made{.request = *request,
                .label = action.label,
                .place = action.communicator,
                .call = 0,
                .number = number,
                .action = &action};
  if (number != kOpens) note_called(action, made);
  under_way_.push_back(made);
  return true;
}

void RankProgram::note_called(const Action& action, UnderWay& made) {
  if (topology::between_two(action.call)) return;
  made.call = calls_[action.communicator]++;
  auto& calls = all_.outcome.calls[all_.job.ranks[rank_].communicators[action.communicator]];
  if (calls.size() == made.call) {
    const auto algorithm = call_of(action).algorithm;
    CHECK(algorithm.has_value());
    calls.push_back({.call = action.call,
                     .algorithm = static_cast<topology::CallAlgorithm>(*algorithm),
                     .communicator = all_.job.ranks[rank_].communicators[action.communicator],
                     .step = step_,
                     .bytes = whole_bytes(action, ranks_of(action)),
                     .called = now(),
                     .last_called = now(),
                     .ended = {},
                     .ranks_ended = 0});
  }
  CallOutcome& call = calls[made.call];
  call.called = std::min(call.called, now());
  call.last_called = std::max(call.last_called, now());
}

void RankProgram::note_ended(const UnderWay& ended) {
  if (ended.action->call == CallKind::kReceive) {
    ++all_.outcome.messages;
    all_.outcome.message_bytes += whole_bytes(*ended.action, 1);
  }
  if (topology::between_two(ended.action->call)) return;
  const uint32_t communicator = all_.job.ranks[rank_].communicators[ended.place];
  CallOutcome& call = all_.outcome.calls[communicator][ended.call];
  call.ended = std::max(call.ended, now());
  ++call.ranks_ended;
}

}  // namespace heddle::jobs
