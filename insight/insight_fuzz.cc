// Fuzzer: traffic, matrices, summary, timeline and diagnosis accept any events in any order without
// a fault, and their sums agree.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/check.h"
#include "insight/clocks.h"
#include "insight/confidence.h"
#include "insight/diagnosis.h"
#include "insight/load.h"
#include "insight/matrix.h"
#include "insight/summary.h"
#include "insight/timeline.h"

namespace heddle::insight {
namespace {

constexpr uint32_t kProcesses = 3;

// Takes bytes from the front; returns zeros after the end.
class Bytes {
 public:
  explicit Bytes(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  bool empty() const { return bytes_.empty(); }
  template <typename Value>
  void take(Value& value) {
    const size_t count = std::min(bytes_.size(), sizeof value);
    if (count > 0) std::memcpy(static_cast<void*>(&value), bytes_.data(), count);
    bytes_ = bytes_.subspan(count);
  }

 private:
  std::span<const uint8_t> bytes_;
};

template <size_t... kIndices>
events::AnyEvent event_of_kind(size_t kind, std::index_sequence<kIndices...>) {
  events::AnyEvent event;
  static_cast<void>(((kind == kIndices && (event.emplace<kIndices>(), true)) || ...));
  return event;
}

// Most numbers are small, so that events refer to the same objects.
template <typename Value>
void fill(Bytes& bytes, Value& value) {
  if constexpr (std::is_same_v<Value, bool>) {
    uint8_t byte = 0;
    bytes.take(byte);
    value = byte % 2 == 1;
  } else if constexpr (std::is_same_v<Value, events::Text> || std::is_enum_v<Value>) {
    uint8_t byte = 0;
    bytes.take(byte);
    std::memcpy(static_cast<void*>(&value), &byte, 1);
  } else {
    uint8_t small = 0;
    bytes.take(small);
    if (small == UINT8_MAX) {
      bytes.take(value);
    } else {
      value = Value{small};
    }
  }
}

events::AnyEvent take_event(Bytes& bytes) {
  uint8_t kind = 0;
  bytes.take(kind);
  events::AnyEvent event = event_of_kind(kind % events::kEventKindCount,
                                         std::make_index_sequence<events::kEventKindCount>());
  std::visit(
      [&bytes](auto& each) {
        fill(bytes, each.time);
        fill_fields(each, [&bytes](auto& value) { fill(bytes, value); });
      },
      event);
  return event;
}

void check_matrices(const Traffic& traffic) {
  for (const MatrixRows rows : {MatrixRows::kRank, MatrixRows::kHost, MatrixRows::kNic}) {
    const Matrix whole = make_matrix(traffic, rows);
    for (const auto& [pair, cell] : whole.cells) {
      CHECK(pair.first < whole.parties.size() && pair.second < whole.parties.size());
    }
    Cell all = whole.total();
    all += whole.own;
    for (const MatrixParts parts : {MatrixParts::kCommunicator, MatrixParts::kPhase}) {
      Cell sum;
      for (const MatrixPart& part : matrix_parts(traffic, rows, parts)) {
        sum += part.matrix.total();
        sum += part.matrix.own;
      }
      CHECK(sum == all);
    }
    for (const MatrixParts parts :
         {MatrixParts::kOperation, MatrixParts::kAlgorithm, MatrixParts::kPath}) {
      matrix_parts(traffic, rows, parts);
    }
  }
}

void check_diagnosis(const Diagnosis& diagnosis) {
  for (const Verdict& verdict : diagnosis.verdicts) {
    const auto range = confidence_range(verdict.what, verdict.place.kind);
    CHECK(range && verdict.confidence >= range->least && verdict.confidence <= range->most);
  }
  for (const auto& verdicts : {diagnosis.verdicts, diagnosis.notes}) {
    for (const Verdict& verdict : verdicts) {
      CHECK(verdict.confidence >= 0 && verdict.confidence <= 1);
      CHECK(!place_text(diagnosis, verdict.place).empty());
    }
  }
}

}  // namespace
}  // namespace heddle::insight

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace heddle::insight;
  TrafficBuilder traffic;
  SummaryBuilder summary;
  ClockBuilder clocks;
  LoadBuilder load({.most_columns = 1000});
  DiagnosisBuilder diagnosis;
  TimelineBuilder timeline([](const Moment& moment) { CHECK(moment.begin_ns <= moment.end_ns); });
  for (uint32_t i = 0; i < kProcesses; ++i) {
    const Identity identity = {{"host", "h"}, {"rank", std::to_string(i)}};
    traffic.add_process(identity);
    summary.add_process(identity);
    timeline.add_process([](int64_t ns) { return ns; });
    clocks.add_process({{"host", std::to_string(i)}}, i);
    load.add_process(identity);
    diagnosis.add_process(identity, {.closed = i == 0, .complete = true});
  }
  Bytes bytes({data, size});
  while (!bytes.empty()) {
    uint8_t process = 0;
    bytes.take(process);
    process %= kProcesses;
    const heddle::events::AnyEvent event = take_event(bytes);
    traffic.add(process, event);
    summary.add(process, event);
    timeline.add(process, event);
    clocks.add(process, event);
    const int64_t at = std::visit([](const auto& e) { return e.time.count; }, event);
    load.add(process, event, process, at);
    diagnosis.add(process, event, at);
  }
  timeline.finish();
  check_diagnosis(diagnosis.finish());
  for (const NicLoad& nic : load.finish().nics) {
    for (const auto& columns : nic.columns) CHECK(columns.size() <= 1000);
  }
  const Traffic made = traffic.finish();
  check_matrices(made);
  const Summary told = summary.finish();
  for (const ProcessSummary& each : told.processes) CHECK(each.hidden().count >= 0);
  findings_of(told, made);
  for (const Clock& clock : clocks.finish().clocks) {
    CHECK(clock.error_ns >= -1);
    static_cast<void>(clock.to_job(INT64_MIN) + 0 * clock.drift_ppm());
  }
  return 0;
}
