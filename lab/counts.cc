// See counts.h. A worker for each namespace reads its counters and returns a time and three texts,
// separated by lines.
#include "lab/counts.h"

#include <fmt/format.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/clocks.h"
#include "base/document.h"
#include "lab/delay_counts.h"
#include "lab/delays.h"
#include "lab/tool.h"
#include "lab/worker.h"

namespace heddle::lab {
namespace {

constexpr const char* kSeparator = "\n---\n";

Result<std::string> read_place(const std::string& netns) {
  if (Result<void> in = enter_namespace(netns, false); !in) return fail(in.error());
  const std::string at = std::to_string(steady_now().count);
  const Result<std::string> devices = read_text_file("/proc/thread-self/net/dev", "");
  if (!devices) return fail(devices.error());
  const Result<std::string> queues = run_tool({"tc", "-s", "-j", "qdisc", "show"});
  if (!queues) return fail(queues.error());
  // Without a table there are no counters; nft reports this as an error.
  const Result<std::string> filters = run_tool({"nft", "-j", "list", "counters"});
  return at + kSeparator + *devices + kSeparator + *queues + kSeparator + filters.value_or("");
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  const std::string separator = kSeparator;
  size_t at = 0;
  for (size_t end = 0; (end = text.find(separator, at)) != std::string::npos;) {
    parts.push_back(text.substr(at, end - at));
    at = end + separator.size();
  }
  parts.push_back(text.substr(at));
  return parts;
}

class PlaceCounts {
 public:
  PlaceCounts(const Layout& layout, const Place& place, Counts& counts) : counts_(counts) {
    for (const uint32_t at : place.ports) {
      const Port& port = layout.ports[at];
      by_device_[port.device] = &port;
      by_link_[port.link] = &port;
    }
  }

  void add_devices(Nanos at, const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const size_t colon = line.find(':');
      if (colon == std::string::npos) continue;
      const auto port = by_device_.find(
          line.substr(line.find_first_not_of(' '), colon - line.find_first_not_of(' ')));
      if (port == by_device_.end()) continue;
      std::istringstream fields(line.substr(colon + 1));
      std::vector<uint64_t> numbers;
      for (uint64_t number = 0; fields >> number;) numbers.push_back(number);
      if (numbers.size() < 12) continue;
      DirectionCounts& sent = sent_by(*port->second);
      sent.at = at;
      sent.bytes = numbers[8];
      sent.packets = numbers[9];
      sent.overrun = numbers[11];  // packets that exceeded the receive backlog of the other end
    }
  }

  void add_queues(const nlohmann::json& queues) {
    for (const nlohmann::json& queue : queues) {
      const auto port = by_device_.find(queue.value("dev", ""));
      if (port == by_device_.end()) continue;
      DirectionCounts& sent = sent_by(*port->second);
      const std::string kind = queue.value("kind", "");
      if (kind == "noqueue") continue;
      if (queue.value("root", false)) {
        sent.dropped = queue.value("drops", uint64_t{0});
        sent.queued_bytes = queue.value("backlog", uint64_t{0});
      }
    }
  }

  void add_filters(const nlohmann::json& document) {
    for (const nlohmann::json& item : document.at("nftables")) {
      if (!item.contains("counter")) continue;
      const nlohmann::json& counter = item.at("counter");
      const std::string name = counter.value("name", "");
      const size_t split_at = name.find('_');
      if (counter.value("table", "") != "heddle" || split_at == std::string::npos) continue;
      const auto link = static_cast<uint32_t>(std::stoul(name.substr(split_at + 1)));
      const auto port = by_link_.find(link);
      if (port == by_link_.end()) continue;
      add_filter(name.substr(0, split_at), *port->second, counter.value("packets", uint64_t{0}));
    }
  }

 private:
  void add_filter(const std::string& what, const Port& port, uint64_t packets) {
    DirectionCounts& sent = sent_by(port);
    DirectionCounts& received = received_by(port);
    if (what == "marked") sent.marked = packets;
    if (what == "fast") sent.overtook = packets;
    if (what == "lost") received.lost = packets;
    if (what == "hole") received.swallowed = packets;
    if (what == "corrupted") received.corrupted = packets;
  }

  DirectionCounts& sent_by(const Port& port) {
    LinkCounts& link = counts_.links[port.link];
    return port.at_a ? link.forward : link.backward;
  }
  DirectionCounts& received_by(const Port& port) {
    LinkCounts& link = counts_.links[port.link];
    return port.at_a ? link.backward : link.forward;
  }

  Counts& counts_;
  std::map<std::string, const Port*> by_device_;
  std::map<uint32_t, const Port*> by_link_;
};

ProcessorTicks read_ticks() {
  std::ifstream file("/proc/stat");
  std::string word;
  file >> word;
  ProcessorTicks ticks;
  uint64_t number = 0;
  for (int column = 0; column < 8 && file >> number; ++column) {
    ticks.all += number;
    const bool idle = column == 3 || column == 4;  // idle, iowait
    if (!idle) ticks.busy += number;
  }
  return ticks;
}

void add_delay_counts(const Layout& layout, Counts& counts) {
  const std::vector<DelayedLink> links = delayed_links(layout.topology);
  const std::vector<DelayCounts> list = read_delay_counts(delay_counts_path(layout.lab));
  for (size_t i = 0; i < links.size() && 2 * i + 1 < list.size(); ++i) {
    LinkCounts& link = counts.links[links[i].link];
    for (const bool forward : {true, false}) {
      const DelayCounts& delay = list[2 * i + (forward ? 0 : 1)];
      DirectionCounts& direction = forward ? link.forward : link.backward;
      direction.overrun += delay.dropped + delay.overrun + delay.refused;
      direction.held = delay.held_bytes;
      direction.late = delay.late;
      direction.latest = nanos(static_cast<int64_t>(delay.latest_ns));
    }
  }
}

}  // namespace

Result<void> add_place_counts(const Layout& layout, const Place& place, const std::string& text,
                              Counts& counts) {
  const std::vector<std::string> parts = split(text);
  const std::string what = "cannot read the counters of " + place.name;
  if (parts.size() != 4) return fail(ErrorCode::kSystem, what, "a part is missing", "");
  PlaceCounts place_counts(layout, place, counts);
  try {
    place_counts.add_devices(nanos(std::stoll(parts[0])), parts[1]);
    if (!parts[2].empty()) place_counts.add_queues(nlohmann::json::parse(parts[2]));
    if (!parts[3].empty()) place_counts.add_filters(nlohmann::json::parse(parts[3]));
  } catch (const std::exception& error) {
    return fail(ErrorCode::kSystem, what, error.what(), "tc and nft must be able to write JSON");
  }
  return {};
}

Result<Counts> read_counts(const Layout& layout) {
  Counts counts;
  counts.ticks_before = read_ticks();
  Workers workers;
  for (const Place& place : layout.places) {
    workers.start([&place] { return read_place(place.netns); });
  }
  const Result<std::vector<std::string>> texts = workers.finish();
  if (!texts) return fail(texts.error());
  counts.links.resize(layout.topology.links.size());
  for (size_t i = 0; i < texts->size(); ++i) {
    if (auto added = add_place_counts(layout, layout.places[i], (*texts)[i], counts); !added) {
      return fail(added.error());
    }
  }
  add_delay_counts(layout, counts);
  counts.at = steady_now();
  counts.ticks_after = read_ticks();
  return counts;
}

double busy_share(const Counts& before, const Counts& now) {
  const uint64_t all = now.ticks_before.all - before.ticks_after.all;
  if (all == 0) return 0;
  return static_cast<double>(now.ticks_before.busy - before.ticks_after.busy) /
         static_cast<double>(all);
}

}  // namespace heddle::lab
