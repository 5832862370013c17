// NetLibrary: see net_library.h.
#include "nccl/net_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <optional>

#include "nccl/library/net_adapter.h"
#include "nccl/net_v10.h"
#include "nccl/net_v11.h"
#include "nccl/net_v12.h"
#include "nccl/net_v6.h"
#include "nccl/net_v7.h"
#include "nccl/net_v8.h"
#include "nccl/net_v9.h"

namespace heddle::nccl {
namespace {

constexpr int kNewest = 12;
constexpr int kOldest = 6;
// Symbols of tables that NCCL has dropped or may add, for the error's sentence.
constexpr int kOldestKnown = 2;
constexpr int kNewestKnown = 20;

std::string symbol(int version) { return fmt::format("ncclNetPlugin_v{}", version); }

// The first function of a table that NCCL calls and the table leaves null; null: complete.
template <typename Net>
const char* missing_function(const Net& table) {
  const auto first_null = [](std::initializer_list<std::pair<const char*, bool>> functions) {
    const auto* const found = std::find_if(functions.begin(), functions.end(),
                                           [](const auto& each) { return !each.second; });
    return found == functions.end() ? nullptr : found->first;
  };
  const auto* const found = first_null({{"init", table.init != nullptr},
                                        {"devices", table.devices != nullptr},
                                        {"getProperties", table.get_properties != nullptr},
                                        {"listen", table.listen != nullptr},
                                        {"connect", table.connect != nullptr},
                                        {"accept", table.accept != nullptr},
                                        {"regMr", table.reg_mr != nullptr},
                                        {"deregMr", table.dereg_mr != nullptr},
                                        {"isend", table.isend != nullptr},
                                        {"irecv", table.irecv != nullptr},
                                        {"test", table.test != nullptr},
                                        {"closeSend", table.close_send != nullptr},
                                        {"closeRecv", table.close_recv != nullptr},
                                        {"closeListen", table.close_listen != nullptr}});
  if (found != nullptr) return found;
  if constexpr (requires { table.finalize; }) {
    if (table.finalize == nullptr) return "finalize";
  }
  return nullptr;
}

template <int kVersion, typename Net, typename Properties>
Result<std::unique_ptr<NetPlugin>> adapt(void* table) {
  auto& net = *static_cast<Net*>(table);
  const std::string what = fmt::format("cannot use the table {}", symbol(kVersion));
  if (net.name == nullptr) {
    return fail(ErrorCode::kInvalid, what, "it has no name", "report it to the plugin's makers");
  }
  if (const char* const missing = missing_function(net); missing != nullptr) {
    return fail(ErrorCode::kInvalid, what, fmt::format("its function {} is null", missing),
                "report it to the plugin's makers");
  }
  return std::unique_ptr<NetPlugin>(
      std::make_unique<library::NetAdapter<kVersion, Net, Properties>>(net));
}

Result<std::unique_ptr<NetPlugin>> adapt(int version, void* table) {
  switch (version) {
    case 12:
      return adapt<12, v12::Net, v12::Properties>(table);
    case 11:
      return adapt<11, v11::Net, v11::Properties>(table);
    case 10:
      return adapt<10, v10::Net, v10::Properties>(table);
    case 9:
      return adapt<9, v9::Net, v9::Properties>(table);
    case 8:
      return adapt<8, v8::Net, v8::Properties>(table);
    case 7:
      return adapt<7, v7::Net, v7::Properties>(table);
    default:
      return adapt<6, v6::Net, v6::Properties>(table);
  }
}

// What NCCL passes to the loader, in order.
std::vector<std::string> candidates(const std::string& name) {
  if (name.empty()) return {"libnccl-net.so"};
  std::vector<std::string> files = {name};
  const bool is_library = name.starts_with("lib") && name.ends_with(".so");
  if (name.find('/') == std::string::npos && !is_library) {
    files.push_back(fmt::format("libnccl-net-{}.so", name));
  }
  return files;
}

// Why the loader refused a file, and what to do about it.
struct Refusal {
  std::string why;
  std::string todo;
  bool found = true;  // false: there is no such file
};

// `reason` is dlerror()'s: "FILE: cannot open shared object file: No such file or directory".
Refusal refusal_of(const std::string& file, const std::string& reason) {
  constexpr std::string_view kCannotOpen = ": cannot open shared object file: ";
  const auto says = [&](const char* text) { return reason.find(text) != std::string::npos; };
  const bool no_file = says("No such file or directory");
  if (no_file && reason.starts_with(file + std::string(kCannotOpen))) {
    const bool is_path = file.find('/') != std::string::npos;
    return {reason,
            is_path ? "look at the path"
                    : "name its .so file by its path, or add its folder to LD_LIBRARY_PATH",
            false};
  }
  if (no_file) {
    return {reason, "install that library, or add its folder to LD_LIBRARY_PATH"};
  }
  if (says("file too short") || says("invalid ELF header") || says("wrong ELF class")) {
    return {reason, "it is no library of this machine's kind; copy or build it anew"};
  }
  if (says("Permission denied")) return {reason, "make the file readable"};
  if (says("undefined symbol") || says("not found (required by")) {
    return {reason, "it was built with other libraries; `ldd -r` lists what is missing"};
  }
  return {reason, ""};
}

// The file that the loader opened; `name` where it does not know.
std::string file_of(void* handle, const std::string& name) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return name;
  return map->l_name == nullptr || *map->l_name == '\0' ? name : map->l_name;
}

}  // namespace

void NetLibrary::Closer::operator()(void* handle) const { dlclose(handle); }

Result<NetLibrary> NetLibrary::open(const std::string& name, int version) {
  NetLibrary opened;
  Refusal refusal{.why = "", .todo = "", .found = false};
  for (const std::string& file : candidates(name)) {
    opened.handle_ = Handle(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL));
    if (opened.handle_) {
      opened.file_ = file_of(opened.handle_.get(), file);
      break;
    }
    const char* const reason = dlerror();
    Refusal next = refusal_of(file, reason == nullptr ? file : reason);
    // A file that is there says more than one that is not.
    if (!next.found && refusal.found) continue;
    if (!next.found && !refusal.why.empty()) next.why = refusal.why + "; " + next.why;
    refusal = std::move(next);
  }
  if (!opened.handle_) {
    return fail(ErrorCode::kUnavailable, fmt::format("cannot load the net plugin '{}'", name),
                refusal.why, refusal.todo);
  }
  const Result<void> chosen = opened.choose_table(version);
  if (!chosen) return fail(chosen.error());
  return opened;
}

Result<void> NetLibrary::choose_table(int version) {
  std::string others;
  for (int each = kNewestKnown; each >= kOldestKnown; --each) {
    if (dlsym(handle_.get(), symbol(each).c_str()) == nullptr) continue;
    if (each <= kNewest && each >= kOldest) {
      versions_.push_back(each);
    } else {
      others += (others.empty() ? "" : ", ") + symbol(each);
    }
  }
  const std::string what = fmt::format("cannot use {} as a net plugin", file_);
  if (versions_.empty()) {
    return fail(ErrorCode::kVersion, what,
                others.empty()
                    ? fmt::format("it exports no table {} to {}", symbol(kOldest), symbol(kNewest))
                    : fmt::format("it exports {} only", others),
                "name a library that NCCL loads by NCCL_NET_PLUGIN");
  }
  const int chosen = version == 0 ? versions_.front() : version;
  if (std::find(versions_.begin(), versions_.end(), chosen) == versions_.end()) {
    return fail(ErrorCode::kVersion, what, fmt::format("it does not export {}", symbol(chosen)),
                fmt::format("its newest table is {}", symbol(versions_.front())));
  }
  Result<std::unique_ptr<NetPlugin>> plugin =
      adapt(chosen, dlsym(handle_.get(), symbol(chosen).c_str()));
  if (!plugin) return fail(plugin.error());
  plugin_ = *std::move(plugin);
  return {};
}

}  // namespace heddle::nccl
