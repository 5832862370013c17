// See plan_delivery.h.
#include "apps/cli/monitor/plan_delivery.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include "apps/cli/monitor/params.h"
#include "apps/cli/monitor/planned_file.h"
#include "base/clocks.h"
#include "base/document.h"
#include "launch/remote_stream.h"
#include "monitor/params.h"

namespace heddle::cli {
namespace {

constexpr const char* kTodo = "give the plan's file with --plan";

// Changes with the file. Empty: it cannot be looked at.
std::string mark_of(const std::string& file) {
  struct stat about {};
  if (stat(file.c_str(), &about) != 0) return {};
  return fmt::format("{}:{}:{}:{}.{}:{}.{}", about.st_dev, about.st_ino, about.st_size,
                     about.st_mtim.tv_sec, about.st_mtim.tv_nsec, about.st_ctim.tv_sec,
                     about.st_ctim.tv_nsec);
}

}  // namespace

struct PlanDelivery::Machine {
  std::string host;
  uint64_t has = 0;        // the plan's number
  uint64_t delivered = 0;  // that is being delivered
  std::optional<launch::RemoteStream> stream;
  std::string output;
  std::string complaint;  // that was reported last; empty: none since it has a plan
  Nanos started_at;
  Nanos retry_at;
  Nanos retry_wait = monitor::params::kFirstRetry;
};

bool PlanDelivery::is_silent(const Machine& machine, Nanos now) {
  return now - machine.started_at >= monitor::params::kSilentStream;
}

PlanDelivery::PlanDelivery(PlanDeliveryOptions options) : options_(std::move(options)) {
  for (const launch::RemoteHost& each : options_.hosts) {
    machines_.push_back(std::make_unique<Machine>());
    machines_.back()->host = each.name;
  }
}

Result<std::unique_ptr<PlanDelivery>> PlanDelivery::make(PlanDeliveryOptions options) {
  std::unique_ptr<PlanDelivery> made(new PlanDelivery(std::move(options)));
  if (Result<void> read = made->read(); !read) return fail(std::move(read).error());
  return made;
}

PlanDelivery::~PlanDelivery() {
  for (const auto& machine : machines_) {
    if (machine->stream) machine->stream->stop();  // all at once: each may take its time to end
  }
}

Result<void> PlanDelivery::read() {
  mark_ = mark_of(options_.file);
  Result<std::string> text = read_text_file(options_.file, kTodo);
  if (!text) return fail(std::move(text).error());
  if (number_ > 0 && *text == text_) return {};
  if (Result<void> good = check_plan(*text, options_.file); !good) {
    return fail(std::move(good).error());
  }
  text_ = std::move(*text);
  ++number_;
  read_at_ = wall_now();
  flows_ = Json::parse(text_, nullptr, false).value("flows", Json::array()).size();
  changed_ = true;
  for (const auto& machine : machines_) machine->retry_at = {};
  return {};
}

void PlanDelivery::look(Nanos now) {
  if (now < look_at_) return;
  look_at_ = now + params::monitor::kLookEvery;
  if (mark_of(options_.file) == mark_) return;
  const Result<void> got = read();
  const std::string complaint = got ? "" : got.error().message();
  if (!complaint.empty() && complaint != complaint_) {
    options_.warned(complaint + "; the plan from before stays in force");
  }
  changed_ = changed_ || complaint != complaint_;
  complaint_ = complaint;
}

void PlanDelivery::show_changes(const std::function<void(Json state)>& show) {
  if (std::exchange(changed_, false)) show(state());
}

Json PlanDelivery::state() const {
  Json machines = Json::array();
  for (const auto& each : machines_) {
    machines.push_back({{"host", each->host},
                        {"has", each->has == 0 ? Json() : Json(each->has)},
                        {"complaint", each->complaint}});
  }
  return {{"file", options_.file},
          {"target", options_.target},
          {"number", number_},
          {"read_realtime_ns", read_at_.count},
          {"flows", flows_},
          {"complaint", complaint_},
          {"machines", std::move(machines)}};
}

void PlanDelivery::poll(Nanos now) {
  look(now);
  // All at once: each may take its time to end.
  for (const auto& machine : machines_) {
    if (machine->stream && is_silent(*machine, now)) machine->stream->stop();
  }
  for (const auto& machine : machines_) poll(now, *machine);
}

void PlanDelivery::poll(Nanos now, Machine& machine) {
  if (!machine.stream) {
    const size_t most = std::clamp<size_t>(params::monitor::kMostBytesAtOnce / text_.size(), 1,
                                           params::monitor::kMostAtOnce);
    const bool due = machine.has != number_ && now >= machine.retry_at && running_ < most;
    if (due) start(now, machine);
    return;
  }
  std::array<char, 4096> piece{};
  for (;;) {
    const ssize_t got = ::read(machine.stream->descriptor(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) break;
    if (got <= 0) {
      const bool taken = machine.output == kPlanTaken;
      const std::string said = machine.stream->complaint();
      return finish(now, machine, taken ? "" : said.empty() ? "its agent has ended" : said);
    }
    const size_t kept = std::min(static_cast<size_t>(got), piece.size() - machine.output.size());
    machine.output.append(piece.data(), kept);
  }
  if (!is_silent(machine, now)) return;
  finish(now, machine,
         fmt::format("no answer for {} s", monitor::params::kSilentStream / seconds(1)));
}

void PlanDelivery::start(Nanos now, Machine& machine) {
  launch::RemoteCommand command;
  command.words = {"heddle", "agent", "plan", options_.target};
  command.input = text_;
  machine.delivered = number_;
  machine.output.clear();
  machine.started_at = now;
  ++running_;
  Result<launch::RemoteStream> stream =
      launch::RemoteStream::start(options_.shell, machine.host, command);
  if (!stream) return finish(now, machine, stream.error().message());
  machine.stream.emplace(std::move(*stream));
}

// `why`: it has not taken the plan; empty: it has.
void PlanDelivery::finish(Nanos now, Machine& machine, const std::string& why) {
  --running_;
  changed_ = true;
  machine.stream.reset();
  if (!why.empty()) {
    if (why != machine.complaint) {
      options_.warned(
          fmt::format("{} has not taken the plan {}: {}", machine.host, options_.file, why));
    }
    machine.complaint = why;
    machine.retry_at = now + machine.retry_wait;
    machine.retry_wait = std::min(machine.retry_wait * 2, monitor::params::kLongestRetry);
    return;
  }
  machine.complaint.clear();
  machine.retry_wait = monitor::params::kFirstRetry;
  machine.has = machine.delivered;
  const auto has = [this](const auto& each) { return each->has == number_; };
  if (machine.has != number_ || !std::all_of(machines_.begin(), machines_.end(), has)) return;
  options_.noted(fmt::format("plan {}: it is on {} of {} machines", options_.file, machines_.size(),
                             machines_.size()));
}

}  // namespace heddle::cli
