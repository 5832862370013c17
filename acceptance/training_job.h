// Training job: data-parallel training that an acceptance test runs without PyTorch. It has the
// gradients of ResNet-18, or as much of them as the fabric carries in the time of a step, and
// computation that a healthy fabric can hide the communication behind. Pure functions; the stage
// training uses them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "acceptance/acceptance.h"
#include "acceptance/report.h"
#include "base/nanos.h"

namespace heddle::acceptance {

struct TrainingJob {
  uint32_t ranks = 2;
  uint64_t gradient_bytes = 0;  // of a step, on each rank
  Nanos forward;                // of a step, on each rank
  Nanos backward;
  uint32_t steps = 0;  // with one that is not timed
};

// `bound_bits_per_s` is the payload that a ring over the ranks carries; 0: not known.
TrainingJob training_job(uint32_t ranks, double bound_bits_per_s, Depth depth);
// ResNet-18 with the ten classes of CIFAR-10, in 32-bit floats.
uint64_t resnet18_gradient_bytes();
// All-reduces of a step.
uint64_t bucket_bytes(const TrainingJob& job);

// As a workload file.
std::string workload_of(const TrainingJob& job);
// Words of `heddle size` that calculate the step that the fabric allows.
std::vector<std::string> formula_words(const TrainingJob& job, double bound_bits_per_s);

// How much of ResNet-18's gradients a step moves. `communication_s`: the formula's, of a step; 0:
// not known. Minutes for a data set would say nothing: the job has no images, and the time that it
// computes follows from the rate of the links.
Row gradients_row(const std::string& where, const TrainingJob& job, double communication_s);

// As people read it, of seconds.
std::string time_text(double seconds);

struct StepFigures {
  double step_s = 0;  // median of the steps that are timed
  double computing_s = 0;
  double exposed_s = 0;  // ranks do nothing but wait; mean of the ranks
  uint32_t steps = 0;    // that were timed
};
// Of the document of `heddle workload run`; without a step: zeros. Errors: throws Json::exception
// for another document.
StepFigures step_figures(const Json& document);

}  // namespace heddle::acceptance
