// See export.h.
#include "recordings/export.h"

#include <array>
#include <utility>

#include "base/interrupt.h"

namespace heddle::recordings {
namespace {

using Table = ClickHouse::Table;
using insight::Moment;

// By insight::MomentKind.
constexpr std::array kKinds = {"call",     "wait",   "phase", "message", "recovery",
                               "transfer", "kernel", "host",  "node"};

}  // namespace

Result<std::unique_ptr<Export>> Export::to(const ExportOptions& options) {
  const auto server = HttpPost::to(options.url, options.credentials);
  if (!server) return fail(server.error());
  return std::unique_ptr<Export>(new Export(*server, options));
}

Export::Export(const HttpPost& server, const ExportOptions& options)
    : job_(options.job),
      replace_(options.replace),
      address_(server.shown()),
      server_(server, options.database, options.job) {}

Result<void> Export::send(const std::vector<std::string>& files) {
  if (Result<void> begun = server_.begin(replace_); !begun) return begun;
  const Alignment alignment = alignment_of(files);
  warning_ = alignment.warning;
  for (const std::string& file : files) {
    if (Result<void> sent = read_file(file, alignment); !sent) return sent;
  }
  timeline_.finish();
  if (Result<void> sent = add_processes(); !sent) return sent;
  if (Result<void> sent = add_flows(); !sent) return sent;
  return error_ ? fail(*error_) : server_.finish();
}

Result<void> Export::read_file(const std::string& file, const Alignment& alignment) {
  auto reader = events::RecordingReader::open(file);
  if (!reader) {
    unreadable_.push_back(reader.error());
    whole_ = false;
    return {};
  }
  insight::Clock own;
  own.offset_from_ns = own.offset_to_ns = reader->facts().first_offset_ns;
  own.error_ns = -1;
  const insight::Clock* const known = alignment.clock(file);
  clocks_.push_back(known == nullptr ? own : *known);
  const insight::Clock clock = clocks_.back();
  const uint32_t process = summary_.add_process(reader->facts().identity);
  traffic_.add_process(reader->facts().identity);
  timeline_.add_process([clock](int64_t ns) { return clock.to_job(ns); });
  events::RecordedEvent recorded;
  while (!error_ && reader->next(recorded)) {
    summary_.add(process, recorded.event);
    traffic_.add(process, recorded.event, recorded.writer);
    timeline_.add(process, recorded.event);
  }
  facts_.push_back(reader->facts());
  whole_ = whole_ && reader->sound();
  if (interrupted() != 0) {
    return fail(ErrorCode::kCancelled, "nothing was exported", "it was interrupted", "start again");
  }
  return error_ ? fail(*error_) : Result<void>();
}

void Export::add_moment(const Moment& moment) {
  if (error_) return;
  ++moments_;
  Row row;
  row << job_ << moment.process << kKinds.at(static_cast<size_t>(moment.kind)) << moment.name
      << moment.begin_ns << moment.end_ns << moment.bytes << moment.communicator << moment.number
      << moment.algorithm << moment.ok << moment.ended;
  Result<void> sent = server_.add(Table::kMoments, row);
  if (!sent) error_ = sent.error();
}

Result<void> Export::add_processes() {
  const insight::Summary summary = summary_.finish();
  for (uint32_t i = 0; i < summary.processes.size(); ++i) {
    const insight::ProcessSummary& process = summary.processes[i];
    Row row;
    row << job_ << i << process.party.rank << process.party.name << process.party.host
        << insight::value_of(facts_[i].identity, "command") << process.events
        << facts_[i].dropped_events << clocks_[i].to_job(process.first.count)
        << clocks_[i].to_job(process.last.count) << clocks_[i].error_ns << process.calls
        << process.calls_failed << process.communicating.count << process.exposed.count
        << process.segments_lost << facts_[i].closed;
    if (Result<void> sent = server_.add(Table::kProcesses, row); !sent) return sent;
  }
  return {};
}

Result<void> Export::add_flows() {
  const insight::Traffic traffic = traffic_.finish();
  for (const insight::Flow& flow : traffic.flows) {
    const insight::Party& from = traffic.parties[flow.from];
    const insight::Party& to = traffic.parties[flow.to];
    const insight::Purpose& purpose = traffic.purposes[flow.purpose];
    const insight::Cell& cell = flow.cell;
    const bool any_path = flow.path == insight::kAnyPath;
    Row row;
    row << job_ << from.rank << to.rank << from.name << to.name << from.host << to.host
        << traffic.nics[flow.from_nic] << traffic.nics[flow.to_nic]
        << (purpose.operation ? std::string(name_of(*purpose.operation)) : "")
        << (purpose.algorithm ? std::string(name_of(*purpose.algorithm)) : "")
        << purpose.communicator << purpose.phase << (any_path ? int64_t{-1} : int64_t{flow.path})
        << purpose.own << cell.bytes << cell.messages << cell.nanos << cell.sent_bytes
        << cell.wire_bytes << cell.packets << cell.expected_bytes;
    if (Result<void> sent = server_.add(Table::kFlows, row); !sent) return sent;
  }
  return {};
}

}  // namespace heddle::recordings
