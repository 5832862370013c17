// ConnectionTable: see connection_table.h.
#include "engine/connection_table.h"

namespace heddle::engine {

void ConnectionTable::add(Connection connection, const transport::Address& peer) {
  Entry& entry = entries_[connection];
  entry = {};
  entry.status.peer = peer;
}

void ConnectionTable::handle(const transport::Notice& notice) {
  if (notice.kind == transport::NoticeKind::kAccepted) {
    Entry& entry = entries_[notice.connection];
    entry = {};
    entry.status.state = ConnectionState::kOpen;
    entry.status.peer = notice.peer;
    entry.taken = false;
    accepted_.push_back(notice.connection);
    return;
  }
  const auto found = entries_.find(notice.connection);
  if (found == entries_.end()) return;  // released
  if (notice.kind == transport::NoticeKind::kOpened) {
    found->second.status.state = ConnectionState::kOpen;
    return;
  }
  if (!found->second.taken) {  // still in the accept queue, so its status has no reader
    entries_.erase(found);
    return;
  }
  found->second.status.state = ConnectionState::kClosed;
  found->second.status.error = notice.error;
  found->second.status.graceful = notice.graceful;
}

std::optional<Connection> ConnectionTable::take_accepted() {
  while (!accepted_.empty()) {
    const Connection connection = accepted_.pop_front();
    const auto found = entries_.find(connection);
    if (found == entries_.end()) continue;  // closed while it was queued
    found->second.taken = true;
    return connection;
  }
  return std::nullopt;
}

const ConnectionStatus* ConnectionTable::find(Connection connection) const {
  const auto found = entries_.find(connection);
  return found == entries_.end() ? nullptr : &found->second.status;
}

void ConnectionTable::give_back(Connection connection) { entries_.erase(connection); }

std::vector<Connection> ConnectionTable::living() const {
  std::vector<Connection> result;
  for (const auto& [connection, entry] : entries_) {
    if (entry.status.state != ConnectionState::kClosed) result.push_back(connection);
  }
  return result;
}

}  // namespace heddle::engine
