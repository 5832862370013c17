// See presets_report.h.
#include "apps/cli/size/presets_report.h"

#include <fmt/core.h>

#include "base/quantity.h"
#include "base/version.h"
#include "planner/model_shape.h"
#include "planner/presets.h"

namespace heddle::cli {
namespace {

constexpr double kGib = 1024.0 * 1024 * 1024;

// Sources say so of figures that were not compared with the publication.
bool is_recalled(const std::string& source) { return source.find("recalled") != std::string::npos; }

const char* mark(const std::string& source) { return is_recalled(source) ? "*" : " "; }

}  // namespace

std::string presets_text() {
  std::string text = "Models (--model)\n";
  for (const planner::ModelShape& model : planner::preset_models()) {
    text += fmt::format("{} {:<16} {:>6.1f}e9 parameters  {}\n", mark(model.source), model.name,
                        static_cast<double>(planner::parameters(model)) / 1e9, model.source);
  }
  text += "\nFabrics (--fabric)\n";
  for (const planner::FabricPreset& fabric : planner::preset_fabrics()) {
    text += fmt::format("{} {:<16} {} a node, {} a GPU  {}\n", mark(fabric.source), fabric.name,
                        counted_text(fabric.gpus_per_node, "GPU"), rate_text(fabric.nic_bits_per_s),
                        fabric.source);
  }
  text += "\nGPUs (--gpu)\n";
  for (const planner::Gpu& gpu : planner::preset_gpus()) {
    text +=
        fmt::format("{} {:<16} {:.0f} of {:.0f} TFLOP/s, NVLink {:.0f} GB/s, {:.1f} GiB  {}\n",
                    mark(gpu.source), gpu.name, gpu.achievable_flops / 1e12, gpu.peak_flops / 1e12,
                    gpu.nvlink_bits_per_s / 8e9, gpu.memory_bytes / kGib, gpu.source);
  }
  return text +
         "\n* figures are recalled: compare them with the source before you rely on them\n"
         "Files of your own: docs/how-to/size_a_cluster.md\n";
}

Json presets_document() {
  Json models = Json::array();
  for (const planner::ModelShape& model : planner::preset_models()) {
    models.push_back({{"name", model.name},
                      {"parameters", planner::parameters(model)},
                      {"parameters_of_token", planner::parameters_of_token(model)},
                      {"source", model.source},
                      {"recalled", is_recalled(model.source)}});
  }
  Json fabrics = Json::array();
  for (const planner::FabricPreset& fabric : planner::preset_fabrics()) {
    fabrics.push_back({{"name", fabric.name},
                       {"gpus_per_node", fabric.gpus_per_node},
                       {"nic_bits_per_s", fabric.nic_bits_per_s},
                       {"oversubscription", fabric.oversubscription},
                       {"source", fabric.source},
                       {"recalled", is_recalled(fabric.source)}});
  }
  Json gpus = Json::array();
  for (const planner::Gpu& gpu : planner::preset_gpus()) {
    gpus.push_back({{"name", gpu.name},
                    {"peak_flops", gpu.peak_flops},
                    {"achievable_flops", gpu.achievable_flops},
                    {"nvlink_bits_per_s", gpu.nvlink_bits_per_s},
                    {"watts", gpu.watts},
                    {"memory_bytes", gpu.memory_bytes},
                    {"source", gpu.source},
                    {"recalled", is_recalled(gpu.source)}});
  }
  return {{"heddle", kVersion}, {"models", models}, {"fabrics", fabrics}, {"gpus", gpus}};
}

}  // namespace heddle::cli
