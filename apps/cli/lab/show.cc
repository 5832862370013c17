// What `heddle lab list` and `status` print: see show.h.
#include "apps/cli/lab/show.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/cli/json.h"
#include "apps/cli/params.h"
#include "base/quantity.h"
#include "topology/names.h"

namespace heddle::cli {
namespace {

// Of the columns of `status`, those that are left out where they are empty: queued to late.
constexpr size_t kFirstOptional = 4;
constexpr size_t kLastOptional = 12;

const char* status_name(lab::LabStatus status) {
  switch (status) {
    case lab::LabStatus::kUp:
      return "up";
    case lab::LabStatus::kRunning:
      return "running";
    case lab::LabStatus::kLeftOver:
      return "left over";
  }
  return "";
}

Json hosts_json(const lab::Layout& layout) {
  Json hosts = Json::array();
  for (const lab::Place& place : layout.places) {
    if (place.is_switch) continue;
    Json nics = Json::array();
    for (const uint32_t at : place.ports) {
      const lab::Port& port = layout.ports[at];
      nics.push_back({{"device", port.device},
                      {"ipv4", lab::nic_ipv4(layout, port.nic)},
                      {"ipv6", lab::nic_ipv6(layout, port.nic)},
                      {"leads_to", layout.places[port.peer_place].name}});
    }
    hosts.push_back({{"name", place.name}, {"namespace", place.netns}, {"nics", nics}});
  }
  return hosts;
}

Json delays_json(const lab::Lab& lab) {
  return {{"by", delay_method_name(lab.state.delays)},
          {"links", lab::delayed_links(lab.layout.topology).size()},
          {"process", lab.state.forwarder},
          {"trouble", forwarder_trouble(lab.state)}};
}

Json lab_json(const lab::Lab& lab) {
  Json switches = Json::array();
  for (const lab::Place& place : lab.layout.places) {
    if (place.is_switch) switches.push_back({{"name", place.name}, {"namespace", place.netns}});
  }
  return {{"name", lab.state.name},          {"status", status_name(status_of(lab.state))},
          {"topology", lab.state.source},    {"owner_process", lab.state.owner},
          {"notes", lab.state.notes},        {"delays", delays_json(lab)},
          {"hosts", hosts_json(lab.layout)}, {"switches", switches}};
}

// One direction of a link between two counts.
struct Direction {
  std::string from;
  std::string to;
  lab::DirectionCounts counts;
  double bits_per_s = 0;
  double utilisation = 0;  // of the rate; 0 where there is no limit
  std::string condition;   // how it differs from the file
  lab::DirectionCondition now;
};

Direction direction_of(const LabPicture& picture, uint32_t link, bool forward) {
  const topology::Topology& topology = picture.lab.layout.topology;
  const topology::Link& it = topology.links[link];
  const lab::LinkCondition& condition = picture.conditions.links[link];
  const lab::LinkCounts& now = picture.now.links[link];
  const lab::LinkCounts& before = picture.before.links[link];
  Direction direction;
  direction.from = topology::node_label(topology, forward ? it.a : it.b);
  direction.to = topology::node_label(topology, forward ? it.b : it.a);
  direction.counts = forward ? now.forward : now.backward;
  direction.now = forward ? condition.forward : condition.backward;
  const lab::DirectionCounts& earlier = forward ? before.forward : before.backward;
  const double span_s = to_seconds(direction.counts.at - earlier.at);
  const uint64_t moved = direction.counts.bytes - std::min(earlier.bytes, direction.counts.bytes);
  if (span_s > 0) direction.bits_per_s = static_cast<double>(moved) * 8 / span_s;
  if (direction.now.rate.count > 0) {
    direction.utilisation = direction.bits_per_s / static_cast<double>(direction.now.rate.count);
  }
  lab::DirectionCondition file;
  file.rate = it.shape.rate;
  file.faults = forward ? it.forward : it.backward;
  direction.condition = condition.down ? "down" : lab::difference_text(direction.now, file);
  return direction;
}

Json direction_json(const Direction& direction) {
  return {{"from", direction.from},
          {"to", direction.to},
          {"rate_bits_per_s", direction.now.rate.count},
          {"bits_per_s", direction.bits_per_s},
          {"utilisation", direction.utilisation},
          {"bytes", direction.counts.bytes},
          {"packets", direction.counts.packets},
          {"queued_bytes", direction.counts.queued_bytes},
          {"dropped_packets", direction.counts.dropped},
          {"marked_packets", direction.counts.marked},
          {"lost_packets", direction.counts.lost},
          {"black_hole_packets", direction.counts.swallowed},
          {"corrupted_packets", direction.counts.corrupted},
          {"overtaking_packets", direction.counts.overtook},
          {"overrun_packets", direction.counts.overrun},
          {"in_flight_bytes", direction.counts.held},
          {"late_packets", direction.counts.late},
          {"latest_ns", direction.counts.latest.count},
          {"condition", direction.condition}};
}

std::vector<Direction> all_directions(const LabPicture& picture) {
  std::vector<Direction> list;
  for (uint32_t link = 0; link < picture.lab.layout.topology.links.size(); ++link) {
    for (const bool forward : {true, false}) list.push_back(direction_of(picture, link, forward));
  }
  return list;
}

// A column as wide as its widest cell; numbers stand right, the first and the last column left.
class Table {
 public:
  explicit Table(std::vector<std::string> head) { rows_.push_back(std::move(head)); }

  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

  // Without the columns from `first` to `last` in which every row has "-" or nothing.
  std::string text(size_t first, size_t last) const {
    std::vector<size_t> widths;
    for (size_t i = 0; i < rows_.front().size(); ++i) {
      widths.push_back(i >= first && i <= last && is_empty(i) ? 0 : width(i));
    }
    std::string text;
    for (const auto& row : rows_) {
      std::string line;
      for (size_t i = 0; i < row.size(); ++i) {
        if (widths[i] == 0) continue;
        const bool left = i == 0 || i + 1 == row.size();
        line += left ? fmt::format("{:<{}}  ", row[i], widths[i])
                     : fmt::format("{:>{}}  ", row[i], widths[i]);
      }
      text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    return text;
  }

 private:
  size_t width(size_t column) const {
    size_t widest = 0;
    for (const auto& row : rows_) widest = std::max(widest, row[column].size());
    return widest;
  }
  bool is_empty(size_t column) const {
    return std::all_of(rows_.begin() + 1, rows_.end(), [column](const auto& row) {
      return row[column].empty() || row[column] == "-";
    });
  }

  std::vector<std::vector<std::string>> rows_;
};

std::string count_cell(uint64_t count) { return count == 0 ? "-" : count_text(count); }

// A device says hello before the other end is up: a few are no news.
std::string overrun_cell(uint64_t count) { return count <= 4 ? "-" : count_text(count); }

std::string trouble_text(const lab::Lab& lab) {
  const std::string trouble = forwarder_trouble(lab.state);
  return trouble.empty() ? "" : trouble + "\n";
}

std::string paused_text(const LabPicture& picture) {
  std::string text;
  for (size_t i = 0; i < picture.conditions.paused.size(); ++i) {
    if (!picture.conditions.paused[i]) continue;
    text += fmt::format("{} is paused\n", picture.lab.layout.topology.hosts[i].name);
  }
  return text;
}

}  // namespace

std::string status_text(const LabPicture& picture) {
  Table table({"link", "bytes", "rate now", "used", "queued", "dropped", "marked", "lost",
               "corrupt", "overtook", "overrun", "late", ""});
  bool overrun = false;
  Nanos late;
  for (const Direction& each : all_directions(picture)) {
    const lab::DirectionCounts& counts = each.counts;
    const std::string used = each.now.rate.count == 0
                                 ? "-"
                                 : fmt::format("{:.0f}%", std::min(each.utilisation, 1.0) * 100);
    table.add({fmt::format("{} > {}", each.from, each.to), count_cell(counts.bytes),
               each.bits_per_s > 0 ? rate_text(each.bits_per_s) : "-", used,
               count_cell(counts.queued_bytes), count_cell(counts.dropped),
               count_cell(counts.marked), count_cell(counts.lost + counts.swallowed),
               count_cell(counts.corrupted), count_cell(counts.overtook),
               overrun_cell(counts.overrun), count_cell(counts.late), each.condition});
    overrun = overrun || overrun_cell(counts.overrun) != "-";
    late = std::max(late, counts.late > 0 ? counts.latest : Nanos{});
  }
  const double busy = lab::busy_share(picture.before, picture.now);
  std::string text = fmt::format("lab {}, over {}\n\n", picture.lab.state.name,
                                 duration_text(picture.now.at - picture.before.at));
  text += table.text(kFirstOptional, kLastOptional) + "\n" + paused_text(picture);
  text += fmt::format("processors busy: {:.0f}%\n", busy * 100);
  if (busy > params::lab::kSaturated) {
    text += "above 85% a lab measures this machine's processors: use lower rates or fewer flows\n";
  }
  if (overrun) {
    text += "'overrun' was lost by this machine, not by a link: its processors did not keep up\n";
  }
  if (late.count > 0) {
    text += fmt::format("'late' left a delayed link after its time, by up to {}\n",
                        duration_text(late));
  }
  text += trouble_text(picture.lab);
  for (const std::string& note : picture.lab.state.notes) text += "warning: " + note + "\n";
  return text;
}

std::string status_json(const LabPicture& picture) {
  Json document = lab_json(picture.lab);
  document["interval_ns"] = (picture.now.at - picture.before.at).count;
  document["processors_busy"] = lab::busy_share(picture.before, picture.now);
  Json links = Json::array();
  for (uint32_t link = 0; link < picture.lab.layout.topology.links.size(); ++link) {
    links.push_back({{"name", topology::link_label(picture.lab.layout.topology, link)},
                     {"down", picture.conditions.links[link].down},
                     {"forward", direction_json(direction_of(picture, link, true))},
                     {"backward", direction_json(direction_of(picture, link, false))}});
  }
  document["links"] = links;
  Json paused = Json::array();
  for (size_t i = 0; i < picture.conditions.paused.size(); ++i) {
    if (picture.conditions.paused[i]) paused.push_back(picture.lab.layout.topology.hosts[i].name);
  }
  document["paused_hosts"] = paused;
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string list_text(const std::vector<lab::Lab>& labs) {
  if (labs.empty()) return "no lab is up\n";
  Table table({"lab", "hosts", "switches", "links", "is", "topology"});
  for (const lab::Lab& lab : labs) {
    const topology::Topology& made = lab.layout.topology;
    std::string status = status_name(status_of(lab.state));
    if (status_of(lab.state) == lab::LabStatus::kRunning) {
      status += fmt::format(" ({})", lab.state.owner);
    }
    if (!forwarder_trouble(lab.state).empty()) status += ", without its delays";
    table.add({lab.state.name, count_text(made.hosts.size()), count_text(made.switches.size()),
               count_text(made.links.size()), status, lab.state.source});
  }
  return table.text(1, 0);
}

std::string list_json(const std::vector<lab::Lab>& labs) {
  Json list = Json::array();
  for (const lab::Lab& lab : labs) list.push_back(lab_json(lab));
  return Json{{"labs", list}}.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace heddle::cli
