// ProcessGroupHeddle, fifth part: sums of sparse tensors (layout torch.sparse_coo). Ranks have
// different numbers of elements. The call itself waits until each rank knows them; then each rank
// sends its indices and values to all, in blocks of one size, and adds up what it received, in the
// order of ranks.
// clang-format off: heddle's CHECK has to be defined before torch's.
#include "plugins/torch/process_group.h"
// clang-format on

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/sparse_coo_tensor.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <utility>

namespace heddle::pytorch {
namespace {

// Every type may begin at a multiple of it.
constexpr int64_t kAlignment = 16;

int64_t aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// Where a rank's part of `elements` elements lies in its block.
struct Layout {
  int64_t sparse_dims = 0;
  int64_t row_bytes = 0;           // of one element's values
  std::vector<int64_t> row_sizes;  // the dense dimensions
  at::ScalarType type = at::kFloat;
  int64_t index_bytes(int64_t elements) const {
    return elements * sparse_dims * static_cast<int64_t>(sizeof(int64_t));
  }
  int64_t bytes(int64_t elements) const {
    return aligned(index_bytes(elements)) + aligned(elements * row_bytes);
  }
  at::Tensor indices(const at::Tensor& block, int64_t elements) const {
    return block.narrow(0, 0, index_bytes(elements)).view(at::kLong).view({sparse_dims, elements});
  }
  at::Tensor values(const at::Tensor& block, int64_t elements) const {
    std::vector<int64_t> sizes = {elements};
    sizes.insert(sizes.end(), row_sizes.begin(), row_sizes.end());
    return block.narrow(0, aligned(index_bytes(elements)), elements * row_bytes)
        .view(type)
        .view(sizes);
  }
};

Layout layout_of(const at::Tensor& mine) {
  const at::Tensor values = mine.values();
  Layout layout = {.sparse_dims = mine.sparse_dim(), .type = values.scalar_type()};
  layout.row_sizes = values.sizes().slice(1).vec();
  layout.row_bytes = static_cast<int64_t>(values.element_size());
  for (const int64_t size : layout.row_sizes) layout.row_bytes *= size;
  return layout;
}

at::Tensor header_of(const at::Tensor& mine) {
  std::vector<int64_t> numbers = {mine._nnz(), mine.sparse_dim()};
  numbers.insert(numbers.end(), mine.sizes().begin(), mine.sizes().end());
  return at::tensor(at::ArrayRef<int64_t>(numbers), at::kLong);
}

at::Tensor sum_of(const at::Tensor& blocks, const std::vector<int64_t>& elements,
                  const Layout& layout, at::IntArrayRef sizes) {
  Tensors indices;
  Tensors values;
  for (size_t rank = 0; rank < elements.size(); ++rank) {
    const at::Tensor block = blocks[static_cast<int64_t>(rank)];
    indices.push_back(layout.indices(block, elements[rank]));
    values.push_back(layout.values(block, elements[rank]));
  }
  return at::sparse_coo_tensor(at::cat(indices, 1), at::cat(values, 0), sizes).coalesce();
}

void check_sparse(const at::Tensor& tensor, const c10d::ReduceOp& op) {
  TORCH_CHECK(tensor.device().is_cpu(), "heddle: cannot allreduce a tensor on ", tensor.device(),
              ": heddle moves tensors in host memory (copy it with .cpu() first)");
  const c10d::ReduceOp::RedOpType kind = op;
  TORCH_CHECK(kind == c10d::ReduceOp::SUM,
              "heddle: cannot reduce sparse tensors with this operation: there is SUM");
}

}  // namespace

WorkPtr ProcessGroupHeddle::allreduce_sparse(at::Tensor& tensor,
                                             const c10d::AllreduceOptions& opts) {
  check_sparse(tensor, opts.reduceOp);
  const at::NoGradGuard no_grad;
  const at::Tensor mine = tensor.coalesce();
  at::Tensor header = header_of(mine);
  at::Tensor headers = at::empty({size_, header.numel()}, at::kLong);
  Plan counts = plan_of({.collective = collectives::Collective::kAllGather,
                         .input = {header},
                         .output = {headers},
                         .block = static_cast<uint64_t>(header.numel())},
                        elements_of(at::kLong));
  counts.title = nullptr;  // no call of the user's
  start(std::move(counts), opts.timeout)->wait();

  std::vector<int64_t> elements;
  for (int64_t rank = 0; rank < size_; ++rank) {
    TORCH_CHECK(headers[rank].slice(0, 1).equal(header.slice(0, 1)),
                "heddle: cannot allreduce sparse tensors: that of rank ", rank,
                " has other sizes or another number of sparse dimensions than that of rank ",
                rank_);
    elements.push_back(headers[rank][0].item<int64_t>());
  }
  const Layout layout = layout_of(mine);
  const int64_t block = layout.bytes(*std::max_element(elements.begin(), elements.end()));
  at::Tensor input = at::zeros({block}, at::kByte);
  layout.indices(input, mine._nnz()).copy_(mine.indices());
  layout.values(input, mine._nnz()).copy_(mine.values());
  at::Tensor blocks = at::empty({size_, block}, at::kByte);
  Plan plan = plan_of({.collective = collectives::Collective::kAllGather,
                       .input = {input},
                       .output = {blocks},
                       .block = static_cast<uint64_t>(block)},
                      elements_of(at::kByte));
  plan.type = c10d::OpType::ALLREDUCE;
  plan.title = "heddle:all_reduce";
  plan.results = plan.inputs = {tensor};
  plan.after = [blocks, elements, layout, tensor = tensor] {
    const at::NoGradGuard no_grad_there;
    tensor.copy_(sum_of(blocks, elements, layout, tensor.sizes()));
  };
  return start(std::move(plan), opts.timeout);
}

}  // namespace heddle::pytorch
