// Checks of calls: see call_check.h.
#include "collectives/communicator/call_check.h"

#include <algorithm>
#include <string>

#include "collectives/execution/extent.h"
#include "collectives/params.h"
#include "collectives/schedule/shape.h"

namespace heddle::collectives {
namespace {

Unexpected wrong(const Call& call, const std::string& why, const std::string& todo = "") {
  return fail(ErrorCode::kInvalid, "cannot call " + std::string(name_of(call.collective)), why,
              todo);
}

Result<void> check_exchange(const Call& call, const Members& members) {
  const ExchangeCounts& exchange = call.exchange;
  for (const auto* row : {&exchange.send_counts, &exchange.send_offsets, &exchange.receive_counts,
                          &exchange.receive_offsets}) {
    if (row->size() != members.size()) {
      return wrong(call, "there are " + std::to_string(row->size()) + " counts or offsets",
                   "give one for each of the " + std::to_string(members.size()) + " ranks");
    }
    for (const uint64_t value : *row) {
      if (value > params::kMostCallBytes / size_of(call.type))
        return wrong(call, "a count is beyond reason");
    }
  }
  for (const auto* counts : {&exchange.send_counts, &exchange.receive_counts}) {
    for (const uint64_t count : *counts) {
      if (count * size_of(call.type) > (uint64_t{1} << 30)) {
        return wrong(call, "more than 1 GiB goes between two ranks", "call it in parts");
      }
    }
  }
  if (exchange.send_counts[members.rank] != exchange.receive_counts[members.rank]) {
    return wrong(call, "a rank sends itself another count than it receives");
  }
  return {};
}

// How far into the larger buffer the smaller one lies where the call is in place.
int64_t place_of(const Call& call, uint32_t rank) {
  const auto offset = static_cast<int64_t>(rank * call.count * size_of(call.type));
  switch (call.collective) {
    case Collective::kAllGather:
    case Collective::kGather:
      return offset;  // the input in the output
    case Collective::kReduceScatter:
    case Collective::kScatter:
      return -offset;  // the output in the input
    default:
      return 0;
  }
}

Result<void> check_buffers(const Call& call, const Members& members) {
  const uint64_t reads = input_bytes(call, members.size(), members.rank);
  const uint64_t writes = output_bytes(call, members.size(), members.rank);
  if (reads > 0 && call.input == nullptr) return wrong(call, "there is no input");
  if (writes > 0 && call.output == nullptr) return wrong(call, "there is no output");
  const auto input = reinterpret_cast<uint64_t>(call.input);
  const auto output = reinterpret_cast<uint64_t>(call.output);
  const bool overlap = std::max(input, output) < std::min(input + reads, output + writes);
  if (!overlap) return {};
  const bool in_place = static_cast<int64_t>(input - output) == place_of(call, members.rank);
  if (in_place && call.collective != Collective::kAllToAllV) return {};
  return wrong(call, "input and output overlap",
               "give the same memory (the smaller buffer where this rank's block is in the larger "
               "one), or memory apart");
}

}  // namespace

Result<void> check_call(const Call& call, const Members& members) {
  if (static_cast<size_t>(call.type) >= kDataTypes) return wrong(call, "no such type of elements");
  if (static_cast<size_t>(call.op) >= kReduceOps) return wrong(call, "no such reduction");
  if (call.root >= members.size()) {
    return wrong(call, "there is no rank " + std::to_string(call.root),
                 "there are " + std::to_string(members.size()) + ", counted from 0");
  }
  if (call.algorithm && !can_run(call.collective, *call.algorithm)) {
    return wrong(call, "it has no " + std::string(name_of(*call.algorithm)), "ask for another");
  }
  if (call.count > params::kMostCallBytes / size_of(call.type) / members.size()) {
    return wrong(call, "a count is beyond reason");
  }
  if (call.collective == Collective::kAllToAllV) {
    if (Result<void> good = check_exchange(call, members); !good) return good;
  }
  return check_buffers(call, members);
}

}  // namespace heddle::collectives
