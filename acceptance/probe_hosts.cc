// See probe_hosts.h.
#include "acceptance/probe_hosts.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "acceptance/params.h"
#include "base/clocks.h"
#include "probing/documents.h"

namespace heddle::acceptance {
namespace {

Unexpected stopped() { return fail(ErrorCode::kCancelled, "stopped", "interrupted by a signal"); }

// An error of the host's own heddle ends with what to do, in brackets; then no more is said.
Unexpected no_part(const std::string& host, const std::string& why) {
  const bool advises = why.ends_with(')');
  return fail(
      ErrorCode::kUnavailable, "cannot probe from " + host, why,
      advises ? "" : "all hosts have to answer; leave this one out, or see `heddle doctor` on it");
}

// The document of an answer, behind what a shell's start-up files may write.
std::string last_line(const std::string& output) {
  const std::string text = output.substr(0, output.find_last_not_of('\n') + 1);
  const size_t line = text.rfind('\n');
  return line == std::string::npos ? text : text.substr(line + 1);
}

std::vector<std::string> hosts_of(const probing::Observations& all) {
  std::vector<std::string> hosts;
  for (const probing::ProbedNic& nic : all.nics) {
    if (std::find(hosts.begin(), hosts.end(), nic.host) == hosts.end()) hosts.push_back(nic.host);
  }
  return hosts;
}

// A bound of the time that a sender of these tasks takes.
Nanos sending_time(const std::vector<probing::Task>& tasks, uint32_t packets_per_s) {
  uint64_t packets = 0;
  uint64_t trains = 0;
  for (const probing::Task& task : tasks) {
    const bool is_trace = task.kind == probing::TaskKind::kTrace;
    trains += task.kind == probing::TaskKind::kTrain ? 1 : 0;
    packets += uint64_t{task.ports} * (is_trace ? 24 : task.count);
  }
  const auto of_packets = static_cast<int64_t>(packets * 1'000 / packets_per_s);
  return seconds(10) + millis(of_packets) + millis(200) * static_cast<int64_t>(trains);
}

std::vector<probing::Task> tasks_of(const std::string& host,
                                    const std::vector<probing::Task>& tasks,
                                    const probing::Observations& all) {
  std::vector<probing::Task> own;
  std::copy_if(tasks.begin(), tasks.end(), std::back_inserter(own),
               [&](const probing::Task& task) { return all.nics[task.from].host == host; });
  return own;
}

// From the first source port of the tasks to the last one.
void set_ports(const std::vector<probing::Task>& tasks, probing::RoundSpec& round) {
  uint32_t first = UINT16_MAX;
  uint32_t end = 0;
  for (const probing::Task& task : tasks) {
    first = std::min<uint32_t>(first, task.first_port);
    end = std::max<uint32_t>(end, task.first_port + task.ports);
  }
  round.first_port = static_cast<uint16_t>(first);
  round.ports = static_cast<uint16_t>(end - std::min(first, end));
}

}  // namespace

Result<std::vector<ProbeHosts::Part>> ProbeHosts::start_receivers(
    Commands& commands, const probing::RoundSpec& round,
    const std::vector<std::string>& hosts) const {
  std::vector<Part> parts;
  for (const std::string& host : hosts) {
    const auto id = commands.start(host, {"heddle", "agent", "probe-receive"},
                                   {.at = {}, .input = text_of(round)});
    if (!id) return fail(id.error());
    parts.push_back({host, *id});
  }
  const Nanos end = steady_now() + params::kFactsTime;
  for (const Part& part : parts) {
    const auto is_ready = [](std::string_view line) { return line == "ready"; };
    while (!commands.has_line(part.id, is_ready)) {
      if (options_.interrupted()) return stopped();
      if (!commands.is_running(part.id)) {
        return no_part(part.host, complaint_of(commands.result_of(part.id)));
      }
      if (steady_now() > end) return no_part(part.host, "no answer in time");
      usleep(2'000);
    }
  }
  return parts;
}

Nanos ProbeHosts::limit_of(const std::vector<probing::Task>& tasks) const {
  return sending_time(tasks, options_.packets_per_s) + fabric_.login_time() * 4;
}

// All receivers have started by then, and all senders have ended.
Nanos ProbeHosts::round_time(const std::vector<std::string>& hosts,
                             const std::vector<probing::Task>& tasks, bool in_turn,
                             const probing::Observations& all) const {
  Nanos sum;
  Nanos longest;
  for (const std::string& host : hosts) {
    const Nanos limit = limit_of(tasks_of(host, tasks, all));
    sum += limit;
    longest = std::max(longest, limit);
  }
  return params::kFactsTime * 2 + (in_turn ? sum : longest);
}

Result<void> ProbeHosts::run_senders(Commands& commands, const std::vector<Part>& senders,
                                     Nanos limit, probing::Observations& all) const {
  std::vector<Commands::Id> ids;
  for (const Part& part : senders) ids.push_back(part.id);
  commands.wait(ids, limit, [&] {
    usleep(2'000);
    return !options_.interrupted();
  });
  if (options_.interrupted()) return stopped();
  for (const Part& part : senders) {
    const CommandEnd end = commands.result_of(part.id);
    if (end.exit_status != 0) return no_part(part.host, complaint_of(end));
    if (auto added = probing::add_part(last_line(end.output), {part.host, true}, all); !added)
      return added;
  }
  return {};
}

Result<void> ProbeHosts::run(const std::vector<probing::Task>& tasks, bool in_turn,
                             probing::Observations& all) const {
  Commands commands(fabric_);
  probing::RoundSpec round{.run = options_.run, .port = options_.port, .nics = {}};
  set_ports(tasks, round);
  for (uint32_t i = 0; i < all.nics.size(); ++i) round.nics.push_back({i, all.nics[i].address});
  const std::vector<std::string> hosts = hosts_of(all);
  round.lasts = round_time(hosts, tasks, in_turn, all);
  const auto receivers = start_receivers(commands, round, hosts);
  if (!receivers) return fail(receivers.error());
  std::vector<Part> senders;
  for (const std::string& host : hosts) {
    const probing::SendSpec spec{round, options_.packets_per_s, tasks_of(host, tasks, all)};
    if (spec.tasks.empty()) continue;
    const auto id =
        commands.start(host, {"heddle", "agent", "probe-send"}, {.at = {}, .input = text_of(spec)});
    if (!id) return fail(id.error());
    senders.push_back({host, *id});
    if (!in_turn) continue;
    if (auto done = run_senders(commands, senders, limit_of(spec.tasks), all); !done) return done;
    senders.clear();
  }
  if (auto done = run_senders(commands, senders, round.lasts, all); !done) return done;
  std::vector<Commands::Id> ids;
  for (const Part& part : *receivers) {
    if (!commands.is_running(part.id)) {
      return no_part(part.host, complaint_of(commands.result_of(part.id)));
    }
    ids.push_back(part.id);
  }
  commands.end(ids);
  for (const Part& part : *receivers) {
    const CommandEnd end = commands.result_of(part.id);
    if (end.exit_status != 0) return no_part(part.host, complaint_of(end));
    if (auto added = probing::add_part(last_line(end.output), {part.host, false}, all); !added)
      return added;
  }
  return {};
}

}  // namespace heddle::acceptance
