// See published_reader.h.
#include "monitor/published_reader.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "monitor/params.h"
#include "monitor/publication.h"

namespace heddle::monitor {
namespace {

using Tree = nlohmann::json;

constexpr int64_t kLatest = int64_t{1} << 60;

// Null where it is no object of JSON, or nested too deeply.
Tree parsed(std::string_view text) {
  if (text.size() > params::kLongestPublished) return {};
  bool deep = false;
  const auto look = [&deep](int depth, Tree::parse_event_t /*event*/, const Tree& /*value*/) {
    deep |= depth > params::kDeepestPublished;
    return !deep;
  };
  Tree tree = Tree::parse(text, look, false);
  if (deep || tree.is_discarded() || !tree.is_object()) return {};
  return tree;
}

class Fields {
 public:
  explicit Fields(const Tree& tree) : tree_(tree) {}

  const Tree* find(const char* name) const {
    if (!tree_.is_object()) return nullptr;
    const auto found = tree_.find(name);
    return found == tree_.end() ? nullptr : &*found;
  }
  std::string text(const char* name) const {
    const Tree* const value = find(name);
    if (value == nullptr || !value->is_string()) return {};
    return value->get_ref<const std::string&>().substr(0, params::kLongestText);
  }
  int64_t integer(const char* name, int64_t otherwise = 0) const {
    const Tree* const value = find(name);
    if (value == nullptr || !value->is_number_integer()) return otherwise;
    if (value->is_number_unsigned() && value->get<uint64_t>() > uint64_t{kLatest}) return kLatest;
    return std::clamp<int64_t>(value->get<int64_t>(), -1, kLatest);
  }
  uint64_t count(const char* name) const {
    return static_cast<uint64_t>(std::max<int64_t>(0, integer(name)));
  }
  double number(const char* name) const {
    const Tree* const value = find(name);
    return value == nullptr || !value->is_number() ? 0 : value->get<double>();
  }
  bool flag(const char* name, bool otherwise = false) const {
    const Tree* const value = find(name);
    return value == nullptr || !value->is_boolean() ? otherwise : value->get<bool>();
  }

 private:
  const Tree& tree_;
};

// Two that look alike would be one in metrics.
bool is_id(std::string_view text) {
  return text.size() == 16 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::optional<PublishedHead> head_of(const Fields& fields) {
  if (fields.integer("version") != kPublicationVersion) return std::nullopt;
  PublishedHead head{
      .job = fields.text("job"),
      .id = fields.text("id"),
      .monitor = fields.text("monitor"),
      .folder = fields.text("folder"),
      .run_ns = fields.integer("run_realtime_ns"),
      .sequence = fields.count("sequence"),
      .every = {std::clamp<int64_t>(fields.integer("every_ns"), 0, params::kLongestInterval.count)},
      .job_ns = fields.integer("job_ns")};
  if (!is_id(head.id) || head.sequence == 0) return std::nullopt;
  return head;
}

std::optional<PublishedAlarm> alarm_of(const Fields& fields) {
  PublishedAlarm alarm{.number = fields.count("number"),
                       .what = fields.text("class"),
                       .place = fields.text("place_text"),
                       .host = fields.text("host"),
                       .summary = fields.text("summary"),
                       .action = fields.text("try"),
                       .confidence = std::clamp(fields.number("confidence"), 0.0, 1.0),
                       .raised_ns = fields.integer("raised_ns"),
                       .cleared_ns = fields.integer("cleared_ns", -1)};
  if (alarm.number == 0 || alarm.what.empty()) return std::nullopt;
  return alarm;
}

}  // namespace

std::optional<PublishedChange> read_published_change(std::string_view text) {
  const Tree tree = parsed(text);
  const Fields fields(tree);
  const std::string event = fields.text("event");
  std::optional<PublishedHead> head = head_of(fields);
  std::optional<PublishedAlarm> alarm = alarm_of(fields);
  if (!head || !alarm || (event != "raised" && event != "cleared")) return std::nullopt;
  return PublishedChange{std::move(*head), event == "raised", std::move(*alarm)};
}

std::optional<PublishedState> read_published_state(std::string_view text) {
  const Tree tree = parsed(text);
  const Fields fields(tree);
  std::optional<PublishedHead> head = head_of(fields);
  const Tree* const alarms = fields.find("alarms");
  if (!head || alarms == nullptr || !alarms->is_array()) return std::nullopt;
  PublishedState state{.head = std::move(*head),
                       .last = fields.flag("last"),
                       .over = fields.flag("over"),
                       .whole = fields.flag("whole", true),
                       .operations = fields.count("operations"),
                       .alarms_raised = fields.count("alarms_raised"),
                       .alarms_lasting = fields.count("alarms_lasting"),
                       .hosts = fields.count("hosts"),
                       .hosts_not_heard = fields.count("hosts_not_heard"),
                       .dropped = fields.count("dropped")};
  for (const Tree& each : *alarms) {
    if (state.alarms.size() == params::kMostPublishedAlarms) break;
    if (auto alarm = alarm_of(Fields(each))) state.alarms.push_back(std::move(*alarm));
  }
  if (const Tree* const processes = fields.find("processes")) {
    const Fields counts(*processes);
    state.running = counts.count("running");
    state.ended = counts.count("ended");
    state.not_heard = counts.count("not_heard");
  }
  return state;
}

}  // namespace heddle::monitor
