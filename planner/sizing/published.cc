// See published.h.
#include "planner/sizing/published.h"

#include <array>

#include "base/check.h"
#include "planner/presets.h"

namespace heddle::planner {
namespace {

constexpr const char* kLlama =
    "The Llama 3 Herd of Models (arXiv 2407.21783), table 4; chunks: as many as 126 layers admit";
constexpr const char* kMegatron =
    "Narayanan et al. (SC 2021), table 1; microbatches of one sequence, schedule not interleaved";
constexpr const char* kZero = "Narayanan et al. (SC 2021), table 2: DeepSpeed's ZeRO 3 of 2021";
constexpr const char* kBeside = "Narayanan et al. (SC 2021), table 2; schedule not interleaved";
constexpr const char* kSequence =
    "Korthikanti et al. (arXiv 2205.05198), table 5 (MFU of 312 TFLOP/s); without its selective "
    "recomputation";
constexpr const char* kEngineering =
    "stas00/ml-engineering, network/README.md, 16 GiB, commit 744d01e";
constexpr const char* kC4 = "C4 (arXiv 2406.04594), section V";

// GPT as Megatron-LM benchmarks it: sequences of 2,048, a vocabulary of 51,200.
ModelShape gpt(uint64_t hidden, uint64_t heads, uint64_t layers) {
  return {.name = "GPT",
          .source = "Narayanan et al. (SC 2021)",
          .layers = layers,
          .hidden = hidden,
          .heads = heads,
          .key_value_heads = heads,
          .head_dim = hidden / heads,
          .ffn = 4 * hidden,
          .vocabulary = 51'200,
          .positions = 2'048,
          .gated = false,
          .tied = true,
          .biases = true};
}

void add_llama(std::vector<PublishedStep>& all) {
  const Result<ModelShape> model = find_model("llama-3-405b");
  CHECK(model.has_value());
  const JobShape common{.tensor = 8,
                        .pipeline = 16,
                        .chunks = 7,
                        .zero_stage = 1,
                        .sequence_parallel = true,
                        .sequence = 8'192};
  const auto add = [&](const char* name, JobShape job, double tflops) {
    all.push_back({.name = name,
                   .source = kLlama,
                   .gpu = "h100",
                   .nic_bits_per_s = 400e9,
                   .flops_per_s = tflops * 1e12,
                   .model = *model,
                   .job = job});
  };
  JobShape job = common;
  job.gpus = 8'192;
  job.batch = 2'048;
  add("Llama 3 405B, 8,192 GPUs", job, 430);
  job.gpus = 16'384;
  add("Llama 3 405B, 16,384 GPUs", job, 400);
  job.context = 16;
  job.sequence = 131'072;
  job.batch = 128;
  add("Llama 3 405B, 16,384 GPUs, 131,072 tokens", job, 380);
}

struct MegatronRow {
  const char* name;
  uint64_t hidden, heads, layers, tensor, pipeline, gpus, batch;
  double tflops;
};
constexpr std::array kMegatronRows = {
    MegatronRow{"GPT 1.7B, 32 GPUs", 2'304, 24, 24, 1, 1, 32, 512, 137},
    MegatronRow{"GPT 3.6B, 64 GPUs", 3'072, 32, 30, 2, 1, 64, 512, 138},
    MegatronRow{"GPT 7.5B, 128 GPUs", 4'096, 32, 36, 4, 1, 128, 512, 142},
    MegatronRow{"GPT 18.4B, 256 GPUs", 6'144, 48, 40, 8, 1, 256, 1'024, 135},
    MegatronRow{"GPT 39.1B, 512 GPUs", 8'192, 64, 48, 8, 2, 512, 1'536, 138},
    MegatronRow{"GPT 76.1B, 1,024 GPUs", 10'240, 80, 60, 8, 4, 1'024, 1'792, 140},
    MegatronRow{"GPT 145.6B, 1,536 GPUs", 12'288, 96, 80, 8, 8, 1'536, 2'304, 148},
    MegatronRow{"GPT 310.1B, 1,920 GPUs", 16'384, 128, 96, 8, 16, 1'920, 2'160, 155},
    MegatronRow{"GPT 529.6B, 2,520 GPUs", 20'480, 128, 105, 8, 35, 2'520, 2'520, 163},
    MegatronRow{"GPT 1008B, 3,072 GPUs", 25'600, 160, 128, 8, 64, 3'072, 3'072, 163}};

void add_megatron(std::vector<PublishedStep>& all) {
  for (const MegatronRow& row : kMegatronRows) {
    all.push_back({.name = row.name,
                   .source = kMegatron,
                   .gpu = "a100",
                   .nic_bits_per_s = 200e9,
                   .counts_recomputation = true,
                   .flops_per_s = row.tflops * 1e12,
                   .model = gpt(row.hidden, row.heads, row.layers),
                   .job = {.gpus = row.gpus,
                           .tensor = row.tensor,
                           .pipeline = row.pipeline,
                           .recompute = true,
                           .batch = row.batch,
                           .sequence = 2'048}});
  }
}

struct ComparedRow {
  const char* name;
  bool large;  // 529.6 billion parameters, not 174.6
  uint64_t zero_stage, gpus, batch, microbatch;
  double tflops;
};
constexpr std::array kComparedRows = {
    ComparedRow{"GPT 174.6B, 384 GPUs, ZeRO 3", false, 3, 384, 1'536, 4, 144},
    ComparedRow{"GPT 174.6B, 768 GPUs, ZeRO 3", false, 3, 768, 1'536, 2, 88},
    ComparedRow{"GPT 174.6B, 1,536 GPUs, ZeRO 3", false, 3, 1'536, 1'536, 1, 44},
    ComparedRow{"GPT 529.6B, 640 GPUs, ZeRO 3", true, 3, 640, 2'560, 4, 138},
    ComparedRow{"GPT 529.6B, 1,120 GPUs, ZeRO 3", true, 3, 1'120, 2'240, 2, 98},
    ComparedRow{"GPT 529.6B, 2,240 GPUs, ZeRO 3", true, 3, 2'240, 2'240, 1, 48},
    ComparedRow{"GPT 174.6B, 384 GPUs", false, 0, 384, 1'536, 1, 153},
    ComparedRow{"GPT 174.6B, 768 GPUs", false, 0, 768, 1'536, 1, 149},
    ComparedRow{"GPT 174.6B, 1,536 GPUs", false, 0, 1'536, 1'536, 1, 141},
    ComparedRow{"GPT 529.6B, 560 GPUs", true, 0, 560, 2'240, 1, 171},
    ComparedRow{"GPT 529.6B, 1,120 GPUs", true, 0, 1'120, 2'240, 1, 167},
    ComparedRow{"GPT 529.6B, 2,240 GPUs", true, 0, 2'240, 2'240, 1, 159}};

void add_compared(std::vector<PublishedStep>& all) {
  for (const ComparedRow& row : kComparedRows) {
    const bool zero = row.zero_stage > 0;
    const uint64_t stages = row.large ? 35 : 12;
    all.push_back({.name = row.name,
                   .source = zero ? kZero : kBeside,
                   .gpu = "a100",
                   .nic_bits_per_s = 200e9,
                   .counts_recomputation = true,
                   .flops_per_s = row.tflops * 1e12,
                   .model = row.large ? gpt(20'480, 128, 105) : gpt(12'288, 96, 96),
                   .job = {.gpus = row.gpus,
                           .tensor = zero ? uint64_t{1} : 8,
                           .pipeline = zero ? 1 : stages,
                           .zero_stage = row.zero_stage,
                           .recompute = true,
                           .batch = row.batch,
                           .microbatch = row.microbatch,
                           .sequence = 2'048,
                           .gradient_bytes = zero ? uint64_t{2} : 4}});
  }
}

struct SequenceRow {
  const char* name;
  uint64_t hidden, heads, layers, pipeline, chunks, batch, microbatch;
  double mfu;
};
constexpr std::array kSequenceRows = {
    SequenceRow{"GPT 22B, 8 GPUs, sequence parallel", 6'144, 64, 48, 1, 1, 4, 4, 0.415},
    SequenceRow{"GPT 175B, 64 GPUs, sequence parallel", 12'288, 96, 96, 8, 3, 64, 1, 0.514},
    SequenceRow{"GPT 530B, 280 GPUs, sequence parallel", 20'480, 128, 105, 35, 3, 280, 1, 0.560},
    SequenceRow{"GPT 1T, 512 GPUs, sequence parallel", 25'600, 160, 128, 64, 1, 512, 1, 0.563}};

void add_sequence(std::vector<PublishedStep>& all) {
  for (const SequenceRow& row : kSequenceRows) {
    all.push_back({.name = row.name,
                   .source = kSequence,
                   .gpu = "a100",
                   .nic_bits_per_s = 200e9,
                   .flops_per_s = row.mfu * 312e12,
                   .model = gpt(row.hidden, row.heads, row.layers),
                   .job = {.gpus = 8 * row.pipeline,
                           .tensor = 8,
                           .pipeline = row.pipeline,
                           .chunks = row.chunks,
                           .sequence_parallel = true,
                           .batch = row.batch,
                           .microbatch = row.microbatch,
                           .sequence = 2'048}});
  }
}

}  // namespace

std::vector<PublishedStep> published_steps() {
  std::vector<PublishedStep> all;
  add_llama(all);
  add_megatron(all);
  add_compared(all);
  add_sequence(all);
  return all;
}

std::vector<PublishedAllReduce> published_all_reduces() {
  return {{"8 A100, NVLink, ring", kEngineering, false, 1, 300e9, 0, 1, 234.89e9},
          {"8 H200, NVLink, ring", kEngineering, false, 1, 450e9, 0, 1, 367.61e9},
          {"8 H200, NVLink, in the switch", kEngineering, false, 1, 450e9, 0, 1, 482.26e9},
          {"8 B200, NVLink", kEngineering, false, 1, 900e9, 0, 1, 845.67e9},
          {"4 nodes of 8 H200, 8 x 400 Gb/s", kEngineering, false, 4, 450e9, 400e9, 1, 369.06e9},
          {"4 nodes of 8 B200, 8 x 400 Gb/s", kEngineering, false, 4, 900e9, 400e9, 1, 381.80e9},
          {"C4P, one NIC of 400 Gb/s a ring", kC4, true, 2, 200e9, 50e9, 1, 45e9},
          {"C4P, the same with 7 of 8 uplinks", kC4, true, 2, 200e9, 50e9, 7.0 / 8, 37.625e9}};
}

}  // namespace heddle::planner
