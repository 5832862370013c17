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
struct Links::Stranger {
  engine::Connection connection = 0;
  engine::Operation receive;
  Slot slot;
  std::optional<Hello> hello;
  std::optional<uint64_t> wanted;  // it asks only about that communicator
  bool kept = false;               // messages of its last communicator may precede the hello
};

Links::Links(engine::Endpoint& endpoint)
    : endpoint_(endpoint),
      slots_(std::make_unique<SlotPool>(endpoint, kControlBytes)),
      negotiation_(std::make_unique<SharedMemoryNegotiation>(endpoint)) {}

Links::~Links() {
  CHECK(users_.empty());
  for (const auto& stranger : strangers_) endpoint_.abort(stranger->connection);
  for (const auto& [peer, kept] : kept_) {
    endpoint_.forget(kept.receive);
    endpoint_.abort(kept.connection);
  }
  for (const KeptConnection& each : returned_) endpoint_.forget(each.receive);
}

void Links::add(uint64_t communicator, LinkUser& user) {
  const bool added = users_.emplace(communicator, &user).second;
  CHECK(added);
  std::erase_if(strangers_, [this](const auto& stranger) { return hand_over(*stranger); });
}

void Links::remove(uint64_t communicator) {
  users_.erase(communicator);
  refuse(communicator);
}

void Links::refuse(uint64_t communicator) {
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

void Links::return_later(engine::Operation operation, const Slot& slot) {
  returned_.push_back({0, operation, slot, std::nullopt});
}

void Links::keep(const KeptConnection& kept, const transport::Address& peer, bool peer_connects) {
  if (!peer_connects) {
    kept_.emplace(peer, kept);
    return;
  }
  auto stranger = std::make_unique<Stranger>();
  stranger->connection = kept.connection;
  stranger->receive = kept.receive;
  stranger->slot = kept.slot;
  stranger->hello = kept.hello;
  stranger->kept = true;
  if (!hand_over(*stranger)) strangers_.push_back(std::move(stranger));
}

std::optional<KeptConnection> Links::take_kept(const transport::Address& peer) {
  drop_closed();
  const auto found = kept_.find(peer);
  if (found == kept_.end()) return std::nullopt;
  const KeptConnection kept = found->second;
  kept_.erase(found);
  return kept;
}

void Links::drop_closed() {
  std::erase_if(returned_, [this](KeptConnection& each) {
    if (!endpoint_.peek(each.receive).done) return false;
    slots_->give_back(each.slot);
    return true;
  });
  std::erase_if(kept_, [this](const auto& each) {
    const KeptConnection& kept = each.second;
    const engine::ConnectionStatus status = endpoint_.status(kept.connection);
    if (status.state != engine::ConnectionState::kClosed) return false;
    endpoint_.abort(kept.connection);
    return_later(kept.receive, kept.slot);
    return true;
  });
}

bool Links::poll() {
  bool moved = false;
  if (!kept_.empty() || !returned_.empty()) drop_closed();
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
  if (stranger.wanted) return refuse_wanted(stranger);
  const engine::Outcome outcome = endpoint_.peek(stranger.receive);
  if (!outcome.done) return false;
  if (outcome.ok) stranger.hello = read_hello({stranger.slot.start, outcome.bytes});
  if (outcome.ok && !stranger.hello) {
    stranger.wanted = read_wanted({stranger.slot.start, outcome.bytes});
  }
  if (outcome.ok && !stranger.hello && (stranger.kept || stranger.wanted)) {
    const Result<engine::Operation> next =
        endpoint_.receive(stranger.connection, kControlChannel, stranger.slot.place);
    if (next) {
      stranger.receive = *next;
      return stranger.wanted && refuse_wanted(stranger);
    }
  }
  slots_->give_back(stranger.slot);
  if (!stranger.hello) {
    endpoint_.abort(stranger.connection);
    return true;
  }
  return hand_over(stranger);
}

// Whether it is over: its communicator has ended here, or the peer waits no more.
bool Links::refuse_wanted(Stranger& stranger) {
  const engine::Outcome outcome = endpoint_.peek(stranger.receive);
  if (!outcome.done && !has_ended(*stranger.wanted)) return false;
  endpoint_.abort(stranger.connection);
  if (outcome.done) slots_->give_back(stranger.slot);
  if (!outcome.done) return_later(stranger.receive, stranger.slot);
  return true;
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
