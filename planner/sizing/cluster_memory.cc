// See cluster_memory.h.
#include "planner/sizing/cluster_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "planner/sizing/gpu_memory.h"

namespace heddle::planner {
namespace {

constexpr const char* kZero = "ZeRO, Rajbhandari et al. (SC 2020), section 5";
constexpr const char* kActivations =
    "Korthikanti et al. (arXiv 2205.05198), section 4, with the widths of this model";
constexpr double kGib = 1024.0 * 1024 * 1024;

std::string gib_text(double bytes) { return fmt::format("{:.1f} GiB", bytes / kGib); }

MemoryQuestion memory_question(const ClusterQuestion& question) {
  return {question.optimizer_bytes, question.attention_scores};
}

const char* stage_text(const JobShape& job, const GpuMemory& memory) {
  if (job.pipeline == 1) return "";
  return memory.is_last() ? ", on the last stage" : ", on the first stage";
}

void add_parameters(const JobShape& job, const GpuMemory& memory, Answer& answer) {
  const std::string stage = stage_text(job, memory);
  const Term layers{"l", "layers of the stage", memory.layers(), ""};
  const Term tensor{"t", "tensor parallel ranks", static_cast<double>(job.tensor), ""};
  answer.figures.push_back(
      {"memory_parameters",
       "parameters that a GPU works with, without routed experts" + stage,
       "(l * y + E) / t",
       {layers,
        {"y", "of a layer, without routed experts", memory.layer_parameters(), ""},
        {"E", "of embeddings and logits, on that stage", memory.embeddings(), ""},
        tensor},
       memory.dense(),
       "",
       "the model's shape"});
  if (memory.routed() == 0) return;
  answer.figures.push_back(
      {"memory_routed_parameters",
       "parameters of routed experts that a GPU works with" + stage,
       "l * x / (t * e)",
       {layers,
        {"x", "of the routed experts of a layer", memory.layer_routed_parameters(), ""},
        tensor,
        {"e", "expert parallel ranks", static_cast<double>(job.expert), ""}},
       memory.routed(),
       "",
       "the model's shape"});
}

struct State {
  const char* name;
  const char* meaning;
  const char* width;  // what `bytes` are
  uint64_t from = 0;  // stage of ZeRO that shares it
  double bytes = 0;   // of one parameter
};

void add_state(const State& state, const GpuMemory& memory, Answer& answer) {
  Figure figure{state.name,
                state.meaning,
                "D / n * b",
                {{"D", "parameters without routed experts", memory.dense(), ""},
                 {"n", "ranks that share it (ZeRO)", memory.dense_ranks(state.from), ""},
                 {"b", state.width, state.bytes, "B"}},
                memory.state_bytes(state.from, state.bytes),
                "B",
                kZero};
  if (memory.routed() > 0) {
    figure.formula = "(D / n + X / k) * b";
    figure.terms.push_back({"X", "parameters of routed experts", memory.routed(), ""});
    figure.terms.push_back(
        {"k", "ranks that share those (ZeRO)", memory.routed_ranks(state.from), ""});
  }
  answer.figures.push_back(std::move(figure));
}

void add_states(const JobShape& job, const GpuMemory& memory, Answer& answer) {
  const auto parameter = static_cast<double>(job.parameter_bytes);
  const auto gradient = static_cast<double>(job.gradient_bytes);
  add_state(
      {"memory_parameters_bytes", "memory of parameters", "bytes of a parameter", 3, parameter},
      memory, answer);
  add_state({"memory_gradients_bytes", "memory of gradients", "bytes of a gradient", 2, gradient},
            memory, answer);
  add_state({"memory_optimizer_bytes", "memory of optimizer states",
             "bytes of the states of a parameter", 1, memory.optimizer_bytes()},
            memory, answer);
  if (job.zero_stage < 3) return;
  answer.figures.push_back(
      {"memory_gathered_bytes",
       "memory of units that ZeRO 3 has gathered: parameters of two, gradients of one",
       "H * (2 * b + g)",
       {{"H", "parameters of the largest unit: a layer, or the embeddings",
         memory.gathered_parameters(), ""},
        {"b", "bytes of a parameter", parameter, "B"},
        {"g", "bytes of a gradient", gradient, "B"}},
       memory.gathered_bytes(),
       "B",
       "Zhao et al., PyTorch FSDP (VLDB 2023, arXiv 2304.11277, recalled)"});
}

Figure layer_figure(const JobShape& job, const GpuMemory& memory) {
  const LayerValues& values = memory.values();
  const auto tensor = static_cast<double>(job.tensor);
  Figure figure{"layer_activations_bytes",
                "activations of a microbatch in a layer, on a GPU, for the backward pass",
                "T * (a * w / q + a * i / t)",
                {{"T", "tokens of a microbatch on a context rank", memory.tokens(), ""},
                 {"a", "bytes of an activation", static_cast<double>(job.activation_bytes), "B"},
                 {"w", "values of a token at the inputs of norms, attention and feed-forward",
                  values.whole, ""},
                 {"q", "tensor ranks that share those: all, if the sequence is parallel",
                  memory.sequence_ranks(), ""},
                 {"i", "values of a token inside attention and feed-forward", values.shared, ""},
                 {"t", "tensor parallel ranks", tensor, ""}},
                memory.layer_bytes(),
                "B",
                kActivations};
  std::string masks;
  if (values.masks > 0) {
    masks = " + k / q";
    figure.terms.push_back({"k", "dropout masks of a token", values.masks, "B"});
  }
  std::string scores;
  if (values.scores > 0) {
    scores = " + z / t";
    figure.terms.push_back({"z", "attention scores of a token", values.scores, "B"});
  }
  figure.formula = "T * (a * w / q" + masks + " + a * i / t" + scores + ")";
  return figure;
}

void add_activations(const JobShape& job, const GpuMemory& memory, Answer& answer) {
  answer.figures.push_back(layer_figure(job, memory));
  const Term layer{"A", "activations of a microbatch in a layer", memory.layer_bytes(), "B"};
  const Term layers{"l", "layers of the stage", memory.layers(), ""};
  const Term held{"m", "microbatches whose activations are held at once", memory.microbatches(),
                  ""};
  const Term outputs{"O", "beside layers: mask of the embedding, final norm, logits",
                     memory.outputs_bytes(), "B"};
  Figure figure{"memory_activations_bytes",
                std::string("memory of activations") + stage_text(job, memory),
                "l * m * A + O",
                {layers, held, layer, outputs},
                memory.activations_bytes(),
                "B",
                kActivations};
  if (job.recompute) {
    figure.formula = "l * m * I + A + O";
    figure.terms.push_back({"I", "input of a layer, which is kept", memory.input_bytes(), "B"});
    figure.source = "Korthikanti et al. (arXiv 2205.05198), section 5: full recomputation";
  }
  answer.figures.push_back(std::move(figure));
}

struct Part {
  const char* title;
  const char* symbol;
  const char* figure;
};

void add_sum(const JobShape& job, const ClusterQuestion& question, const GpuMemory& memory,
             Answer& answer) {
  std::vector<Part> parts = {{"parameters", "p", "memory_parameters_bytes"},
                             {"gradients", "g", "memory_gradients_bytes"},
                             {"optimizer states", "o", "memory_optimizer_bytes"},
                             {"activations", "a", "memory_activations_bytes"}};
  if (job.zero_stage == 3) parts.push_back({"gathered units", "u", "memory_gathered_bytes"});
  Table table{.name = "memory",
              .title = fmt::format("Memory of a GPU{}", stage_text(job, memory)),
              .columns = {{"part", "", ""}, {"gib", "memory", "GiB"}},
              .rows = {}};
  const auto add_row = [&table](const char* title, double bytes) {
    table.rows.push_back({title, std::round(100 * bytes / kGib) / 100});
  };
  Figure sum{"memory_needed_bytes", "memory that a GPU needs", "", {}, memory.needed_bytes(), "B",
             "sum of the above"};
  for (const Part& each : parts) {
    const double bytes = answer.figure(each.figure).value;
    sum.formula += (sum.formula.empty() ? "" : " + ") + std::string(each.symbol);
    sum.terms.push_back({each.symbol, each.title, bytes, "B"});
    add_row(each.title, bytes);
  }
  answer.figures.push_back(std::move(sum));
  add_row("needed", memory.needed_bytes());
  const double there = question.gpu.memory_bytes;
  if (there > 0) {
    add_row("of the GPU", there);
    answer.figures.push_back(
        {"memory_share",
         "memory that is needed, of the GPU's: above 1 the job does not fit",
         "n / M",
         {{"n", "needed", memory.needed_bytes(), "B"}, {"M", "memory of the GPU", there, "B"}},
         memory.needed_bytes() / there,
         "",
         question.gpu.source});
  }
  answer.tables.push_back(std::move(table));
}

// A job that differs in what its options say.
struct Change {
  std::string options;
  JobShape job;
};

// One change each, those that cost least first.
std::vector<Change> single_changes(const JobShape& job) {
  std::vector<Change> all;
  const auto add = [&](std::string options, const auto& change) {
    all.push_back({std::move(options), job});
    change(all.back().job);
  };
  if (job.tensor > 1 && !job.sequence_parallel) {
    add("--sequence-parallel", [](JobShape& each) { each.sequence_parallel = true; });
  }
  for (uint64_t stage = job.zero_stage + 1; stage <= 3 && job.data * job.context > 1; ++stage) {
    add(fmt::format("--zero {}", stage), [stage](JobShape& each) { each.zero_stage = stage; });
  }
  if (job.microbatch > 1) {
    // A batch that follows from the microbatch would become smaller with it.
    add(fmt::format("--microbatch 1 --batch {}", job.batch),
        [](JobShape& each) { each.microbatch = 1; });
  }
  if (!job.recompute) add("--recompute", [](JobShape& each) { each.recompute = true; });
  return all;
}

// All of these at once, then with tensor parallel ranks inside a node too.
std::vector<Change> joint_changes(const JobShape& job) {
  std::vector<Change> all;
  JobShape most = job;
  std::string options;
  for (const Change& each : single_changes(job)) {
    most.sequence_parallel |= each.job.sequence_parallel;
    most.recompute |= each.job.recompute;
    most.microbatch = std::min(most.microbatch, each.job.microbatch);
    most.zero_stage = std::max(most.zero_stage, each.job.zero_stage);
    const bool lesser = each.options.starts_with("--zero") && each.job.zero_stage < 3;
    if (!lesser) options += (options.empty() ? "" : " ") + each.options;
  }
  all.push_back({options, most});
  most.recompute = true;
  for (uint64_t tensor = 2 * job.tensor; tensor <= job.gpus_per_node; tensor *= 2) {
    JobShape wider = most;
    wider.tensor = tensor;
    wider.sequence_parallel = true;
    wider.data = 0;
    const std::string rest = job.tensor > 1 || job.sequence_parallel ? "" : " --sequence-parallel";
    all.push_back({fmt::format("--tensor {}{} {}", tensor, rest, options), wider});
  }
  return all;
}

// Those of the changes with which the job fits, with what it needs then.
std::vector<std::string> fitting(const std::vector<Change>& changes, const ModelShape& model,
                                 const ClusterQuestion& question) {
  std::vector<std::string> texts;
  for (const Change& each : changes) {
    const Result<JobShape> job = resolve(each.job, model);
    if (!job) continue;
    const double needed = most_memory(model, *job, memory_question(question)).needed_bytes();
    if (needed > question.gpu.memory_bytes) continue;
    texts.push_back(fmt::format("{} ({})", each.options, gib_text(needed)));
  }
  return texts;
}

std::string too_large(const ModelShape& model, const JobShape& job, const ClusterQuestion& question,
                      double needed) {
  std::string text = fmt::format("does not fit: {} needed of {}", gib_text(needed),
                                 gib_text(question.gpu.memory_bytes));
  const std::vector<std::string> single = fitting(single_changes(job), model, question);
  if (!single.empty()) {
    return text + fmt::format("; it fits with {}", fmt::join(single, ", or "));
  }
  const std::vector<std::string> joint = fitting(joint_changes(job), model, question);
  if (!joint.empty()) return text + "; it fits with " + joint.front();
  return text + fmt::format(
                    "; ZeRO, recomputation and tensor parallel ranks within a node are not enough: "
                    "give more GPUs with --pipeline above {}, a shorter --sequence with --context "
                    "above {}, or GPUs with more memory",
                    job.pipeline, job.context);
}

}  // namespace

void add_memory(const ModelShape& model, const JobShape& job, const ClusterQuestion& question,
                Answer& answer) {
  const GpuMemory memory = most_memory(model, job, memory_question(question));
  add_parameters(job, memory, answer);
  add_states(job, memory, answer);
  add_activations(job, memory, answer);
  add_sum(job, question, memory, answer);
  const double needed = memory.needed_bytes();
  const double there = question.gpu.memory_bytes;
  if (there == 0) {
    answer.advice.push_back(
        fmt::format("each GPU needs {} of memory, and its file does not have memory_gib: compare "
                    "the two",
                    gib_text(needed)));
  } else if (needed > there) {
    answer.sound = false;
    answer.advice.push_back(too_large(model, job, question, needed));
  } else {
    answer.advice.push_back(
        fmt::format("it fits: {} needed of {} a GPU", gib_text(needed), gib_text(there)));
  }
}

bool fits_in_memory(const ModelShape& model, const JobShape& job, const ClusterQuestion& question) {
  const double there = question.gpu.memory_bytes;
  if (there <= 0) return true;
  return most_memory(model, job, memory_question(question)).needed_bytes() <= there;
}

void add_memory_assumptions(const ClusterQuestion& question, Answer& answer) {
  answer.assumptions.push_back(fmt::format(
      "memory: {:g} bytes of optimizer states a parameter{}; attention's scores are {}",
      question.optimizer_bytes,
      question.optimizer_bytes == 12 ? " (Adam's two moments and a copy, in float32)" : "",
      question.attention_scores ? "kept" : "not kept, as with a fused kernel"));
  answer.assumptions.emplace_back(
      "memory: layers are spread evenly over stages; the driver's context, buffers of NCCL and "
      "kernels, and fragmentation are left out");
}

}  // namespace heddle::planner
