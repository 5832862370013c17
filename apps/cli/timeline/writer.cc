// See writer.h. In a trace a rank is a process; its phases, waits, messages and recovery are a
// thread each, and so is each row of calls.
#include "apps/cli/timeline/writer.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "apps/cli/json.h"
#include "apps/cli/matrix/show.h"

namespace heddle::cli {
namespace {

using insight::Moment;
using insight::MomentKind;
using insight::Party;

constexpr std::array kKinds = {"call",     "wait",   "phase", "message", "recovery",
                               "transfer", "kernel", "host",  "node"};
// Threads in the order in which they are shown; calls come last, since their number of rows varies.
constexpr std::array kThreads = {4, 1, 0, 2, 3, 0, 0, 0, 0};
constexpr std::array kThreadNames = {"phases", "caller waits", "messages", "recovery"};

std::string party_text(const Party& party) {
  return party.rank >= 0 ? fmt::format("rank {} on {}", party.rank, party.host) : party.name;
}

class TraceWriter final : public TimelineWriter {
 public:
  explicit TraceWriter(Out out) : out_(std::move(out)) {}

  void begin(const std::vector<Party>& parties) override {
    out_("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
    for (uint32_t i = 0; i < parties.size(); ++i) {
      name("process_name", i, 0, party_text(parties[i]));
      put({{"name", "process_sort_index"},
           {"ph", "M"},
           {"pid", i},
           {"args", {{"sort_index", parties[i].rank >= 0 ? parties[i].rank : 1'000'000 + i}}}});
      for (uint32_t thread = 0; thread < kThreadNames.size(); ++thread) {
        name("thread_name", i, thread, kThreadNames.at(thread));
      }
    }
    rows_.resize(parties.size());
  }

  void write(const Moment& moment, int64_t begin_ns, int64_t end_ns) override {
    const bool node = moment.kind == MomentKind::kNode;
    if (moment.kind >= MomentKind::kTransfer && !node) {
      return write_overlapping(moment, begin_ns, end_ns);
    }
    const bool call = moment.kind == MomentKind::kCall;
    const bool happens =
        node || moment.kind == MomentKind::kMessage || moment.kind == MomentKind::kRecovery;
    const auto thread = static_cast<uint32_t>(kThreads.at(static_cast<size_t>(moment.kind)));
    uint32_t row = thread;
    if (call) {
      row += moment.row;
      if (moment.row >= rows_[moment.process]) {
        rows_[moment.process] = moment.row + 1;
        name("thread_name", moment.process, row, fmt::format("calls {}", moment.row));
      }
    }
    Json event = {{"name", moment.name},
                  {"cat", kKinds.at(static_cast<size_t>(moment.kind))},
                  {"ph", happens ? "i" : "X"},
                  {"pid", moment.process},
                  {"tid", row},
                  {"ts", micros_of(begin_ns)}};
    if (happens) {
      event["s"] = node ? "p" : "t";
    } else {
      event["dur"] = micros_of(end_ns - begin_ns);
    }
    Json about = Json::object();
    if (call) {
      about = {{"bytes", moment.bytes},
               {"number", moment.number},
               {"algorithm", moment.algorithm},
               {"communicator", fmt::format("{:016x}", moment.communicator)}};
      if (!moment.ok) about["failed"] = true;
    } else if (moment.kind == MomentKind::kMessage) {
      about = {{"bytes", moment.bytes}};
    }
    if (!moment.ended) about["under_way_at_the_end"] = true;
    if (!about.empty()) event["args"] = std::move(about);
    put(event);
  }

  void end() override { out_("\n]}\n"); }

 private:
  static double micros_of(int64_t nanos) { return static_cast<double>(nanos) / 1000; }

  // Transfers, kernels and host work of NCCL overlap: each is an asynchronous event of its own.
  void write_overlapping(const Moment& moment, int64_t begin_ns, int64_t end_ns) {
    Json event = {
        {"name", moment.name},
        {"cat", kKinds.at(static_cast<size_t>(moment.kind))},
        {"ph", "b"},
        {"id", ++overlapping_},
        {"pid", moment.process},
        {"tid", 0},
        {"ts", micros_of(begin_ns)},
        {"args",
         {{"bytes", moment.bytes}, {"communicator", fmt::format("{:016x}", moment.communicator)}}}};
    if (!moment.detail.empty()) event["args"]["waits"] = moment.detail;
    put(event);
    event["ph"] = "e";
    event["ts"] = micros_of(end_ns);
    event.erase("args");
    put(event);
  }

  void name(const char* what, uint32_t process, uint32_t thread, const std::string& text) {
    put({{"name", what},
         {"ph", "M"},
         {"pid", process},
         {"tid", thread},
         {"args", {{"name", text}}}});
  }

  void put(const Json& event) {
    out_((first_ ? "" : ",\n") + event.dump(-1, ' ', false, Json::error_handler_t::replace));
    first_ = false;
  }

  Out out_;
  std::vector<uint32_t> rows_;  // of calls, by process
  uint64_t overlapping_ = 0;
  bool first_ = true;
};

class CsvWriter final : public TimelineWriter {
 public:
  explicit CsvWriter(Out out) : out_(std::move(out)) {}

  void begin(const std::vector<Party>& parties) override {
    for (const Party& party : parties) names_.push_back(csv_field(party.name));
    out_("process,kind,name,begin_ns,end_ns,bytes,number,algorithm\n");
  }
  void write(const Moment& moment, int64_t begin_ns, int64_t end_ns) override {
    const bool call = moment.kind == MomentKind::kCall;
    out_(fmt::format("{},{},{},{},{},{},{},{}\n", names_[moment.process],
                     kKinds.at(static_cast<size_t>(moment.kind)), csv_field(moment.name), begin_ns,
                     end_ns, moment.bytes, call ? std::to_string(moment.number) : "",
                     moment.algorithm));
  }
  void end() override {}

 private:
  Out out_;
  std::vector<std::string> names_;
};

}  // namespace

const char* kind_name(MomentKind kind) { return kKinds.at(static_cast<size_t>(kind)); }

std::unique_ptr<TimelineWriter> make_trace_writer(TimelineWriter::Out out) {
  return std::make_unique<TraceWriter>(std::move(out));
}

std::unique_ptr<TimelineWriter> make_csv_writer(TimelineWriter::Out out) {
  return std::make_unique<CsvWriter>(std::move(out));
}

}  // namespace heddle::cli
