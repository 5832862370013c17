// What waits for what in a step of 1F1B (one forward, one backward), and the replay: see
// pipeline_graph.h.
#include "insight/stragglers/pipeline_graph.h"

#include <algorithm>
#include <array>
#include <deque>
#include <initializer_list>
#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace heddle::insight {

using Operation = PipelineOperation;

namespace {

Unexpected no_pipeline(std::string why) {
  return fail(ErrorCode::kInvalid, "cannot follow the pipeline", std::move(why),
              "record all operations of a step, without interleaved stages");
}

std::string text_of(const PipelineNode& node) {
  return std::string(name_of(node.operation)) + " " + std::to_string(node.number) + " of stage " +
         std::to_string(node.stage);
}

}  // namespace

class PipelineGraph::Builder {
 public:
  Builder(PipelineGraph& graph, std::span<const PipelineEvent> events)
      : graph_(graph), events_(events) {}

  Result<void> build() {
    for (uint32_t stage = 0; stage < graph_.stages_; ++stage) {
      if (Result<void> added = add_stage(stage); !added) return added;
    }
    return add_meetings();
  }

 private:
  using Chain = std::vector<size_t>;

  const PipelineEvent& event(size_t node) const { return events_[node]; }
  double end_of(size_t node) const { return event(node).start_s + event(node).took_s; }

  // The operations of a kind of a stage, by number.
  Chain all(uint32_t stage, Operation operation) const {
    const auto& nodes = graph_.nodes_;
    const auto begin =
        std::lower_bound(nodes.begin(), nodes.end(), PipelineNode{stage, operation, 0});
    Chain found;
    for (auto at = begin; at != nodes.end() && at->stage == stage && at->operation == operation;
         ++at)
      found.push_back(static_cast<size_t>(at - nodes.begin()));
    return found;
  }
  // In the order in which they began.
  Chain by_start(uint32_t stage, std::initializer_list<Operation> operations) const {
    Chain found;
    for (const Operation operation : operations) {
      const Chain more = all(stage, operation);
      found.insert(found.end(), more.begin(), more.end());
    }
    std::stable_sort(found.begin(), found.end(),
                     [this](size_t a, size_t b) { return event(a).start_s < event(b).start_s; });
    return found;
  }
  void wait(size_t node, size_t before) { graph_.waits_for_[node].push_back(before); }
  void chain(const Chain& nodes) {
    for (size_t i = 1; i < nodes.size(); ++i) wait(nodes[i], nodes[i - 1]);
  }

  Result<void> add_stage(uint32_t stage) {
    const Chain computed = by_start(stage, {Operation::kForward, Operation::kBackward});
    const Chain forward = all(stage, Operation::kForward);
    if (forward.empty() || forward.size() != all(stage, Operation::kBackward).size()) {
      return no_pipeline("stage " + std::to_string(stage) +
                         " does not compute each microbatch forward and backward");
    }
    chain(computed);
    for (const auto [compute, send, receive] :
         {std::array{Operation::kForward, Operation::kForwardSend, Operation::kForwardReceive},
          std::array{Operation::kBackward, Operation::kBackwardSend,
                     Operation::kBackwardReceive}}) {
      if (Result<void> added = add_transfers(stage, compute, send, receive); !added) return added;
    }
    await_first_backward(stage, computed);
    add_data_parallel(stage, forward.front(), computed);
    return {};
  }

  // A microbatch is sent once it is computed; it is received once the one before is computed, and
  // then computed.
  Result<void> add_transfers(uint32_t stage, Operation compute, Operation send, Operation receive) {
    const Chain computed = all(stage, compute);
    const Chain sent = all(stage, send);
    const Chain received = all(stage, receive);
    const bool forward = compute == Operation::kForward;
    const bool begins = stage == (forward ? 0 : graph_.stages_ - 1);
    const bool ends = stage == (forward ? graph_.stages_ - 1 : 0);
    for (const auto& [each, operation, none] :
         {std::tuple(&sent, send, ends), std::tuple(&received, receive, begins)}) {
      if (each->size() == (none ? 0 : computed.size())) continue;
      return no_pipeline("stage " + std::to_string(stage) + " has " +
                         std::to_string(computed.size()) + " microbatches and " +
                         std::to_string(each->size()) + " of " + std::string(name_of(operation)));
    }
    chain(sent);
    chain(received);
    for (size_t i = 0; i < sent.size(); ++i) wait(sent[i], computed[i]);
    for (size_t i = 0; i < received.size(); ++i) {
      wait(computed[i], received[i]);
      if (i > 0) wait(received[i], computed[i - 1]);
    }
    return {};
  }

  // The first backward transfers are posted before the last forward computation ahead of them.
  void await_first_backward(uint32_t stage, const Chain& computed) {
    const auto first = std::find_if(computed.begin(), computed.end(), [this](size_t node) {
      return graph_.nodes_[node].operation == Operation::kBackward;
    });
    if (first - computed.begin() < 2) return;
    for (const Operation operation : {Operation::kBackwardReceive, Operation::kBackwardSend}) {
      const Chain transfers = all(stage, operation);
      if (!transfers.empty()) wait(transfers.front(), *(first - 2));
    }
  }

  // Parameters come before the first computation; after the last one gradients are reduced and
  // applied. Where some are reduced separately, the others are reduced beside the last
  // computations, and must have come before what follows these.
  void add_data_parallel(uint32_t stage, size_t first, const Chain& computed) {
    const Chain gathered = all(stage, Operation::kGatherParameters);
    if (!gathered.empty()) wait(first, gathered.back());
    chain(by_start(stage, {Operation::kGatherParameters, Operation::kReduceGradients}));
    const size_t last =
        *std::max_element(computed.begin(), computed.end(),
                          [this](size_t a, size_t b) { return end_of(a) < end_of(b); });
    const Chain reduced = all(stage, Operation::kReduceGradients);
    const Chain separate = all(stage, Operation::kReduceSeparateGradients);
    Chain end = {last};
    const auto append = [&](Operation operation) {
      const Chain more = all(stage, operation);
      end.insert(end.end(), more.begin(), more.end());
    };
    append(Operation::kCollectGarbage);
    const size_t computed_until = end.size();
    append(Operation::kReduceLayerNorms);
    append(Operation::kReduceEmbeddings);
    append(separate.empty() ? Operation::kReduceGradients : Operation::kReduceSeparateGradients);
    append(Operation::kClipGradients);
    append(Operation::kOptimizer);
    chain(end);
    if (separate.empty() || reduced.empty()) return;
    wait(reduced.front(), last);
    wait(end[computed_until], reduced.back());
  }

  void meet(std::vector<size_t> nodes, bool of_data_ranks) {
    for (const size_t node : nodes) graph_.meeting_of_[node] = graph_.meetings_.size();
    graph_.meetings_.push_back({std::move(nodes), of_data_ranks});
  }

  Result<void> add_meetings() {
    std::map<uint32_t, std::vector<size_t>> clips;
    std::map<uint32_t, std::vector<size_t>> embeddings;
    for (size_t node = 0; node < graph_.nodes_.size(); ++node) {
      const PipelineNode& at = graph_.nodes_[node];
      switch (at.operation) {
        case Operation::kForwardSend:
        case Operation::kBackwardSend:
          if (Result<void> met = meet_receiver(node); !met) return met;
          break;
        case Operation::kGatherParameters:
        case Operation::kReduceGradients:
        case Operation::kReduceSeparateGradients:
          meet({node}, true);
          break;
        case Operation::kReduceEmbeddings:
          embeddings[at.number].push_back(node);
          break;
        case Operation::kClipGradients:
          clips[at.number].push_back(node);
          break;
        default:
          break;
      }
    }
    for (auto& [number, nodes] : embeddings) meet(std::move(nodes), false);
    for (auto& [number, nodes] : clips) meet(std::move(nodes), true);
    return {};
  }
  // Only the last stage sends nothing forward, and only the first nothing backward.
  Result<void> meet_receiver(size_t sent) {
    const PipelineNode& at = graph_.nodes_[sent];
    const bool forward = at.operation == Operation::kForwardSend;
    const auto received = graph_.find(
        {forward ? at.stage + 1 : at.stage - 1,
         forward ? Operation::kForwardReceive : Operation::kBackwardReceive, at.number});
    if (!received) return no_pipeline("nothing receives " + text_of(at));
    meet({sent, *received}, false);
    return {};
  }

  PipelineGraph& graph_;
  std::span<const PipelineEvent> events_;  // in the nodes' order
};

Result<PipelineGraph> PipelineGraph::make(std::span<const PipelineEvent> events,
                                          uint32_t data_ranks) {
  PipelineGraph graph;
  graph.data_ranks_ = data_ranks;
  std::vector<PipelineEvent> sorted(events.begin(), events.end());
  const auto node_of = [](const PipelineEvent& event) {
    return PipelineNode{event.stage, event.operation, event.number};
  };
  std::sort(sorted.begin(), sorted.end(), [&](const PipelineEvent& a, const PipelineEvent& b) {
    return node_of(a) < node_of(b);
  });
  for (const PipelineEvent& event : sorted) {
    const PipelineNode node = node_of(event);
    if (!graph.nodes_.empty() && graph.nodes_.back() == node) {
      return no_pipeline(text_of(node) + " is there twice");
    }
    graph.nodes_.push_back(node);
    graph.stages_ = std::max(graph.stages_, event.stage + 1);
  }
  graph.waits_for_.resize(sorted.size());
  graph.meeting_of_.resize(sorted.size());
  if (Result<void> built = Builder(graph, sorted).build(); !built) return fail(built.error());
  if (Result<void> ordered = graph.order(); !ordered) return fail(ordered.error());
  graph.start_s_.resize(sorted.size() * data_ranks);
  graph.end_s_.resize(sorted.size() * data_ranks);
  return graph;
}

std::optional<size_t> PipelineGraph::find(const PipelineNode& node) const {
  const auto found = std::lower_bound(nodes_.begin(), nodes_.end(), node);
  if (found == nodes_.end() || *found != node) return std::nullopt;
  return static_cast<size_t>(found - nodes_.begin());
}

// A topological order, in which those that meet end together.
Result<void> PipelineGraph::order() {
  std::vector<std::vector<size_t>> next(nodes_.size());
  std::vector<size_t> open(nodes_.size());
  for (size_t node = 0; node < nodes_.size(); ++node) {
    open[node] = waits_for_[node].size();
    for (const size_t before : waits_for_[node]) next[before].push_back(node);
  }
  std::vector<size_t> missing(meetings_.size());
  for (size_t i = 0; i < meetings_.size(); ++i) missing[i] = meetings_[i].nodes.size();
  std::deque<size_t> ready;
  for (size_t node = 0; node < nodes_.size(); ++node) {
    if (open[node] == 0) ready.push_back(node);
  }
  const auto release = [&](size_t node) {
    for (const size_t after : next[node]) {
      if (--open[after] == 0) ready.push_back(after);
    }
  };
  size_t ended = 0;
  while (!ready.empty()) {
    const size_t node = ready.front();
    ready.pop_front();
    actions_.push_back({Action::Kind::kStart, node});
    if (!meeting_of_[node]) {
      actions_.push_back({Action::Kind::kEnd, node});
      release(node);
      ++ended;
      continue;
    }
    const size_t meeting = *meeting_of_[node];
    if (--missing[meeting] > 0) continue;
    actions_.push_back({Action::Kind::kMeet, meeting});
    for (const size_t met : meetings_[meeting].nodes) release(met);
    ended += meetings_[meeting].nodes.size();
  }
  if (ended == nodes_.size()) return {};
  const auto stuck = std::find_if(open.begin(), open.end(), [](size_t left) { return left > 0; });
  const auto node = static_cast<size_t>(stuck - open.begin());
  return no_pipeline(
      "operations wait for each other" +
      (node < nodes_.size() ? ", among them " + text_of(nodes_[node]) : std::string()));
}

double PipelineGraph::replay(std::span<const double> took_s) {
  double last = 0;
  for (const Action& action : actions_) {
    switch (action.kind) {
      case Action::Kind::kStart:
        start(action.index);
        break;
      case Action::Kind::kEnd:
        for (uint32_t rank = 0; rank < data_ranks_; ++rank) {
          const size_t at = rank * nodes_.size() + action.index;
          end_s_[at] = start_s_[at] + took_s[at];
          last = std::max(last, end_s_[at]);
        }
        break;
      case Action::Kind::kMeet:
        meet(meetings_[action.index], took_s);
        for (const size_t node : meetings_[action.index].nodes) {
          for (uint32_t rank = 0; rank < data_ranks_; ++rank)
            last = std::max(last, end_s_[rank * nodes_.size() + node]);
        }
        break;
    }
  }
  return last;
}

void PipelineGraph::start(size_t node) {
  for (uint32_t rank = 0; rank < data_ranks_; ++rank) {
    const size_t first = rank * nodes_.size();
    double at = 0;
    for (const size_t before : waits_for_[node]) at = std::max(at, end_s_[first + before]);
    start_s_[first + node] = at;
  }
}

// A transfer begins when the last participant has come, and each takes its own time from then on.
void PipelineGraph::meet(const Meeting& meeting, std::span<const double> took_s) {
  double all_came = 0;
  for (uint32_t rank = 0; rank < data_ranks_; ++rank) {
    for (const size_t node : meeting.nodes)
      all_came = std::max(all_came, start_s_[rank * nodes_.size() + node]);
  }
  for (uint32_t rank = 0; rank < data_ranks_; ++rank) {
    const size_t first = rank * nodes_.size();
    double came = 0;
    for (const size_t node : meeting.nodes) came = std::max(came, start_s_[first + node]);
    for (const size_t node : meeting.nodes)
      end_s_[first + node] = (meeting.of_data_ranks ? all_came : came) + took_s[first + node];
  }
}

}  // namespace heddle::insight
