// Mesh: see mesh.h.
#include "collectives/execution/mesh.h"

#include <algorithm>
#include <utility>

#include "collectives/params.h"
#include "events/events.h"

namespace heddle::collectives {
namespace {

std::string rank_text(uint32_t rank) { return "rank " + std::to_string(rank); }

}  // namespace

Mesh::Mesh(Links& links, const Members& members, SlotPool& small, BufferedSends& buffered_sends,
           const MeshOptions& options)
    : links_(links),
      endpoint_(links.endpoint()),
      members_(members),
      slots_(links.control_slots()),
      peer_links_(links, members_, small, buffered_sends, options),
      peers_(members.size()),
      absent_(links, members_),
      outbox_(links) {
  links_.add(members_.communicator, *this);
}

Mesh::~Mesh() {
  links_.remove(members_.communicator);
  links_.negotiation().forget(members_.communicator);
  abort();
}

// --- connections ---

Result<Link*> Mesh::reach(uint32_t rank, bool sends) {
  Peer& peer = peers_[rank];
  // What it sent before it left may still be in shared memory.
  if (peer.gone && (!peer_links_.shares_memory(rank) || sends || !said_goodbye(rank))) {
    return fail(ErrorCode::kPeerDead, "cannot reach " + rank_text(rank), "it has left");
  }
  if (peer.connection == 0 && rank < members_.rank) {
    if (Result<void> connected = connect(rank); !connected) return fail(connected.error());
  }
  if (peer.connection == 0) absent_.await(rank);
  return peer_links_.link(rank);
}

Result<void> Mesh::connect(uint32_t rank) {
  if (const auto kept = links_.take_kept(members_.addresses[rank])) {
    peers_[rank].connection = kept->connection;
    peers_[rank].receive = kept->receive;
    peers_[rank].slot = kept->slot;
    note_connected(rank);
  } else {
    Result<engine::Connection> made = endpoint_.connect(members_.addresses[rank]);
    if (!made) return fail(made.error());
    peers_[rank].connection = *made;
    if (Result<void> listening = listen(rank); !listening) return listening;
  }
  Hello hello = {members_.communicator, members_.rank, members_.size(), std::nullopt};
  if (!keeping_) hello.memory = peer_links_.offer();
  if (!hello.memory) peer_links_.use_network(rank, peers_[rank].connection);
  send_control(rank, [&hello](std::byte* bytes) { return write_hello(hello, bytes); });
  if (keeping_) offer_to_keep(rank);
  return {};
}

void Mesh::handle_link(const Hello& hello, engine::Connection connection) {
  const bool known = hello.rank < members_.size() &&
                     (peers_[hello.rank].connection != 0 || peers_[hello.rank].gone);
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
  absent_.forget(hello.rank);
  if (!listen(hello.rank)) note_gone(hello.rank);
  send_answer(hello.rank, peer_links_.handle_offer(hello.rank, connection, hello.memory));
  if (sent_failure_) send_failure_to(hello.rank, *sent_failure_);
  if (keeping_) offer_to_keep(hello.rank);
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
  note_connected(rank);
  return {};
}

void Mesh::note_connected(uint32_t rank) {
  if (std::find(connected_.begin(), connected_.end(), rank) == connected_.end()) {
    connected_.push_back(rank);
    endpoint_.observe(
        events::CommunicatorLinked{{}, members_.communicator, rank, peers_[rank].connection});
  }
}

// --- what is said ---

bool Mesh::send_control(uint32_t rank, const ControlOutbox::Write& write) {
  const Peer& peer = peers_[rank];
  return peer.connection != 0 && !peer.gone && outbox_.send(peer.connection, rank, write);
}

// A rank that misses one knows less about the others, and nothing wrong.
bool Mesh::send_report(uint32_t rank, const ControlOutbox::Write& write) {
  const Peer& peer = peers_[rank];
  return peer.connection != 0 && !peer.gone && outbox_.send_again(peer.connection, rank, write);
}

void Mesh::send_failure(const Failure& failure) {
  sent_failure_ = failure;
  for (const uint32_t rank : connected_) send_failure_to(rank, failure);
}

void Mesh::send_failure_to(uint32_t rank, const Failure& failure) {
  send_control(rank, [&failure](std::byte* bytes) { return write_failure(failure, bytes); });
}

void Mesh::send_stalled(uint32_t rank, const Signature& signature) {
  send_report(rank, [&signature](std::byte* bytes) { return write_stalled(signature, bytes); });
}

void Mesh::send_late(uint32_t rank, const Late& late) {
  send_report(rank, [&late](std::byte* bytes) { return write_late(late, bytes); });
}

void Mesh::broadcast_late(const Late& late) {
  for (const uint32_t rank : connected_) {
    if (rank != late.rank) send_late(rank, late);
  }
}

void Mesh::send_answer(uint32_t rank, const PeerLinks::Answer& answer) {
  if (!answer) return;
  if (send_control(rank, [&answer](std::byte* bytes) { return write_answer(*answer, bytes); }))
    return;
  // The peer waits for this message, and so would callers.
  note(
      {ErrorCode::kExhausted, rank,
       "what " + rank_text(rank) + " and this rank share cannot be agreed on: there is no memory"});
}

// --- incoming control messages ---

bool Mesh::poll() {
  bool moved = links_.poll();
  if (absent_.any()) moved |= look_for_absent();
  for (size_t i = 0; i < connected_.size(); ++i) {
    while (receive_control(connected_[i])) moved = true;
  }
  all_sent();
  return moved;
}

bool Mesh::receive_control(uint32_t rank) {
  Peer& peer = peers_[rank];
  if (!peer.receive) return false;
  const engine::Outcome outcome = endpoint_.peek(peer.receive);
  if (!outcome.done) return false;
  peer.receive = {};
  const std::span<const std::byte> bytes{peer.slot.start, outcome.bytes};
  if (const auto hello = outcome.ok && keeping_ ? read_hello(bytes) : std::nullopt) {
    slots_.give_back(peer.slot);
    handle_hello(rank, *hello);
    return true;
  }
  if (outcome.ok) handle_control(rank, bytes);
  slots_.give_back(peer.slot);
  if (!outcome.ok || !listen(rank)) note_gone(rank);
  return true;
}

void Mesh::handle_control(uint32_t rank, std::span<const std::byte> bytes) {
  if (std::optional<Failure> failure = read_failure(bytes)) {
    note(std::move(*failure));
  } else if (const std::optional<Signature> signature = read_stalled(bytes)) {
    if (stalled_.size() < params::kUnseenReports) stalled_.push_back({rank, *signature});
  } else if (const std::optional<Late> late = read_late(bytes);
             late && late->rank < peers_.size()) {
    if (late_.size() < params::kUnseenReports) late_.push_back(*late);
  } else if (const std::optional<MemoryAnswer> answer = read_answer(bytes)) {
    const Peer& peer = peers_[rank];
    if (peer.gone || keeping_) return;
    send_answer(rank, peer_links_.handle_answer(rank, peer.connection, *answer));
  } else if (const std::optional<StreamCounts> posted = read_kept(bytes)) {
    handle_kept(rank, *posted);
  } else if (std::optional<MembershipMessage> membership =
                 read_membership(bytes, members_.communicator, members_.size())) {
    membership_.put(rank, std::move(*membership));
  }
}

// A rank that said goodbye is missed only by who still needs it; see reach().
void Mesh::note_gone(uint32_t rank) {
  Peer& peer = peers_[rank];
  if (peer.gone) return;
  peer.gone = true;
  gone_.push_back(rank);
  peer_links_.note_left(rank);
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
  if (error == ErrorCode::kCancelled) {
    return {error, rank, rank_text(rank) + " has ended its calls"};
  }
  const std::string why = error == ErrorCode::kPermission
                              ? "the system does not let one read the other's memory any more"
                              : "they do not agree on its length";
  return {error, rank,
          "a message between " + rank_text(members_.rank) + " and " + rank_text(rank) +
              " failed: " + why};
}

// A rank that does not come because its process is gone would be waited for in vain.
bool Mesh::look_for_absent() {
  bool moved = false;
  while (const std::optional<AbsentRanks::Gone> gone = absent_.poll()) {
    peers_[gone->rank].gone = true;
    gone_.push_back(gone->rank);
    note({ErrorCode::kPeerDead, gone->rank, rank_text(gone->rank) + " is gone: " + gone->silence});
    moved = true;
  }
  return moved;
}

// --- the end ---

void Mesh::abort() {
  aborted_ = true;
  absent_.forget_all();
  for (const uint32_t rank : connected_) {
    Peer& peer = peers_[rank];
    endpoint_.abort(peer.connection);
    peer_links_.shut(rank);
    if (peer.receive) links_.return_later(peer.receive, peer.slot);
    peer.receive = {};
    peer.gone = true;
  }
  outbox_.abandon();
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
