// Kernel: finds a Linux kernel with soft-RoCE for the virtual machine, and which of its modules
// must be loaded before the host's files can be reached.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace heddle::lab::vm {

struct Kernel {
  std::string version;  // "6.1.0-56-amd64"
  std::string image;    // the file that QEMU starts
  std::string modules;  // the folder "…/lib/modules/VERSION"
};

// Where a kernel is looked for that the user does not name, the first one first: each is a folder
// with boot/ and lib/modules/ as a package unpacks them.
struct KernelPlaces {
  std::string cache;  // its subfolders, one a version
  std::string root;   // of the host's own kernels
};

// $XDG_CACHE_HOME/heddle/vm (or ~/.cache/heddle/vm), which `scripts/setup --vm` fills, and "/".
KernelPlaces default_kernel_places();

// The newest kernel that has soft-RoCE as a module: below `given`, a folder like those in
// KernelPlaces, or that of an image (…/boot/vmlinuz-VERSION); if empty, below one of `places`.
// Errors: kUnavailable, which says what was found instead and how to get one.
Result<Kernel> find_kernel(const std::string& given, const KernelPlaces& places);

// The files of these modules and of all that they need, in the order of loading, relative to
// `kernel.modules`. A module that is part of the kernel's image is left out. Errors: kUnavailable
// for one that is missing or compressed.
Result<std::vector<std::string>> module_files(const Kernel& kernel,
                                              const std::vector<std::string_view>& names);

}  // namespace heddle::lab::vm
