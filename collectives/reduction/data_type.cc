// Data types: see data_type.h.
#include "collectives/data_type.h"

#include <array>
#include <string>

namespace heddle::collectives {
namespace {

struct TypeRow {
  std::string_view name;
  size_t bytes;
  bool floating = false;
};

// In the order of DataType.
constexpr std::array<TypeRow, kDataTypes> kTypes = {{
    {"int8", 1},
    {"uint8", 1},
    {"int32", 4},
    {"uint32", 4},
    {"int64", 8},
    {"uint64", 8},
    {"half", 2, true},
    {"bfloat16", 2, true},
    {"float", 4, true},
    {"double", 8, true},
    {"int16", 2},
    {"uint16", 2},
}};

// In the order of ReduceOp.
constexpr std::array<std::string_view, kReduceOps> kOps = {"sum", "prod", "min", "max", "avg"};

const TypeRow& row_of(DataType type) {
  const auto at = static_cast<size_t>(type);
  CHECK(at < kTypes.size());
  return kTypes[at];
}

}  // namespace

size_t size_of(DataType type) { return row_of(type).bytes; }

bool is_floating(DataType type) { return row_of(type).floating; }

std::string_view name_of(DataType type) { return row_of(type).name; }

std::string_view name_of(ReduceOp op) {
  const auto at = static_cast<size_t>(op);
  CHECK(at < kOps.size());
  return kOps[at];
}

Result<DataType> parse_data_type(std::string_view name) {
  std::string known;
  for (size_t at = 0; at < kTypes.size(); ++at) {
    if (kTypes[at].name == name) return static_cast<DataType>(at);
    known += (at == 0 ? "" : ", ") + std::string(kTypes[at].name);
  }
  return fail(ErrorCode::kInvalid, "unknown data type '" + std::string(name) + "'", "",
              "choose one of " + known);
}

Result<ReduceOp> parse_reduce_op(std::string_view name) {
  std::string known;
  for (size_t at = 0; at < kOps.size(); ++at) {
    if (kOps[at] == name) return static_cast<ReduceOp>(at);
    known += (at == 0 ? "" : ", ") + std::string(kOps[at]);
  }
  return fail(ErrorCode::kInvalid, "unknown operation '" + std::string(name) + "'", "",
              "choose one of " + known);
}

}  // namespace heddle::collectives
