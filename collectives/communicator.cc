// Communicator: see communicator.h. Checks calls and waits for their ends; communicator_body.cc
// does them.
#include "collectives/communicator.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "collectives/call_check.h"
#include "collectives/communicator_body.h"

namespace heddle::collectives {
namespace {

Call make_call(Collective collective, const Data& data) {
  return {.collective = collective,
          .type = data.type,
          .count = data.count,
          .input = data.input,
          .output = data.output};
}

Error error_of(const Failure& failure) {
  return {failure.code, "the communicator has failed", failure.text, "make another"};
}

// Numbers of communicators that are made of others differ from all that people choose.
uint64_t derive(uint64_t communicator, uint32_t split, int32_t colour) {
  uint64_t mixed = communicator;
  for (const uint64_t part : {uint64_t{split} + 1, static_cast<uint64_t>(uint32_t(colour)) + 1}) {
    mixed = (mixed ^ part * 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9;
    mixed ^= mixed >> 29;
  }
  return mixed;
}

}  // namespace

Communicator::Communicator(std::unique_ptr<Body> body) : body_(std::move(body)) {}

Result<std::unique_ptr<Communicator>> Communicator::create(std::shared_ptr<Links> links,
                                                           const Members& members,
                                                           const CommunicatorOptions& options) {
  if (members.rank >= members.size()) {
    return fail(ErrorCode::kInvalid, "cannot make a communicator",
                "rank " + std::to_string(members.rank) + " of " + std::to_string(members.size()),
                "ranks count from 0");
  }
  if (options.tuning.chunk_bytes < 1024) {
    return fail(ErrorCode::kInvalid, "cannot make a communicator",
                "chunks of " + std::to_string(options.tuning.chunk_bytes) + " bytes are too small",
                "give at least 1024");
  }
  auto body = std::make_unique<Body>(std::move(links), members, options);
  std::unique_ptr<Communicator> made(new Communicator(std::move(body)));
  made->advance();
  return made;
}

Communicator::~Communicator() { body_->say_goodbye(); }

uint32_t Communicator::rank() const { return body_->members_.rank; }
uint32_t Communicator::size() const { return body_->members_.size(); }
std::optional<Tuning> Communicator::tuning() const { return body_->tuning_; }

std::optional<Algorithm> Communicator::algorithm_for(Collective collective, uint64_t bytes) const {
  if (!body_->tuning_) return std::nullopt;
  return body_->tuning_->choose(collective, size(), bytes);
}

// --- calls ---

Result<Request> Communicator::call(Call call) {
  if (body_->failure_) return fail(error_of(*body_->failure_));
  if (Result<void> good = check_call(call, body_->members_); !good) return fail(good.error());
  return Request{body_->submit(std::move(call))};
}

Result<Request> Communicator::all_reduce(const Data& data, ReduceOp op) {
  Call made = make_call(Collective::kAllReduce, data);
  made.op = op;
  return call(std::move(made));
}

Result<Request> Communicator::reduce_scatter(const Data& data, ReduceOp op) {
  Call made = make_call(Collective::kReduceScatter, data);
  made.op = op;
  return call(std::move(made));
}

Result<Request> Communicator::reduce(const Data& data, ReduceOp op, uint32_t root) {
  Call made = make_call(Collective::kReduce, data);
  made.op = op;
  made.root = root;
  return call(std::move(made));
}

Result<Request> Communicator::all_gather(const Data& data) {
  return call(make_call(Collective::kAllGather, data));
}

Result<Request> Communicator::broadcast(const Data& data, uint32_t root) {
  Call made = make_call(Collective::kBroadcast, data);
  made.root = root;
  return call(std::move(made));
}

Result<Request> Communicator::gather(const Data& data, uint32_t root) {
  Call made = make_call(Collective::kGather, data);
  made.root = root;
  return call(std::move(made));
}

Result<Request> Communicator::scatter(const Data& data, uint32_t root) {
  Call made = make_call(Collective::kScatter, data);
  made.root = root;
  return call(std::move(made));
}

Result<Request> Communicator::all_to_all(const Data& data) {
  return call(make_call(Collective::kAllToAll, data));
}

Result<Request> Communicator::all_to_all_v(const Data& data, const ExchangeCounts& counts) {
  Call made = make_call(Collective::kAllToAllV, data);
  made.count = 0;
  made.exchange = counts;
  return call(std::move(made));
}

Result<Request> Communicator::barrier() { return call({.collective = Collective::kBarrier}); }

Result<Request> Communicator::send(const Data& data, uint32_t to) {
  Call made = make_call(Collective::kSend, data);
  made.root = to;
  return call(std::move(made));
}

Result<Request> Communicator::receive(const Data& data, uint32_t from) {
  Call made = make_call(Collective::kReceive, data);
  made.root = from;
  return call(std::move(made));
}

void Communicator::group_start() { body_->open_group(); }

Result<Request> Communicator::group_end() {
  const Request request{body_->open_group()};
  body_->close_group();
  return request;
}

// --- their ends ---

Result<bool> Communicator::peek(Request request) {
  switch (body_->requests_.state(request.id)) {
    case RequestTable::State::kUnknown:
      return fail(ErrorCode::kInvalid, "cannot tell of a request", "it is none, or used up");
    case RequestTable::State::kUnderWay:
      return false;
    case RequestTable::State::kDone:
      body_->requests_.use_up(request.id);
      return true;
    case RequestTable::State::kFailed:
      body_->requests_.use_up(request.id);
      return fail(error_of(*body_->failure_));
  }
  return false;
}

Result<bool> Communicator::test(Request request) {
  body_->advance();
  if (body_->requests_.state(request.id) == RequestTable::State::kUnderWay) {
    body_->endpoint_.progress(Nanos{});
    body_->advance();
  }
  return peek(request);
}

Result<void> Communicator::wait(Request request, Nanos timeout) {
  Body::ToldWait told(*body_, request.id);
  const Nanos began = body_->endpoint_.now();
  const Nanos deadline = timeout >= Nanos::never() - began ? Nanos::never() : began + timeout;
  Nanos ask_at = began + body_->options_.stalled_after;
  while (true) {
    const bool moved = body_->advance();
    const Result<bool> ended = peek(request);
    if (!ended) return fail(ended.error());
    if (*ended) return {};
    told.begin();
    const Nanos now = body_->endpoint_.now();
    if (now >= deadline) {
      return fail(ErrorCode::kTimeout, "a call is not done in time", body_->waits_for(),
                  "wait again, or look at that rank");
    }
    if (moved) ask_at = now + body_->options_.stalled_after;
    if (now >= ask_at && body_->works()) {
      body_->ask_stalled();
      ask_at = now + body_->options_.stalled_after;
    }
    // A failure is told within a time of its own.
    const Nanos until = std::min(ask_at, body_->works() ? deadline : now + millis(10));
    body_->endpoint_.progress(moved ? Nanos{} : std::max(Nanos{}, until - now));
  }
}

void Communicator::forget(Request request) { body_->requests_.forget(request.id); }

bool Communicator::advance() { return body_->advance(); }

void Communicator::abort() {
  body_->fail_all({ErrorCode::kCancelled, rank(),
                   "rank " + std::to_string(rank()) + " aborted the communicator"});
}

std::optional<Error> Communicator::failure() const {
  if (!body_->failure_) return std::nullopt;
  return error_of(*body_->failure_);
}

// --- parts ---

Result<std::unique_ptr<Communicator>> Communicator::split(int32_t colour, int32_t key) {
  const std::array<int32_t, 2> mine = {colour, key};
  std::vector<std::array<int32_t, 2>> all(size());
  Result<Request> gathered = all_gather(
      {.input = mine.data(), .output = all.data(), .count = 2, .type = DataType::kInt32});
  if (!gathered) return fail(gathered.error());
  if (Result<void> ended = wait(*gathered); !ended) return fail(ended.error());
  const uint32_t split = body_->splits_++;
  if (colour < 0) return std::unique_ptr<Communicator>();
  std::vector<uint32_t> ranks;
  for (uint32_t each = 0; each < size(); ++each) {
    if (all[each][0] == colour) ranks.push_back(each);
  }
  std::stable_sort(ranks.begin(), ranks.end(),
                   [&all](uint32_t a, uint32_t b) { return all[a][1] < all[b][1]; });
  Members part = {.communicator = derive(body_->members_.communicator, split, colour)};
  for (const uint32_t each : ranks) {
    if (each == rank()) part.rank = part.size();
    part.addresses.push_back(body_->members_.addresses[each]);
  }
  return create(body_->links_, part, body_->options_);
}

}  // namespace heddle::collectives
