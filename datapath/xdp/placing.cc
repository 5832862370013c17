// See placing.h.
#include "datapath/xdp/placing.h"

#include <algorithm>
#include <cstring>

#include "datapath/xdp/params.h"

namespace heddle::datapath {

using transport::kDataHeaderBytes;
using transport::Payload;
using transport::Prediction;

namespace {

constexpr size_t kMaxDatagram = 65536;

// Adds to a little-endian number at any alignment.
void add_little_endian(std::byte* at, uint32_t amount) {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value |= static_cast<uint32_t>(at[i]) << (8 * i);
  value += amount;
  for (int i = 0; i < 4; ++i) at[i] = static_cast<std::byte>(value >> (8 * i));
}

}  // namespace

void PacketPieces::copy(uint32_t from, uint32_t length, std::byte* to) const {
  for (size_t i = 0; i < count && length > 0; ++i) {
    if (from >= pieces[i].size()) {
      from -= static_cast<uint32_t>(pieces[i].size());
      continue;
    }
    const auto part = static_cast<uint32_t>(std::min<size_t>(length, pieces[i].size() - from));
    std::memcpy(to, pieces[i].data() + from, part);
    to += part;
    length -= part;
    from = 0;
  }
}

void PiecePlacer::start(const Prediction* prediction) {
  if (arena_.empty()) arena_.resize(xdp_params::kBatchBytes + kMaxDatagram);
  used_ = 0;
  predicting_ = prediction != nullptr;
  if (predicting_) prediction_ = *prediction;
}

const std::byte* PiecePlacer::gather(const PacketPieces& datagram) {
  std::byte* start = arena_.data() + used_;
  datagram.copy(0, datagram.bytes, start);
  used_ += datagram.bytes;
  return start;
}

bool PiecePlacer::fits(const PacketPieces& datagram) const {
  const uint32_t full = prediction_.header_bytes + prediction_.payload_bytes;
  if (datagram.bytes <= prediction_.header_bytes || datagram.bytes > full) return false;
  if (datagram.bytes - prediction_.header_bytes > prediction_.place.length) return false;
  std::array<std::byte, kDataHeaderBytes> header;
  datagram.copy(0, header.size(), header.data());
  std::byte difference{0};
  for (size_t i = 0; i < header.size(); ++i) {
    difference |= (header[i] ^ prediction_.header[i]) & prediction_.mask[i];
  }
  return difference == std::byte{0};
}

// Each datagram must match, also behind the first one: the prediction moves with its offset, and
// ends where it has none. A short datagram is the last of its run.
const std::byte* PiecePlacer::put(const PacketPieces& datagram, Payload& place) {
  if (!predicting_ || !fits(datagram)) return nullptr;
  const uint32_t payload = datagram.bytes - prediction_.header_bytes;
  place = {prediction_.place.region, prediction_.place.offset, payload};
  std::byte* header = arena_.data() + used_;
  datagram.copy(0, prediction_.header_bytes, header);
  used_ += prediction_.header_bytes;
  datagram.copy(prediction_.header_bytes, payload, regions_.resolve(place));
  predicting_ = prediction_.offset_at <= kDataHeaderBytes - sizeof(uint32_t);
  if (predicting_) {
    prediction_.place.offset += payload;
    prediction_.place.length -= payload;
    add_little_endian(prediction_.header.data() + prediction_.offset_at, payload);
  }
  return header;
}

}  // namespace heddle::datapath
