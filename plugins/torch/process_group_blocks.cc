// ProcessGroupHeddle, second part: calls on a block for each rank. Blocks are given as a list of
// tensors or as one tensor that holds all; lists that lie one after the other in memory are used
// where they are.
#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "plugins/torch/process_group.h"

namespace heddle::pytorch {
namespace {

using collectives::Call;
using collectives::Collective;

uint64_t numel_of(const at::Tensor& tensor) { return static_cast<uint64_t>(tensor.numel()); }

void check_list(const Tensors& list, const at::Tensor& block, int size, const char* call) {
  TORCH_CHECK(list.size() == static_cast<size_t>(size), "heddle: cannot ", call, ": the list has ",
              list.size(), " tensors, this group ", size, " ranks: give one for each");
  for (const at::Tensor& each : list) {
    check_tensor(each, call);
    TORCH_CHECK(each.scalar_type() == block.scalar_type() && each.numel() == block.numel(),
                "heddle: cannot ", call, ": the list has a tensor of ", each.numel(), " ",
                each.scalar_type(), " beside one of ", block.numel(), " ", block.scalar_type(),
                ": all have to be alike");
  }
}

template <typename Lists>
void check_one_list(const Tensors& tensors, const Lists& lists, const char* call) {
  TORCH_CHECK(tensors.size() == 1 && lists.size() == 1, "heddle: cannot ", call,
              " several tensors at once: a process is one rank, give one");
}

// One tensor that holds a block for each rank.
void check_whole(const at::Tensor& whole, const at::Tensor& block, int size, const char* call) {
  check_tensor(whole, call);
  check_tensor(block, call);
  TORCH_CHECK(whole.scalar_type() == block.scalar_type() &&
                  whole.numel() == block.numel() * static_cast<int64_t>(size),
              "heddle: cannot ", call, ": ", whole.numel(), " ", whole.scalar_type(), " are not ",
              size, " times ", block.numel(), " ", block.scalar_type());
}

// How many elements go to (or come from) each rank, by the first dimension of `tensor`.
std::vector<uint64_t> split_counts(const at::Tensor& tensor, const std::vector<int64_t>& splits,
                                   int size, const char* which) {
  const int64_t rows = tensor.dim() > 0 ? tensor.size(0) : 1;
  const auto ranks = static_cast<size_t>(size);
  if (splits.empty()) {
    TORCH_CHECK(rows % size == 0, "heddle: cannot alltoall: the ", which, " has ", rows,
                " rows, which ", size, " ranks cannot share evenly: give split sizes");
    return std::vector<uint64_t>(ranks, numel_of(tensor) / ranks);
  }
  TORCH_CHECK(splits.size() == ranks, "heddle: cannot alltoall: ", splits.size(), " ", which,
              " split sizes for ", size, " ranks");
  TORCH_CHECK(std::accumulate(splits.begin(), splits.end(), int64_t{0}) == rows,
              "heddle: cannot alltoall: the ", which, " split sizes do not add up to its ", rows,
              " rows");
  const uint64_t row = rows == 0 ? 0 : numel_of(tensor) / static_cast<uint64_t>(rows);
  std::vector<uint64_t> counts;
  for (const int64_t split : splits) {
    TORCH_CHECK(split >= 0, "heddle: cannot alltoall: a split size is negative");
    counts.push_back(static_cast<uint64_t>(split) * row);
  }
  return counts;
}

void check_as_many(const Tensors& outputs, const Tensors& inputs, const char* call) {
  TORCH_CHECK(outputs.size() == inputs.size(), "heddle: cannot ", call, " ", inputs.size(),
              " tensors into ", outputs.size());
}

// Its calls begin with those of `plan`.
void append(Plan& plan, Plan one) {
  std::ranges::move(one.calls, std::back_inserter(plan.calls));
  std::ranges::move(one.buffers, std::back_inserter(plan.buffers));
}

}  // namespace

Plan ProcessGroupHeddle::plan_of(const Blocks& blocks, const Elements& elements) const {
  Plan plan;
  plan.buffers.push_back(Buffer::of_input(blocks.input));
  plan.buffers.push_back(Buffer::of_output(blocks.output));
  plan.calls.push_back({.collective = blocks.collective,
                        .type = elements.type,
                        .root = blocks.root,
                        .count = blocks.block * elements.each,
                        .input = plan.buffers[0].data(),
                        .output = plan.buffers[1].data()});
  plan.inputs = blocks.input;
  plan.results = blocks.output;
  return plan;
}

WorkPtr ProcessGroupHeddle::allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                                      const c10d::AllgatherOptions& opts) {
  const Seat seat = own_seat();
  check_one_list(inputs, outputs, "allgather");
  check_tensor(inputs[0], "allgather");
  check_list(outputs[0], inputs[0], seat.size, "allgather");
  Plan plan = plan_of({Collective::kAllGather, inputs, outputs[0], numel_of(inputs[0])},
                      elements_of(inputs[0].scalar_type()));
  plan.type = c10d::OpType::ALLGATHER;
  plan.title = "heddle:all_gather";
  return start(seat, std::move(plan), opts.timeout);
}

WorkPtr ProcessGroupHeddle::_allgather_base(at::Tensor& output, at::Tensor& input,
                                            const c10d::AllgatherOptions& opts) {
  const Seat seat = own_seat();
  check_whole(output, input, seat.size, "allgather");
  Plan plan = plan_of({Collective::kAllGather, {input}, {output}, numel_of(input)},
                      elements_of(input.scalar_type()));
  plan.type = c10d::OpType::_ALLGATHER_BASE;
  plan.title = "heddle:_all_gather_base";
  return start(seat, std::move(plan), opts.timeout);
}

// output_lists[rank][i] becomes inputs[i] of that rank.
WorkPtr ProcessGroupHeddle::allgather_coalesced(std::vector<Tensors>& output_lists, Tensors& inputs,
                                                const c10d::AllgatherOptions& opts) {
  const Seat seat = own_seat();
  TORCH_CHECK(output_lists.size() == static_cast<size_t>(seat.size),
              "heddle: cannot allgather: ", output_lists.size(), " output lists for ", seat.size,
              " ranks: give one for each");
  Plan plan = {.type = c10d::OpType::ALLGATHER_COALESCED, .title = "heddle:all_gather"};
  plan.inputs = inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    check_tensor(inputs[i], "allgather");
    Tensors outputs;
    for (const Tensors& list : output_lists) {
      TORCH_CHECK(list.size() == inputs.size(), "heddle: cannot allgather: an output list has ",
                  list.size(), " tensors, the input ", inputs.size());
      outputs.push_back(list[i]);
    }
    check_list(outputs, inputs[i], seat.size, "allgather");
    Plan one = plan_of({Collective::kAllGather, {inputs[i]}, outputs, numel_of(inputs[i])},
                       elements_of(inputs[i].scalar_type()));
    append(plan, std::move(one));
  }
  for (const Tensors& list : output_lists) {
    plan.results.insert(plan.results.end(), list.begin(), list.end());
  }
  return start(seat, std::move(plan), opts.timeout);
}

WorkPtr ProcessGroupHeddle::allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                            const c10d::AllgatherOptions& opts) {
  const Seat seat = own_seat();
  check_as_many(outputs, inputs, "allgather");
  Plan plan = {.type = c10d::OpType::ALLGATHER_COALESCED, .title = "heddle:all_gather"};
  for (size_t i = 0; i < inputs.size(); ++i) {
    check_whole(outputs[i], inputs[i], seat.size, "allgather");
    append(plan, plan_of({Collective::kAllGather, {inputs[i]}, {outputs[i]}, numel_of(inputs[i])},
                         elements_of(inputs[i].scalar_type())));
  }
  plan.inputs = inputs;
  plan.results = outputs;
  return start(seat, std::move(plan), opts.timeout);
}

WorkPtr ProcessGroupHeddle::gather(std::vector<Tensors>& outputs, Tensors& inputs,
                                   const c10d::GatherOptions& opts) {
  const Seat seat = own_seat();
  const uint32_t root = check_rank(seat, opts.rootRank, "gather");
  TORCH_CHECK(inputs.size() == 1, "heddle: cannot gather several tensors at once");
  check_tensor(inputs[0], "gather");
  Tensors output;
  if (root == static_cast<uint32_t>(seat.rank)) {
    check_one_list(inputs, outputs, "gather");
    check_list(outputs[0], inputs[0], seat.size, "gather");
    output = outputs[0];
  } else {
    TORCH_CHECK(outputs.empty(), "heddle: cannot gather: only the root has outputs");
  }
  Plan plan = plan_of({Collective::kGather, inputs, output, numel_of(inputs[0]), root},
                      elements_of(inputs[0].scalar_type()));
  plan.type = c10d::OpType::GATHER;
  plan.title = "heddle:gather";
  return start(seat, std::move(plan), opts.timeout);
}

WorkPtr ProcessGroupHeddle::scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                    const c10d::ScatterOptions& opts) {
  const Seat seat = own_seat();
  const uint32_t root = check_rank(seat, opts.rootRank, "scatter");
  TORCH_CHECK(outputs.size() == 1, "heddle: cannot scatter several tensors at once");
  check_tensor(outputs[0], "scatter");
  Tensors input;
  if (root == static_cast<uint32_t>(seat.rank)) {
    check_one_list(outputs, inputs, "scatter");
    check_list(inputs[0], outputs[0], seat.size, "scatter");
    input = inputs[0];
  } else {
    TORCH_CHECK(inputs.empty(), "heddle: cannot scatter: only the root has inputs");
  }
  Plan plan = plan_of({Collective::kScatter, input, outputs, numel_of(outputs[0]), root},
                      elements_of(outputs[0].scalar_type()));
  plan.type = c10d::OpType::SCATTER;
  plan.title = "heddle:scatter";
  return start(seat, std::move(plan), opts.timeout);
}

WorkPtr ProcessGroupHeddle::reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                           const c10d::ReduceScatterOptions& opts) {
  const Seat seat = own_seat();
  check_one_list(outputs, inputs, "reduce_scatter");
  check_tensor(outputs[0], "reduce_scatter");
  check_list(inputs[0], outputs[0], seat.size, "reduce_scatter");
  const Reduction reduction = reduction_of(outputs[0].scalar_type(), opts.reduceOp);
  Plan plan = plan_of({Collective::kReduceScatter, inputs[0], outputs, numel_of(outputs[0])},
                      reduction.elements);
  plan.type = c10d::OpType::REDUCE_SCATTER;
  plan.title = "heddle:reduce_scatter";
  plan.calls[0].op = reduction.op;
  return start(seat, std::move(plan), opts.timeout);
}

WorkPtr ProcessGroupHeddle::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                                 const c10d::ReduceScatterOptions& opts) {
  const Seat seat = own_seat();
  check_whole(input, output, seat.size, "reduce_scatter");
  const Reduction reduction = reduction_of(output.scalar_type(), opts.reduceOp);
  Plan plan = plan_of({Collective::kReduceScatter, {input}, {output}, numel_of(output)},
                      reduction.elements);
  plan.type = c10d::OpType::_REDUCE_SCATTER_BASE;
  plan.title = "heddle:_reduce_scatter_base";
  plan.calls[0].op = reduction.op;
  return start(seat, std::move(plan), opts.timeout);
}

WorkPtr ProcessGroupHeddle::reduce_scatter_tensor_coalesced(
    Tensors& outputs, Tensors& inputs, const c10d::ReduceScatterOptions& opts) {
  const Seat seat = own_seat();
  check_as_many(outputs, inputs, "reduce_scatter");
  Plan plan = {.type = c10d::OpType::_REDUCE_SCATTER_BASE, .title = "heddle:reduce_scatter"};
  for (size_t i = 0; i < inputs.size(); ++i) {
    check_whole(inputs[i], outputs[i], seat.size, "reduce_scatter");
    const Reduction reduction = reduction_of(outputs[i].scalar_type(), opts.reduceOp);
    Plan one =
        plan_of({Collective::kReduceScatter, {inputs[i]}, {outputs[i]}, numel_of(outputs[i])},
                reduction.elements);
    one.calls[0].op = reduction.op;
    append(plan, std::move(one));
  }
  plan.inputs = inputs;
  plan.results = outputs;
  return start(seat, std::move(plan), opts.timeout);
}

Call ProcessGroupHeddle::exchange_of(const Buffer& output, const Buffer& input,
                                     const std::vector<uint64_t>& output_counts,
                                     const std::vector<uint64_t>& input_counts) const {
  const Elements elements = elements_of(output.type());
  Call call = {.collective = Collective::kAllToAllV,
               .type = elements.type,
               .input = input.data(),
               .output = output.data()};
  uint64_t sent = 0;
  uint64_t received = 0;
  for (size_t rank = 0; rank < output_counts.size(); ++rank) {
    call.exchange.send_counts.push_back(input_counts[rank] * elements.each);
    call.exchange.send_offsets.push_back(sent);
    call.exchange.receive_counts.push_back(output_counts[rank] * elements.each);
    call.exchange.receive_offsets.push_back(received);
    sent += input_counts[rank] * elements.each;
    received += output_counts[rank] * elements.each;
  }
  return call;
}

WorkPtr ProcessGroupHeddle::alltoall_base(at::Tensor& output, at::Tensor& input,
                                          std::vector<int64_t>& output_splits,
                                          std::vector<int64_t>& input_splits,
                                          const c10d::AllToAllOptions& opts) {
  const Seat seat = own_seat();
  check_tensor(output, "alltoall");
  check_tensor(input, "alltoall");
  TORCH_CHECK(output.scalar_type() == input.scalar_type(), "heddle: cannot alltoall ",
              input.scalar_type(), " into ", output.scalar_type());
  const std::vector<uint64_t> to = split_counts(input, input_splits, seat.size, "input");
  const std::vector<uint64_t> from = split_counts(output, output_splits, seat.size, "output");
  Plan plan = {.type = c10d::OpType::ALLTOALL_BASE, .title = "heddle:all_to_all"};
  plan.buffers.push_back(Buffer::of_input({input}));
  plan.buffers.push_back(Buffer::of_output({output}));
  plan.calls.push_back(exchange_of(plan.buffers[1], plan.buffers[0], from, to));
  plan.inputs = {input};
  plan.results = {output};
  return start(seat, std::move(plan), opts.timeout);
}

WorkPtr ProcessGroupHeddle::alltoall(Tensors& outputs, Tensors& inputs,
                                     const c10d::AllToAllOptions& opts) {
  const Seat seat = own_seat();
  const auto ranks = static_cast<size_t>(seat.size);
  TORCH_CHECK(outputs.size() == ranks && inputs.size() == ranks, "heddle: cannot alltoall ",
              inputs.size(), " tensors into ", outputs.size(), ": this group has ", seat.size,
              " ranks, give one for each");
  std::vector<uint64_t> to;
  std::vector<uint64_t> from;
  for (size_t rank = 0; rank < ranks; ++rank) {
    check_tensor(inputs[rank], "alltoall");
    check_tensor(outputs[rank], "alltoall");
    TORCH_CHECK(inputs[rank].scalar_type() == outputs[0].scalar_type() &&
                    outputs[rank].scalar_type() == outputs[0].scalar_type(),
                "heddle: cannot alltoall tensors of different types");
    to.push_back(numel_of(inputs[rank]));
    from.push_back(numel_of(outputs[rank]));
  }
  Plan plan = {.type = c10d::OpType::ALLTOALL, .title = "heddle:all_to_all"};
  plan.buffers.push_back(Buffer::of_input(inputs));
  plan.buffers.push_back(Buffer::of_output(outputs));
  plan.calls.push_back(exchange_of(plan.buffers[1], plan.buffers[0], from, to));
  plan.inputs = inputs;
  plan.results = outputs;
  return start(seat, std::move(plan), opts.timeout);
}

}  // namespace heddle::pytorch
