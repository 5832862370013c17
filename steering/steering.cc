// See steering.h.
#include "steering/steering.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"
#include "steering/params.h"

namespace heddle::steering {
namespace {

using insight::PlaceKind;
using launch::CommandResult;

template <typename Value>
bool is_one_of(const std::vector<Value>& values, Value value) {
  return values.empty() || std::find(values.begin(), values.end(), value) != values.end();
}

// Exit statuses of a test that ran: 0 and 1. Others are of programs that are missing, of wrong
// command lines, and of signals.
bool has_run(const CommandResult& result) { return !result.timed_out && result.exit_status <= 1; }

std::string end_text(const CommandResult& result, Nanos limit) {
  std::string text = result.timed_out ? fmt::format("it took longer than {} s", limit / seconds(1))
                                      : fmt::format("it ended with {}", result.exit_status);
  if (!result.last_error.empty()) text += ": " + result.last_error.substr(0, 200);
  return text;
}

std::pair<std::string, std::string> key_of(const Decision& decision) {
  return {decision.target, decision.effect};
}

}  // namespace

Steering::Steering(Policy policy, JobName job, bool act)
    : policy_(std::move(policy)), job_(std::move(job)), act_(act), history_(policy_.limits) {}

std::vector<Decision> Steering::look(const Look& look) {
  see(look);
  std::vector<Decision> decisions;
  release();
  undo(look, decisions);
  for (const monitor::Alarm& alarm : look.lasting) {
    if (task_) break;
    const std::optional<size_t> rule = rule_for(alarm, look);
    if (!rule) continue;
    const Case& dealt = cases_[{alarm.number, *rule}];
    if (dealt.settled || look.at_ns < dealt.wait_until_ns) continue;
    if (auto decision = consider(alarm, *rule, look)) decisions.push_back(std::move(*decision));
  }
  return decisions;
}

void Steering::see(const Look& look) {
  std::map<uint64_t, Nanos> seen;
  for (const monitor::Alarm& alarm : look.lasting) {
    const auto before = lasting_.find(alarm.number);
    seen[alarm.number] = before == lasting_.end() ? look.now : before->second;
  }
  lasting_ = std::move(seen);
}

// By this machine's clock: times of recordings are those of other machines.
int64_t Steering::lasted_ns(const monitor::Alarm& alarm, const Look& look) const {
  return (look.now - lasting_.at(alarm.number)).count;
}

// Jobs in folders of the same name are not the same.
std::string Steering::job_id(const Look& look) const {
  return job_.folder + "@" + time_text(look.began_ns);
}

// The first whose conditions all hold.
std::optional<size_t> Steering::rule_for(const monitor::Alarm& alarm, const Look& look) const {
  for (size_t i = 0; i < policy_.rules.size(); ++i) {
    const Rule& rule = policy_.rules[i];
    if (is_one_of(rule.classes, alarm.verdict.what) &&
        is_one_of(rule.places, alarm.verdict.place.kind) &&
        alarm.verdict.confidence >= rule.confidence &&
        lasted_ns(alarm, look) >= rule.persists.count) {
      return i;
    }
  }
  return std::nullopt;
}

// Alarms that are over hold nothing, and their numbers do not come again.
void Steering::release() {
  std::erase_if(cases_, [this](const auto& each) { return !lasting_.contains(each.first.first); });
  for (auto& [key, hold] : holds_) {
    std::erase_if(hold.owners, [this](uint64_t alarm) { return !lasting_.contains(alarm); });
  }
  std::erase_if(holds_, [this](const auto& each) {
    return each.second.owners.empty() && !policy_.rules[each.second.rule].action.undo;
  });
}

void Steering::undo(const Look& look, std::vector<Decision>& decisions) {
  for (auto each = holds_.begin(); each != holds_.end() && !task_;) {
    Hold& hold = each->second;
    if (!hold.owners.empty() || look.at_ns < hold.wait_until_ns) {
      ++each;
      continue;
    }
    const Rule& rule = policy_.rules[hold.rule];
    Decision base = hold.base;
    base.undo = true;
    base.at_ns = look.at_ns;
    base.lasted_ns = (look.now - hold.seen).count;
    base.command = command_of(rule, hold.alarm, hold.hosts, true, look.at_ns)
                       .value_or(std::vector<std::string>{});
    if (act_) {
      task_ = Task{hold.rule, hold.alarm, base, {}, question_of(rule, hold.hosts), base.command};
      task_hosts_ = hold.hosts;
      return;
    }
    base.outcome = Outcome::kWouldRun;
    history_.add(base);
    decisions.push_back(std::move(base));
    each = holds_.erase(each);
  }
}

std::string Steering::host_name(const std::string& recorded) const {
  const std::string name =
      policy_.short_host_names ? recorded.substr(0, recorded.find('.')) : recorded;
  return is_host_name(name) ? name : "";
}

// A peer is the first allowed host, by name, that no fault is about.
PlaceHosts Steering::hosts_of(const monitor::Alarm& alarm, const Look& look) const {
  PlaceHosts hosts;
  const insight::Place& place = alarm.verdict.place;
  if (place.kind == PlaceKind::kLink && alarm.hosts.size() == 2) {
    hosts.from = host_name(alarm.hosts[0]);
    hosts.to = host_name(alarm.hosts[1]);
  }
  hosts.host = host_name(place.host);
  std::set<std::string> healthy;
  for (const std::string& each : look.hosts) healthy.insert(host_name(each));
  healthy.erase("");
  for (const monitor::Alarm& other : look.lasting) {
    healthy.erase(host_name(other.verdict.place.host));
    for (const std::string& each : other.hosts) healthy.erase(host_name(each));
  }
  std::erase_if(healthy,
                [this](const std::string& each) { return !is_allowed(each, policy_.hosts); });
  if (!healthy.empty()) hosts.peer = *healthy.begin();
  return hosts;
}

Decision Steering::base_of(const monitor::Alarm& alarm, size_t rule, const Look& look) const {
  Decision base;
  base.at_ns = look.at_ns;
  base.job = job_.name;
  base.job_id = job_id(look);
  base.alarm = alarm.number;
  base.fault = name_of(alarm.verdict.what);
  base.place_text = alarm.place;
  base.confidence = alarm.verdict.confidence;
  base.lasted_ns = lasted_ns(alarm, look);
  base.rule = policy_.rules[rule].name;
  base.action = name_of(policy_.rules[rule].action.kind);
  base.effect = effect_of(policy_.rules[rule], alarm);
  base.dry = !act_;
  return base;
}

// Logged once for each reason: for an alarm, and for a target in a while, since a recording can
// hold any number of alarms.
std::optional<Decision> Steering::refuse(Case& dealt, Decision base, Outcome outcome,
                                         std::string why) {
  if (dealt.refusal == why) return std::nullopt;
  dealt.refusal = why;
  const Nanos pause = std::max(policy_.limits.host_pause, params::kRefusalPause);
  std::erase_if(refusals_,
                [&](const auto& each) { return base.at_ns - each.second >= pause.count; });
  if (refusals_.size() >= params::kMostRefusals) return std::nullopt;
  if (!refusals_.try_emplace({base.rule, base.target, why}, base.at_ns).second) {
    return std::nullopt;
  }
  base.outcome = outcome;
  base.why = std::move(why);
  return base;
}

void Steering::hold(const Decision& base, const monitor::Alarm& alarm, size_t rule,
                    const PlaceHosts& hosts) {
  Hold& held = holds_[key_of(base)];
  if (held.owners.empty()) {
    held.rule = rule;
    held.alarm = alarm;
    held.base = base;
    held.hosts = hosts;
    held.wait_until_ns = 0;
    held.seen = lasting_.contains(alarm.number) ? lasting_.at(alarm.number) : Nanos{};
  }
  held.owners.insert(alarm.number);
}

std::optional<Decision> Steering::consider(const monitor::Alarm& alarm, size_t rule,
                                           const Look& look) {
  const Rule& wanted = policy_.rules[rule];
  Case& dealt = cases_[{alarm.number, rule}];
  const PlaceHosts hosts = hosts_of(alarm, look);
  const PlaceKind place = alarm.verdict.place.kind;
  const bool is_link = place == PlaceKind::kLink;
  Decision base = base_of(alarm, rule, look);
  base.target = is_link           ? hosts.from + ">" + hosts.to
                : has_host(place) ? hosts.host
                                  : "job " + base.job_id;
  if (is_link ? hosts.from.empty() || hosts.to.empty() : base.target.empty()) {
    dealt.settled = true;
    base.target = "unknown";
    return refuse(dealt, base, Outcome::kRefused, "the recording has no valid name of the host");
  }
  for (const std::string& each : {hosts.host, hosts.from, hosts.to}) {
    if (each.empty() || is_allowed(each, policy_.hosts)) continue;
    dealt.settled = true;
    return refuse(dealt, base, Outcome::kRefused,
                  fmt::format("the policy's 'hosts' do not name {}", each));
  }
  const std::optional<History::DoneFor> done_for = history_.done_for(base);
  if (holds_.contains(key_of(base)) || (done_for && done_for->own)) {
    dealt.wait_until_ns = look.at_ns + policy_.limits.host_pause.count;
    hold(base, alarm, rule, hosts);
    return refuse(dealt, base, Outcome::kAlready, "it is in effect at " + base.target);
  }
  if (done_for) {  // and that job's monitor may undo it
    return refuse(dealt, base, Outcome::kAlready,
                  fmt::format("it is in effect at {}, for job {}", base.target, done_for->job));
  }
  if (std::string why = history_.refuse(base); !why.empty()) {
    base.by_limit = true;
    return refuse(dealt, base, Outcome::kRefused, std::move(why));
  }
  const auto command = command_of(wanted, alarm, hosts, false, look.at_ns);
  const auto test = fill(wanted.confirm, hosts);
  if (!command || !test) {
    return refuse(dealt, base, Outcome::kNotTested,
                  "the job has no other host without a fault, for {peer}");
  }
  base.command = *command;
  if (act_) {
    task_ = Task{rule, alarm, base, *test, question_of(wanted, hosts), *command};
    task_hosts_ = hosts;
    return std::nullopt;
  }
  base.outcome = Outcome::kWouldRun;
  if (!wanted.confirm.empty()) base.why = "if the test confirms it";
  history_.add(base);
  hold(base, alarm, rule, hosts);
  dealt.settled = true;
  return base;
}

Decision Steering::made(Outcome outcome, std::string why, int64_t at_ns) const {
  Decision decision = task_->base;
  decision.at_ns = at_ns;
  decision.outcome = outcome;
  decision.why = printable(std::move(why));
  return decision;
}

// With the consequences that every end has for what comes next.
Decision Steering::end_task(Outcome outcome, std::string why, int64_t at_ns, bool objected) {
  Decision decision = made(outcome, std::move(why), at_ns);
  decision.test = std::exchange(task_->test_result, std::nullopt);
  history_.add(decision);
  const int64_t again_ns = at_ns + policy_.limits.retry.count;
  if (decision.undo) {
    const auto held = holds_.find(key_of(decision));
    if (held != holds_.end() && outcome != Outcome::kDone && !objected) {
      held->second.wait_until_ns = again_ns;
    } else if (held != holds_.end()) {
      holds_.erase(held);
    }
  } else {
    Case& dealt = cases_[{task_->alarm.number, task_->rule}];
    dealt.settled = outcome == Outcome::kDone;
    dealt.wait_until_ns = outcome == Outcome::kOver ? 0 : again_ns;
    if (outcome == Outcome::kAlready) {
      dealt.wait_until_ns = std::max(again_ns, at_ns + policy_.limits.host_pause.count);
    }
    if (outcome == Outcome::kDone) hold(task_->base, task_->alarm, task_->rule, task_hosts_);
  }
  task_.reset();
  return decision;
}

Decision Steering::testing(int64_t at_ns) {
  task_->testing = true;
  Decision decision = made(Outcome::kTesting, "", at_ns);
  decision.command = task_->test;
  return decision;
}

std::optional<Decision> Steering::tested(const CommandResult& result, int64_t at_ns) {
  const Rule& rule = policy_.rules[task_->rule];
  const bool confirmed = !result.timed_out && result.exit_status == rule.confirm_status;
  task_->testing = false;
  task_->test_result = confirmed         ? TestResult::kConfirmed
                       : has_run(result) ? TestResult::kNotConfirmed
                                         : TestResult::kNotTested;
  if (confirmed) return std::nullopt;
  return end_task(has_run(result) ? Outcome::kNotConfirmed : Outcome::kNotTested,
                  end_text(result, policy_.limits.command_time), at_ns);
}

std::optional<Decision> Steering::asked(const CommandResult& result, int64_t at_ns) {
  if (result.timed_out || result.exit_status != 0) {
    return end_task(
        Outcome::kNotTested,
        "the scheduler does not answer: " + end_text(result, policy_.limits.command_time), at_ns);
  }
  const auto objection =
      objection_of(policy_.rules[task_->rule], task_hosts_, task_->base.undo, result.output);
  if (!objection) return std::nullopt;
  return end_task(objection->already ? Outcome::kAlready : Outcome::kRefused, objection->why, at_ns,
                  true);
}

Decision Steering::start(int64_t at_ns) {
  if (!task_->base.undo) {
    if (!lasting_.contains(task_->alarm.number)) return end_task(Outcome::kOver, "", at_ns);
    const Decision wanted = made(Outcome::kStarted, "", at_ns);
    if (std::string why = history_.refuse(wanted); !why.empty()) {
      Decision refused = end_task(Outcome::kRefused, std::move(why), at_ns);
      refused.by_limit = true;
      return refused;
    }
  }
  task_->started = true;
  Decision decision =
      made(Outcome::kStarted,
           task_->base.undo || task_->test.empty() ? "" : "the test confirmed it", at_ns);
  decision.test = std::exchange(task_->test_result, std::nullopt);
  history_.add(decision);
  return decision;
}

Decision Steering::ended(const CommandResult& result, int64_t at_ns) {
  const bool done = !result.timed_out && result.exit_status == 0;
  // What a command that was ended has done is unknown: it counts as done until it may be repeated.
  const Outcome outcome = result.timed_out ? Outcome::kInterrupted
                          : done           ? Outcome::kDone
                                           : Outcome::kFailed;
  return end_task(outcome, done ? "" : end_text(result, policy_.limits.command_time), at_ns);
}

Decision Steering::drop(Outcome outcome, std::string why, int64_t at_ns) {
  if (task_->testing && outcome != Outcome::kRefused) task_->test_result = TestResult::kNotTested;
  return end_task(outcome, std::move(why), at_ns);
}

}  // namespace heddle::steering
