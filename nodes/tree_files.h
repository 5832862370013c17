// Tree files: values in files of /sys and /proc, or of a tree that a test has made.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace heddle::nodes {

// A whole file; empty where it cannot be read.
std::string bytes_in(const std::filesystem::path& file);
// A file without what is blank at its end.
std::string text_in(const std::filesystem::path& file);
// The number at its start.
std::optional<double> number_in(const std::filesystem::path& file);
std::optional<uint64_t> count_in(const std::filesystem::path& file);
// Names in a folder, sorted by length and then by text: "mlx5_2" is before "mlx5_10".
std::vector<std::string> names_in(const std::filesystem::path& folder);

// "2 x a, b": texts with how often each is there, in the order of their first; "none" of none.
std::string counted(const std::vector<std::string>& texts);

}  // namespace heddle::nodes
