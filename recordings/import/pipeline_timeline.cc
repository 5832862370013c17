// See pipeline_timeline.h.
#include "recordings/import/pipeline_timeline.h"

#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "recordings/import/bounded_json.h"

namespace heddle::recordings {
namespace {

using insight::PipelineEvent;

// Of ranks, steps and numbers: jobs have fewer.
constexpr uint64_t kMostNumber = 100'000'000;

struct Place {
  uint32_t stage = 0;
  uint32_t tensor_rank = 0;
};

using Threads = std::map<std::pair<int64_t, int64_t>, Place>;  // by process and thread

std::optional<uint32_t> number_behind(std::string_view text, std::string_view word) {
  const size_t at = text.find(word);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view digits = text.substr(at + word.size());
  uint32_t number = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (read.ec != std::errc() || number > kMostNumber) return std::nullopt;
  return number;
}

uint32_t number_of(const ForeignJson& value) {
  const auto number = value.get<double>();
  if (!(number >= 0 && number <= kMostNumber)) {
    throw std::out_of_range("a number is not from 0 to " + std::to_string(kMostNumber));
  }
  return static_cast<uint32_t>(number);
}

void add_thread(const ForeignJson& event, Threads& threads) {
  if (event.at("name") != "thread_name") return;
  const auto name = event.at("args").at("name").get<std::string>();
  const auto stage = number_behind(name, "PP rank ");
  if (!stage) return;
  threads[{event.at("pid").get<int64_t>(), event.at("tid").get<int64_t>()}] = {
      *stage, number_behind(name, "TP rank ").value_or(0)};
}

void add_operation(const ForeignJson& event, const Threads& threads, PipelineTimeline& timeline) {
  const auto name = event.at("name").get<std::string>();
  const auto operation = insight::pipeline_operation(name);
  if (!operation) {
    ++timeline.left_out[name];
    return;
  }
  const auto thread =
      threads.find({event.at("pid").get<int64_t>(), event.at("tid").get<int64_t>()});
  if (thread == threads.end()) {
    throw std::out_of_range("the name of its thread has no \"PP rank N\"");
  }
  if (thread->second.tensor_rank != 0) return;  // tensor-parallel ranks do the same
  const ForeignJson& about = event.at("args");
  const auto chunk = about.find("model_chunk");
  if (chunk != about.end() && chunk->is_number() && chunk->get<double>() > 0) {
    throw std::out_of_range("it is of a second model chunk: interleaved stages are not supported");
  }
  constexpr double kMicros = 1e-6;
  timeline.events.push_back({.step = number_of(about.at("step")),
                             .data_rank = number_of(event.at("pid")),
                             .stage = thread->second.stage,
                             .operation = *operation,
                             .number = number_of(about.at("seq_id")),
                             .start_s = event.at("ts").get<double>() * kMicros,
                             .took_s = event.at("dur").get<double>() * kMicros});
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
    return fail(document.error().code, "cannot read " + name, document.error().message(), "");
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
  } catch (const std::exception& wrong) {
    return no_timeline(name, "event " + std::to_string(at + 1) + ": " + wrong.what());
  }
  if (timeline.events.empty()) return no_timeline(name, "it has no operation of a pipeline");
  return timeline;
}

}  // namespace heddle::recordings
