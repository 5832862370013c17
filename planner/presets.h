// Presets: public models, GPUs and fabrics by name, with the source of their figures. They are the
// TOML files in sizing/presets, embedded when heddle is built.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/document.h"
#include "base/result.h"
#include "planner/model_shape.h"

namespace heddle::planner {

struct Gpu {
  std::string name;
  std::string source;
  double peak_flops = 0;        // a second, bf16 without sparsity
  double achievable_flops = 0;  // of the best matrix product; 0: not known
  double nvlink_bits_per_s = 0;
  double watts = 0;
  double memory_bytes = 0;  // 0: not known
};

struct FabricPreset {
  std::string name;
  std::string source;
  uint64_t gpus_per_node = 8;
  double nic_bits_per_s = 0;  // of one GPU's NICs
  double oversubscription = 1;
};

// A preset's name, or the path of a file. Errors: kInvalid for a name that is neither, with those
// that there are.
Result<ModelShape> find_model(const std::string& name);
Result<Gpu> find_gpu(const std::string& name);
Result<FabricPreset> find_fabric(const std::string& name);

// All, in the order of their names.
std::vector<ModelShape> preset_models();
std::vector<Gpu> preset_gpus();
std::vector<FabricPreset> preset_fabrics();

}  // namespace heddle::planner
