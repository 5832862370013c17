// One defect an argument, which a build with sanitizers must report with this file's name: the
// proof that the flags of that build find what they are for.
#include <climits>
#include <cstdio>
#include <cstring>
#include <memory>

namespace {

int* volatile lost = nullptr;  // not known to the compiler

int overflow(int by) { return INT_MAX - 1 + by; }

char behind_the_end(int size) {
  const auto bytes = std::make_unique<char[]>(static_cast<size_t>(size));
  return bytes[static_cast<size_t>(size)];
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const char* const defect = arguments[1];
  if (std::strcmp(defect, "overflow") == 0) std::printf("%d\n", overflow(count));
  if (std::strcmp(defect, "heap") == 0) std::printf("%d\n", behind_the_end(count));
  if (std::strcmp(defect, "leak") == 0) {
    lost = new int(count);
    lost = nullptr;
  }
  return 0;
}
