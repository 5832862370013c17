// See matrix.h.
#include "insight/matrix.h"

#include <fmt/format.h>

#include <algorithm>

namespace heddle::insight {
namespace {

constexpr const char* kOwn = "heddle's own";
// The part for bytes known only by spans of time, in which several purposes overlapped.
constexpr const char* kNotApart = "several at once, or none";

// The party to which each process, or each NIC, belongs.
struct Arrangement {
  std::vector<Party> parties;
  std::vector<uint32_t> place;
};

Arrangement by_host(const Traffic& traffic) {
  std::map<std::string, uint32_t> hosts;
  Arrangement made;
  for (const Party& party : traffic.parties) {
    const auto [at, fresh] = hosts.emplace(party.host, made.parties.size());
    if (fresh) made.parties.push_back({party.host, party.host, -1, party.recorded});
    made.place.push_back(at->second);
  }
  return made;
}

Arrangement by_nic(const Traffic& traffic) {
  Arrangement made;
  for (uint32_t i = 0; i < traffic.nics.size(); ++i) {
    const std::string& host = traffic.nic_hosts[i];
    made.parties.push_back(
        {traffic.nics[i], host.empty() ? traffic.nics[i] : host, -1, !host.empty()});
    made.place.push_back(i);
  }
  return made;
}

// Returns the part of a flow, or nothing if it belongs to none.
std::optional<std::string> part_of(const Traffic& traffic, const Flow& flow, MatrixParts parts) {
  const Purpose& purpose = traffic.purposes[flow.purpose];
  if (parts == MatrixParts::kPath) {
    if (flow.path == kAnyPath) return std::nullopt;
    return flow.path == kMemoryPath ? "shared memory" : fmt::format("path {}", flow.path);
  }
  if (parts == MatrixParts::kPhase) return purpose.phase.empty() ? "unmarked" : purpose.phase;
  if (parts == MatrixParts::kCommunicator) {
    return purpose.communicator == 0 ? "none" : fmt::format("{:016x}", purpose.communicator);
  }
  if (purpose.own) return kOwn;
  if (flow.path != kAnyPath && purpose.communicator != 0 && !purpose.operation) return kNotApart;
  if (parts == MatrixParts::kOperation) {
    return purpose.operation ? std::string(name_of(*purpose.operation)) : "messages";
  }
  return purpose.algorithm ? std::string(name_of(*purpose.algorithm)) : "none";
}

}  // namespace

Cell Matrix::at(uint32_t from, uint32_t to) const {
  const auto found = cells.find({from, to});
  return found == cells.end() ? Cell{} : found->second;
}

Cell Matrix::total() const {
  Cell sum;
  for (const auto& [pair, cell] : cells) sum += cell;
  return sum;
}

Matrix make_matrix(const Traffic& traffic, MatrixRows rows,
                   const std::function<bool(const Flow&)>& wanted) {
  Matrix matrix;
  matrix.unplaced = traffic.unplaced;
  matrix.has_messages = traffic.has_messages;
  Arrangement arrangement;
  if (rows == MatrixRows::kHost) arrangement = by_host(traffic);
  if (rows == MatrixRows::kNic) arrangement = by_nic(traffic);
  matrix.parties = rows == MatrixRows::kRank ? traffic.parties : arrangement.parties;
  for (const Flow& flow : traffic.flows) {
    if (wanted && !wanted(flow)) continue;
    if (traffic.purposes[flow.purpose].own && flow.path == kAnyPath) {
      matrix.own += flow.cell;
      continue;
    }
    std::pair<uint32_t, uint32_t> pair = {flow.from, flow.to};
    if (rows == MatrixRows::kHost)
      pair = {arrangement.place[pair.first], arrangement.place[pair.second]};
    if (rows == MatrixRows::kNic) pair = {flow.from_nic, flow.to_nic};
    matrix.cells[pair] += flow.cell;
  }
  return matrix;
}

std::vector<MatrixPart> matrix_parts(const Traffic& traffic, MatrixRows rows, MatrixParts parts) {
  std::map<std::string, std::vector<Flow>> by_name;
  for (const Flow& flow : traffic.flows) {
    const std::optional<std::string> name = part_of(traffic, flow, parts);
    if (name) by_name[*name].push_back(flow);
  }
  std::vector<MatrixPart> made;
  Traffic some = traffic;
  some.unplaced = {};
  for (auto& [name, flows] : by_name) {
    some.flows = std::move(flows);
    // heddle's own messages count in cells of their own part.
    some.purposes = traffic.purposes;
    for (Purpose& purpose : some.purposes) purpose.own = purpose.own && name != kOwn;
    made.push_back({name, make_matrix(some, rows)});
  }
  const auto weight = [](const Matrix& matrix) {
    Cell total = matrix.total();
    total += matrix.own;
    return std::tuple(total.bytes, total.sent_bytes + total.memory_bytes, total.wire_bytes,
                      total.messages);
  };
  std::stable_sort(made.begin(), made.end(), [&weight](const MatrixPart& a, const MatrixPart& b) {
    return weight(a.matrix) > weight(b.matrix);
  });
  return made;
}

}  // namespace heddle::insight
