// The TOML files of the folder presets, embedded by embed.py when heddle is built.
#pragma once

namespace heddle::planner {

extern const char* const kModelPresets;
extern const char* const kGpuPresets;
extern const char* const kFabricPresets;

}  // namespace heddle::planner
