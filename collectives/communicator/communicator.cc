// Communicator: see communicator.h. Checks calls and waits for their ends; body.cc
// does them.
#include "collectives/communicator.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "collectives/communicator/body.h"
#include "collectives/communicator/call_check.h"
#include "collectives/communicator/split.h"

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

void Communicator::begin_leaving() { body_->begin_goodbye(); }
bool Communicator::left() { return body_->goodbye_said(); }

uint32_t Communicator::rank() const { return body_->members_.rank; }
uint32_t Communicator::size() const { return body_->members_.size(); }
std::optional<Tuning> Communicator::tuning() const { return body_->tuning(); }

std::optional<Algorithm> Communicator::algorithm_for(Collective collective, uint64_t bytes) const {
  if (!body_->tuning()) return std::nullopt;
  return body_->tuning()->choose(collective, size(), bytes);
}

// --- calls ---

Result<Request> Communicator::post(Call call) {
  if (body_->failure()) return fail(error_of(*body_->failure()));
  if (Result<void> good = check_call(call, body_->members_); !good) return fail(good.error());
  return Request{body_->submit(std::move(call))};
}

Result<Request> Communicator::all_reduce(const Data& data, ReduceOp op) {
  Call made = make_call(Collective::kAllReduce, data);
  made.op = op;
  return post(std::move(made));
}

Result<Request> Communicator::reduce_scatter(const Data& data, ReduceOp op) {
  Call made = make_call(Collective::kReduceScatter, data);
  made.op = op;
  return post(std::move(made));
}

Result<Request> Communicator::reduce(const Data& data, ReduceOp op, uint32_t root) {
  Call made = make_call(Collective::kReduce, data);
  made.op = op;
  made.root = root;
  return post(std::move(made));
}

Result<Request> Communicator::all_gather(const Data& data) {
  return post(make_call(Collective::kAllGather, data));
}

Result<Request> Communicator::broadcast(const Data& data, uint32_t root) {
  Call made = make_call(Collective::kBroadcast, data);
  made.root = root;
  return post(std::move(made));
}

Result<Request> Communicator::gather(const Data& data, uint32_t root) {
  Call made = make_call(Collective::kGather, data);
  made.root = root;
  return post(std::move(made));
}

Result<Request> Communicator::scatter(const Data& data, uint32_t root) {
  Call made = make_call(Collective::kScatter, data);
  made.root = root;
  return post(std::move(made));
}

Result<Request> Communicator::all_to_all(const Data& data) {
  return post(make_call(Collective::kAllToAll, data));
}

Result<Request> Communicator::all_to_all_v(const Data& data, const ExchangeCounts& counts) {
  Call made = make_call(Collective::kAllToAllV, data);
  made.count = 0;
  made.exchange = counts;
  return post(std::move(made));
}

Result<Request> Communicator::barrier() { return post({.collective = Collective::kBarrier}); }

Result<Request> Communicator::send(const Data& data, uint32_t to) {
  Call made = make_call(Collective::kSend, data);
  made.root = to;
  return post(std::move(made));
}

Result<Request> Communicator::receive(const Data& data, uint32_t from) {
  Call made = make_call(Collective::kReceive, data);
  made.root = from;
  return post(std::move(made));
}

void Communicator::group_start() { body_->open_group(); }

Result<Request> Communicator::group_end() {
  const Request request{body_->open_group()};
  body_->close_group();
  return request;
}

// --- their ends ---

void Communicator::report_waiting(Request request, bool begins) {
  body_->report_waiting(request.id, begins);
}

Result<bool> Communicator::peek(Request request) {
  switch (body_->requests_.state(request.id)) {
    case RequestTable::State::kUnknown:
      return fail(ErrorCode::kInvalid, "cannot look up a request", "it is none, or used up");
    case RequestTable::State::kUnderWay:
      return false;
    case RequestTable::State::kDone:
      body_->requests_.use_up(request.id);
      return true;
    case RequestTable::State::kFailed:
      body_->requests_.use_up(request.id);
      return fail(error_of(*body_->failure()));
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
  Body::ObservedWait observed(*body_, request.id);
  const Nanos began = body_->endpoint_.now();
  const Nanos deadline = timeout >= Nanos::never() - began ? Nanos::never() : began + timeout;
  while (true) {
    const Attention attention = body_->attend();
    const Result<bool> ended = peek(request);
    if (!ended) return fail(ended.error());
    if (*ended) return {};
    observed.begin();
    const Nanos now = body_->endpoint_.now();
    if (now >= deadline) {
      return fail(ErrorCode::kTimeout, "a call is not done in time", body_->waits_for(),
                  "wait again, or look at that rank");
    }
    // Sending a failure to the other ranks has a time limit of its own.
    const Nanos until =
        body_->works() ? std::min(attention.again_at, deadline) : attention.again_at;
    body_->endpoint_.progress(attention.moved ? Nanos{} : std::max(Nanos{}, until - now));
  }
}

void Communicator::forget(Request request) { body_->requests_.forget(request.id); }

bool Communicator::advance() { return body_->advance(); }
Communicator::Attention Communicator::attend() { return body_->attend(); }
std::string Communicator::waits_for() const { return body_->waits_for(); }

void Communicator::abort() {
  abort(ErrorCode::kCancelled, "rank " + std::to_string(rank()) + " aborted the communicator");
}

void Communicator::abort(ErrorCode code, const std::string& why) {
  body_->fail_all({code, rank(), why});
}

std::optional<Error> Communicator::failure() const {
  if (!body_->failure()) return std::nullopt;
  return error_of(*body_->failure());
}

// --- after a rank was lost ---

void Communicator::revoke() {
  abort(ErrorCode::kCancelled, "rank " + std::to_string(rank()) + " revoked the communicator");
}

void Communicator::begin_shrink(const ShrinkOptions& options) {
  if (body_->works()) revoke();
  body_->begin_shrink(options);
}

std::optional<Result<Communicator::Shrunk>> Communicator::take_shrunk() {
  std::optional<Result<Survivors::Left>> left = body_->take_left();
  if (!left) return std::nullopt;
  if (!*left) return fail(left->error());
  Result<std::unique_ptr<Communicator>> made =
      create(body_->links_, (**left).members, body_->options_of_next());
  if (!made) return fail(made.error());
  return Shrunk{std::move(*made), std::move((**left).members), std::move((**left).ranks)};
}

Result<Communicator::Shrunk> Communicator::shrink(const ShrinkOptions& options) {
  begin_shrink(options);
  while (true) {
    const Attention attention = body_->attend();
    if (std::optional<Result<Shrunk>> shrunk = take_shrunk()) return std::move(*shrunk);
    const Nanos until = attention.again_at - body_->endpoint_.now();
    body_->endpoint_.progress(attention.moved ? Nanos{} : std::max(Nanos{}, until));
  }
}

// --- parts ---

Result<std::unique_ptr<Communicator>> Communicator::split(int32_t colour, int32_t key) {
  const SplitChoice mine = {colour, key};
  std::vector<SplitChoice> all(size());
  Result<Request> gathered = post(gather_choices(mine, all));
  if (!gathered) return fail(gathered.error());
  if (Result<void> ended = wait(*gathered); !ended) return fail(ended.error());
  const uint32_t split = body_->splits_++;
  const std::optional<Members> part = part_of(body_->members_, split, all);
  if (!part) return std::unique_ptr<Communicator>();
  return create(body_->links_, *part, body_->options_);
}

}  // namespace heddle::collectives
