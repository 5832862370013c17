// SafeFolder: the destination of a copy. Paths that a peer sent are opened below it, folder by
// folder, and never through a symbolic link, so nothing outside it is read or written.
#pragma once

#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "base/result.h"

namespace heddle::copying {

// "data/a" in quotes, printable.
std::string quoted_path(std::string_view path);
// Whether it is the name of an incomplete file or fresh link: ".NAME.heddle-part" or
// ".NAME.heddle-link".
bool is_part_name(std::string_view name);
// The name under which NAME is written until it is whole. Names that would be too long are
// shortened, and get a checksum.
std::string part_name(const std::string& name);
// Likewise of a link, until it takes the place of what has its name.
std::string fresh_link_name(const std::string& name);

// Checks a path from a peer: relative, no "." or "..", no empty name, no name of an incomplete
// file, within the lengths of Linux. Errors: kInvalid.
Result<void> check_path(std::string_view path);

class SafeFolder {
 public:
  // The folder itself may be a symbolic link; it is made, with those above it, if `make`. Errors:
  // kUnavailable, kPermission, kSystem.
  static Result<SafeFolder> open(const std::string& path, bool make);

  // A folder below this one, made if it is not there; for a copy into it.
  Result<SafeFolder> below(const std::string& path, bool make);

  struct Place {
    int folder = -1;  // valid until the next call
    std::string name;
  };
  // Where the last name of a checked path belongs. Errors: kUnavailable (a folder is missing),
  // kInvalid (a folder above it is a symbolic link or a file), kPermission.
  Result<Place> place_of(const std::string& path);

 private:
  explicit SafeFolder(Descriptor root) : root_(std::move(root)) {}
  Result<Descriptor> walk(const std::string& path, bool make) const;

  Descriptor root_;
  std::string latest_path_;  // the folder opened last, relative to the root
  Descriptor latest_;
};

}  // namespace heddle::copying
