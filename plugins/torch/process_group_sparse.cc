// ProcessGroupHeddle, fifth part: sums of sparse tensors (layout torch.sparse_coo). Ranks have
// different numbers of elements. The call itself waits until each rank knows them; then each rank
// sends its indices and its values to all, padded to the largest number, and adds up what it
// received, in the order of ranks.
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
#include <iterator>
#include <utility>

namespace heddle::pytorch {
namespace {

at::Tensor header_of(const at::Tensor& mine) {
  std::vector<int64_t> numbers = {mine._nnz(), mine.sparse_dim()};
  numbers.insert(numbers.end(), mine.sizes().begin(), mine.sizes().end());
  return at::tensor(at::ArrayRef<int64_t>(numbers), at::kLong);
}

// What this rank sends, and room for what all ranks send.
struct Gathered {
  at::Tensor mine;
  at::Tensor all;
  int64_t dim = 0;  // that counts elements
  Gathered(const at::Tensor& tensor, int64_t counted, int64_t most, int64_t ranks) : dim(counted) {
    std::vector<int64_t> sizes = tensor.sizes().vec();
    sizes[static_cast<size_t>(dim)] = most;
    mine = at::zeros(sizes, tensor.scalar_type());
    mine.narrow(dim, 0, tensor.size(dim)).copy_(tensor);
    sizes.insert(sizes.begin(), ranks);
    all = at::empty(sizes, tensor.scalar_type());
  }
  // Of all ranks, one after the other, without the padding.
  at::Tensor joined(const std::vector<int64_t>& elements) const {
    Tensors parts;
    for (size_t rank = 0; rank < elements.size(); ++rank) {
      parts.push_back(all[static_cast<int64_t>(rank)].narrow(dim, 0, elements[rank]));
    }
    return at::cat(parts, dim);
  }
};

void check_sparse(const at::Tensor& tensor, const c10d::ReduceOp& op) {
  TORCH_CHECK(tensor.device().is_cpu(), "heddle: cannot allreduce a tensor on ", tensor.device(),
              ": heddle moves tensors in host memory (copy it with .cpu() first)");
  const c10d::ReduceOp::RedOpType kind = op;
  TORCH_CHECK(kind == c10d::ReduceOp::SUM,
              "heddle: cannot reduce sparse tensors with this operation: there is SUM");
}

}  // namespace

WorkPtr ProcessGroupHeddle::reduce_sparse(at::Tensor& tensor, const c10d::AllreduceOptions& opts) {
  const Seat seat = own_seat();  // of both calls: their memory has its size
  check_sparse(tensor, opts.reduceOp);
  const at::NoGradGuard no_grad;
  const at::Tensor mine = tensor.coalesce();
  at::Tensor header = header_of(mine);
  at::Tensor headers = at::empty({seat.size, header.numel()}, at::kLong);
  Plan counts = plan_of({.collective = collectives::Collective::kAllGather,
                         .input = {header},
                         .output = {headers},
                         .block = static_cast<uint64_t>(header.numel())},
                        elements_of(at::kLong));
  counts.title = nullptr;  // no call of the user's
  start(seat, std::move(counts), opts.timeout)->wait();

  std::vector<int64_t> elements;
  for (int64_t rank = 0; rank < seat.size; ++rank) {
    TORCH_CHECK(headers[rank].slice(0, 1).equal(header.slice(0, 1)),
                "heddle: cannot allreduce sparse tensors: that of rank ", rank,
                " has other sizes or another number of sparse dimensions than that of rank ",
                seat.rank);
    elements.push_back(headers[rank][0].item<int64_t>());
  }
  const int64_t most = *std::max_element(elements.begin(), elements.end());
  const Gathered indices(mine.indices(), 1, most, seat.size);
  const Gathered values(mine.values(), 0, most, seat.size);
  Plan plan;
  for (const Gathered& each : {indices, values}) {
    Plan one = plan_of({.collective = collectives::Collective::kAllGather,
                        .input = {each.mine},
                        .output = {each.all},
                        .block = static_cast<uint64_t>(each.mine.numel())},
                       elements_of(each.mine.scalar_type()));
    plan.calls.push_back(std::move(one.calls[0]));
    std::ranges::move(one.buffers, std::back_inserter(plan.buffers));
  }
  plan.type = c10d::OpType::ALLREDUCE;
  plan.title = "heddle:all_reduce";
  plan.results = plan.inputs = {tensor};
  plan.after = [indices, values, elements, tensor = tensor] {
    const at::NoGradGuard no_grad_there;
    tensor.copy_(
        at::sparse_coo_tensor(indices.joined(elements), values.joined(elements), tensor.sizes())
            .coalesce());
  };
  return start(seat, std::move(plan), opts.timeout);
}

}  // namespace heddle::pytorch
