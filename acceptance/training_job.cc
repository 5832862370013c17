// See training_job.h.
#include "acceptance/training_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "acceptance/params.h"
#include "base/quantity.h"

namespace heddle::acceptance {
namespace {

constexpr uint64_t kResNet18Parameters = 11'181'642;
constexpr uint64_t kBytesOfGradient = 4;

Nanos time_of_step(Depth depth) {
  if (depth == Depth::kQuick) return params::kQuickCommunication;
  return depth == Depth::kFull ? params::kFullCommunication : params::kNormalCommunication;
}

Nanos of_seconds(double value) { return nanos(std::llround(value * 1e9)); }

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace

uint64_t resnet18_gradient_bytes() { return kResNet18Parameters * kBytesOfGradient; }

TrainingJob training_job(uint32_t ranks, double bound_bits_per_s, Depth depth) {
  TrainingJob job{.ranks = ranks, .gradient_bytes = resnet18_gradient_bytes()};
  double communication = to_seconds(params::kUnknownCommunication);
  if (bound_bits_per_s > 0) {
    const double ring = 2.0 * (ranks - 1) / ranks;
    const double most = to_seconds(time_of_step(depth));
    const double carried = most * bound_bits_per_s / 8 / ring;
    job.gradient_bytes = std::min(job.gradient_bytes, static_cast<uint64_t>(carried));
    communication = ring * static_cast<double>(job.gradient_bytes) * 8 / bound_bits_per_s;
  }
  // Whole 32-bit values in each layer.
  constexpr uint64_t kUnit = params::kTrainingLayers * kBytesOfGradient;
  job.gradient_bytes = std::max<uint64_t>(1, job.gradient_bytes / kUnit) * kUnit;
  job.backward = of_seconds(communication / params::kCommunicationShare);
  job.forward = job.backward / 2;
  const double step = to_seconds(job.forward + job.backward);
  const double steps = to_seconds(params::kTrainingTime) / std::max(step, 1e-6);
  job.steps = 1 + std::clamp(static_cast<uint32_t>(std::min(steps, 1e6)),
                             params::kLeastTrainingSteps, params::kMostTrainingSteps);
  return job;
}

std::string time_text(double seconds) { return duration_text(of_seconds(seconds)); }

Row gradients_row(const std::string& where, const TrainingJob& job, double communication_s) {
  const auto moved = static_cast<double>(job.gradient_bytes);
  const auto whole = static_cast<double>(resnet18_gradient_bytes());
  Row row{"training step, gradients", where,
          fmt::format("{:.3g} of ResNet-18's {:.3g} MB", moved / 1e6, whole / 1e6), ""};
  if (communication_s > 0) {
    row.measured += fmt::format("; calculated for all of them: {} of communication a step",
                                time_text(communication_s * whole / moved));
  }
  return row;
}

uint64_t bucket_bytes(const TrainingJob& job) {
  return job.gradient_bytes / params::kTrainingLayers * params::kLayersOfBucket;
}

std::string workload_of(const TrainingJob& job) {
  return fmt::format(
      "version = 1\n\n[[job]]\nkind = \"training\"\ndata = {}\nlayers = {}\nlayer_bytes = "
      "\"{}B\"\nbucket = \"{}B\"\nforward = \"{}ns\"\nbackward = \"{}ns\"\nsteps = {}\n",
      job.ranks, params::kTrainingLayers, job.gradient_bytes / params::kTrainingLayers,
      bucket_bytes(job), job.forward.count / params::kTrainingLayers,
      job.backward.count / params::kTrainingLayers, job.steps);
}

std::vector<std::string> formula_words(const TrainingJob& job, double bound_bits_per_s) {
  return {"heddle",
          "size",
          "overlap",
          "--parameters",
          std::to_string(job.gradient_bytes / kBytesOfGradient),
          "--gpus",
          std::to_string(job.ranks),
          "--rate",
          fmt::format("{:.0f}bit/s", bound_bits_per_s),
          "--headers",
          "0",
          "--forward",
          fmt::format("{}ns", job.forward.count),
          "--backward",
          fmt::format("{}ns", job.backward.count),
          "--bucket",
          fmt::format("{}B", bucket_bytes(job)),
          "--json"};
}

StepFigures step_figures(const Json& document) {
  StepFigures figures;
  std::vector<double> took;
  std::vector<double> computed;
  std::vector<double> exposed;
  const Json& steps = document.at("jobs").at(0).at("steps");
  for (size_t i = 1; i < steps.size(); ++i) {  // the first one opens connections
    took.push_back(steps[i].at("took_us").get<double>() / 1e6);
    computed.push_back(steps[i].at("computed_us").get<double>() / 1e6);
    exposed.push_back(steps[i].at("exposed_us").get<double>() / 1e6);
  }
  figures.steps = static_cast<uint32_t>(took.size());
  figures.step_s = median_of(std::move(took));
  figures.computing_s = median_of(std::move(computed));
  figures.exposed_s = median_of(std::move(exposed));
  return figures;
}

}  // namespace heddle::acceptance
