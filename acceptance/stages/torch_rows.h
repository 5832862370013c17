// Rows of ResNet-18: what several hosts gain beside one, and what a step hides. Pure functions; the
// second part of the stage training uses them.
#pragma once

#include <functional>
#include <string>

#include "acceptance/report.h"

namespace heddle::acceptance {

struct TorchSpeeds {
  uint32_t ranks = 0;
  double images_per_s = 0;      // on all hosts
  double one_images_per_s = 0;  // on one, with the same images in each step
};

// Of a step on all hosts, in seconds.
struct TorchStep {
  double compute_s = 0;      // alone
  double communicate_s = 0;  // alone
  double overlapped_s = 0;   // both as they run beside each other
};

// "164.9 images/s on processors, 50,000 in 5.1 min": the images of CIFAR-10. heddle_torch.train
// computes on processors also where hosts have GPUs.
std::string epoch_text(double images_per_s);

// Several hosts that train no faster than one are a warning: it depends on the model beside the
// fabric, and a fabric that passed all other stages is not at fault alone.
Row speedup_row(const std::string& where, const TorchSpeeds& speeds);

// One after the other is a failure beyond noise, by `grade` of a speed and the least; less hidden
// than kHiddenShare is a warning.
Row overlap_row(const std::string& where, const TorchStep& step,
                const std::function<Grade(double reached, double least)>& grade);

}  // namespace heddle::acceptance
