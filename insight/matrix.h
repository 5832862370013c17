// Communication matrix: who sent how much to whom, as recordings tell it (ComScribe, arXiv
// 2110.10401, drew it from formulas; here it is what arrived). A pure function of events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "events/events.h"

namespace heddle::insight {

// A row and column: a process, or several of a host.
struct Party {
  std::string name;
  std::string host;
  int64_t rank = -1;     // none known
  bool recorded = true;  // else it is known by what others did with it only
};

struct Cell {
  uint64_t bytes = 0;  // of whole messages
  uint64_t messages = 0;

  Cell& operator+=(const Cell& more) {
    bytes += more.bytes;
    messages += more.messages;
    return *this;
  }
};

struct Matrix {
  std::vector<Party> parties;
  // By (source, destination); pairs that exchanged nothing are left out.
  std::map<std::pair<uint32_t, uint32_t>, Cell> cells;
  // Messages of connections whose beginning is not among the events: nobody knows their peer.
  Cell unplaced;

  Cell at(uint32_t from, uint32_t to) const;
  Cell total() const;
};

// Takes the events of processes, one after the other or mixed, and keeps connections only.
class MatrixBuilder {
 public:
  // `identity` as in a recording. Returns the number by which add() knows it.
  uint32_t add_process(const std::vector<std::pair<std::string, std::string>>& identity);
  void add(uint32_t process, const events::AnyEvent& event);

  // Delivered messages: as the receiver tells of them where it was recorded, else as the sender
  // does. Parties are in the order of their ranks, then of their names.
  Matrix finish() const;

 private:
  struct Connection {
    uint32_t id = 0;
    uint32_t peer_id = 0;
    bool opened = false;
    std::string peer_address;
    Cell sent;
    Cell received;
  };
  using Key = std::pair<uint32_t, uint32_t>;  // process, connection

  std::vector<Party> processes_;
  std::map<Key, Connection> connections_;
};

// One row for all processes of a host.
Matrix by_host(const Matrix& matrix);

}  // namespace heddle::insight
