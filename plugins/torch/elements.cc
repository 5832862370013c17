// Elements: see elements.h.
#include "plugins/torch/elements.h"

#include <optional>

namespace heddle::pytorch {
namespace {

using collectives::DataType;
using collectives::ReduceOp;
using TorchOp = c10d::ReduceOp;

std::optional<DataType> same_type(at::ScalarType type) {
  switch (type) {
    case at::kByte:
      return DataType::kUint8;
    case at::kChar:
      return DataType::kInt8;
    case at::kShort:
      return DataType::kInt16;
    case at::kInt:
      return DataType::kInt32;
    case at::kLong:
      return DataType::kInt64;
    case at::kHalf:
      return DataType::kFloat16;
    case at::kBFloat16:
      return DataType::kBfloat16;
    case at::kFloat:
      return DataType::kFloat32;
    case at::kDouble:
      return DataType::kFloat64;
    default:
      return std::nullopt;
  }
}

const char* text_of(TorchOp::RedOpType op) {
  switch (op) {
    case TorchOp::BAND:
      return "BAND";
    case TorchOp::BOR:
      return "BOR";
    case TorchOp::BXOR:
      return "BXOR";
    case TorchOp::AVG:
      return "AVG";
    case TorchOp::PRODUCT:
      return "PRODUCT";
    case TorchOp::MIN:
      return "MIN";
    case TorchOp::MAX:
      return "MAX";
    default:
      return "this operation";
  }
}

[[noreturn]] void refuse(at::ScalarType type, TorchOp::RedOpType op, const char* todo) {
  TORCH_CHECK(false, "heddle: cannot reduce ", type, " with ", text_of(op), ": ", todo);
}

// A bool is a byte that is 0 or 1.
ReduceOp bool_op(TorchOp::RedOpType op) {
  switch (op) {
    case TorchOp::SUM:
    case TorchOp::MAX:
    case TorchOp::BOR:
      return ReduceOp::kMax;
    case TorchOp::PRODUCT:
    case TorchOp::MIN:
    case TorchOp::BAND:
      return ReduceOp::kMin;
    default:
      refuse(at::kBool, op, "of bool there are SUM, PRODUCT, MIN, MAX, BAND and BOR");
  }
}

ReduceOp number_op(at::ScalarType type, TorchOp::RedOpType op) {
  switch (op) {
    case TorchOp::SUM:
      return ReduceOp::kSum;
    case TorchOp::AVG:
      return ReduceOp::kAverage;
    case TorchOp::PRODUCT:
      return ReduceOp::kProduct;
    case TorchOp::MIN:
      return ReduceOp::kMin;
    case TorchOp::MAX:
      return ReduceOp::kMax;
    default:
      refuse(type, op, "there are SUM, AVG, PRODUCT, MIN and MAX");
  }
}

}  // namespace

Elements elements_of(at::ScalarType type) {
  if (const auto same = same_type(type)) return {*same, 1};
  switch (type) {
    case at::kComplexFloat:
      return {DataType::kFloat32, 2};
    case at::kComplexDouble:
      return {DataType::kFloat64, 2};
    default:
      return {DataType::kUint8, c10::elementSize(type)};
  }
}

Reduction reduction_of(at::ScalarType type, const c10d::ReduceOp& op) {
  const TorchOp::RedOpType kind = op;
  if (type == at::kBool) return {{DataType::kUint8, 1}, bool_op(kind)};
  if (const auto same = same_type(type)) return {{*same, 1}, number_op(type, kind)};
  const bool complex = type == at::kComplexFloat || type == at::kComplexDouble;
  const bool by_parts = kind == TorchOp::SUM || kind == TorchOp::AVG;
  if (complex && by_parts) return {elements_of(type), number_op(type, kind)};
  refuse(type, kind,
         complex ? "of complex numbers there are SUM and AVG"
                 : "heddle does not compute with this type");
}

void check_tensor(const at::Tensor& tensor, const char* call) {
  TORCH_CHECK(tensor.device().is_cpu(), "heddle: cannot ", call, " a tensor on ", tensor.device(),
              ": heddle moves tensors in host memory (copy it with .cpu() first)");
  TORCH_CHECK(tensor.layout() == at::kStrided, "heddle: cannot ", call, " a ", tensor.layout(),
              " tensor: heddle moves dense ones (make it one with .to_dense())");
}

}  // namespace heddle::pytorch
