// See action_text.h.
#include "topology/jobs/action_text.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "topology/params.h"
#include "topology/quantity.h"

namespace heddle::topology {
namespace {

class ActionWords {
 public:
  ActionWords(std::string_view text, const std::vector<std::string>& communicators,
              Program& program, LabelPlaces& labels)
      : text_(text), communicators_(communicators), program_(program), labels_(labels) {
    while (!text.empty()) {
      const size_t begin = text.find_first_not_of(' ');
      if (begin == std::string_view::npos) break;
      text.remove_prefix(begin);
      words_.push_back(text.substr(0, text.find(' ')));
      text.remove_prefix(words_.back().size());
    }
  }

  Result<Action> parse() {
    const std::string_view verb = next();
    if (verb == "compute") return compute();
    if (verb == "wait") return wait();
    if (const auto kind = call_named(verb)) return call(*kind);
    return wrong("there is no \"" + std::string(verb) + "\"",
                 "begin with compute, wait, send, receive or a collective like all_reduce");
  }

 private:
  std::string_view next() { return at_ < words_.size() ? words_[at_++] : std::string_view(); }
  bool take(std::string_view word) {
    if (at_ == words_.size() || words_[at_] != word) return false;
    ++at_;
    return true;
  }
  Unexpected wrong(const std::string& why, const std::string& todo) const {
    return fail(ErrorCode::kInvalid, "cannot read an action",
                "\"" + std::string(text_) + "\": " + why, todo);
  }
  Result<Action> ended(const Action& action) const {
    if (at_ == words_.size()) return action;
    return wrong("\"" + std::string(words_[at_]) + "\" is too much", "leave it out");
  }

  Result<Action> compute() {
    const auto span = parse_time(next());
    if (!span) return wrong("it has no time", "write it like \"compute 3ms\"");
    Action action{.kind = ActionKind::kCompute, .span = *span};
    if (take("on")) {
      const auto lane = lane_of(next());
      if (!lane)
        return wrong("it has no lane behind \"on\"", "name one of up to 16, like \"on cpu\"");
      action.lane = *lane;
    }
    return labeled(action);
  }

  Result<Action> wait() {
    const std::string_view name = next();
    if (name.empty()) return wrong("it names no call", "write \"wait all\", or the call's name");
    const auto label = name == "all" ? kEveryLabel : label_of(name);
    if (!label) return too_many_labels();
    return ended({.kind = ActionKind::kWait, .label = *label});
  }

  Result<Action> call(CallKind kind) {
    Action action{.kind = ActionKind::kCall, .call = kind};
    const std::string_view name = next();
    const auto known = std::find(communicators_.begin(), communicators_.end(), name);
    if (known == communicators_.end()) {
      return wrong("there is no communicator \"" + std::string(name) + "\"",
                   "name one that the job declares");
    }
    action.communicator = static_cast<uint32_t>(known - communicators_.begin());
    if (kind != CallKind::kBarrier && !take_size(action)) {
      return wrong("it has no size",
                   "give a size like 25MB, or elements and their bytes like 1000x4; up to 64 GiB");
    }
    const char* const side = kind == CallKind::kSend ? "to" : "from";
    const bool rooted = has_root(kind) ? take("root") : between_two(kind) && take(side);
    if (rooted && !take_number(action.root)) return wrong("it names no rank", "give its number");
    if (between_two(kind) && !rooted) {
      return wrong("it does not say the other rank", std::string("write \"") + side + " RANK\"");
    }
    if (at_ < words_.size() && !between_two(kind)) {
      action.algorithm = algorithm_named(words_[at_]);
      if (action.algorithm) ++at_;
      if (action.algorithm && !has_algorithm(kind, action.algorithm->algorithm)) {
        return wrong(std::string(name_of(kind)) + " has no " + text_of(*action.algorithm),
                     "choose from " + algorithms_of(kind));
      }
    }
    return labeled(action);
  }

  // Accepts "as b0", and behind it "after b1 b2".
  Result<Action> labeled(Action action) {
    if (!take("as")) {
      if (!take("after")) return ended(action);
      return wrong("it names other actions and has no name itself",
                   "write \"as NAME\" before \"after\"; an action without a name blocks");
    }
    const std::string_view name = next();
    const bool after = take("after");
    if (after && at_ == words_.size()) {
      return wrong("it names no action behind \"after\"", "give one, like \"after b0\"");
    }
    while (after && at_ < words_.size()) {
      const std::string_view other = next();
      const auto known = labels_.find(std::string(other));
      if (known == labels_.end()) {
        return wrong(
            "no action before it is named \"" + std::string(other) + "\"",
            "write that action before this one, and \"as " + std::string(other) + "\" behind it");
      }
      action.after.push_back(known->second);
    }
    if (name.empty() || name == "all") {
      return wrong("it has no name behind \"as\"", "give one, like \"as b0\"");
    }
    const auto label = label_of(name);
    if (!label) return too_many_labels();
    action.label = *label;
    return ended(action);
  }

  bool take_number(uint32_t& number) {
    const std::string_view word = next();
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    return error == std::errc() && end == word.data() + word.size();
  }

  // Accepts "25MB", or "1000x4".
  bool take_size(Action& action) {
    const std::string_view word = next();
    const size_t times = word.find('x');
    if (times == std::string_view::npos) {
      const auto bytes = parse_bytes(word);
      if (bytes) action.bytes = bytes->count;
      return bytes && bytes->count <= kMaxCallBytes;
    }
    uint64_t count = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + times, count);
    if (error != std::errc() || end != word.data() + times) return false;
    const std::string_view width = word.substr(times + 1);
    if (width != "1" && width != "2" && width != "4" && width != "8") return false;
    action.element_bytes = static_cast<uint8_t>(width.front() - '0');
    if (count > kMaxCallBytes / action.element_bytes) return false;
    action.bytes = count * action.element_bytes;
    return true;
  }

  // The place of a label, which is added if it is new and fits.
  std::optional<uint32_t> label_of(std::string_view name) {
    const auto place = static_cast<uint32_t>(program_.labels.size());
    if (const auto known = labels_.find(std::string(name)); known != labels_.end()) {
      return known->second;
    }
    if (place == params::jobs::kMaxLabels) return std::nullopt;
    labels_.emplace(name, place);
    program_.labels.emplace_back(name);
    return place;
  }
  Unexpected too_many_labels() const {
    return wrong("the program has more than 65,536 names of actions",
                 "use names again, behind a wait for them");
  }

  std::optional<uint32_t> lane_of(std::string_view name) {
    std::vector<std::string>& lanes = program_.lanes;
    const auto known = std::find(lanes.begin(), lanes.end(), name);
    if (name.empty() || (known == lanes.end() && lanes.size() == params::jobs::kMostLanes)) {
      return std::nullopt;
    }
    const auto place = static_cast<uint32_t>(known - lanes.begin());
    if (known == lanes.end()) lanes.emplace_back(name);
    return place;
  }

  const std::string_view text_;
  const std::vector<std::string>& communicators_;
  Program& program_;
  LabelPlaces& labels_;
  std::vector<std::string_view> words_;
  size_t at_ = 0;
};

}  // namespace

Result<Action> parse_action(std::string_view text, const std::vector<std::string>& communicators,
                            Program& program, LabelPlaces& labels) {
  return ActionWords(text, communicators, program, labels).parse();
}

std::string text_of(const Action& action, const std::vector<std::string>& communicators,
                    const Program& program) {
  const auto label = [&] {
    return action.label == kEveryLabel ? std::string("all") : program.labels[action.label];
  };
  const auto labels = [&] {
    std::string words = action.label == kNoLabel ? "" : " as " + label();
    if (!action.after.empty()) words += " after";
    for (const uint32_t each : action.after) words += " " + program.labels[each];
    return words;
  };
  if (action.kind == ActionKind::kCompute) {
    return "compute " + std::to_string(action.span.count) + "ns" +
           (action.lane == 0 ? "" : " on " + program.lanes[action.lane]) + labels();
  }
  if (action.kind == ActionKind::kWait) return "wait " + label();
  std::string text = std::string(name_of(action.call)) + " " + communicators[action.communicator];
  if (action.call != CallKind::kBarrier) {
    text += " " + std::to_string(action.bytes / action.element_bytes) + "x" +
            std::to_string(action.element_bytes);
  }
  if (has_root(action.call)) text += " root " + std::to_string(action.root);
  if (action.call == CallKind::kSend) text += " to " + std::to_string(action.root);
  if (action.call == CallKind::kReceive) text += " from " + std::to_string(action.root);
  if (action.algorithm) text += " " + text_of(*action.algorithm);
  return text + labels();
}

}  // namespace heddle::topology
