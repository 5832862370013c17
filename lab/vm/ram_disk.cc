// See ram_disk.h.
#include "lab/vm/ram_disk.h"

#include <elf.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "lab/vm/cpio.h"

namespace heddle::lab::vm {
namespace {

Result<std::string> content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string content{std::istreambuf_iterator<char>(file), {}};
  if (file && !content.empty()) return content;
  return fail(ErrorCode::kUnavailable, fmt::format("cannot read {}", path),
              errno == 0 ? "it is empty" : std::strerror(errno),
              "unpack the kernel again: scripts/setup --vm");
}

// Whether an ELF program names a loader of shared libraries.
bool needs_libraries(const std::string& program) {
  Elf64_Ehdr header{};
  if (program.size() < sizeof header) return true;
  std::memcpy(&header, program.data(), sizeof header);
  for (size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part{};
    const size_t at = header.e_phoff + i * sizeof part;
    if (at > program.size() - sizeof part) return true;
    std::memcpy(&part, program.data() + at, sizeof part);
    if (part.p_type == PT_INTERP) return true;
  }
  return false;
}

}  // namespace

Result<std::string> make_ram_disk(const VmOptions& options, const Kernel& kernel,
                                  const Caller& caller, const std::string& busybox) {
  const Result<std::string> shell = content_of(busybox);
  if (!shell) return fail(shell.error());
  if (needs_libraries(*shell)) {
    return fail(ErrorCode::kUnavailable, "cannot make a virtual machine",
                fmt::format("{} needs shared libraries", busybox),
                "apt-get install busybox-static");
  }
  const auto files = module_files(kernel, early_modules());
  if (!files) return fail(files.error());
  Cpio archive;
  for (const char* const folder :
       {"bin", "modules", "guest", "proc", "sys", "dev", "host", "changes", "new"}) {
    archive.add_folder(folder);
  }
  archive.add_file("init", init_script(), true);
  archive.add_file("bin/busybox", *shell, true);
  std::string order;
  for (const std::string& file : *files) {
    const Result<std::string> module = content_of(kernel.modules + "/" + file);
    if (!module) return fail(module.error());
    const std::string name = file.substr(file.rfind('/') + 1);
    archive.add_file("modules/" + name, *module);
    order += name + "\n";
  }
  archive.add_file("modules/order", order);
  archive.add_file("guest/setup", setup_script());
  archive.add_file("guest/settings", settings_text(options, kernel, caller));
  archive.add_file("guest/command", command_text(options, caller));
  return archive.finish();
}

}  // namespace heddle::lab::vm
