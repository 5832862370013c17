// Seeker: see seeker.h. All places are tried at once, since some may be dead ends that do not
// answer; the first that opens is asked, the others wait for it to turn out wrong. A place that was
// named earlier has a head start, so that all ranks come by the same kind of address.
#include "collectives/rendezvous/seeker.h"

#include <algorithm>
#include <utility>

#include "collectives/params.h"
#include "engine/addresses.h"

namespace heddle::collectives {
namespace {

constexpr engine::Channel kChannel = 0;

}  // namespace

Seeker::Seeker(engine::Endpoint& endpoint, Registration self, FindPlaces find_places)
    : endpoint_(endpoint),
      self_(std::move(self)),
      find_places_(std::move(find_places)),
      until_(endpoint.now() + self_.patience),
      begin_at_(endpoint.now()) {}

Seeker::~Seeker() {
  for (Attempt& attempt : attempts_) endpoint_.abort(attempt.connection);
  for (std::list<Attempt>* attempts : {&attempts_, &ending_}) {
    for (Attempt& attempt : *attempts) {
      for (const engine::Operation operation :
           {attempt.sending, attempt.receiving, attempt.receiving_body}) {
        if (operation) endpoint_.wait(operation, Nanos::never());
      }
    }
  }
}

Nanos Seeker::turn() {
  const Nanos now = endpoint_.now();
  ending_.remove_if([this](Attempt& attempt) { return settled(attempt); });
  if (outcome_) return Nanos::never();
  if (attempts_.empty() && now >= begin_at_) begin(now);
  bool one_asks = std::any_of(attempts_.begin(), attempts_.end(),
                              [](const Attempt& attempt) { return attempt.asked; });
  bool better_may_come = false;
  for (auto it = attempts_.begin(); it != attempts_.end() && !outcome_;) {
    const bool goes_on = look_at(*it, !one_asks && !better_may_come);
    better_may_come = better_may_come || (goes_on && now < prefer_until_);
    one_asks = one_asks || it->asked;
    const auto next = std::next(it);
    if (!goes_on) {
      end(*it);
      begin_at_ = now + params::kRetryPause;
      ending_.splice(ending_.end(), attempts_, it);
    }
    it = next;
  }
  if (outcome_) {
    for (Attempt& attempt : attempts_) end(attempt);
    ending_.splice(ending_.end(), attempts_);
    return now;
  }
  return attempts_.empty() ? begin_at_ : now + params::kRetryPause;
}

void Seeker::begin(Nanos now) {
  begin_at_ = now + params::kRetryPause;
  prefer_until_ = now + params::kPreferFirstStore;
  const Result<std::vector<StorePlace>> places = find_places_();
  if (!places) {
    trouble_ = places.error();
    return;
  }
  for (const StorePlace& place : *places) {
    if (attempts_.size() == params::kStoreAddresses) return;
    const Result<engine::Connection> connection =
        endpoint_.connect(place.address, {.paths = params::kRendezvousPaths});
    if (connection) {
      attempts_.push_back({.place = place, .connection = *connection});
    } else {
      trouble_ = connection.error();
    }
  }
}

bool Seeker::look_at(Attempt& attempt, bool may_ask) {
  const engine::ConnectionStatus status = endpoint_.status(attempt.connection);
  if (status.state == engine::ConnectionState::kOpening) return true;
  if (attempt.receiving_body) return hear_body(attempt);
  if (attempt.receiving) return hear(attempt);
  if (status.state == engine::ConnectionState::kClosed) return over(attempt, status.error);
  return !may_ask || ask(attempt);
}

bool Seeker::over(const Attempt& attempt, const Error& error) {
  trouble_ = error;
  trouble_->what = "the store at " + engine::address_text(attempt.place.address);
  return false;
}

bool Seeker::ask(Attempt& attempt) {
  attempt.asked = true;
  self_.ticket = attempt.place.ticket;
  self_.reached = attempt.place.address;
  self_.patience = std::max(Nanos{}, until_ - endpoint_.now());
  attempt.registration = encode(self_);
  attempt.welcome_until = endpoint_.now() + params::kWelcomeWithin;
  if (!receive_answer(attempt)) return false;
  const Result<engine::Operation> sending = endpoint_.send(
      attempt.connection, kChannel, attempt.registration.data(), attempt.registration.size());
  if (!sending) return over(attempt, sending.error());
  attempt.sending = *sending;
  return true;
}

bool Seeker::receive_answer(Attempt& attempt) {
  attempt.answer.resize(params::kMaxAnswerBytes);
  const Result<engine::Operation> receiving =
      endpoint_.receive(attempt.connection, kChannel, attempt.answer.data(), attempt.answer.size());
  if (!receiving) return over(attempt, receiving.error());
  attempt.receiving = *receiving;
  return true;
}

bool Seeker::hear(Attempt& attempt) {
  const engine::Outcome heard = endpoint_.peek(attempt.receiving);
  if (!heard.done) {
    if (endpoint_.now() < attempt.welcome_until) return true;
    return over(attempt, {ErrorCode::kTimeout, "", "what listens there does not answer", ""});
  }
  attempt.receiving = {};
  if (!heard.ok) return over(attempt, {heard.error, "", "it has gone, or gives no answer", ""});
  const auto answer = decode_answer(std::span<const std::byte>(attempt.answer).first(heard.bytes));
  if (!answer) return over(attempt, {ErrorCode::kInvalid, "", "something else listens there", ""});
  if (answer->kind == AnswerKind::kWelcome) {
    attempt.welcome_until = Nanos::never();
    return receive_answer(attempt);
  }
  if (answer->kind == AnswerKind::kLater) return over(attempt, answer->error);
  if (answer->kind == AnswerKind::kRefused) {
    outcome_ = fail(answer->error);
    return false;
  }
  attempt.body.resize(answer->body_bytes);
  const Result<engine::Operation> receiving =
      endpoint_.receive(attempt.connection, kChannel, attempt.body.data(), attempt.body.size());
  if (!receiving) return over(attempt, receiving.error());
  attempt.receiving_body = *receiving;
  return true;
}

bool Seeker::hear_body(Attempt& attempt) {
  const engine::Outcome heard = endpoint_.peek(attempt.receiving_body);
  if (!heard.done) return true;
  attempt.receiving_body = {};
  if (!heard.ok) return over(attempt, {heard.error, "", "it is gone and sent only a part", ""});
  auto group = decode_group(std::span<const std::byte>(attempt.body).first(heard.bytes));
  if (!group || group->size != self_.size || self_.rank >= self_.size) {
    return over(attempt, {ErrorCode::kInvalid, "", "what it sent is no group", ""});
  }
  group->rank = self_.rank;
  outcome_ = std::move(*group);
  return false;
}

void Seeker::end(Attempt& attempt) {
  // An outcome is acknowledged before the connection goes: a graceful close answers the store's.
  if (outcome_ && attempt.asked) {
    endpoint_.begin_close(attempt.connection);
  } else {
    endpoint_.abort(attempt.connection);
    attempt.connection = 0;
  }
}

bool Seeker::settled(Attempt& attempt) {
  if (attempt.connection != 0) {
    if (endpoint_.status(attempt.connection).state != engine::ConnectionState::kClosed)
      return false;
    endpoint_.abort(attempt.connection);
    attempt.connection = 0;
  }
  for (engine::Operation* operation :
       {&attempt.sending, &attempt.receiving, &attempt.receiving_body}) {
    if (*operation && !endpoint_.peek(*operation).done) return false;
    *operation = {};
  }
  return true;
}

Error Seeker::trouble() const {
  Error error{ErrorCode::kTimeout, "cannot find the other ranks", "",
              "is rank 0 running, with the same key_file or none, and does UDP get through?"};
  error.why = "no rank has answered yet";
  for (const Attempt& attempt : attempts_) {
    if (attempt.asked && attempt.welcome_until == Nanos::never()) {
      error.why =
          "rank 0 at " + engine::address_text(attempt.place.address) + " still waits for others";
      return error;
    }
    error.why = engine::address_text(attempt.place.address) + " does not answer";
  }
  if (trouble_) error.why = trouble_->what + (trouble_->why.empty() ? "" : ": " + trouble_->why);
  // The store has answered, so what it advises is what helps.
  const bool refused = trouble_ && (trouble_->code == ErrorCode::kVersion ||
                                    trouble_->code == ErrorCode::kPermission);
  if (refused) {
    error.code = trouble_->code;
    error.todo = trouble_->todo;
  }
  return error;
}

}  // namespace heddle::collectives
