// Links: see links.h. The first message of a connection names its communicator. A connection whose
// communicator does not exist here yet waits for it.
#include "collectives/links.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"
#include "collectives/execution/control.h"
#include "collectives/execution/slots.h"
#include "collectives/params.h"

namespace heddle::collectives {
namespace {

constexpr engine::Channel kControlChannel = 0;

}  // namespace

struct Links::Stranger {
  engine::Connection connection = 0;
  engine::Operation receive;
  Slot slot;
  std::optional<Hello> hello;
};

Links::Links(engine::Endpoint& endpoint)
    : endpoint_(endpoint),
      slots_(std::make_unique<SlotPool>(endpoint, kControlBytes)),
      negotiation_(std::make_unique<SharedMemoryNegotiation>(endpoint)) {}

Links::~Links() {
  CHECK(users_.empty());
  for (const auto& stranger : strangers_) endpoint_.abort(stranger->connection);
}

void Links::add(uint64_t communicator, LinkUser& user) {
  const bool added = users_.emplace(communicator, &user).second;
  CHECK(added);
  std::erase_if(strangers_, [this](const auto& stranger) { return hand_over(*stranger); });
}

void Links::remove(uint64_t communicator) {
  users_.erase(communicator);
  if (ended_.size() == params::kEndedCommunicators) ended_.pop_front();
  ended_.push_back(communicator);
  std::erase_if(strangers_, [this](const auto& stranger) { return hand_over(*stranger); });
}

bool Links::has_ended(uint64_t communicator) const {
  for (size_t i = 0; i < ended_.size(); ++i) {
    if (ended_[i] == communicator) return true;
  }
  return false;
}

bool Links::poll() {
  bool moved = false;
  while (const std::optional<engine::Connection> accepted = endpoint_.take_accepted()) {
    moved = true;
    auto stranger = std::make_unique<Stranger>();
    stranger->connection = *accepted;
    Result<Slot> slot = slots_->lend();
    Result<engine::Operation> receive = fail(ErrorCode::kExhausted, "no memory");
    if (slot) {
      stranger->slot = *slot;
      receive = endpoint_.receive(*accepted, kControlChannel, slot->place);
    }
    if (!receive) {
      slots_->give_back(stranger->slot);
      endpoint_.abort(*accepted);
      continue;
    }
    stranger->receive = *receive;
    strangers_.push_back(std::move(stranger));
  }
  const size_t before = strangers_.size();
  std::erase_if(strangers_, [this](const auto& stranger) { return look_at(*stranger); });
  return moved || strangers_.size() != before;
}

bool Links::look_at(Stranger& stranger) {
  if (stranger.hello) return false;  // waits for its communicator
  const engine::Outcome outcome = endpoint_.peek(stranger.receive);
  if (!outcome.done) return false;
  if (outcome.ok) stranger.hello = read_hello({stranger.slot.start, outcome.bytes});
  slots_->give_back(stranger.slot);
  if (!stranger.hello) {
    endpoint_.abort(stranger.connection);
    return true;
  }
  return hand_over(stranger);
}

bool Links::hand_over(Stranger& stranger) {
  if (!stranger.hello) return false;
  const auto user = users_.find(stranger.hello->communicator);
  if (user == users_.end()) {
    if (!has_ended(stranger.hello->communicator)) return false;
    endpoint_.abort(stranger.connection);
    return true;
  }
  user->second->handle_link(*stranger.hello, stranger.connection);
  return true;
}

}  // namespace heddle::collectives
