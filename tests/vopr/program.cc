// The lifetime of a program: its notices and completions, and when it acts: see program.h. Its
// actions are in program_actions.cc.
#include "tests/vopr/program.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "transport/names.h"

namespace heddle::vopr {

using transport::Direction;
using transport::NoticeKind;
using transport::Payload;

namespace {

// The content of memory after a send has ended: a late read sends these bytes.
constexpr int kUsedAgain = 0x77;

constexpr uint64_t kFixedPercent = 8;  // of the sides of connections

}  // namespace

Program::Program(Machine& machine, simulator::Network& network, uint32_t host, Stage& stage)
    : machine_(machine),
      network_(network),
      host_(host),
      stage_(stage),
      random_(stage.options.seed * 64 + host),
      fixed_(~stage.options.seed * 64 + host) {
  machine.set_caller(this);
}

void Program::on_crash() {
  stage_.ledger.on_crash(host_, machine_.life());
  sides_.clear();
  ended_.clear();
  wanted_.clear();
}

void Program::connect(uint32_t peer) {
  transport::ConnectionOptions options;
  options.paths = machine_.host_options().connect_paths;
  if (random_.below(4) == 0) {
    const auto names = transport::controller_names();
    options.congestion = names[random_.below(names.size())];
  }
  const Result<transport::ConnectionId> id =
      machine_.endpoint().post_connect(machine_.now(), stage_.addresses[peer], options);
  if (!id) {
    stage_.reached.add(id.error().code);
    if (id.error().code != ErrorCode::kExhausted) {
      stage_.report.fail("connect failed: " + id.error().message());
    }
    return;
  }
  sides_.push_back(&stage_.ledger.on_connect(host_, machine_.life(), peer, *id));
  sides_.back()->wire_id = machine_.endpoint().wire_id(*id);
}

void Program::handle_notice(const transport::Notice& notice) {
  Side* side = stage_.ledger.on_notice(host_, machine_.life(), notice);
  if (side == nullptr) return;
  if (notice.kind == NoticeKind::kAccepted) {
    sides_.push_back(side);
    side->wire_id = machine_.endpoint().wire_id(notice.connection);
  }
  if (notice.kind != NoticeKind::kClosed) {
    fix_a_path(notice.connection);
    return;
  }
  stage_.reached.add(notice.error.code);
  std::erase(sides_, side);
  ended_.push_back(side);
  const bool again =
      stage_.phase == Phase::kFaults && side->peer_host < stage_.options.hosts.size();
  if (again && stage_.reconnects_left > 0) {
    --stage_.reconnects_left;
    wanted_.push_back(side->peer_host);
  }
}

// Sometimes restricts payload to one path, as a plan might.
void Program::fix_a_path(transport::ConnectionId connection) {
  const auto* statistics = machine_.endpoint().statistics(connection);
  if (statistics == nullptr || fixed_.below(100) >= kFixedPercent) return;
  if (statistics->paths == 0) return;  // it has ended before it was open
  const std::array<uint16_t, 1> path{static_cast<uint16_t>(fixed_.below(statistics->paths))};
  const Result<void> posted = machine_.endpoint().post_paths(machine_.now(), connection, path);
  if (!posted) stage_.reached.add(posted.error().code);
}

void Program::handle_completion(const transport::Completion& completion) {
  Operation* operation = stage_.ledger.on_completion(host_, machine_.life(), completion);
  if (operation == nullptr) return;
  stage_.reached.add(operation->ok ? "outcome ok" : "outcome failed");
  if (!operation->ok) stage_.reached.add(operation->error);
  stage_.outcomes.judge(*operation);
  if (operation->direction == Direction::kReceive) {
    const Operation* send = stage_.ledger.match_of(*operation);
    if (operation->ok && send != nullptr && operation->bytes <= operation->length()) {
      machine_.memory().complete(operation->payload, operation->bytes, send->pattern, 0);
    } else {
      machine_.memory().fail(operation->payload);
    }
  }
  take_back(*operation);
}

// Reuses the memory of an ended operation immediately.
void Program::take_back(const Operation& operation) {
  const Payload& payload = operation.payload;
  if (operation.direction == Direction::kReceive) {
    machine_.memory().release(payload);
    machine_.receives().give_back(payload);
  } else if (payload.length > 0) {
    if (stage_.options.workload.virtual_memory) {
      network_.virtual_memory().write(payload.region, payload.offset,
                                      {simulator::kUnknownBytes, 0, payload.length});
    } else {
      std::memset(machine_.host_memory(payload), kUsedAgain, payload.length);
      machine_.sends().give_back(payload);
    }
  }
}

bool Program::act(Nanos now) {
  for (const Side* side : ended_) stage_.outcomes.judge(*side);
  ended_.clear();
  if (now < act_at_) {
    machine_.poke_at(act_at_);
    return false;
  }
  const auto spread = static_cast<uint64_t>(stage_.options.workload.act_every.count) * 2;
  act_at_ = now + nanos(static_cast<int64_t>(random_.below(spread + 1)));
  switch (stage_.phase) {
    case Phase::kFaults:
      act_at_random();
      break;
    case Phase::kSettle:
      act_at_ = now + micros(100);
      for (Side* side : sides_) post_missing(*side);
      break;
    case Phase::kIdle:
      return false;
    case Phase::kClose:
      return std::count_if(sides_.begin(), sides_.end(), [this](Side* side) {
               const bool first = !side->close_called;
               close(*side);
               return first;
             }) > 0;
  }
  if (random_.below(2) == 0) machine_.driver().push(machine_.now());
  machine_.poke_at(act_at_);
  return true;
}

}  // namespace heddle::vopr
