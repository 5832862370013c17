// ResNet-18 in PyTorch, on one host and on several with the same images, over heddle and over Gloo:
// the second part of the stage training.
#pragma once

#include "acceptance/report.h"
#include "acceptance/session.h"
#include "base/result.h"

namespace heddle::acceptance {

// Adds a row that says why where PyTorch is not tried. Errors: kSystem.
Result<void> run_torch_training(Session& session, StageReport& report);

}  // namespace heddle::acceptance
