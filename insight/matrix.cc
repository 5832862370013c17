// Connections meet by their ids: each side knows its own and the other's.
#include "insight/matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

namespace heddle::insight {
namespace {

std::string value_of(const std::vector<std::pair<std::string, std::string>>& identity,
                     const std::string& name) {
  for (const auto& [key, value] : identity) {
    if (key == name) return value;
  }
  return {};
}

int64_t rank_of(const std::string& text) {
  const bool number = !text.empty() && text.size() < 10 &&
                      std::all_of(text.begin(), text.end(),
                                  [](char digit) { return digit >= '0' && digit <= '9'; });
  return number ? std::stoll(text) : -1;
}

std::string address_text(const events::ConnectionOpened& event) {
  const auto byte = [&event](int at) {
    const uint64_t part = at < 8 ? event.peer_high : event.peer_low;
    return static_cast<uint32_t>(part >> (56 - 8 * (at % 8)) & 0xff);
  };
  const bool is_v4 = event.peer_high == 0 && event.peer_low >> 32 == 0xffff;
  if (is_v4) {
    return fmt::format("{}.{}.{}.{}:{}", byte(12), byte(13), byte(14), byte(15), event.peer_port);
  }
  std::string text;
  for (int at = 0; at < 16; at += 2) {
    text += fmt::format("{}{:x}", at == 0 ? "" : ":", byte(at) << 8 | byte(at + 1));
  }
  return fmt::format("[{}]:{}", text, event.peer_port);
}

// The matrix with its parties in the order of rank and name.
Matrix in_order(const Matrix& matrix) {
  std::vector<uint32_t> order(matrix.parties.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const Party& x = matrix.parties[a];
    const Party& y = matrix.parties[b];
    if ((x.rank < 0) != (y.rank < 0)) return y.rank < 0;
    return std::tie(x.rank, x.name) < std::tie(y.rank, y.name);
  });
  std::vector<uint32_t> place(order.size());
  Matrix sorted;
  sorted.unplaced = matrix.unplaced;
  for (uint32_t i = 0; i < order.size(); ++i) {
    place[order[i]] = i;
    sorted.parties.push_back(matrix.parties[order[i]]);
  }
  for (const auto& [pair, cell] : matrix.cells) {
    sorted.cells[{place[pair.first], place[pair.second]}] = cell;
  }
  return sorted;
}

}  // namespace

Cell Matrix::at(uint32_t from, uint32_t to) const {
  const auto found = cells.find({from, to});
  return found == cells.end() ? Cell{} : found->second;
}

Cell Matrix::total() const {
  Cell sum;
  for (const auto& [pair, cell] : cells) sum += cell;
  return sum;
}

uint32_t MatrixBuilder::add_process(
    const std::vector<std::pair<std::string, std::string>>& identity) {
  Party party;
  party.host = value_of(identity, "host");
  party.rank = rank_of(value_of(identity, "rank"));
  party.name = party.rank >= 0 ? std::to_string(party.rank)
                               : fmt::format("{}:{}", party.host, value_of(identity, "pid"));
  processes_.push_back(std::move(party));
  return static_cast<uint32_t>(processes_.size() - 1);
}

void MatrixBuilder::add(uint32_t process, const events::AnyEvent& event) {
  if (const auto* opened = std::get_if<events::ConnectionOpened>(&event)) {
    Connection& connection = connections_[{process, opened->connection}];
    connection.id = opened->connection;
    connection.peer_id = opened->peer_connection;
    connection.opened = true;
    connection.peer_address = address_text(*opened);
  } else if (const auto* message = std::get_if<events::MessageCompleted>(&event)) {
    Connection& connection = connections_[{process, message->connection}];
    Cell& cell =
        message->direction == events::Direction::kSent ? connection.sent : connection.received;
    cell += {message->bytes, 1};
  }
}

Matrix MatrixBuilder::finish() const {
  Matrix matrix;
  matrix.parties = processes_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> process_of;  // by own and peer's id
  for (const auto& [key, connection] : connections_) {
    if (connection.opened) process_of[{connection.id, connection.peer_id}] = key.first;
  }
  std::map<std::string, uint32_t> strangers;
  const auto stranger = [&](const std::string& address) {
    const auto [at, fresh] =
        strangers.emplace(address, static_cast<uint32_t>(matrix.parties.size()));
    if (fresh) matrix.parties.push_back({address, address, -1, false});
    return at->second;
  };
  for (const auto& [key, connection] : connections_) {
    if (!connection.opened) {
      matrix.unplaced += connection.received;
      matrix.unplaced += connection.sent;
      continue;
    }
    const auto peer = process_of.find({connection.peer_id, connection.id});
    if (peer != process_of.end()) {
      if (connection.received.messages == 0) continue;
      matrix.cells[{peer->second, key.first}] += connection.received;
      continue;
    }
    const uint32_t other = stranger(connection.peer_address);
    if (connection.sent.messages > 0) matrix.cells[{key.first, other}] += connection.sent;
    if (connection.received.messages > 0) matrix.cells[{other, key.first}] += connection.received;
  }
  return in_order(matrix);
}

Matrix by_host(const Matrix& matrix) {
  Matrix hosts;
  hosts.unplaced = matrix.unplaced;
  std::map<std::string, uint32_t> place;
  for (const Party& party : matrix.parties) {
    const auto [at, fresh] = place.emplace(party.host, static_cast<uint32_t>(hosts.parties.size()));
    if (fresh) hosts.parties.push_back({party.host, party.host, -1, party.recorded});
  }
  for (const auto& [pair, cell] : matrix.cells) {
    const uint32_t from = place[matrix.parties[pair.first].host];
    const uint32_t to = place[matrix.parties[pair.second].host];
    hosts.cells[{from, to}] += cell;
  }
  return in_order(hosts);
}

}  // namespace heddle::insight
