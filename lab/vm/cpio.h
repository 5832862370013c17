// Cpio: an archive in the format "newc" of cpio(5), which the kernel unpacks as its first root.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace heddle::lab::vm {

class Cpio {
 public:
  // Names are relative to the root: "bin", "bin/busybox". A folder comes before what is in it.
  void add_folder(std::string_view name);
  void add_file(std::string_view name, std::string_view content, bool executable = false);

  // Ends the archive and returns its bytes.
  std::string finish();

 private:
  void add(std::string_view name, std::string_view content, uint32_t mode);
  void pad();

  std::string bytes_;
  uint32_t entries_ = 0;
};

}  // namespace heddle::lab::vm
