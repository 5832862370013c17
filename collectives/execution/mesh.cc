// Mesh: see mesh.h.
#include "collectives/execution/mesh.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "collectives/params.h"
#include "events/events.h"

namespace heddle::collectives {
namespace {

constexpr engine::Channel kControlChannel = 0;

std::string rank_text(uint32_t rank) { return "rank " + std::to_string(rank); }

}  // namespace

Mesh::Mesh(Links& links, const Members& members, SlotPool& small, BufferedSends& buffered_sends,
           const MeshOptions& options)
    : links_(links),
      endpoint_(links.endpoint()),
      members_(members),
      small_(small),
      buffered_sends_(buffered_sends),
      options_(options),
      slots_(links.endpoint(), kControlBytes),
      peers_(members.size()) {
  links_.add(members_.communicator, *this);
}

Mesh::~Mesh() {
  links_.remove(members_.communicator);
  links_.negotiation().forget(message().group);
  abort();
}

// --- connections ---

Result<Link*> Mesh::reach(uint32_t rank, bool sends) {
  Peer& peer = peers_[rank];
  // What it sent before it left may still be in shared memory.
  if (peer.gone && (peer.shared == nullptr || sends || !said_goodbye(rank))) {
    return fail(ErrorCode::kPeerDead, "cannot reach " + rank_text(rank), "it has left");
  }
  if (peer.connection == 0 && rank < members_.rank) {
    if (Result<void> connected = connect(rank); !connected) return fail(connected.error());
  }
  if (peer.connection == 0) await(rank);
  return peer.link.get();
}

Result<void> Mesh::connect(uint32_t rank) {
  Result<engine::Connection> made = endpoint_.connect(members_.addresses[rank]);
  if (!made) return fail(made.error());
  peers_[rank].connection = *made;
  if (Result<void> listening = listen(rank); !listening) return listening;
  Hello hello = {members_.communicator, members_.rank, members_.size(), std::nullopt};
  if (options_.shares_memory) {
    const Result<MemoryOffer> offer = links_.negotiation().offer();
    if (offer) hello.memory = *offer;
    if (!offer) log_info("rank {} offers no memory: {}", members_.rank, offer.error().message());
  }
  if (!hello.memory) use_network(rank);
  send_control(rank, [&hello](std::byte* bytes) { return write_hello(hello, bytes); });
  return {};
}

void Mesh::handle_link(const Hello& hello, engine::Connection connection) {
  const bool known = hello.rank < members_.size() && peers_[hello.rank].connection != 0;
  if (aborted_ || hello.size != members_.size() || hello.rank >= members_.size() || known ||
      hello.rank <= members_.rank) {
    endpoint_.abort(connection);
    if (hello.size != members_.size()) {
      note({ErrorCode::kInvalid, hello.rank,
            rank_text(hello.rank) + " says that there are " + std::to_string(hello.size) +
                " ranks, " + rank_text(members_.rank) + " that there are " +
                std::to_string(members_.size())});
    }
    return;
  }
  peers_[hello.rank].connection = connection;
  if (!listen(hello.rank)) note_gone(hello.rank);
  answer_offer(hello.rank, hello.memory);
  if (sent_failure_) send_failure_to(hello.rank, *sent_failure_);
}

Result<void> Mesh::listen(uint32_t rank) {
  Peer& peer = peers_[rank];
  Result<Slot> slot = slots_.lend();
  if (!slot) return fail(slot.error());
  peer.slot = *slot;
  Result<engine::Operation> receive =
      endpoint_.receive(peer.connection, kControlChannel, slot->place);
  if (!receive) {
    slots_.give_back(peer.slot);
    return fail(receive.error());
  }
  peer.receive = *receive;
  if (std::find(connected_.begin(), connected_.end(), rank) == connected_.end()) {
    connected_.push_back(rank);
    endpoint_.observe(events::CommunicatorLinked{{}, members_.communicator, rank, peer.connection});
  }
  return {};
}

// --- what is said ---

template <typename Write>
bool Mesh::send_control(uint32_t rank, Write write) {
  Peer& peer = peers_[rank];
  if (peer.connection == 0 || peer.gone) return false;
  Result<Slot> slot = slots_.lend();
  if (!slot) return false;
  const size_t bytes = write(slot->start);
  Result<engine::Operation> send =
      endpoint_.send(peer.connection, kControlChannel, slot->first(bytes));
  if (!send) {
    slots_.give_back(*slot);
    return false;
  }
  control_sends_.push_back({*send, *slot});
  return true;
}

void Mesh::send_failure(const Failure& failure) {
  sent_failure_ = failure;
  for (const uint32_t rank : connected_) send_failure_to(rank, failure);
}

void Mesh::send_failure_to(uint32_t rank, const Failure& failure) {
  send_control(rank, [&failure](std::byte* bytes) { return write_failure(failure, bytes); });
}

void Mesh::send_stalled(uint32_t rank, const Signature& signature) {
  send_control(rank, [&signature](std::byte* bytes) { return write_stalled(signature, bytes); });
}

void Mesh::send_late(uint32_t rank, const Late& late) {
  send_control(rank, [&late](std::byte* bytes) { return write_late(late, bytes); });
}

void Mesh::broadcast_late(const Late& late) {
  for (const uint32_t rank : connected_) {
    if (rank != late.rank) send_late(rank, late);
  }
}

void Mesh::send_answer(uint32_t rank, const MemoryAnswer& answer) {
  if (send_control(rank, [&answer](std::byte* bytes) { return write_answer(answer, bytes); }))
    return;
  // The peer waits for this message, and so would callers.
  note(
      {ErrorCode::kExhausted, rank,
       "what " + rank_text(rank) + " and this rank share cannot be agreed on: there is no memory"});
}

bool Mesh::all_sent() {
  std::erase_if(control_sends_, [this](ControlSend& control_send) {
    if (!endpoint_.peek(control_send.send).done) return false;
    slots_.give_back(control_send.slot);
    return true;
  });
  return control_sends_.empty();
}

// --- what is heard ---

bool Mesh::poll() {
  bool moved = links_.poll();
  if (!awaited_.empty()) moved |= look_for_awaited();
  for (size_t i = 0; i < connected_.size(); ++i) {
    while (receive_control(connected_[i])) moved = true;
  }
  if (!control_sends_.empty()) all_sent();
  return moved;
}

bool Mesh::receive_control(uint32_t rank) {
  Peer& peer = peers_[rank];
  if (!peer.receive) return false;
  const engine::Outcome outcome = endpoint_.peek(peer.receive);
  if (!outcome.done) return false;
  peer.receive = {};
  if (outcome.ok) handle_control(rank, {peer.slot.start, outcome.bytes});
  slots_.give_back(peer.slot);
  if (!outcome.ok || !listen(rank)) note_gone(rank);
  return true;
}

void Mesh::handle_control(uint32_t rank, std::span<const std::byte> bytes) {
  if (std::optional<Failure> failure = read_failure(bytes)) {
    note(std::move(*failure));
  } else if (const std::optional<Signature> signature = read_stalled(bytes)) {
    stalled_.push_back({rank, *signature});
  } else if (const std::optional<Late> late = read_late(bytes);
             late && late->rank < peers_.size()) {
    late_.push_back(*late);
  } else if (const std::optional<MemoryAnswer> answer = read_answer(bytes)) {
    handle_answer(rank, *answer);
  }
}

bool Mesh::poll_late(Late& late) {
  if (late_.empty()) return false;
  late = late_.pop_front();
  return true;
}

bool Mesh::poll_stalled(Stalled& stalled) {
  if (stalled_.empty()) return false;
  stalled = stalled_.pop_front();
  return true;
}

// A rank that said goodbye is missed only by who still needs it; see reach().
void Mesh::note_gone(uint32_t rank) {
  Peer& peer = peers_[rank];
  if (peer.gone) return;
  peer.gone = true;
  if (peer.shared != nullptr) peer.shared->note_left();
  if (said_goodbye(rank)) return;
  const engine::ConnectionStatus status = endpoint_.status(peer.connection);
  note({ErrorCode::kPeerDead, rank, rank_text(rank) + " is gone: " + status.error.message()});
}

bool Mesh::said_goodbye(uint32_t rank) {
  const Peer& peer = peers_[rank];
  if (peer.connection == 0) return false;
  const engine::ConnectionStatus status = endpoint_.status(peer.connection);
  return status.state == engine::ConnectionState::kClosed && status.graceful;
}

void Mesh::note(Failure failure) {
  if (!failure_) failure_ = std::move(failure);
}

Failure Mesh::cause(uint32_t rank, ErrorCode error) {
  poll();
  if (failure_) return *failure_;
  if (peers_[rank].gone) {
    return {ErrorCode::kPeerDead, rank, rank_text(rank) + " has left, and is still needed"};
  }
  const std::string why = error == ErrorCode::kPermission
                              ? "the system does not let one read the other's memory any more"
                              : "they do not agree on its length";
  return {error, rank,
          "a message between " + rank_text(members_.rank) + " and " + rank_text(rank) +
              " failed: " + why};
}

// --- who does not come ---

void Mesh::await(uint32_t rank) {
  const bool known = std::any_of(awaited_.begin(), awaited_.end(),
                                 [rank](const Awaited& each) { return each.rank == rank; });
  if (!known) awaited_.push_back({rank, endpoint_.now(), 0});
}

// A process that is gone would be waited for in vain: it is asked by a connection of its own, which
// it accepts even where it makes no calls.
bool Mesh::look_for_awaited() {
  const Nanos now = endpoint_.now();
  bool moved = false;
  std::erase_if(awaited_, [&](Awaited& awaited) {
    if (peers_[awaited.rank].connection != 0) {
      if (awaited.probe != 0) endpoint_.abort(awaited.probe);
      return true;
    }
    if (now - awaited.since < params::kProbeUnconnectedAfter) return false;
    const std::string silence = silence_of(awaited, now);
    if (silence.empty()) return false;
    note({ErrorCode::kPeerDead, awaited.rank, rank_text(awaited.rank) + " is gone: " + silence});
    if (awaited.probe != 0) endpoint_.abort(awaited.probe);
    moved = true;
    return true;
  });
  return moved;
}

Nanos Mesh::looks_again_at() const {
  Nanos earliest = Nanos::never();
  for (const Awaited& awaited : awaited_) {
    const Nanos patience = awaited.probe == 0
                               ? params::kProbeUnconnectedAfter
                               : params::kProbeUnconnectedAfter + params::kProbeAnswerWithin;
    // An answer ends the wait by itself.
    const bool answered = awaited.probe != 0 &&
                          endpoint_.status(awaited.probe).state == engine::ConnectionState::kOpen;
    if (!answered) earliest = std::min(earliest, awaited.since + patience);
  }
  return earliest;
}

// What shows that its process is gone; empty: nothing does.
std::string Mesh::silence_of(Awaited& awaited, Nanos now) {
  if (awaited.probe == 0) {
    const Result<engine::Connection> made = endpoint_.connect(members_.addresses[awaited.rank]);
    if (!made) return made.error().message();
    awaited.probe = *made;
    return "";
  }
  const engine::ConnectionStatus status = endpoint_.status(awaited.probe);
  if (status.state == engine::ConnectionState::kClosed) return status.error.message();
  const bool late =
      now - awaited.since >= params::kProbeUnconnectedAfter + params::kProbeAnswerWithin;
  if (status.state == engine::ConnectionState::kOpening && late) return "it does not answer";
  return "";
}

// --- the end ---

void Mesh::abort() {
  aborted_ = true;
  for (const Awaited& awaited : awaited_) endpoint_.abort(awaited.probe);
  awaited_.clear();
  for (const uint32_t rank : connected_) {
    Peer& peer = peers_[rank];
    endpoint_.abort(peer.connection);
    if (peer.shared != nullptr) peer.shared->shut();
    if (peer.receive) endpoint_.forget(peer.receive);
    peer.receive = {};
    peer.gone = true;
  }
  for (const ControlSend& control_send : control_sends_) endpoint_.forget(control_send.send);
  control_sends_.clear();
}

void Mesh::begin_close() {
  for (const uint32_t rank : connected_) endpoint_.begin_close(peers_[rank].connection);
}

bool Mesh::closed() {
  return std::all_of(connected_.begin(), connected_.end(), [this](uint32_t rank) {
    return endpoint_.status(peers_[rank].connection).state == engine::ConnectionState::kClosed;
  });
}

}  // namespace heddle::collectives
