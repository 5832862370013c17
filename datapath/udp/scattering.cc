// See scattering.h.
#include "datapath/udp/scattering.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace heddle::datapath {

using transport::kDataHeaderBytes;
using transport::kMostHeaderBytes;
using transport::Prediction;

namespace {

bool header_fits(const std::byte* header, const Prediction& prediction) {
  std::byte difference{0};
  for (size_t i = 0; i < kDataHeaderBytes; ++i) {
    difference |= (header[i] ^ prediction.header[i]) & prediction.mask[i];
  }
  return difference == std::byte{0};
}

// Adds to a little-endian number at any alignment.
void add_little_endian(std::byte* at, uint32_t amount) {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value |= static_cast<uint32_t>(at[i]) << (8 * i);
  value += amount;
  for (int i = 0; i < 4; ++i) at[i] = static_cast<std::byte>(value >> (8 * i));
}

}  // namespace

size_t Scattering::lay_out(const Prediction& prediction, std::byte* memory, std::byte* place,
                           bool rows, std::span<iovec, kMaxPieces> pieces) {
  const uint64_t room = prediction.place.length;
  step_ = prediction.payload_bytes;
  header_ = prediction.header_bytes;
  CHECK(header_ >= kDataHeaderBytes && header_ <= kMostHeaderBytes);
  slots_ = memory;
  spill_ = memory + kSlotsBytes + kRowBytes;
  place_ = place;
  const uint64_t most = rows ? std::min<uint64_t>(kMaxPairs, kRowBytes / datagram() + 1) : 1;
  pairs_ = static_cast<uint32_t>(std::min(most, room / step_));
  partial_ = pairs_ < most ? static_cast<uint32_t>(room % step_) : 0;
  size_t used = 0;
  for (uint32_t i = 0; i < pairs_; ++i) {
    pieces[used++] = {slots_ + size_t{i} * header_, header_};
    pieces[used++] = {place_ + size_t{i} * step_, step_};
  }
  if (partial_ > 0) {
    pieces[used++] = {slots_ + size_t{pairs_} * header_, header_};
    pieces[used++] = {place_ + size_t{pairs_} * step_, partial_};
  }
  pieces[used++] = {spill_, kRowBytes};
  return used;
}

bool Scattering::fits(const Prediction& prediction, uint32_t bytes, uint32_t datagram_bytes) const {
  const bool single = bytes <= datagram_bytes;
  const bool steps_fit = single ? bytes <= datagram() : datagram_bytes == datagram();
  // A datagram shorter than a header cannot be matched; its bytes are in the first slot.
  return steps_fit && bytes >= header_ && header_fits(slots_, prediction);
}

uint32_t Scattering::in_place(uint32_t bytes) const {
  return bytes <= ahead() ? bytes : pairs_ * datagram();
}

std::byte* Scattering::rest() {
  std::byte* start = spill_ - partial_datagram();
  if (partial_ > 0) {
    std::memcpy(start, slots_ + size_t{pairs_} * header_, header_);
    std::memcpy(start + header_, place_ + size_t{pairs_} * step_, partial_);
  }
  return start;
}

uint32_t Scattering::alike(const Prediction& prediction, uint32_t in_place_bytes) const {
  const uint32_t datagrams = (in_place_bytes + datagram() - 1) / datagram();
  uint32_t count = 0;
  while (count < datagrams && slots_[size_t{count} * header_] == prediction.header[0]) {
    ++count;
  }
  return count;
}

// From the last piece to the first: pieces only move up, so none is overwritten before it is moved.
void Scattering::line_up(uint32_t bytes, uint32_t first) {
  if (bytes > ahead()) {
    std::memcpy(slots_ + ahead(), spill_, bytes - ahead());
    bytes = ahead();
  }
  const uint32_t pieces = (bytes + datagram() - 1) / datagram();
  for (uint32_t i = pieces; i-- > first;) {
    std::byte* to = slots_ + size_t{i} * datagram();
    const uint32_t length = std::min(bytes - i * datagram(), datagram());
    if (length > header_) {
      std::memcpy(to + header_, place_ + size_t{i} * step_, length - header_);
    }
    std::memmove(to, slots_ + size_t{i} * header_, std::min(length, header_));
  }
}

bool move_on(Prediction& prediction, uint64_t placed) {
  if (placed >= prediction.place.length ||
      prediction.offset_at > kDataHeaderBytes - sizeof(uint32_t)) {
    return false;
  }
  prediction.place.offset += placed;
  prediction.place.length -= placed;
  add_little_endian(prediction.header.data() + prediction.offset_at, static_cast<uint32_t>(placed));
  return true;
}

}  // namespace heddle::datapath
