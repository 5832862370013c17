// Training steps as jobs: data parallel with buckets or sharded, pipelines of stages by 1F1B
// (Narayanan et al., SOSP 2019 and SC 2021), tensor parallel, and combinations. Rank numbers vary
// fastest over tensor parallel ranks, then over data parallel ones, then over stages.
#include <algorithm>
#include <utility>

#include "topology/jobs/reading.h"
#include "topology/params.h"

namespace heddle::topology {
namespace {

enum Slot : uint32_t { kTensor, kData, kPipeline, kSlots };
// At most two layers are gathered at a time: the current and the next.
enum Label : uint32_t { kGathered, kGatheredNext, kReduced, kSent };

struct Training {
  uint32_t data = 1;
  uint32_t tensor = 1;
  uint32_t pipeline = 1;
  uint32_t layers = 1;
  uint32_t microbatches = 1;
  uint64_t layer_bytes = 0;       // of one tensor parallel rank's part
  uint64_t activation_bytes = 0;  // between layers, for one microbatch
  uint64_t bucket_bytes = 0;
  Nanos forward;  // of one layer and microbatch
  Nanos backward;
  Nanos update;
  bool sharded = false;
  std::optional<AlgorithmChoice> algorithm;

  uint32_t ranks() const { return data * tensor * pipeline; }
};

// Writes the program of the ranks of one stage.
class Stage {
 public:
  Stage(const Training& training, uint32_t stage)
      : all_(training),
        stage_(stage),
        layers_(training.layers * (stage + 1) / training.pipeline -
                training.layers * stage / training.pipeline) {}

  // One forward, one backward: a stage starts with as many forward passes as there are stages after
  // it.
  Program program(uint32_t steps) {
    program_.repeat = steps;
    program_.labels = {"gathered", "gathered_next", "reduced", "sent"};
    const uint32_t ahead = std::min(all_.pipeline - 1 - stage_, all_.microbatches);
    for (uint32_t i = 0; i < ahead; ++i) forward();
    for (uint32_t i = ahead; i < all_.microbatches; ++i) {
      forward();
      backward();
    }
    for (uint32_t i = 0; i < ahead; ++i) backward();
    wait(kEveryLabel);
    compute(all_.update);
    return std::move(program_);
  }

 private:
  bool sharded() const { return all_.sharded && all_.data > 1; }

  void forward() {
    if (stage_ > 0) message(CallKind::kReceive, stage_ - 1);
    if (sharded()) gather(0);
    for (uint32_t layer = 0; layer < layers_; ++layer) {
      if (sharded()) wait(label_of(layer));
      if (sharded() && layer + 1 < layers_) gather(layer + 1);
      layer_work(all_.forward);
    }
    if (stage_ + 1 < all_.pipeline) message(CallKind::kSend, stage_ + 1);
  }

  // The backward pass of the oldest microbatch that has none yet. Each pass gathers the layers
  // again.
  void backward() {
    const bool last = ++backwards_ == all_.microbatches;
    if (stage_ + 1 < all_.pipeline) message(CallKind::kReceive, stage_ + 1);
    if (sharded()) gather(layers_ - 1);
    for (uint32_t layer = layers_; layer-- > 0;) {
      if (sharded()) wait(label_of(layer));
      if (sharded() && layer > 0) gather(layer - 1);
      layer_work(all_.backward);
      if (sharded()) {
        call({.call = CallKind::kReduceScatter,
              .communicator = kData,
              .bytes = all_.layer_bytes,
              .label = kReduced});
      } else if (last && all_.data > 1) {
        unsent_ += all_.layer_bytes;
        while (unsent_ >= all_.bucket_bytes) reduce(all_.bucket_bytes);
      }
    }
    if (last && unsent_ > 0) reduce(unsent_);
    if (stage_ > 0) message(CallKind::kSend, stage_ - 1);
  }

  // Tensor parallel ranks combine their results after attention and after the rest of the layer.
  void layer_work(Nanos span) {
    if (all_.tensor == 1) return compute(span);
    const Nanos half = nanos(span.count / 2);
    const Action combine{
        .call = CallKind::kAllReduce, .communicator = kTensor, .bytes = all_.activation_bytes};
    compute(half);
    call(combine);
    compute(span - half);
    call(combine);
  }

  void gather(uint32_t layer) {
    call({.call = CallKind::kAllGather,
          .communicator = kData,
          .bytes = all_.layer_bytes,
          .label = label_of(layer)});
  }

  void reduce(uint64_t bytes) {
    unsent_ -= bytes;
    call({.call = CallKind::kAllReduce,
          .algorithm = all_.algorithm,
          .communicator = kData,
          .bytes = bytes,
          .label = kReduced});
  }

  void message(CallKind kind, uint32_t with) {
    call({.call = kind,
          .communicator = kPipeline,
          .root = with,
          .bytes = all_.activation_bytes,
          .label = kind == CallKind::kSend ? uint32_t{kSent} : kNoLabel});
  }

  static uint32_t label_of(uint32_t layer) { return layer % 2 == 0 ? kGathered : kGatheredNext; }

  void compute(Nanos span) {
    if (span != Nanos{}) {
      program_.actions.push_back({.kind = ActionKind::kCompute, .span = span});
    }
  }
  void wait(uint32_t label) {
    program_.actions.push_back({.kind = ActionKind::kWait, .label = label});
  }
  void call(Action action) {
    action.kind = ActionKind::kCall;
    program_.actions.push_back(action);
  }

  const Training& all_;
  const uint32_t stage_;
  const uint32_t layers_;
  uint32_t backwards_ = 0;
  uint64_t unsent_ = 0;  // gradients that are not in a bucket yet
  Program program_;
};

// Adds communicators of `size` ranks each, whose numbers differ by `apart`.
void add_communicators(Job& job, Slot slot, const char* name, uint32_t size, uint32_t apart) {
  if (size < 2) return;
  for (uint32_t first = 0; first < job.ranks.size(); ++first) {
    if (first / apart % size != 0) continue;
    const auto number = static_cast<uint32_t>(job.communicators.size());
    JobCommunicator communicator{.name = name, .ranks = {}};
    for (uint32_t i = 0; i < size; ++i) {
      const uint32_t rank = first + i * apart;
      communicator.ranks.push_back(rank);
      job.ranks[rank].communicators[slot] = number;
    }
    job.communicators.push_back(std::move(communicator));
  }
}

void read_shape(TableReader& table, uint64_t hosts, Training& training) {
  const auto count = [&](const char* key, uint64_t fallback, uint64_t most) {
    return static_cast<uint32_t>(table.integer(key, fallback, 1, most));
  };
  training.tensor = count("tensor", 1, kMaxRanks);
  training.pipeline = count("pipeline", 1, kMaxRanks);
  const uint64_t together = uint64_t{training.tensor} * training.pipeline;
  training.data = count("data", std::clamp<uint64_t>(hosts / together, 1, kMaxRanks), kMaxRanks);
  if (together * training.data > hosts ||
      (table.has("hosts") && together * training.data != hosts)) {
    table.wrong(table.has("hosts") ? "hosts" : "data",
                "tensor x pipeline x data is " + std::to_string(together * training.data) +
                    " ranks, and there are " + std::to_string(hosts) + " hosts",
                "give as many hosts, or other numbers");
  }
  training.layers = count("layers", 1, 10'000);
  training.microbatches = count("microbatches", 1, 10'000);
  if (training.layers < training.pipeline) {
    table.wrong("layers", "there are more stages than layers", "give more layers");
  }
  if (uint64_t{training.layers} * training.microbatches > params::jobs::kMostPasses) {
    table.wrong("microbatches", "layers x microbatches is above 100,000", "use fewer");
  }
}

void read_work(TableReader& table, Training& training) {
  const auto size = [&](const char* key, const char* what, bool needed, Bytes fallback) {
    const std::string todo = std::string("give ") + what + R"(, like "25MB")";
    if (needed) table.need(key, todo);
    const Bytes bytes = table.bytes(key, fallback);
    if (table.has(key) && (bytes.count == 0 || bytes.count > kMaxCallBytes)) {
      table.wrong(key, "it has 1 byte to 64 GiB", todo);
    }
    return bytes.count;
  };
  training.layer_bytes =
      size("layer_bytes", "the gradients' size of a layer", training.data > 1, {});
  training.bucket_bytes = size("bucket", "the size of a bucket of gradients", false, {25'000'000});
  const uint64_t of_stage = (training.layers + training.pipeline - 1) / training.pipeline;
  if (training.bucket_bytes > 0 &&
      training.layer_bytes / training.bucket_bytes > params::jobs::kMostPasses / of_stage) {
    table.wrong(table.has("bucket") ? "bucket" : "layer_bytes",
                "a stage's gradients fill more than 100,000 buckets", "use larger buckets");
  }
  const bool passes_on = training.tensor > 1 || training.pipeline > 1;
  training.activation_bytes =
      size("activation_bytes", "what a layer passes on of a microbatch", passes_on, {});
  table.need("forward", R"(give a layer's time for a microbatch, like "2ms")");
  training.forward = table.time("forward", {});
  training.backward = table.time("backward", 2 * training.forward);
  training.update = table.time("update", {});
  training.sharded = table.boolean("sharded", false);
  training.algorithm = read_algorithm(table, CallKind::kAllReduce);
}

}  // namespace

Job read_training_job(TableReader& table, const std::vector<uint32_t>& hosts) {
  Training training;
  read_shape(table, hosts.size(), training);
  read_work(table, training);
  const auto steps =
      static_cast<uint32_t>(table.integer("steps", 1, 1, params::jobs::kMostRepeats));
  const size_t used = std::min<size_t>(hosts.size(), training.ranks());
  Job job = read_job_basics(table, "training", {hosts.begin(), hosts.begin() + used});
  if (table.failed()) return job;
  for (uint32_t rank = 0; rank < job.ranks.size(); ++rank) {
    job.ranks[rank].program = rank / (training.tensor * training.data);
    job.ranks[rank].communicators.assign(kSlots, JobRank::kNone);
  }
  add_communicators(job, kTensor, "tensor", training.tensor, 1);
  add_communicators(job, kData, "data", training.data, training.tensor);
  add_communicators(job, kPipeline, "pipeline", training.pipeline, training.tensor * training.data);
  for (uint32_t stage = 0; stage < training.pipeline; ++stage) {
    job.programs.push_back(Stage(training, stage).program(steps));
  }
  return job;
}

}  // namespace heddle::topology
