// See kernel.h. Dependencies are read from modules.dep, which depmod(8) writes: each line has a
// module's file, a colon, and all files that must be loaded before it, the first to load last.
#include "lab/vm/kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <system_error>

namespace heddle::lab::vm {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWhat = "no kernel for the virtual machine";
constexpr const char* kTodo =
    "run scripts/setup --vm, which unpacks Debian's kernel into the cache without installing it; "
    "or name a folder with boot/ and lib/modules/ by --kernel";
constexpr std::string_view kSoftRoce = "rdma_rxe";

// "kernel/fs/9p/9p.ko" is the module "9p"; in names '-' and '_' are the same.
std::string module_name(std::string_view file) {
  std::string name(file.substr(file.rfind('/') + 1));
  name.resize(std::min(name.size(), name.find(".ko")));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

struct Module {
  std::string file;
  std::vector<std::string> needs;  // files, the first to load last
};

std::map<std::string, Module> read_modules(const std::string& folder) {
  std::map<std::string, Module> modules;
  std::ifstream list(fs::path(folder) / "modules.dep");
  for (std::string line; std::getline(list, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    Module module{line.substr(0, colon), {}};
    std::istringstream needs(line.substr(colon + 1));
    for (std::string file; needs >> file;) module.needs.push_back(file);
    modules.emplace(module_name(module.file), std::move(module));
  }
  return modules;
}

bool is_built_in(const std::string& folder, const std::string& name) {
  std::ifstream list(fs::path(folder) / "modules.builtin");
  for (std::string line; std::getline(list, line);) {
    if (module_name(line) == name) return true;
  }
  return false;
}

bool is_there(const fs::path& path) {
  std::error_code failed;
  return fs::exists(path, failed);
}

std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    if (entry->is_directory(failed)) found.push_back(entry->path());
  }
  return found;
}

// Why the machine cannot use it; empty: it can.
std::string unfit(const Kernel& kernel) {
  if (kernel.image.empty()) return "boot/ has no image of it";
  if (!is_there(fs::path(kernel.modules) / "modules.dep")) return "depmod has not been run over it";
  const auto modules = read_modules(kernel.modules);
  const auto soft_roce = modules.find(std::string(kSoftRoce));
  if (soft_roce == modules.end()) return "it has no soft-RoCE (rdma_rxe)";
  if (!soft_roce->second.file.ends_with(".ko")) return "its modules are compressed";
  return {};
}

// An image that is not compressed starts without unpacking itself, so it comes first.
std::string image_of(const fs::path& root, const std::string& version) {
  for (const char* const name : {"vmlinux-", "vmlinuz-"}) {
    const fs::path image = root / "boot" / (name + version);
    if (is_there(image)) return image.string();
  }
  return {};
}

std::vector<Kernel> kernels_below(const fs::path& root) {
  std::vector<Kernel> kernels;
  for (const char* const modules : {"lib/modules", "usr/lib/modules"}) {
    for (const fs::path& folder : folders_in(root / modules)) {
      const std::string version = folder.filename().string();
      kernels.push_back({version, image_of(root, version), folder.string()});
    }
  }
  std::sort(kernels.begin(), kernels.end(), [](const Kernel& one, const Kernel& other) {
    return strverscmp(one.version.c_str(), other.version.c_str()) > 0;
  });
  return kernels;
}

// The first one that can be used; else why the last one cannot.
std::optional<Kernel> first_fit(const std::vector<Kernel>& kernels, std::string& why) {
  for (const Kernel& kernel : kernels) {
    const std::string reason = unfit(kernel);
    if (reason.empty()) return kernel;
    why = fmt::format("{} is there, but {}", kernel.version, reason);
  }
  return std::nullopt;
}

Result<Kernel> kernel_of_image(const fs::path& image) {
  const std::string name = image.filename().string();
  const size_t dash = name.find('-');
  const std::string version = dash == std::string::npos ? std::string() : name.substr(dash + 1);
  std::string why = "its name does not end with a version, as vmlinuz-6.1.0-56-amd64 does";
  const fs::path own = fs::absolute(image).parent_path().parent_path();
  for (const fs::path& root : {own, own / "usr", fs::path("/")}) {
    const fs::path modules = root / "lib/modules" / version;
    if (version.empty() || !is_there(modules)) continue;
    const Kernel kernel{version, fs::absolute(image).string(), modules.string()};
    why = unfit(kernel);
    if (why.empty()) return kernel;
  }
  return fail(ErrorCode::kUnavailable, fmt::format("cannot use the kernel {}", image.string()),
              why.empty() ? "there is no folder of its modules" : why, kTodo);
}

Result<Kernel> kernel_given(const std::string& given) {
  std::error_code failed;
  if (!fs::exists(given, failed)) {
    return fail(ErrorCode::kUnavailable, fmt::format("cannot use the kernel {}", given),
                "there is no such folder or file", kTodo);
  }
  if (!fs::is_directory(given, failed)) return kernel_of_image(given);
  std::string why = "it has no lib/modules/VERSION";
  if (auto kernel = first_fit(kernels_below(fs::absolute(given)), why)) return *kernel;
  return fail(ErrorCode::kUnavailable, fmt::format("cannot use the kernel in {}", given), why,
              kTodo);
}

}  // namespace

KernelPlaces default_kernel_places() {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  const char* const home = std::getenv("HOME");
  fs::path folder = cache != nullptr && *cache != '\0'
                        ? fs::path(cache)
                        : fs::path(home == nullptr ? "/" : home) / ".cache";
  return {(folder / "heddle/vm").string(), "/"};
}

Result<Kernel> find_kernel(const std::string& given, const KernelPlaces& places) {
  if (!given.empty()) return kernel_given(given);
  std::vector<Kernel> kernels;
  for (const fs::path& folder : folders_in(places.cache)) {
    for (Kernel& kernel : kernels_below(folder)) kernels.push_back(std::move(kernel));
  }
  std::sort(kernels.begin(), kernels.end(), [](const Kernel& one, const Kernel& other) {
    return strverscmp(one.version.c_str(), other.version.c_str()) > 0;
  });
  std::string why = fmt::format("neither {} nor {} has one", places.cache,
                                (fs::path(places.root) / "boot").string());
  if (auto kernel = first_fit(kernels, why)) return *kernel;
  if (auto kernel = first_fit(kernels_below(places.root), why)) return *kernel;
  return fail(ErrorCode::kUnavailable, kWhat, why, kTodo);
}

Result<std::vector<std::string>> module_files(const Kernel& kernel,
                                              const std::vector<std::string_view>& names) {
  const auto modules = read_modules(kernel.modules);
  std::vector<std::string> files;
  const auto add = [&files](const std::string& file) {
    if (std::find(files.begin(), files.end(), file) == files.end()) files.push_back(file);
  };
  for (const std::string_view name : names) {
    const auto module = modules.find(std::string(name));
    if (module == modules.end()) {
      if (is_built_in(kernel.modules, std::string(name))) continue;
      return fail(ErrorCode::kUnavailable, fmt::format("cannot use the kernel {}", kernel.version),
                  fmt::format("it has no module {}", name), kTodo);
    }
    const auto& needs = module->second.needs;
    std::for_each(needs.rbegin(), needs.rend(), add);
    add(module->second.file);
  }
  return files;
}

}  // namespace heddle::lab::vm
