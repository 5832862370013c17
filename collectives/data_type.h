// What collectives work on: the types of elements, by the names that nccl-tests uses, and the
// operations that combine them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace heddle::collectives {

enum class DataType : uint8_t {
  kInt8,
  kUint8,
  kInt32,
  kUint32,
  kInt64,
  kUint64,
  kFloat16,
  kBfloat16,
  kFloat32,
  kFloat64,
  kInt16,
  kUint16,
};
inline constexpr size_t kDataTypes = 12;

enum class ReduceOp : uint8_t { kSum, kProduct, kMin, kMax, kAverage };
inline constexpr size_t kReduceOps = 5;

// Bytes of one element.
size_t size_of(DataType type);
bool is_floating(DataType type);

// "float", "bfloat16", "int8"; "sum", "prod", "min", "max", "avg".
std::string_view name_of(DataType type);
std::string_view name_of(ReduceOp op);

// The other way round. Errors: kInvalid, naming those that there are.
Result<DataType> parse_data_type(std::string_view name);
Result<ReduceOp> parse_reduce_op(std::string_view name);

}  // namespace heddle::collectives
