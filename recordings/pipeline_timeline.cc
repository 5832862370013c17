// See pipeline_timeline.h.
#include "recordings/pipeline_timeline.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "recordings/import/bounded_json.h"
#include "recordings/params.h"

namespace heddle::recordings {
namespace {

using insight::PipelineEvent;

struct Place {
  uint32_t stage = 0;
  uint32_t tensor_rank = 0;
};

using Threads = std::map<std::pair<uint32_t, uint32_t>, Place>;  // by process and thread

// What is wrong with an event.
class WrongEvent : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The number behind a word of a name of a thread, "PP rank 1, TP rank 0".
std::optional<uint32_t> number_behind(std::string_view text, std::string_view word) {
  const size_t at = text.find(word);
  if (at == std::string_view::npos || (at > 0 && text[at - 1] != ' ')) return std::nullopt;
  const std::string_view digits = text.substr(at + word.size());
  uint32_t number = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (read.ec != std::errc() || number > params::pipeline::kMostNumber) return std::nullopt;
  return number;
}

double number_of(const ForeignJson& event, const char* name, double least, double most) {
  const auto found = event.find(name);
  if (found == event.end() || !found->is_number()) {
    throw WrongEvent(fmt::format("'{}' is missing, or no number", name));
  }
  const auto number = found->get<double>();
  if (number >= least && number <= most) return number;
  throw WrongEvent(fmt::format("'{}' is not from {} to {}", name, least, most));
}

uint32_t whole_number_of(const ForeignJson& event, const char* name) {
  const double number = number_of(event, name, 0, params::pipeline::kMostNumber);
  if (number == std::floor(number)) return static_cast<uint32_t>(number);
  throw WrongEvent(fmt::format("'{}' is no whole number", name));
}

std::string text_of(const ForeignJson& event, const char* name) {
  const auto found = event.find(name);
  if (found != event.end() && found->is_string()) return found->get<std::string>();
  throw WrongEvent(fmt::format("'{}' is missing, or no text", name));
}

const ForeignJson& arguments_of(const ForeignJson& event) {
  const auto found = event.find("args");
  if (found != event.end() && found->is_object()) return *found;
  throw WrongEvent("'args' is missing, or no object");
}

void add_thread(const ForeignJson& event, Threads& threads) {
  if (text_of(event, "name") != "thread_name") return;
  const std::string name = text_of(arguments_of(event), "name");
  const auto stage = number_behind(name, "PP rank ");
  if (!stage) return;
  threads[{whole_number_of(event, "pid"), whole_number_of(event, "tid")}] = {
      *stage, number_behind(name, "TP rank ").value_or(0)};
}

void add_operation(const ForeignJson& event, const Threads& threads, PipelineTimeline& timeline) {
  const std::string name = text_of(event, "name");
  const auto operation = insight::pipeline_operation(name);
  if (!operation) {
    ++timeline.left_out[name];
    return;
  }
  const uint32_t process = whole_number_of(event, "pid");
  const auto thread = threads.find({process, whole_number_of(event, "tid")});
  if (thread == threads.end()) throw WrongEvent("the name of its thread has no \"PP rank N\"");
  if (thread->second.tensor_rank != 0) return;  // tensor-parallel ranks do the same
  const ForeignJson& about = arguments_of(event);
  const auto chunk = about.find("model_chunk");
  if (chunk != about.end() && chunk->is_number() && chunk->get<double>() > 0) {
    throw WrongEvent("it is of a second model chunk: interleaved stages are not supported");
  }
  constexpr double kMicros = 1e-6;
  timeline.events.push_back({.step = whole_number_of(about, "step"),
                             .data_rank = process,
                             .stage = thread->second.stage,
                             .operation = *operation,
                             .number = whole_number_of(about, "seq_id"),
                             .start_s = number_of(event, "ts", -params::pipeline::kLatestMicros,
                                                  params::pipeline::kLatestMicros) *
                                        kMicros,
                             .took_s = number_of(event, "dur", -params::pipeline::kLongestMicros,
                                                 params::pipeline::kLongestMicros) *
                                       kMicros});
}

bool is_phase(const ForeignJson& event, const char* phase) {
  const auto found = event.find("ph");
  return found != event.end() && *found == phase;
}

Unexpected no_timeline(const std::string& name, const std::string& why) {
  return fail(ErrorCode::kInvalid, "cannot read " + name, why,
              "give a timeline of a pipelined job as Chrome trace events");
}

}  // namespace

Result<PipelineTimeline> read_pipeline_timeline(const std::string& text, const std::string& name) {
  if (text.starts_with("\x1f\x8b")) {
    return fail(ErrorCode::kInvalid, "cannot read " + name, "it is compressed",
                "unpack it with gunzip");
  }
  const Result<ForeignJson> document = read_json(text);
  if (!document) {
    return fail(document.error().code, "cannot read " + name, document.error().why,
                document.error().todo);
  }
  const ForeignJson& events =
      document->is_object() ? member_or_empty(*document, "traceEvents") : *document;
  if (!events.is_array()) return no_timeline(name, "it is no list of events");
  PipelineTimeline timeline;
  Threads threads;
  size_t at = 0;
  try {
    // Threads are named anywhere.
    for (at = 0; at < events.size(); ++at) {
      if (is_phase(events[at], "M")) add_thread(events[at], threads);
    }
    for (at = 0; at < events.size(); ++at) {
      if (is_phase(events[at], "X")) add_operation(events[at], threads, timeline);
    }
  } catch (const WrongEvent& wrong) {
    return no_timeline(name, "event " + std::to_string(at + 1) + ": " + wrong.what());
  }
  if (timeline.events.empty()) return no_timeline(name, "it has no operation of a pipeline");
  return timeline;
}

}  // namespace heddle::recordings
