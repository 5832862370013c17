// See graph_xml.h. pugixml expands no entities of a document's own and includes no other files.
#include "topology/nccl/graph_xml.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <pugixml.hpp>
#include <set>

#include "topology/htsim/words.h"
#include "topology/nccl/log_lines.h"

namespace heddle::topology {
namespace {

constexpr int kRingGraph = 0;
constexpr int kTreeGraph = 1;
constexpr int kSwapsPairs = 2;
// A device number in a graph has the host's number in its upper bits.
constexpr uint64_t kDeviceMask = (uint64_t{1} << 56) - 1;

class XmlReader {
 public:
  XmlReader(std::string_view text, const std::string& name,
            const std::map<uint64_t, uint32_t>& devices)
      : text_(text), devices_(devices) {
    host_.name = name;
  }

  Result<NcclHostXml> read();

 private:
  Result<void> read_graphs(const pugi::xml_node& graphs);
  Result<void> read_channel(const pugi::xml_node& channel, NcclOrders& orders);
  Result<void> read_topology(const pugi::xml_node& root);
  Result<uint32_t> rank_of(const pugi::xml_node& gpu) const;

  Unexpected wrong(ptrdiff_t offset, const std::string& why, const std::string& todo) const {
    const auto end = text_.begin() + std::clamp<ptrdiff_t>(offset, 0, std::ssize(text_));
    const auto line = std::count(text_.begin(), end, '\n') + 1;
    return fail(ErrorCode::kInvalid, "cannot use " + host_.name + ":" + std::to_string(line), why,
                todo);
  }
  Unexpected wrong(const pugi::xml_node& node, const std::string& why,
                   const std::string& todo = "give the file as NCCL wrote it") const {
    return wrong(node.offset_debug(), why, todo);
  }

  const std::string_view text_;
  const std::map<uint64_t, uint32_t>& devices_;
  NcclHostXml host_;
};

// Decimal, or hexadecimal behind 0x, as NCCL writes both.
std::optional<uint64_t> number_of(std::string_view text) {
  const bool hex = text.starts_with("0x");
  if (hex) text.remove_prefix(2);
  uint64_t number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, hex ? 16 : 10);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<uint64_t> number_of(const pugi::xml_node& node, const char* attribute) {
  return number_of(node.attribute(attribute).value());
}

Result<NcclHostXml> XmlReader::read() {
  pugi::xml_document document;
  const pugi::xml_parse_result parsed =
      document.load_buffer(text_.data(), text_.size(), pugi::parse_minimal, pugi::encoding_utf8);
  if (!parsed) return wrong(parsed.offset, parsed.description(), "give the file as NCCL wrote it");
  const pugi::xml_node root = document.document_element();
  const std::string_view kind = root.name();
  Result<void> done;
  if (kind == "graphs") {
    host_.is_graph = true;
    done = read_graphs(root);
  } else if (kind == "system") {
    done = read_topology(root);
  } else {
    return wrong(root, "the element " + quoted(kind) + " begins neither a graph nor a topology",
                 "give what NCCL_GRAPH_DUMP_FILE or NCCL_TOPO_DUMP_FILE wrote");
  }
  if (!done) return fail(done.error());
  return std::move(host_);
}

Result<void> XmlReader::read_graphs(const pugi::xml_node& graphs) {
  for (const pugi::xml_node& graph : graphs.children("graph")) {
    const std::optional<uint64_t> id = number_of(graph, "id");
    if (!id) return wrong(graph, "a graph has no id");
    if (*id != kRingGraph && *id != kTreeGraph) continue;
    NcclOrders& orders = *id == kRingGraph ? host_.rings : host_.trees;
    if (!orders.empty()) return wrong(graph, "there are two graphs with this id");
    if (*id == kRingGraph) host_.swaps_pairs = number_of(graph, "crossnic") == kSwapsPairs;
    for (const pugi::xml_node& channel : graph.children("channel")) {
      if (orders.size() == kMostNcclChannels) return wrong(channel, "there are too many channels");
      if (const auto read = read_channel(channel, orders); !read) return fail(read.error());
    }
  }
  if (host_.rings.empty()) {
    return wrong(graphs, "there is no graph of rings (id 0) with channels");
  }
  return {};
}

Result<void> XmlReader::read_channel(const pugi::xml_node& channel, NcclOrders& orders) {
  std::vector<uint32_t> order;
  for (const pugi::xml_node& part : channel.children()) {
    const std::string_view kind = part.name();
    if (kind == "net") host_.leaves_host = true;
    if (kind != "gpu") continue;
    const Result<uint32_t> rank = rank_of(part);
    if (!rank) return fail(rank.error());
    order.push_back(*rank);
  }
  if (order.empty()) return wrong(channel, "a channel has no GPU");
  if (std::set<uint32_t>(order.begin(), order.end()).size() != order.size()) {
    return wrong(channel, "a rank is in a channel twice");
  }
  if (!orders.empty() && orders.front().size() != order.size()) {
    return wrong(channel, "a channel has more or fewer ranks than the first");
  }
  orders.push_back(std::move(order));
  return {};
}

Result<uint32_t> XmlReader::rank_of(const pugi::xml_node& gpu) const {
  if (gpu.attribute("rank")) {
    const std::optional<uint64_t> rank = number_of(gpu, "rank");
    if (!rank || *rank >= kMostNcclRanks) {
      return wrong(gpu, quoted(gpu.attribute("rank").value()) + " is no rank");
    }
    return static_cast<uint32_t>(*rank);
  }
  const std::optional<uint64_t> device = number_of(gpu, "dev");
  if (!device) return wrong(gpu, "a GPU has neither a rank nor a device number");
  const auto known = devices_.find(*device & kDeviceMask);
  if (known == devices_.end()) {
    return wrong(gpu,
                 "a GPU has no rank, and no topology has its device " +
                     quoted(std::to_string(*device & kDeviceMask)),
                 "give the host's NCCL_TOPO_DUMP_FILE before this file");
  }
  return known->second;
}

Result<void> XmlReader::read_topology(const pugi::xml_node& root) {
  // In document order, without recursion: the depth of a file is its author's choice.
  pugi::xml_node node = root;
  while (node) {
    if (std::string_view(node.name()) == "gpu" && node.attribute("rank")) {
      const std::optional<uint64_t> device = number_of(node, "dev");
      const std::optional<uint64_t> rank = number_of(node, "rank");
      if (!device || !rank || *rank >= kMostNcclRanks) {
        return wrong(node, "a GPU has no device number or rank");
      }
      host_.rank_of_device[*device & kDeviceMask] = static_cast<uint32_t>(*rank);
    }
    if (node.first_child()) {
      node = node.first_child();
      continue;
    }
    while (node != root && !node.next_sibling()) node = node.parent();
    if (node == root) break;
    node = node.next_sibling();
  }
  if (host_.rank_of_device.empty()) {
    return wrong(root, "no GPU of the topology has a rank");
  }
  return {};
}

}  // namespace

Result<NcclHostXml> parse_nccl_xml(std::string_view text, const std::string& name,
                                   const std::map<uint64_t, uint32_t>& devices) {
  return XmlReader(text, name, devices).read();
}

}  // namespace heddle::topology
