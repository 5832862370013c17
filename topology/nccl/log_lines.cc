// See log_lines.h.
#include "topology/nccl/log_lines.h"

#include <algorithm>

#include "topology/htsim/words.h"

namespace heddle::topology {
namespace {

constexpr std::string_view kMark = "NCCL INFO ";
constexpr std::string_view kBlank = " \t\r";
// NCCL cuts its lines of channels and trees at 1,023 characters.
constexpr size_t kCutBytes = 1'000;
constexpr size_t kMostChildren = 3;

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (size_t at = text.find_first_not_of(kBlank); at != std::string_view::npos;
       at = text.find_first_not_of(kBlank, at)) {
    const size_t end = std::min(text.find_first_of(kBlank, at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

std::optional<uint32_t> number_below(std::string_view word, uint32_t bound) {
  const std::optional<uint64_t> number = whole_number(word);
  if (!number || *number >= bound) return std::nullopt;
  return static_cast<uint32_t>(*number);
}
std::optional<uint32_t> rank_of(std::string_view word) {
  return number_below(word, kMostNcclRanks);
}
std::optional<uint32_t> channel_of(std::string_view word) {
  return number_below(word, kMostNcclChannels);
}

NcclWrongLine wrong(std::string why) { return {std::move(why)}; }

std::string_view thread_of(std::string_view before) {
  for (const std::string_view word : words_of(before)) {
    const size_t last = word.rfind(':');
    if (last == std::string_view::npos || last == 0) continue;
    const size_t middle = word.rfind(':', last - 1);
    if (middle == std::string_view::npos || middle == 0) continue;
    if (whole_number(word.substr(last + 1)) &&
        whole_number(word.substr(middle + 1, last - middle - 1))) {
      return word;
    }
  }
  return {};
}

NcclLine communicator_line(const std::vector<std::string_view>& words) {
  for (size_t i = 0; i + 3 < words.size(); ++i) {
    const bool named = words[i] == "rank" && (words[i + 2] == "nRanks" || words[i + 2] == "nranks");
    if (!named) continue;
    const auto rank = rank_of(words[i + 1]);
    const auto ranks = number_below(words[i + 3], kMostNcclRanks + 1);
    if (!rank || !ranks || *rank >= *ranks) {
      return wrong("there is no rank " + quoted(words[i + 1]) + " of " + quoted(words[i + 3]));
    }
    return NcclCommunicatorLine{*rank, *ranks};
  }
  return {};
}

// "Channel 00/02 : 0 1 2 3" and not "Channel 00/0 : 0[0] -> 1[1] via P2P".
NcclLine channel_line(const std::vector<std::string_view>& words) {
  if (words.size() < 4 || words[2] != ":" || words[3].find('[') != std::string_view::npos) {
    return {};
  }
  const size_t slash = words[1].find('/');
  if (slash == std::string_view::npos) return {};
  const auto channel = channel_of(words[1].substr(0, slash));
  if (!channel) return wrong("there is no channel " + quoted(words[1]));
  NcclChannelLine line = {*channel, {}};
  if (words.back().ends_with("...")) return line;
  for (size_t i = 3; i < words.size(); ++i) {
    const auto rank = rank_of(words[i]);
    if (!rank) return wrong(quoted(words[i]) + " in a ring is no rank");
    line.ring.push_back(*rank);
  }
  std::vector<bool> seen(line.ring.size());
  for (const uint32_t rank : line.ring) {
    if (rank >= seen.size()) {
      return wrong("rank " + std::to_string(rank) + " is in a ring of " +
                   std::to_string(seen.size()) + " ranks");
    }
    if (seen[rank]) return wrong("rank " + std::to_string(rank) + " is in the ring twice");
    seen[rank] = true;
  }
  return line;
}

// "Ring 00 : 3 -> 0 -> 1".
NcclLine ring_line(const std::vector<std::string_view>& words) {
  if (words.size() != 8 || words[2] != ":" || words[4] != "->" || words[6] != "->") return {};
  const auto channel = channel_of(words[1]);
  const auto rank = rank_of(words[5]);
  const auto next = rank_of(words[7]);
  if (!channel || !rank || !next) return wrong("a ring has no such channel or ranks");
  return NcclRingLine{*channel, *rank, *next};
}

// "1/-1/-1->0->-1": children, rank, parent.
std::optional<NcclTreesLine::Entry> tree_entry(std::string_view word) {
  NcclTreesLine::Entry entry;
  const size_t first = word.find("->");
  const size_t second = first == std::string_view::npos ? first : word.find("->", first + 2);
  if (second == std::string_view::npos) return std::nullopt;
  const auto rank = rank_of(word.substr(first + 2, second - first - 2));
  if (!rank) return std::nullopt;
  entry.rank = *rank;
  if (const std::string_view parent = word.substr(second + 2); parent != "-1") {
    entry.node.parent = rank_of(parent);
    if (!entry.node.parent) return std::nullopt;
  }
  std::string_view children = word.substr(0, first);
  for (size_t i = 0; i < kMostChildren; ++i) {
    const size_t slash = std::min(children.find('/'), children.size());
    if (const std::string_view child = children.substr(0, slash); child != "-1") {
      const auto number = rank_of(child);
      if (!number) return std::nullopt;
      entry.node.children.push_back(*number);
    }
    if (slash == children.size())
      return i + 1 == kMostChildren ? std::optional(entry) : std::nullopt;
    children.remove_prefix(slash + 1);
  }
  return std::nullopt;
}

NcclLine trees_line(const std::vector<std::string_view>& words, bool may_be_cut) {
  NcclTreesLine line;
  for (size_t i = 1; i < words.size(); i += 2) {
    const std::string_view head = words[i];
    std::optional<uint32_t> channel;
    if (head.size() > 2 && head.front() == '[' && head.back() == ']') {
      channel = channel_of(head.substr(1, head.size() - 2));
    }
    std::optional<NcclTreesLine::Entry> entry;
    if (channel && i + 1 < words.size()) entry = tree_entry(words[i + 1]);
    if (!entry) {
      if (may_be_cut && i + 2 >= words.size()) break;
      return wrong(quoted(i + 1 < words.size() ? words[i + 1] : head) +
                   " is not children, rank and parent of a tree");
    }
    entry->channel = *channel;
    line.entries.push_back(*entry);
  }
  if (line.entries.empty()) return wrong("the line of trees has none");
  return line;
}

}  // namespace

NcclLogLine parse_nccl_line(std::string_view text) {
  const size_t mark = text.find(kMark);
  if (mark == std::string_view::npos) return {};
  NcclLogLine parsed = {thread_of(text.substr(0, mark)), {}};
  const std::string_view rest = text.substr(mark + kMark.size());
  const std::vector<std::string_view> words = words_of(rest);
  if (words.size() < 2) return parsed;
  if (words[0] == "Channel") {
    parsed.line = channel_line(words);
  } else if (words[0] == "Ring") {
    parsed.line = ring_line(words);
  } else if (words[0] == "Trees") {
    parsed.line = trees_line(words, rest.size() > kCutBytes);
  } else {
    parsed.line = communicator_line(words);
  }
  return parsed;
}

}  // namespace heddle::topology
