// BenchCall: one collective at one size on this rank: its buffers, their content, the call itself,
// and whether its result is right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "collectives/communicator.h"

namespace heddle::cli {

struct BenchSubject {
  collectives::Collective collective = collectives::Collective::kAllReduce;
  collectives::DataType type = collectives::DataType::kFloat32;
  collectives::ReduceOp op = collectives::ReduceOp::kSum;
  uint32_t root = 0;
  uint64_t count = 0;
};

class BenchCall {
 public:
  // `communicator` must outlive it.
  BenchCall(collectives::Communicator& communicator, const BenchSubject& subject, bool in_place);

  // Writes what this rank puts in.
  void fill();
  // Makes the call and waits for its end. Errors: those of the communicator.
  Result<void> run(Nanos timeout);
  // Elements of the result that are wrong, after fill() and one run().
  uint64_t wrong() const;

 private:
  using Memory = std::vector<std::byte>;

  Result<collectives::Request> begin();
  uint64_t block_bytes() const { return subject_.count * width_; }
  Memory expected() const;
  Memory gathered(bool from_block_of_this_rank) const;
  Memory reduced(uint64_t first) const;

  collectives::Communicator& communicator_;
  BenchSubject subject_;
  size_t width_;
  uint64_t input_bytes_;
  uint64_t output_bytes_;
  Memory memory_;
  std::byte* input_;
  std::byte* output_;
};

// `count` elements from the `first` on of what a rank puts in: ones and twos, so that sums are
// exact in every type.
std::vector<std::byte> bench_elements(collectives::DataType type, uint32_t rank, uint64_t first,
                                      uint64_t count);

}  // namespace heddle::cli
