// Signatures: what of a call all ranks must agree on.
#include "collectives/call.h"

namespace heddle::collectives {
namespace {

void put(std::byte* bytes, uint64_t value, size_t count) {
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(value >> (8 * i));
}

uint64_t take(const std::byte* bytes, size_t count) {
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i) value |= static_cast<uint64_t>(bytes[i]) << (8 * i);
  return value;
}

bool has_root(Collective collective) {
  return collective == Collective::kBroadcast || collective == Collective::kReduce ||
         collective == Collective::kGather || collective == Collective::kScatter;
}

bool reduces(Collective collective) {
  return collective == Collective::kAllReduce || collective == Collective::kReduceScatter ||
         collective == Collective::kReduce;
}

}  // namespace

void Signature::write(std::byte* bytes) const {
  put(bytes, number, 8);
  put(bytes + 8, count, 8);
  put(bytes + 16, root, 4);
  put(bytes + 20, static_cast<uint64_t>(collective), 1);
  put(bytes + 21, static_cast<uint64_t>(type), 1);
  put(bytes + 22, static_cast<uint64_t>(op), 1);
  put(bytes + 23, 0, 1);
}

Signature Signature::read(const std::byte* bytes) {
  return {.number = take(bytes, 8),
          .count = take(bytes + 8, 8),
          .root = static_cast<uint32_t>(take(bytes + 16, 4)),
          .collective = static_cast<Collective>(take(bytes + 20, 1)),
          .type = static_cast<DataType>(take(bytes + 21, 1)),
          .op = static_cast<ReduceOp>(take(bytes + 22, 1))};
}

std::string Signature::text() const {
  if (collective == Collective::kBarrier) return "call " + std::to_string(number) + ", barrier";
  const bool message = collective == Collective::kSend;
  std::string all = (message ? "message " : "call ") + std::to_string(number) + ", " +
                    std::string(message ? "send and recv" : name_of(collective)) + " of " +
                    std::to_string(count) + " " +
                    (static_cast<size_t>(type) < kDataTypes ? std::string(name_of(type)) : "?");
  if (reduces(collective) && static_cast<size_t>(op) < kReduceOps) {
    all += ", " + std::string(name_of(op));
  }
  if (has_root(collective)) all += ", root " + std::to_string(root);
  return all;
}

Signature signature_of(const Call& call, uint64_t number, uint32_t peer, bool sends) {
  Signature signature = {
      .number = number, .count = call.count, .collective = call.collective, .type = call.type};
  if (has_root(call.collective)) signature.root = call.root;
  if (reduces(call.collective)) signature.op = call.op;
  if (call.collective == Collective::kReceive) signature.collective = Collective::kSend;
  if (call.collective == Collective::kAllToAllV) {
    signature.count = sends ? call.exchange.send_counts[peer] : call.exchange.receive_counts[peer];
  }
  return signature;
}

}  // namespace heddle::collectives
