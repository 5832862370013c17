// Matches peers, and completions with operations: see ledger.h.
#include "tests/vopr/checkers/ledger.h"

#include "simulator/network.h"
#include "tests/vopr/options.h"

namespace heddle::vopr {

using transport::Direction;
using transport::NoticeKind;

PostedOperations& Side::posted(Direction direction, transport::ChannelId channel) {
  std::vector<PostedOperations>& posted_by_channel =
      direction == Direction::kSend ? sends : receives;
  if (posted_by_channel.size() <= channel) posted_by_channel.resize(channel + size_t{1});
  return posted_by_channel[channel];
}

size_t Side::outstanding(Direction direction) const {
  size_t sum = 0;
  for (const PostedOperations& posted : direction == Direction::kSend ? sends : receives) {
    sum += posted.outstanding();
  }
  return sum;
}

size_t Side::withdrawn(Direction direction) const {
  size_t sum = 0;
  for (const PostedOperations& posted : direction == Direction::kSend ? sends : receives) {
    for (size_t i = 0; i < posted.done; ++i) {
      const Operation& operation = *posted.operations[i];
      sum += !operation.ok && operation.error == ErrorCode::kCancelled ? 1 : 0;
    }
  }
  return sum;
}

Side& Ledger::add(uint32_t host, uint32_t incarnation, uint32_t peer_host,
                  transport::ConnectionId id) {
  Side& side = *sides_.emplace_back(std::make_unique<Side>());
  side.name = static_cast<uint32_t>(sides_.size());
  side.host = host;
  side.incarnation = incarnation;
  side.peer_host = peer_host;
  side.id = id;
  if (const Side* known = find(host, incarnation, id); known != nullptr && !known->over) {
    report_.fail(describe(*known) + ": its id was given to another");
  }
  by_id_[{host, incarnation, id}] = &side;
  by_peer_[{host, id}].push_back(&side);
  return side;
}

Side* Ledger::find(uint32_t host, uint32_t incarnation, transport::ConnectionId id) const {
  const auto found = by_id_.find({host, incarnation, id});
  return found == by_id_.end() ? nullptr : found->second;
}

Side& Ledger::on_connect(uint32_t host, uint32_t incarnation, uint32_t peer_host,
                         transport::ConnectionId id) {
  Side& side = add(host, incarnation, peer_host, id);
  side.initiator = true;
  return side;
}

Side* Ledger::on_notice(uint32_t host, uint32_t incarnation, const transport::Notice& notice) {
  Side* side = find(host, incarnation, notice.connection);
  if (notice.kind == NoticeKind::kAccepted) {
    const uint32_t peer =
        notice.peer.port == kByzantinePort ? byzantine_ : simulator::nic_of(notice.peer);
    side = &add(host, incarnation, peer, notice.connection);
    side->peer_id = notice.peer_connection;
    side->open = true;
    return side;
  }
  const bool expected =
      side != nullptr && !side->over && (notice.kind == NoticeKind::kClosed || !side->open);
  if (!expected) {
    report_.fail("host " + std::to_string(host) + ": a notice of kind " +
                 std::to_string(static_cast<int>(notice.kind)) + " for connection " +
                 std::to_string(notice.connection) + ", which is unknown, open or over already");
    return nullptr;
  }
  if (notice.kind == NoticeKind::kOpened) {
    side->open = true;
    side->peer_id = notice.peer_connection;
  } else {
    side->over = true;
    side->graceful = notice.graceful;
    side->error = notice.error;
  }
  return side;
}

Operation& Ledger::on_post(Side& side, Direction direction, transport::ChannelId channel,
                           const transport::Payload& payload, Nanos now) {
  Operation& operation = *operations_.emplace_back(std::make_unique<Operation>());
  PostedOperations& posted = side.posted(direction, channel);
  operation.id = operations_.size();
  operation.side = &side;
  operation.direction = direction;
  operation.channel = channel;
  operation.index = static_cast<uint32_t>(posted.operations.size());
  operation.payload = payload;
  operation.posted_at = now;
  posted.operations.push_back(&operation);
  return operation;
}

Operation* Ledger::on_completion(uint32_t host, uint32_t incarnation,
                                 const transport::Completion& completion) {
  const auto number = completion.operation;
  Operation* operation =
      number >= 1 && number <= operations_.size() ? operations_[number - 1].get() : nullptr;
  if (operation == nullptr || operation->side->host != host ||
      operation->side->incarnation != incarnation) {
    report_.fail("host " + std::to_string(host) + ": a completion of operation " +
                 std::to_string(number) + ", which it never posted");
    return nullptr;
  }
  if (operation->done) {
    report_.fail(describe(*operation) + " completed twice");
    return nullptr;
  }
  if (completion.connection != operation->side->id || completion.channel != operation->channel ||
      completion.direction != operation->direction) {
    report_.fail(describe(*operation) + ": its completion names another connection or channel");
  }
  PostedOperations& posted = operation->side->posted(operation->direction, operation->channel);
  if (posted.operations[posted.done] != operation) {
    report_.fail(describe(*operation) + " completed before " +
                 describe(*posted.operations[posted.done]));
  }
  ++posted.done;
  operation->done = true;
  operation->ok = completion.ok;
  operation->error = completion.error;
  operation->bytes = completion.bytes;
  return operation;
}

void Ledger::on_crash(uint32_t host, uint32_t incarnation) {
  for (const std::unique_ptr<Side>& side : sides_) {
    if (side->host == host && side->incarnation == incarnation) side->crashed = true;
  }
}

Side* Ledger::peer_of(const Side& side) const {
  if (side.peer_id == 0) return nullptr;
  const auto found = by_peer_.find({side.peer_host, side.peer_id});
  if (found == by_peer_.end()) return nullptr;
  for (auto it = found->second.rbegin(); it != found->second.rend(); ++it) {
    Side* other = *it;
    const bool mutual = other->peer_host == side.host &&
                        (other->peer_id == 0 || other->peer_id == side.id) &&
                        other->initiator != side.initiator;
    if (mutual) return other;
  }
  return nullptr;
}

Side* Ledger::accepted_by_peer_of(const Side& side) const {
  for (const auto& other : sides_) {
    if (!other->initiator && other->host == side.peer_host && other->peer_host == side.host &&
        other->peer_id == side.id) {
      return other.get();
    }
  }
  return nullptr;
}

Operation* Ledger::match_of(const Operation& operation) const {
  return match_of(*operation.side, operation.direction, operation.channel, operation.index);
}

Operation* Ledger::match_of(const Side& side, Direction direction, transport::ChannelId channel,
                            size_t index) const {
  Side* peer = peer_of(side);
  if (peer == nullptr) return nullptr;
  const PostedOperations& posted =
      peer->posted(direction == Direction::kSend ? Direction::kReceive : Direction::kSend, channel);
  return index < posted.operations.size() ? posted.operations[index] : nullptr;
}

bool Ledger::peer_is_gone(const Side& side) const {
  const Side* peer = peer_of(side);
  return peer == nullptr || peer->ended() || peer->close_called || peer->abort_called;
}

std::string describe(const Side& side) {
  return "side " + std::to_string(side.name) + " (host " + std::to_string(side.host) +
         ", connection " + std::to_string(side.id) + (side.initiator ? ", asked)" : ", accepted)");
}

std::string describe(const Operation& operation) {
  const char* direction = operation.direction == Direction::kSend ? " send " : " receive ";
  return describe(*operation.side) + direction + std::to_string(operation.index) + " of channel " +
         std::to_string(operation.channel) + ", " + std::to_string(operation.length()) + " bytes";
}

}  // namespace heddle::vopr
