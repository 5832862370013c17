// GPUs of a machine as a fact: how many of which model, and their driver, from nvidia-smi or, where
// it does not run, from the files of the driver.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace heddle::acceptance {

struct GpuList {
  std::vector<std::string> models;
  std::string driver;  // empty: not known
};

// What nvidia-smi is asked for, and what it printed.
std::vector<std::string> gpu_list_query();
GpuList gpus_of_rows(const std::string& rows);
// Of a tree as /proc has it.
GpuList gpus_of_driver(const std::filesystem::path& proc);

// "8 x NVIDIA H200, driver 550.54.15", with those that the bus has and the driver does not list;
// "none".
std::string gpus_text(const GpuList& listed, size_t on_bus);

}  // namespace heddle::acceptance
