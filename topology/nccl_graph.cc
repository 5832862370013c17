// See nccl_graph.h. Logs name the rings and trees of all hosts. A graph dump has one host's part of
// each ring; NCCL joins the parts in the order of the hosts' first ranks (src/graph/connect.cc).
#include "topology/nccl_graph.h"

#include <algorithm>
#include <utility>

#include "topology/nccl/graph_xml.h"
#include "topology/nccl/log_lines.h"

namespace heddle::topology {
namespace {

// What the lines of communicators of one size say.
struct Lines {
  struct Ring {
    std::vector<uint32_t> order;               // of a line with the whole ring
    std::map<uint32_t, uint32_t> next_of;      // of the lines of single ranks
    std::map<uint32_t, NcclTreeNode> node_of;  // likewise of the tree
  };
  std::map<uint32_t, Ring> channels;
  bool conflict = false;  // noted already

  bool empty() const { return channels.empty(); }
};

std::string ranks_text(uint32_t ranks) { return std::to_string(ranks) + " ranks"; }

// Follows the ring from rank 0. Empty: some rank is missing, or the ring is closed too soon.
std::vector<uint32_t> ring_of(const std::map<uint32_t, uint32_t>& next_of, uint32_t ranks) {
  std::vector<uint32_t> ring;
  if (next_of.size() != ranks) return ring;
  uint32_t rank = 0;
  do {
    const auto at = next_of.find(rank);
    if (at == next_of.end() || ring.size() == ranks) return {};
    ring.push_back(rank);
    rank = at->second;
  } while (rank != 0);
  if (ring.size() != ranks) ring.clear();
  return ring;
}

// Every rank is there, parents and children agree, and all is below one root.
std::vector<NcclTreeNode> tree_of(const std::map<uint32_t, NcclTreeNode>& node_of, uint32_t ranks) {
  if (node_of.size() != ranks || node_of.rbegin()->first + 1 != ranks) return {};
  std::vector<NcclTreeNode> tree;
  std::vector<uint32_t> reached;
  for (const auto& [rank, node] : node_of) {
    tree.push_back(node);
    if (!node.parent) reached.push_back(rank);
  }
  if (reached.size() != 1) return {};
  for (size_t i = 0; i < reached.size(); ++i) {
    for (const uint32_t child : tree[reached[i]].children) {
      const bool agrees = child < ranks && tree[child].parent == reached[i];
      if (!agrees || reached.size() == ranks) return {};
      reached.push_back(child);
    }
  }
  if (reached.size() != ranks) tree.clear();
  return tree;
}

}  // namespace

class NcclGraphReader::Body {
 public:
  Result<void> add_log(std::string_view text, const std::string& name);
  Result<void> add_xml(std::string_view text, const std::string& name);
  Result<NcclGraphs> finish() const;

 private:
  struct Place {
    const std::string& name;
    int line;
    std::string text() const { return name + ":" + std::to_string(line); }
  };

  static Unexpected wrong(const Place& place, const std::string& why) {
    return fail(
        ErrorCode::kInvalid, "cannot use " + place.text(), why,
        "give NCCL's log of NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH as it was written");
  }
  Result<bool> take(const NcclLogLine& line, const Place& place);
  void take_channel(const NcclChannelLine& line, const Place& place);
  void take_ring(const NcclRingLine& line, uint32_t ranks, const Place& place);
  void take_trees(const NcclTreesLine& line, uint32_t ranks, const Place& place);
  void note_conflict(Lines& lines, uint32_t ranks, const Place& place);
  NcclGraph graph_of(uint32_t ranks, const Lines& lines, std::vector<std::string>& notes) const;
  Result<NcclGraph> joined_hosts() const;

  std::map<uint32_t, Lines> by_ranks_;
  std::map<std::string, uint32_t, std::less<>> ranks_of_thread_;
  std::vector<NcclHostXml> hosts_;
  std::map<uint64_t, uint32_t> devices_;  // of the latest topology
  std::vector<std::string> notes_;
};

Result<void> NcclGraphReader::Body::add_log(std::string_view text, const std::string& name) {
  ranks_of_thread_.clear();
  bool found = false;
  int number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    ++number;
    const Result<bool> taken = take(parse_nccl_line(text.substr(0, end)), {name, number});
    if (!taken) return fail(taken.error());
    found |= *taken;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (found) return {};
  return fail(ErrorCode::kInvalid, "cannot use " + name,
              "no line of it names a ring or a tree of NCCL",
              "run the job with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH");
}

// Whether the line names a ring or a tree.
Result<bool> NcclGraphReader::Body::take(const NcclLogLine& line, const Place& place) {
  if (const auto* wrong_line = std::get_if<NcclWrongLine>(&line.line)) {
    return wrong(place, wrong_line->why);
  }
  if (const auto* communicator = std::get_if<NcclCommunicatorLine>(&line.line)) {
    ranks_of_thread_[std::string(line.thread)] = communicator->ranks;
    return false;
  }
  if (const auto* channel = std::get_if<NcclChannelLine>(&line.line)) {
    take_channel(*channel, place);
    return true;
  }
  const auto* const ring = std::get_if<NcclRingLine>(&line.line);
  const auto* const trees = std::get_if<NcclTreesLine>(&line.line);
  if (ring == nullptr && trees == nullptr) return false;
  const auto known = ranks_of_thread_.find(line.thread);
  if (known == ranks_of_thread_.end()) {
    return wrong(place, "no line of the same thread before it has the number of ranks");
  }
  const uint32_t ranks = known->second;
  if (ring != nullptr) {
    if (ring->rank >= ranks || ring->next >= ranks) {
      return wrong(place, "a rank of the ring is beyond " + ranks_text(ranks));
    }
    take_ring(*ring, ranks, place);
    return true;
  }
  for (const NcclTreesLine::Entry& entry : trees->entries) {
    bool inside = entry.rank < ranks && entry.node.parent.value_or(0) < ranks;
    for (const uint32_t child : entry.node.children) inside &= child < ranks;
    if (!inside) return wrong(place, "a rank of the trees is beyond " + ranks_text(ranks));
  }
  take_trees(*trees, ranks, place);
  return true;
}

void NcclGraphReader::Body::note_conflict(Lines& lines, uint32_t ranks, const Place& place) {
  if (std::exchange(lines.conflict, true)) return;
  notes_.push_back(place.text() + ": another communicator of " + ranks_text(ranks) +
                   " has other rings or trees; those of the first are used");
}

void NcclGraphReader::Body::take_channel(const NcclChannelLine& line, const Place& place) {
  if (line.ring.empty()) return;  // cut by NCCL; the lines of single ranks name the ring
  const auto ranks = static_cast<uint32_t>(line.ring.size());
  Lines& lines = by_ranks_[ranks];
  std::vector<uint32_t>& order = lines.channels[line.channel].order;
  if (order.empty()) {
    order = line.ring;
  } else if (order != line.ring) {
    note_conflict(lines, ranks, place);
  }
}

void NcclGraphReader::Body::take_ring(const NcclRingLine& line, uint32_t ranks,
                                      const Place& place) {
  Lines& lines = by_ranks_[ranks];
  auto& next_of = lines.channels[line.channel].next_of;
  const auto [at, fresh] = next_of.emplace(line.rank, line.next);
  if (!fresh && at->second != line.next) note_conflict(lines, ranks, place);
}

void NcclGraphReader::Body::take_trees(const NcclTreesLine& line, uint32_t ranks,
                                       const Place& place) {
  Lines& lines = by_ranks_[ranks];
  for (const NcclTreesLine::Entry& entry : line.entries) {
    auto& node_of = lines.channels[entry.channel].node_of;
    const auto [at, fresh] = node_of.emplace(entry.rank, entry.node);
    if (!fresh && at->second != entry.node) note_conflict(lines, ranks, place);
  }
}

Result<void> NcclGraphReader::Body::add_xml(std::string_view text, const std::string& name) {
  Result<NcclHostXml> host = parse_nccl_xml(text, name, devices_);
  if (!host) return fail(host.error());
  if (!host->is_graph) {
    devices_ = std::move(host->rank_of_device);
    return {};
  }
  hosts_.push_back(*std::move(host));
  return {};
}

NcclGraph NcclGraphReader::Body::graph_of(uint32_t ranks, const Lines& lines,
                                          std::vector<std::string>& notes) const {
  NcclGraph graph = {ranks, {}};
  bool rings = true;
  bool trees = true;
  bool any_ring = false;
  bool any_tree = false;
  for (uint32_t c = 0; c <= lines.channels.rbegin()->first; ++c) {
    const auto at = lines.channels.find(c);
    NcclChannel& channel = graph.channels.emplace_back();
    if (at == lines.channels.end()) {
      rings = trees = false;
      continue;
    }
    channel.ring = at->second.order;
    if (channel.ring.empty()) channel.ring = ring_of(at->second.next_of, ranks);
    if (!at->second.node_of.empty()) channel.tree = tree_of(at->second.node_of, ranks);
    any_ring |= !at->second.order.empty() || !at->second.next_of.empty();
    any_tree |= !at->second.node_of.empty();
    rings &= !channel.ring.empty();
    trees &= !channel.tree.empty();
  }
  if (any_ring && !rings) notes.push_back("the rings of " + ranks_text(ranks) + " are incomplete");
  if (any_tree && !trees) {
    notes.push_back("the trees of " + ranks_text(ranks) +
                    " are incomplete: the logs of all ranks name them");
  }
  for (NcclChannel& channel : graph.channels) {
    if (!rings) channel.ring.clear();
    if (!trees) channel.tree.clear();
  }
  return graph;
}

Result<NcclGraph> NcclGraphReader::Body::joined_hosts() const {
  std::vector<const NcclHostXml*> hosts;
  size_t channels = SIZE_MAX;
  for (const NcclHostXml& host : hosts_) {
    hosts.push_back(&host);
    channels = std::min(channels, host.rings.size());
    if (!host.trees.empty()) channels = std::min(channels, host.trees.size());
  }
  const auto refuse = [](const NcclHostXml& host, const std::string& why) {
    return fail(ErrorCode::kInvalid, "cannot use " + host.name, why,
                "give the graph dump of each host, written by one of its ranks "
                "(NCCL_GRAPH_DUMP_FILE_RANK)");
  };
  const auto least = [](const NcclHostXml* host) {
    return *std::min_element(host->rings[0].begin(), host->rings[0].end());
  };
  std::sort(hosts.begin(), hosts.end(),
            [&](const auto* a, const auto* b) { return least(a) < least(b); });
  if (hosts.size() == 1 && hosts[0]->leaves_host) {
    return refuse(*hosts[0], "its channels leave the host, and no other host's graph is given");
  }
  NcclGraph graph;
  for (size_t c = 0; c < channels; ++c) {
    NcclChannel& channel = graph.channels.emplace_back();
    for (size_t node = 0; node < hosts.size(); ++node) {
      const bool swaps = hosts[node]->swaps_pairs && channels % 2 == 0 && node % 2 == 1;
      const std::vector<uint32_t>& part = hosts[node]->rings[swaps ? c ^ 1 : c];
      channel.ring.insert(channel.ring.end(), part.begin(), part.end());
    }
    graph.ranks = static_cast<uint32_t>(channel.ring.size());
    std::vector<bool> seen(channel.ring.size());
    for (const uint32_t rank : channel.ring) {
      if (rank >= seen.size() || seen[rank]) {
        return refuse(*hosts.back(), "the hosts' graphs together do not have each rank from 0 to " +
                                         std::to_string(seen.size() - 1) + " once");
      }
      seen[rank] = true;
    }
    std::rotate(channel.ring.begin(), std::find(channel.ring.begin(), channel.ring.end(), 0u),
                channel.ring.end());
    // On one host a tree is a chain; how trees go between hosts is in the logs only.
    if (hosts.size() > 1 || hosts[0]->trees.empty()) continue;
    const std::vector<uint32_t>& chain = hosts[0]->trees[c];
    std::map<uint32_t, NcclTreeNode> node_of;
    for (size_t i = 0; i < chain.size(); ++i) {
      if (i > 0) node_of[chain[i]].parent = chain[i - 1];
      if (i + 1 < chain.size()) node_of[chain[i]].children.push_back(chain[i + 1]);
    }
    if (chain.size() == 1) node_of[chain[0]] = {};
    channel.tree = tree_of(node_of, graph.ranks);
    if (channel.tree.empty()) return refuse(*hosts[0], "a tree has other ranks than the rings");
  }
  return graph;
}

Result<NcclGraphs> NcclGraphReader::Body::finish() const {
  NcclGraphs graphs;
  graphs.notes = notes_;
  for (const auto& [ranks, lines] : by_ranks_) {
    NcclGraph graph = graph_of(ranks, lines, graphs.notes);
    if (graph.has_rings() || graph.has_trees()) graphs.by_ranks[ranks] = std::move(graph);
  }
  if (!hosts_.empty()) {
    Result<NcclGraph> graph = joined_hosts();
    if (!graph) return fail(graph.error());
    // Logs have the channels that NCCL added later, and the trees.
    graphs.by_ranks.emplace(graph->ranks, *std::move(graph));
  }
  if (graphs.by_ranks.empty()) {
    std::string why = "no communicator has whole rings or trees";
    for (const std::string& note : graphs.notes) why += "; " + note;
    return fail(ErrorCode::kInvalid, "cannot use NCCL's rings and trees", why,
                "give the logs of all ranks, or the graph dump of each host");
  }
  return graphs;
}

const NcclGraph* NcclGraphs::of(uint32_t ranks) const {
  const auto at = by_ranks.find(ranks);
  return at == by_ranks.end() ? nullptr : &at->second;
}

NcclGraphReader::NcclGraphReader() : body_(std::make_unique<Body>()) {}
NcclGraphReader::~NcclGraphReader() = default;

Result<void> NcclGraphReader::add(std::string_view text, const std::string& name) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  const bool xml = first != std::string_view::npos && text[first] == '<';
  return xml ? body_->add_xml(text, name) : body_->add_log(text, name);
}

Result<NcclGraphs> NcclGraphReader::finish() const { return body_->finish(); }

}  // namespace heddle::topology
