// See libraries.h.
#include "nccl/libraries.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <functional>
#include <set>
#include <sstream>
#include <system_error>

#include "base/descriptor.h"

namespace heddle::nccl {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSoname = "libnccl.so.2";

bool is_digit(char each) { return each >= '0' && each <= '9'; }

std::vector<int> numbers_behind(std::string_view content, std::string_view needle) {
  std::set<int, std::greater<>> numbers;
  for (size_t at = content.find(needle); at != std::string_view::npos;
       at = content.find(needle, at + 1)) {
    const std::string_view rest = content.substr(at + needle.size(), 3);
    int number = 0;
    if (std::from_chars(rest.data(), rest.data() + rest.size(), number).ec == std::errc{}) {
      numbers.insert(number);
    }
  }
  return {numbers.begin(), numbers.end()};
}

std::string version_in(std::string_view content) {
  constexpr std::string_view kBefore = "NCCL version ";
  for (size_t at = content.find(kBefore); at != std::string_view::npos;
       at = content.find(kBefore, at + 1)) {
    const std::string_view rest = content.substr(at + kBefore.size(), 16);
    size_t end = 0;
    while (end < rest.size() && (is_digit(rest[end]) || rest[end] == '.')) ++end;
    if (std::count(rest.begin(), rest.begin() + static_cast<ptrdiff_t>(end), '.') == 2) {
      return std::string(rest.substr(0, end));
    }
  }
  return {};
}

void read_file(NcclLibrary& library) {
  const Descriptor file(open(library.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat facts {};
  if (file.number() < 0 || fstat(file.number(), &facts) != 0) return;
  if (!S_ISREG(facts.st_mode) || facts.st_size <= 0) return;
  const size_t bytes = static_cast<size_t>(facts.st_size);
  void* const memory = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (memory == MAP_FAILED) return;
  read_nccl({static_cast<const char*>(memory), bytes}, library);
  munmap(memory, bytes);
}

// Folders of Python's packages below `base`: lib/python3.11/site-packages and their like.
std::vector<fs::path> package_folders(const fs::path& base) {
  std::vector<fs::path> folders;
  std::error_code failed;
  for (fs::directory_iterator entry(base / "lib", failed), end; !failed && entry != end;
       entry.increment(failed)) {
    if (!entry->path().filename().string().starts_with("python3")) continue;
    folders.push_back(entry->path() / "site-packages");
    folders.push_back(entry->path() / "dist-packages");
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

class Search {
 public:
  explicit Search(const LibrarySources& sources) : sources_(sources) {}

  void add(const fs::path& file, const char* origin) {
    std::error_code failed;
    const fs::path real = fs::canonical(file, failed);
    if (failed || !seen_.insert(real).second) return;
    NcclLibrary& library = found_.emplace_back();
    library.path = file;
    library.origin = origin;
    read_file(library);
  }

  void add_packages(const std::string& base) {
    if (base.empty()) return;
    for (const fs::path& folder : package_folders(sources_.root + base)) {
      add(folder / "nvidia" / "nccl" / "lib" / kSoname, "Python");
    }
  }

  void add_search_path() {
    std::istringstream folders(sources_.ld_library_path);
    for (std::string folder; std::getline(folders, folder, ':');) {
      if (!folder.empty()) add(fs::path(sources_.root + folder) / kSoname, "LD_LIBRARY_PATH");
    }
  }

  // Lines such as "	libnccl.so.2 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libnccl.so.2".
  void add_cache() {
    std::istringstream lines(sources_.ldconfig);
    for (std::string line; std::getline(lines, line);) {
      const size_t arrow = line.find("=> ");
      if (line.find(std::string(kSoname) + " ") == std::string::npos) continue;
      if (arrow != std::string::npos) add(sources_.root + line.substr(arrow + 3), "ldconfig");
    }
  }

  std::vector<NcclLibrary> take() { return std::move(found_); }

 private:
  const LibrarySources& sources_;
  std::set<fs::path> seen_;
  std::vector<NcclLibrary> found_;
};

}  // namespace

int net_table_of(std::string_view version) {
  // A release's number is major * 100 + minor; each row is the first release with that table.
  struct Row {
    int release;
    int table;
  };
  constexpr std::array kRows = {Row{230, 12}, Row{228, 11}, Row{226, 10}, Row{224, 9},
                                Row{220, 8},  Row{219, 7},  Row{218, 6}};
  int major = 0;
  int minor = 0;
  const char* const end = version.data() + version.size();
  const auto [dot, wrong_major] = std::from_chars(version.data(), end, major);
  if (wrong_major != std::errc{} || dot == end || *dot != '.') return 0;
  if (std::from_chars(dot + 1, end, minor).ec != std::errc{}) return 0;
  for (const Row& row : kRows) {
    if (major * 100 + minor >= row.release) return row.table;
  }
  return 0;
}

void read_nccl(std::string_view content, NcclLibrary& library) {
  library.version = version_in(content);
  library.net = numbers_behind(content, "ncclNetPlugin_v");
  library.profiler = numbers_behind(content, "ncclProfiler_v");
  library.tuner = numbers_behind(content, "ncclTunerPlugin_v");
  const int newest = net_table_of(library.version);
  library.from_version = library.net.empty() && newest != 0;
  // each release looks for the tables before its newest, too; heddle has none before 6
  for (int table = newest; library.from_version && table >= 6; --table) {
    library.net.push_back(table);
  }
}

std::vector<NcclLibrary> find_nccl_libraries(const LibrarySources& sources) {
  Search search(sources);
  search.add_search_path();
  search.add_packages(sources.virtual_env);
  search.add_packages(sources.conda_prefix);
  if (!sources.home.empty()) search.add_packages(sources.home + "/.local");
  search.add_packages("/usr/local");
  search.add_packages("/usr");
  search.add_cache();
  return search.take();
}

}  // namespace heddle::nccl
