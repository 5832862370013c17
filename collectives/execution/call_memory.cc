// CallMemory: see call_memory.h.
#include "collectives/execution/call_memory.h"

#include <algorithm>
#include <utility>

#include "collectives/execution/extent.h"

namespace heddle::collectives {

Result<void> CallMemory::begin(const Call& call, const Shape& shape, uint64_t scratch_bytes) {
  call_ = &call;
  input_bytes_ = input_bytes(call, shape.size, shape.rank);
  output_bytes_ = output_bytes(call, shape.size, shape.rank);
  return hold_scratch(scratch_bytes);
}

Result<void> CallMemory::hold_scratch(uint64_t bytes) {
  if (bytes <= scratch_bytes_) return {};
  scratch_memory_.reset();
  scratch_bytes_ = std::max<uint64_t>(bytes, 4096);
  own_scratch_.reset();
  if (staging_.size() < scratch_bytes_) {
    own_scratch_ = std::make_unique_for_overwrite<std::byte[]>(scratch_bytes_);
  }
  scratch_ = own_scratch_ ? own_scratch_.get() : staging_.data();
  Result<engine::Memory> memory = endpoint_.register_memory(scratch_, scratch_bytes_);
  if (!memory) {
    scratch_bytes_ = 0;
    return fail(memory.error());
  }
  scratch_memory_ = std::move(*memory);
  return {};
}

void CallMemory::end() {
  if (input_) cache_.unpin(*input_);
  if (output_) cache_.unpin(*output_);
  input_.reset();
  output_.reset();
}

Result<transport::Payload> CallMemory::name(const Place& place, uint64_t bytes) {
  if (bytes == 0) return transport::Payload{};
  if (place.buffer == Buffer::kScratch) return scratch_memory_.slice(place.offset, bytes);
  const bool reads = place.buffer == Buffer::kInput;
  std::optional<transport::Payload>& pinned = reads ? input_ : output_;
  const void* const start = reads ? call_->input : call_->output;
  if (!pinned) {
    Result<transport::Payload> whole = cache_.pin(start, reads ? input_bytes_ : output_bytes_);
    if (!whole) return whole;
    pinned = *whole;
  }
  return transport::Payload{
      .region = pinned->region, .offset = pinned->offset + place.offset, .length = bytes};
}

}  // namespace heddle::collectives
