// See htsim_matrix.h.
#include "topology/htsim_matrix.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "topology/htsim/words.h"
#include "topology/names.h"
#include "topology/params.h"

namespace heddle::topology {
namespace {

// The count in a header, and the number of entries found.
struct Announced {
  const char* word;
  std::optional<uint64_t> count;
  uint64_t found = 0;
};

class MatrixReader {
 public:
  MatrixReader(std::string_view text, const std::string& name, const Topology& topology)
      : lines_(text, name), topology_(topology) {}

  Result<Workload> read();

 private:
  using Part = Result<void>;

  // A trigger that was declared, referenced by flows, or both.
  struct Met {
    uint32_t index = 0;
    int line = 0;
    bool declared = false;
  };

  Part read_line();
  Result<bool> read_header();
  Part read_connection();
  Result<Flow> connection_ends();
  Result<size_t> connection_word(size_t at, Flow& flow, bool& starts);
  Result<Nanos> start_behind(size_t at);
  Part read_trigger();
  Part read_failure();
  Result<uint32_t> failed_link(std::string_view type, uint64_t id, uint64_t link);
  Part check_counts() const;
  void number_flows();
  uint32_t trigger(uint64_t id);

  WordReader lines_;
  const Topology& topology_;
  Announced nodes_{"Nodes", {}};
  Announced connections_{"Connections", {}};
  Announced triggers_{"Triggers", {}};
  Announced failures_{"Failures", {}};
  std::map<uint64_t, Met> met_;
  std::unordered_set<uint64_t> ids_;
  Workload workload_;
};

Result<Workload> MatrixReader::read() {
  while (lines_.next()) {
    if (Part part = read_line(); !part) return fail(part.error());
  }
  if (!nodes_.count) return lines_.wrong_at(0, "it has no line 'Nodes'", "say how many there are");
  if (Part part = check_counts(); !part) return fail(part.error());
  for (const auto& [id, met] : met_) {
    if (met.declared) continue;
    return lines_.wrong_at(met.line, "trigger " + std::to_string(id) + " is not declared",
                           "add a line 'trigger id " + std::to_string(id) + " oneshot'");
  }
  number_flows();
  if (Part valid = validate(workload_, topology_); !valid) {
    return lines_.wrong_at(0, valid.error().what + ": " + valid.error().why, valid.error().todo);
  }
  return std::move(workload_);
}

MatrixReader::Part MatrixReader::read_line() {
  const std::string_view first = lines_.words().front();
  if (first.find("->") != std::string_view::npos) return read_connection();
  if (first == "trigger") return read_trigger();
  if (first == "failure") return read_failure();
  const Result<bool> header = read_header();
  if (!header) return fail(header.error());
  if (*header) return {};
  return lines_.wrong(quoted(first) + " is not known",
                      "lines begin with Nodes, Connections, Triggers, Failures, SRC->DST, trigger "
                      "or failure");
}

Result<bool> MatrixReader::read_header() {
  for (Announced* each : {&nodes_, &connections_, &triggers_, &failures_}) {
    if (lines_.words().front() != each->word) continue;
    const Result<uint64_t> count = lines_.number_behind(0, params::htsim::kMaxCount);
    if (!count) return fail(count.error());
    if (each == &nodes_ && *count > topology_.hosts.size()) {
      return lines_.wrong("it has " + std::to_string(*count) + " nodes, and the topology " +
                              std::to_string(topology_.hosts.size()) + " hosts",
                          "use it with a topology of as many hosts");
    }
    each->count = *count;
    return true;
  }
  return false;
}

MatrixReader::Part MatrixReader::read_connection() {
  Result<Flow> flow = connection_ends();
  if (!flow) return fail(flow.error());
  bool starts = false;
  for (size_t at = 1; at < lines_.words().size();) {
    const Result<size_t> next = connection_word(at, *flow, starts);
    if (!next) return fail(next.error());
    at = *next;
  }
  const bool waits = flow->waits_for != kNoTrigger;
  if (starts == waits) {
    return lines_.wrong(
        starts ? "it has a start and waits for a trigger" : "nothing says when it starts",
        "give one of 'start T' and 'trigger ID'");
  }
  if (flow->bytes.count == 0) {
    return lines_.wrong("it has no size, so it would never end", "give 'size BYTES'");
  }
  ++connections_.found;
  workload_.flows.push_back(*flow);
  return {};
}

Result<Flow> MatrixReader::connection_ends() {
  const std::string_view word = lines_.words().front();
  const size_t arrow = word.find("->");
  const auto from = whole_number(word.substr(0, arrow));
  const auto to = whole_number(word.substr(arrow + 2));
  if (!from || !to) {
    return lines_.wrong(quoted(word) + " does not name two nodes", "write it as 0->15");
  }
  const uint64_t nodes = nodes_.count.value_or(0);
  if (*from >= nodes || *to >= nodes) {
    return lines_.wrong(
        quoted(word) + " names a node that is not there",
        nodes == 0 ? "write 'Nodes N' before it" : "nodes are 0 to " + std::to_string(nodes - 1));
  }
  if (*from == *to) return lines_.wrong("the node sends to itself", "name two nodes");
  return Flow{.from = static_cast<uint32_t>(*from), .to = static_cast<uint32_t>(*to)};
}

// Takes the word at `at` and its arguments; returns the index of the next word.
Result<size_t> MatrixReader::connection_word(size_t at, Flow& flow, bool& starts) {
  const std::string_view word = lines_.words()[at];
  if (word == "addon") return at + 1;
  if (word == "start") {
    const Result<Nanos> start = start_behind(at);
    if (!start) return fail(start.error());
    flow.start = *start;
    starts = true;
    return at + 2;
  }
  constexpr const char* kKnown[] = {
      "size", "id", "prio", "trigger", "send_done_trigger", "recv_done_trigger"};
  if (std::find(std::begin(kKnown), std::end(kKnown), word) == std::end(kKnown)) {
    return lines_.wrong(quoted(word) + " is not known",
                        "known here: start, size, id, prio, addon, trigger, send_done_trigger, "
                        "recv_done_trigger");
  }
  const Result<uint64_t> number =
      lines_.number_behind(at, word == "size" ? kMaxFlowBytes : UINT32_MAX);
  if (!number) return fail(number.error());
  if (word == "size") {
    flow.bytes = {*number};
    return at + 2;
  }
  if (word == "prio") return at + 2;
  if (*number == 0) {
    return lines_.wrong("'" + std::string(word) + "' is 0", "ids count from 1");
  }
  if (word == "id") {
    if (!ids_.insert(*number).second) {
      return lines_.wrong("two flows have the id " + std::to_string(*number), "give each its own");
    }
    flow.id = *number;
  } else if (word == "trigger") {
    flow.waits_for = trigger(*number);
  } else if (word == "send_done_trigger") {
    flow.when_sent = trigger(*number);
  } else {
    flow.when_received = trigger(*number);
  }
  return at + 2;
}

Result<Nanos> MatrixReader::start_behind(size_t at) {
  const std::string todo = "give picoseconds";
  if (at + 1 >= lines_.words().size()) return lines_.wrong("nothing follows 'start'", todo);
  const std::string_view word = lines_.words()[at + 1];
  double picos = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), picos);
  const bool whole = error == std::errc() && end == word.data() + word.size();
  if (!whole || !(picos >= 0 && picos <= params::htsim::kMaxStartPs)) {
    return lines_.wrong("'start' is " + quoted(word), todo);
  }
  return nanos(std::llround(picos / 1e3));
}

MatrixReader::Part MatrixReader::read_trigger() {
  uint64_t id = 0;
  std::optional<TriggerKind> kind;
  uint64_t count = 1;
  const auto& words = lines_.words();
  for (size_t at = 1; at < words.size(); ++at) {
    if (words[at] == "id" || words[at] == "count") {
      const Result<uint64_t> number = lines_.number_behind(at, UINT32_MAX);
      if (!number) return fail(number.error());
      (words[at] == "id" ? id : count) = *number;
      ++at;
    } else if (words[at] == "oneshot" && !kind) {
      kind = TriggerKind::kOnce;
    } else if (words[at] == "multishot" && !kind) {
      kind = TriggerKind::kEach;
    } else if (words[at] == "barrier" && !kind) {
      kind = TriggerKind::kBarrier;
    } else {
      return lines_.wrong(quoted(words[at]) + " is not expected here",
                          "write 'trigger id ID oneshot', 'multishot', or 'barrier count N'");
    }
  }
  if (id == 0 || !kind) {
    return lines_.wrong(id == 0 ? "the trigger has no id" : "the trigger has no type",
                        "write 'trigger id ID oneshot', 'multishot', or 'barrier count N'");
  }
  if (count == 0) return lines_.wrong("'count' is 0", "a barrier waits for one end at least");
  const uint32_t index = trigger(id);
  Met& met = met_[id];
  if (met.declared) {
    return lines_.wrong("trigger " + std::to_string(id) + " is declared twice", "remove one");
  }
  met.declared = true;
  workload_.triggers[index] = {*kind, static_cast<uint32_t>(count)};
  ++triggers_.found;
  return {};
}

MatrixReader::Part MatrixReader::read_failure() {
  std::string_view type;
  std::optional<uint64_t> id;
  std::optional<uint64_t> link;
  const auto& words = lines_.words();
  const std::string todo = "write 'failure switch_type AGG switch_id N link_id N'";
  for (size_t at = 1; at < words.size(); at += 2) {
    if (words[at] == "switch_type" && at + 1 < words.size()) {
      type = words[at + 1];
    } else if (words[at] == "switch_id" || words[at] == "link_id") {
      const Result<uint64_t> number = lines_.number_behind(at, UINT32_MAX);
      if (!number) return fail(number.error());
      (words[at] == "switch_id" ? id : link) = *number;
    } else {
      return lines_.wrong(quoted(words[at]) + " is not expected here", todo);
    }
  }
  if (type.empty() || !id || !link) return lines_.wrong("the failure is not complete", todo);
  const Result<uint32_t> found = failed_link(type, *id, *link);
  if (!found) return fail(found.error());
  workload_.failed_links.push_back(*found);
  ++failures_.found;
  return {};
}

Result<uint32_t> MatrixReader::failed_link(std::string_view type, uint64_t id, uint64_t number) {
  static const std::map<std::string_view, std::string> kTiers = {
      {"TOR", "leaf"}, {"AGG", "spine"}, {"CORE", "core"}};
  const auto tier = kTiers.find(type);
  if (tier == kTiers.end()) {
    return lines_.wrong("there is no switch_type " + quoted(type), "give TOR, AGG or CORE");
  }
  const std::string name = tier->second + std::to_string(id);
  const auto found = find_switch(topology_, name);
  if (!found) return lines_.wrong("the topology has no switch " + name, "check 'switch_id'");
  const Node node{NodeKind::kSwitch, *found};
  uint64_t links = 0;
  for (uint32_t i = 0; i < topology_.links.size(); ++i) {
    const Link& link = topology_.links[i];
    if (link.a.kind != NodeKind::kSwitch || (type == "CORE" ? link.b : link.a) != node) continue;
    if (links++ == number) return i;
  }
  return lines_.wrong(name + " has " + std::to_string(links) + " links that " +
                          (type == "CORE" ? "go down" : "go up"),
                      "'link_id' counts them from 0");
}

MatrixReader::Part MatrixReader::check_counts() const {
  for (const Announced* each : {&connections_, &triggers_, &failures_}) {
    if (each->count.value_or(0) == each->found) continue;
    return lines_.wrong_at(0,
                           "'" + std::string(each->word) + "' says " +
                               std::to_string(each->count.value_or(0)) + ", and there are " +
                               std::to_string(each->found),
                           "correct the number, or add what is missing");
  }
  return {};
}

void MatrixReader::number_flows() {
  uint64_t last = 0;
  for (const Flow& flow : workload_.flows) last = std::max(last, flow.id);
  for (Flow& flow : workload_.flows) {
    if (flow.id == 0) flow.id = ++last;
  }
}

uint32_t MatrixReader::trigger(uint64_t id) {
  const auto [met, added] = met_.try_emplace(id);
  if (added) {
    met->second = {static_cast<uint32_t>(workload_.triggers.size()), lines_.line()};
    workload_.triggers.emplace_back();
  }
  return met->second.index;
}

}  // namespace

Result<Workload> parse_htsim_matrix(std::string_view text, const std::string& name,
                                    const Topology& topology) {
  return MatrixReader(text, name, topology).read();
}

}  // namespace heddle::topology
