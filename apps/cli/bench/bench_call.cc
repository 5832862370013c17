// BenchCall: see bench_call.h.
#include "apps/cli/bench/bench_call.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "collectives/reduction.h"

namespace heddle::cli {
namespace {

using collectives::Collective;
using collectives::DataType;

using Element = std::array<std::byte, 8>;

template <typename T>
Element bytes_of(T value) {
  Element bytes{};
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

// One or two, in the first bytes.
Element small_number(DataType type, bool two) {
  switch (type) {
    case DataType::kFloat16:
      return bytes_of<uint16_t>(two ? 0x4000 : 0x3c00);
    case DataType::kBfloat16:
      return bytes_of<uint16_t>(two ? 0x4000 : 0x3f80);
    case DataType::kFloat32:
      return bytes_of(two ? 2.0F : 1.0F);
    case DataType::kFloat64:
      return bytes_of(two ? 2.0 : 1.0);
    default:
      return bytes_of<uint64_t>(two ? 2 : 1);  // little-endian, as all that heddle runs on
  }
}

}  // namespace

std::vector<std::byte> bench_elements(DataType type, uint32_t rank, uint64_t first,
                                      uint64_t count) {
  const size_t width = collectives::size_of(type);
  const std::array<Element, 2> numbers = {small_number(type, false), small_number(type, true)};
  std::vector<std::byte> elements(count * width);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t mixed = (first + i + 1) * 0x9e3779b97f4a7c15 ^ rank * 0xbf58476d1ce4e5b9;
    std::memcpy(elements.data() + i * width, numbers[mixed >> 40 & 1].data(), width);
  }
  return elements;
}

BenchCall::BenchCall(collectives::Communicator& communicator, const BenchSubject& subject,
                     bool in_place)
    : communicator_(communicator), subject_(subject), width_(collectives::size_of(subject.type)) {
  const Collective collective = subject_.collective;
  const uint64_t ranks = communicator_.size();
  const bool all_in = collective == Collective::kReduceScatter ||
                      collective == Collective::kAllToAll || collective == Collective::kScatter;
  const bool all_out = collective == Collective::kAllGather ||
                       collective == Collective::kAllToAll || collective == Collective::kGather;
  input_bytes_ = block_bytes() * (all_in ? ranks : 1);
  output_bytes_ = block_bytes() * (all_out ? ranks : 1);
  memory_.resize(in_place ? std::max(input_bytes_, output_bytes_) : input_bytes_ + output_bytes_);
  input_ = memory_.data();
  output_ = in_place ? input_ : input_ + input_bytes_;
  if (!in_place) return;
  const uint64_t mine = communicator_.rank() * block_bytes();
  if (collective == Collective::kAllGather || collective == Collective::kGather) input_ += mine;
  if (collective == Collective::kReduceScatter || collective == Collective::kScatter) {
    output_ += mine;
  }
}

void BenchCall::fill() {
  std::fill(memory_.begin(), memory_.end(), std::byte{0});
  const std::vector<std::byte> elements =
      bench_elements(subject_.type, communicator_.rank(), 0, input_bytes_ / width_);
  std::copy(elements.begin(), elements.end(), input_);
}

Result<collectives::Request> BenchCall::begin() {
  const collectives::Data data = {input_, output_, subject_.count, subject_.type};
  switch (subject_.collective) {
    case Collective::kAllReduce:
      return communicator_.all_reduce(data, subject_.op);
    case Collective::kReduceScatter:
      return communicator_.reduce_scatter(data, subject_.op);
    case Collective::kReduce:
      return communicator_.reduce(data, subject_.op, subject_.root);
    case Collective::kAllGather:
      return communicator_.all_gather(data);
    case Collective::kBroadcast:
      return communicator_.broadcast(data, subject_.root);
    case Collective::kGather:
      return communicator_.gather(data, subject_.root);
    case Collective::kScatter:
      return communicator_.scatter(data, subject_.root);
    case Collective::kAllToAll:
      return communicator_.all_to_all(data);
    default:
      break;
  }
  const uint32_t ranks = communicator_.size();
  const uint32_t next = (communicator_.rank() + 1) % ranks;
  communicator_.group_start();
  const auto sent = communicator_.send(data, next);
  const auto received = communicator_.receive(data, (communicator_.rank() + ranks - 1) % ranks);
  auto both = communicator_.group_end();
  if (sent) communicator_.forget(*sent);
  if (received) communicator_.forget(*received);
  if (!sent) return sent;
  return received ? both : received;
}

Result<void> BenchCall::run(Nanos timeout) {
  const Result<collectives::Request> request = begin();
  if (!request) return fail(request.error());
  return communicator_.wait(*request, timeout);
}

BenchCall::Memory BenchCall::reduced(uint64_t first) const {
  Memory all = bench_elements(subject_.type, 0, first, subject_.count);
  for (uint32_t rank = 1; rank < communicator_.size(); ++rank) {
    const Memory next = bench_elements(subject_.type, rank, first, subject_.count);
    collectives::reduce(subject_.type, subject_.op, all.data(), {all.data(), next.data()},
                        subject_.count);
  }
  if (subject_.op == collectives::ReduceOp::kAverage) {
    collectives::scale(subject_.type, all.data(), subject_.count, communicator_.size());
  }
  return all;
}

BenchCall::Memory BenchCall::gathered(bool from_block_of_this_rank) const {
  const uint64_t first = from_block_of_this_rank ? communicator_.rank() * subject_.count : 0;
  Memory all;
  for (uint32_t rank = 0; rank < communicator_.size(); ++rank) {
    const Memory block = bench_elements(subject_.type, rank, first, subject_.count);
    all.insert(all.end(), block.begin(), block.end());
  }
  return all;
}

// Nothing where this rank gets no result.
BenchCall::Memory BenchCall::expected() const {
  const uint32_t rank = communicator_.rank();
  const uint32_t ranks = communicator_.size();
  const bool root = rank == subject_.root;
  switch (subject_.collective) {
    case Collective::kAllReduce:
      return reduced(0);
    case Collective::kReduceScatter:
      return reduced(rank * subject_.count);
    case Collective::kReduce:
      return root ? reduced(0) : Memory();
    case Collective::kAllGather:
      return gathered(false);
    case Collective::kGather:
      return root ? gathered(false) : Memory();
    case Collective::kAllToAll:
      return gathered(true);
    case Collective::kBroadcast:
      return bench_elements(subject_.type, subject_.root, 0, subject_.count);
    case Collective::kScatter:
      return bench_elements(subject_.type, subject_.root, rank * subject_.count, subject_.count);
    default:
      return bench_elements(subject_.type, (rank + ranks - 1) % ranks, 0, subject_.count);
  }
}

uint64_t BenchCall::wrong() const {
  const Memory right = expected();
  uint64_t count = 0;
  for (uint64_t at = 0; at < right.size(); at += width_) {
    count += std::memcmp(right.data() + at, output_ + at, width_) != 0 ? 1 : 0;
  }
  return count;
}

}  // namespace heddle::cli
