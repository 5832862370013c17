// Communication matrix: traffic arranged as who sent how much to whom, in all or apart by what it
// was for.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "insight/traffic.h"

namespace heddle::insight {

// What a row and a column stand for.
enum class MatrixRows : uint8_t { kRank, kHost, kNic };
// What parts are made apart.
enum class MatrixParts : uint8_t { kOperation, kCommunicator, kAlgorithm, kPath, kPhase };

struct Matrix {
  std::vector<Party> parties;
  // By (source, destination); pairs that exchanged nothing are left out.
  std::map<std::pair<uint32_t, uint32_t>, Cell> cells;
  Cell own;       // heddle's own words, which stand in no cell but where they are a part
  Cell unplaced;  // as in Traffic
  bool tells_messages = true;

  Cell at(uint32_t from, uint32_t to) const;
  Cell total() const;
  // What of a cell tells most truly who moves much: bytes delivered, or on the wire where messages
  // were not recorded.
  uint64_t moved(const Cell& cell) const { return tells_messages ? cell.bytes : cell.wire_bytes; }
};

struct MatrixPart {
  std::string name;
  Matrix matrix;
};

// Of all flows, or those that `wanted` wants.
Matrix make_matrix(const Traffic& traffic, MatrixRows rows,
                   const std::function<bool(const Flow&)>& wanted = nullptr);
// A matrix for each operation (communicator, …) that there is, the largest first. What is not
// known by it (of an operation: what was sent on which path) is in none.
std::vector<MatrixPart> matrix_parts(const Traffic& traffic, MatrixRows rows, MatrixParts parts);

}  // namespace heddle::insight
