// Runs one fuzz target without libFuzzer: every file of its corpus, then seeded mutations of them.
// So the targets run in the normal test suite, with any compiler; long hunts use the fuzz preset.
//   <target> CORPUS_FOLDER [mutations]

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Input = std::vector<std::uint8_t>;
#ifdef __SANITIZE_THREAD__
constexpr int kDefaultMutations = 2000;  // ten times as slow, and nothing here has threads
#elif defined(__SANITIZE_ADDRESS__)
constexpr int kDefaultMutations = 5000;  // of the 20,000, which are the same ones at each run
#else
constexpr int kDefaultMutations = 20000;
#endif
constexpr std::size_t kLargestInput = 4096;

std::vector<Input> read_corpus(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  if (std::filesystem::is_directory(folder)) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.is_regular_file()) paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Input> inputs;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return inputs;
}

void run(const Input& input) { LLVMFuzzerTestOneInput(input.data(), input.size()); }

// One random edit: flip a bit, overwrite, insert, cut, or splice the tail of another input.
void mutate(Input& input, const Input& other, std::mt19937_64& random) {
  const std::size_t at = input.empty() ? 0 : random() % input.size();
  const auto offset = static_cast<std::ptrdiff_t>(at);
  switch (random() % 5) {
    case 0:
      if (!input.empty()) input[at] ^= static_cast<std::uint8_t>(1U << (random() % 8));
      break;
    case 1:
      if (!input.empty()) input[at] = static_cast<std::uint8_t>(random());
      break;
    case 2:
      input.insert(input.begin() + offset, static_cast<std::uint8_t>(random()));
      break;
    case 3:
      input.resize(at);
      break;
    default:
      input.resize(at);
      if (!other.empty()) {
        const auto from = static_cast<std::ptrdiff_t>(random() % other.size());
        input.insert(input.end(), other.begin() + from, other.end());
      }
      break;
  }
  if (input.size() > kLargestInput) input.resize(kLargestInput);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s CORPUS_FOLDER [mutations]\n", argv[0]);
    return 2;
  }
  std::vector<Input> corpus = read_corpus(argv[1]);
  const std::size_t files = corpus.size();
  for (const Input& input : corpus) run(input);
  if (corpus.empty()) corpus.emplace_back();

  const int mutations = argc > 2 ? std::atoi(argv[2]) : kDefaultMutations;
  std::mt19937_64 random(1);
  for (int i = 0; i < mutations; ++i) {
    Input input = corpus[random() % corpus.size()];
    const auto edits = 1 + random() % 8;
    for (std::uint64_t edit = 0; edit < edits; ++edit) {
      mutate(input, corpus[random() % corpus.size()], random);
    }
    run(input);
  }
  std::printf("%zu corpus files and %d mutations, seed 1\n", files, mutations);
  return 0;
}
