// Communication matrix: traffic arranged by sender and receiver, in total or split by purpose.
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

// What a row and a column represent.
enum class MatrixRows : uint8_t { kRank, kHost, kNic };
// The criterion by which traffic is split into parts.
enum class MatrixParts : uint8_t { kOperation, kCommunicator, kAlgorithm, kPath, kPhase };

struct Matrix {
  std::vector<Party> parties;
  // By (source, destination); pairs without traffic are left out.
  std::map<std::pair<uint32_t, uint32_t>, Cell> cells;
  Cell own;       // heddle's own messages; they are in no cell, except where they are a part
  Cell unplaced;  // as in Traffic
  bool has_messages = true;

  Cell at(uint32_t from, uint32_t to) const;
  Cell total() const;
  // The best available measure of the amount moved: bytes delivered, or bytes on the wire where
  // messages were not recorded.
  uint64_t moved(const Cell& cell) const { return has_messages ? cell.bytes : cell.wire_bytes; }
};

struct MatrixPart {
  std::string name;
  Matrix matrix;
};

// Of all flows, or those for which `wanted` returns true.
Matrix make_matrix(const Traffic& traffic, MatrixRows rows,
                   const std::function<bool(const Flow&)>& wanted = nullptr);
// A matrix for each operation (communicator, …) that occurs, the largest first. Traffic without
// this attribute (for example bytes sent on a path, whose operation is unknown) is in none.
std::vector<MatrixPart> matrix_parts(const Traffic& traffic, MatrixRows rows, MatrixParts parts);

}  // namespace heddle::insight
