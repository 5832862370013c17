// Any text as a timeline of pipelined training. What is read is bounded by the text, each refusal
// has its place and advice, and what is accepted is replayed: that ends, with finite figures or a
// refusal of its own.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <string_view>

#include "base/check.h"
#include "insight/stragglers.h"
#include "recordings/pipeline_timeline.h"

namespace heddle::recordings {
namespace {

constexpr size_t kShortestOperation = 60;  // bytes of one, names of its members alone
constexpr uint32_t kMostNumber = 100'000'000;

// An event, a byte, or what the whole file is or lacks.
constexpr std::string_view kPlaces[] = {"event ", "at byte ", "it is compressed",
                                        "it is no list of events",
                                        "it has no operation of a pipeline"};

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool has_place(const Error& error) {
  if (!contains(error.what, "fuzzed.json")) return false;
  return std::any_of(std::begin(kPlaces), std::end(kPlaces),
                     [&](std::string_view place) { return contains(error.why, place); });
}

void check(const PipelineTimeline& timeline, size_t size) {
  CHECK(timeline.events.size() <= size / kShortestOperation);
  CHECK(timeline.left_out.size() <= size);
  for (const insight::PipelineEvent& each : timeline.events) {
    CHECK(each.step <= kMostNumber && each.data_rank <= kMostNumber);
    CHECK(each.stage <= kMostNumber && each.number <= kMostNumber);
    CHECK(std::isfinite(each.start_s) && std::isfinite(each.took_s));
  }
}

void check(const insight::Stragglers& found, size_t steps) {
  CHECK(found.steps > 0 && found.steps + found.steps_left_out == steps);
  CHECK(found.by_step.size() == found.steps && found.by_stage.size() == found.stages);
  CHECK(found.by_data_rank.size() == found.data_ranks);
  for (const double each : {found.recorded_s, found.measured_s, found.even_s, found.slowdown,
                            found.slowest_workers_share, found.last_stage_share}) {
    CHECK(std::isfinite(each));
  }
  CHECK(std::abs(found.length_correlation) <= 1 + 1e-9);
}

}  // namespace
}  // namespace heddle::recordings

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace heddle;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto timeline = recordings::read_pipeline_timeline(text, "fuzzed.json");
  if (!timeline) {
    CHECK(recordings::has_place(timeline.error()) && !timeline.error().todo.empty());
    return 0;
  }
  recordings::check(*timeline, size);
  std::set<uint32_t> steps;
  for (const insight::PipelineEvent& each : timeline->events) steps.insert(each.step);
  const auto found = insight::find_stragglers(timeline->events);
  if (found) {
    recordings::check(*found, steps.size());
  } else {
    CHECK(!found.error().why.empty() && !found.error().todo.empty());
  }
  return 0;
}
