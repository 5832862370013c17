// SymbolicRun: see symbolic_run.h. A cell of memory represents one element; a contribution is a
// number that identifies a rank and an element, so a sum identifies its contributors.
#include "collectives/testing/symbolic_run.h"

#include <algorithm>
#include <numeric>

namespace heddle::collectives {
namespace {

constexpr uint64_t kGuard = 3;  // cells around buffers that no step may touch

uint64_t contribution(uint64_t rank, uint64_t element) {
  return Random((rank + 1) << 32 | element).next();
}

uint64_t garbage(uint64_t cell) { return Random(~cell).next(); }

}  // namespace

SymbolicRun::SymbolicRun(const SymbolicOptions& options)
    : options_(options), random_(options.seed), ranks_(options.shape.size) {
  const uint32_t size = options_.shape.size;
  counts_.assign(size, std::vector<uint64_t>(size));
  exchanges_.resize(size);
  for (auto& row : counts_) {
    for (uint64_t& count : row) count = random_.below(options_.shape.count + 1);
  }
  for (uint32_t rank = 0; rank < size; ++rank) lay_out(rank);
}

uint64_t SymbolicRun::input_count() const {
  const Shape& shape = options_.shape;
  switch (shape.collective) {
    case Collective::kReduceScatter:
    case Collective::kScatter:
    case Collective::kAllToAll:
    case Collective::kAllToAllV:
      return shape.size * shape.count;
    case Collective::kBarrier:
      return 0;
    default:
      return shape.count;
  }
}

uint64_t SymbolicRun::output_count() const {
  const Shape& shape = options_.shape;
  switch (shape.collective) {
    case Collective::kAllGather:
    case Collective::kGather:
    case Collective::kAllToAll:
    case Collective::kAllToAllV:
      return shape.size * shape.count;
    case Collective::kBarrier:
      return 0;
    default:
      return shape.count;
  }
}

bool SymbolicRun::has_output(uint32_t rank) const {
  const Collective collective = options_.shape.collective;
  const bool at_root = collective == Collective::kReduce || collective == Collective::kGather;
  return !at_root || rank == options_.shape.root;
}

// How far the smaller buffer lies in the larger one.
uint64_t SymbolicRun::in_place_offset(uint32_t rank, bool& output_inside) const {
  const Shape& shape = options_.shape;
  output_inside =
      shape.collective == Collective::kReduceScatter || shape.collective == Collective::kScatter;
  const bool block = output_inside || shape.collective == Collective::kAllGather ||
                     shape.collective == Collective::kGather;
  return block ? rank * shape.count : 0;
}

void SymbolicRun::lay_out(uint32_t index) {
  Rank& rank = ranks_[index];
  Shape shape = options_.shape;
  shape.rank = index;
  shape.in_place = options_.in_place;
  if (shape.collective == Collective::kAllToAllV) {
    auto& [send_counts, send_offsets, receive_counts, receive_offsets] = exchanges_[index];
    for (uint32_t peer = 0; peer < shape.size; ++peer) {
      send_counts.push_back(counts_[index][peer]);
      send_offsets.push_back(peer * shape.count);
      receive_counts.push_back(counts_[peer][index]);
      receive_offsets.push_back(peer * shape.count);
    }
    shape.exchange = {send_counts, send_offsets, receive_counts, receive_offsets};
  }
  rank.schedule = Schedule(shape);
  const uint64_t inputs = input_count();
  const uint64_t outputs = has_output(index) ? output_count() : 0;
  bool output_inside = false;
  const uint64_t offset = in_place_offset(index, output_inside);
  rank.input = kGuard;
  rank.output = rank.input + inputs + kGuard;
  if (options_.in_place && output_inside) rank.output = rank.input + offset;
  if (options_.in_place && !output_inside && has_output(index)) {
    rank.output = kGuard;
    rank.input = rank.output + offset;
  }
  rank.scratch = std::max(rank.input + inputs, rank.output + outputs) + kGuard;
  const uint64_t scratch = rank.schedule.scratch_bytes() / shape.element_bytes;
  rank.cells.resize(rank.scratch + scratch + kGuard);
  for (uint64_t i = 0; i < rank.cells.size(); ++i) rank.cells[i] = garbage(i);
  for (uint64_t i = 0; i < inputs; ++i) rank.cells[rank.input + i] = contribution(index, i);
}

uint64_t SymbolicRun::sent_bytes(uint32_t from, uint32_t to) const {
  const auto found = sent_.find({from, to});
  return found == sent_.end() ? 0 : found->second;
}

void SymbolicRun::complain(const std::string& text) {
  if (complaint_.empty()) complaint_ = text;
}

std::string SymbolicRun::run() {
  const auto over = [this] {
    return std::all_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) {
      return rank.next == rank.schedule.steps() && rank.board.empty();
    });
  };
  while (complaint_.empty() && !over()) {
    bool moved = false;
    for (const bool eager : {false, true}) {
      if (moved) break;
      for (uint32_t i = 0; i < ranks_.size(); ++i) {
        moved |= act(static_cast<uint32_t>(random_.below(ranks_.size())), eager);
        if (eager) moved |= act(i, true);
      }
      for (auto& [key, queue] : queues_) {
        if (eager || random_.below(2) == 0) moved |= deliver(key, queue);
      }
    }
    if (!moved) complain("deadlock");
  }
  for (const auto& [key, queue] : queues_) {
    if (!queue.sends.empty() || !queue.receives.empty()) complain("a message is left over");
  }
  for (uint32_t rank = 0; rank < ranks_.size() && complaint_.empty(); ++rank) check_result(rank);
  return complaint_;
}

// Some of what the rank may do now, all of it when eager; false: nothing was possible or wanted.
bool SymbolicRun::act(uint32_t index, bool eager) {
  bool moved = false;
  while ((eager || random_.below(4) > 0) && admit(index)) moved = true;
  const auto first = static_cast<uint32_t>(random_.below(Scoreboard::kWindow));
  for (uint32_t i = 0; i < Scoreboard::kWindow; ++i) {
    const uint32_t slot = (first + i) % Scoreboard::kWindow;
    if ((ranks_[index].board.live() >> slot & 1) == 0) continue;
    if (eager || random_.below(2) == 0) moved |= advance(index, slot);
  }
  return moved;
}

uint64_t SymbolicRun::cell(const Rank& rank, const Place& place) {
  const uint32_t element =
      options_.shape.collective == Collective::kBarrier ? 1 : options_.shape.element_bytes;
  if (place.offset % element != 0) complain("an offset cuts an element");
  const uint64_t cells = place.offset / element;
  if (place.buffer == Buffer::kInput) return rank.input + cells;
  return place.buffer == Buffer::kOutput ? rank.output + cells : rank.scratch + cells;
}

bool SymbolicRun::admit(uint32_t index) {
  Rank& rank = ranks_[index];
  if (rank.next == rank.schedule.steps() || rank.board.full()) return false;
  const Step step = rank.schedule.at(rank.next);
  const bool reduces = step.kind == StepKind::kReceiveReduce;
  if (reduces && rank.slots_used == options_.slots) return false;
  if (reduces) ++rank.slots_used;
  if (reduces && step.bytes > std::max<uint64_t>(options_.shape.longest_chunk_bytes(),
                                                 options_.shape.element_bytes)) {
    complain("more than a chunk is reduced at once");
  }
  ++rank.next;
  const bool sends = step.kind == StepKind::kSend;
  const bool reads = sends || reduces || step.kind == StepKind::kCopy;
  const uint64_t cells = step.bytes / options_.shape.element_bytes;
  Scoreboard::Demand demand;
  if (reads) demand.read = {cell(rank, step.source), cell(rank, step.source) + cells};
  if (!sends) demand.written = {cell(rank, step.destination), cell(rank, step.destination) + cells};
  if (step.kind != StepKind::kCopy) {
    demand.stream = 1 + (uint64_t{step.peer} << 8 | step.channel << 1 | (sends ? 0 : 1));
    if (step.peer == index) complain("a message to itself");
  }
  if (std::max(demand.read.end, demand.written.end) > rank.cells.size()) {
    complain("a step outside of all memory");
    return false;
  }
  demand.answers = step.answers;
  const uint32_t slot = rank.board.admit(demand);
  rank.active[slot] = {};
  rank.active[slot].step = step;
  // Sends and receives may or may not be staged; those that reduce always are.
  rank.active[slot].staged = reduces || random_.below(2) == 0;
  return true;
}

bool SymbolicRun::advance(uint32_t index, uint32_t slot) {
  Rank& rank = ranks_[index];
  Active& active = rank.active[slot];
  switch (active.phase) {
    case Phase::kAdmitted:
      return post(index, slot);
    case Phase::kPosted:
      return false;
    case Phase::kMet:
    case Phase::kArrived:
      return finish(index, slot);
  }
  return false;
}

bool SymbolicRun::post(uint32_t index, uint32_t slot) {
  Rank& rank = ranks_[index];
  Active& active = rank.active[slot];
  const Step& step = active.step;
  const uint64_t cells = step.bytes / options_.shape.element_bytes;
  const bool receives = step.kind == StepKind::kReceive || step.kind == StepKind::kReceiveReduce;
  if (!(receives && active.staged) && !rank.board.may_touch(slot)) return false;
  if (step.kind != StepKind::kCopy && !rank.board.may_post(slot)) return false;
  if (!receives) {
    const auto from = rank.cells.begin() + static_cast<int64_t>(cell(rank, step.source));
    active.data.assign(from, from + static_cast<int64_t>(cells));
  }
  if (step.kind == StepKind::kCopy) {
    std::copy(active.data.begin(), active.data.end(),
              rank.cells.begin() + static_cast<int64_t>(cell(rank, step.destination)));
    rank.board.on_done(slot);
    ++steps_done_;
    return true;
  }
  active.phase = Phase::kPosted;
  rank.board.on_posted(slot);
  if (receives) {
    queues_[{step.peer, index, step.channel}].receives.push_back(slot);
  } else {
    if (active.staged) rank.board.on_touched(slot);
    queues_[{index, step.peer, step.channel}].sends.push_back(slot);
  }
  return true;
}

bool SymbolicRun::deliver(const Key& key, Queue& queue) {
  if (queue.sends.empty() || queue.receives.empty()) return false;
  const auto [from, to, channel] = key;
  Active& send = ranks_[from].active[queue.sends.front()];
  const uint32_t slot = queue.receives.front();
  Active& receive = ranks_[to].active[slot];
  queue.sends.pop_front();
  queue.receives.pop_front();
  if (send.step.bytes != receive.step.bytes) complain("a message meets one of another length");
  sent_[{from, to}] += send.step.bytes;
  receive.data = send.data;
  check_sent(ranks_[from], send);
  send.phase = Phase::kMet;
  check_answered(ranks_[to], ranks_[to].board.answered(slot));
  if (!receive.staged) {
    Rank& rank = ranks_[to];
    std::copy(receive.data.begin(), receive.data.end(),
              rank.cells.begin() + static_cast<int64_t>(cell(rank, receive.step.destination)));
  }
  receive.phase = Phase::kArrived;
  return true;
}

void SymbolicRun::check_sent(const Rank& rank, const Active& send) {
  const auto from = rank.cells.begin() + static_cast<int64_t>(cell(rank, send.step.source));
  if (!send.staged && !std::equal(send.data.begin(), send.data.end(), from)) {
    complain("memory changed while it was sent");
  }
}

// What an answer shows: sends whose ends are not known yet have arrived, and nothing else is left.
void SymbolicRun::check_answered(Rank& rank, uint32_t answered) {
  for (uint32_t slot = 0; slot < Scoreboard::kWindow; ++slot) {
    if ((answered >> slot & 1) == 0) continue;
    Active& before = rank.active[slot];
    const bool arrived = before.step.kind == StepKind::kSend && before.phase == Phase::kMet;
    if (!arrived) complain("an answer came before what it answers");
    before.staged = true;  // its memory may change
  }
}

bool SymbolicRun::finish(uint32_t index, uint32_t slot) {
  Rank& rank = ranks_[index];
  Active& active = rank.active[slot];
  const Step& step = active.step;
  if (step.kind == StepKind::kSend) {
    check_sent(rank, active);
  } else if (active.staged) {
    if (!rank.board.may_touch(slot)) return false;
    const uint64_t to = cell(rank, step.destination);
    const bool reduces = step.kind == StepKind::kReceiveReduce;
    const uint64_t operand = reduces ? cell(rank, step.source) : 0;
    for (uint64_t i = 0; i < active.data.size(); ++i) {
      uint64_t value = active.data[i];
      if (reduces) value += rank.cells[operand + i];
      if (reduces && step.completes) value *= kFactor;
      rank.cells[to + i] = value;
    }
    if (reduces) --rank.slots_used;
  }
  rank.board.on_done(slot);
  ++steps_done_;
  return true;
}

uint64_t SymbolicRun::sum_of(uint64_t element) const {
  uint64_t sum = 0;
  for (uint32_t rank = 0; rank < ranks_.size(); ++rank) sum += contribution(rank, element);
  return ranks_.size() == 1 ? sum : sum * kFactor;
}

// The expected value in a rank's output; no contribution if any value is allowed.
uint64_t SymbolicRun::expected(uint32_t rank, uint64_t element) const {
  const Shape& shape = options_.shape;
  const uint64_t count = std::max<uint64_t>(1, shape.count);
  switch (shape.collective) {
    case Collective::kAllReduce:
    case Collective::kReduce:
      return sum_of(element);
    case Collective::kReduceScatter:
      return sum_of(rank * shape.count + element);
    case Collective::kBroadcast:
      return contribution(shape.root, element);
    case Collective::kScatter:
      return contribution(shape.root, rank * shape.count + element);
    case Collective::kAllToAll:
    case Collective::kAllToAllV:
      return contribution(element / count, rank * count + element % count);
    default:
      return contribution(element / count, element % count);
  }
}

void SymbolicRun::check_result(uint32_t index) {
  Rank& rank = ranks_[index];
  const Shape& shape = options_.shape;
  const uint64_t outputs = has_output(index) ? output_count() : 0;
  const uint64_t scratch = rank.cells.size() - kGuard;
  for (uint64_t i = 0; i < rank.cells.size(); ++i) {
    const bool in_output = i >= rank.output && i < rank.output + outputs;
    const bool in_input = i >= rank.input && i < rank.input + input_count();
    if (in_output) {
      const uint64_t element = i - rank.output;
      const bool v = shape.collective == Collective::kAllToAllV;
      const bool beyond = v && element % shape.count >= counts_[element / shape.count][index];
      const uint64_t right = beyond ? garbage(i) : expected(index, element);
      if (rank.cells[i] != right) {
        complain("rank " + std::to_string(index) + ", element " + std::to_string(element) +
                 " is wrong");
      }
    } else if (in_input && !options_.in_place) {
      if (rank.cells[i] != contribution(index, i - rank.input)) complain("an input was changed");
    } else if (!in_input && (i < rank.scratch || i >= scratch) && rank.cells[i] != garbage(i)) {
      complain("memory beside the buffers was changed");
    }
  }
}

}  // namespace heddle::collectives
