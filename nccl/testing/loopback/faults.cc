// Faults of the loopback plugin: see faults.h.
#include "nccl/testing/loopback/faults.h"

#include <cstdlib>
#include <sstream>
#include <string>

namespace heddle::nccl::loopback {
namespace {

int* member_of(Faults& faults, const std::string& name) {
  if (name == "null") return &faults.null;
  if (name == "polls") return &faults.polls;
  if (name == "fail") return &faults.fail;
  if (name == "corrupt") return &faults.corrupt;
  if (name == "shorten") return &faults.shorten;
  if (name == "unwritten") return &faults.unwritten;
  if (name == "silent") return &faults.silent;
  if (name == "recvs") return &faults.recvs;
  if (name == "devices") return &faults.devices;
  if (name == "init") return &faults.init;
  return nullptr;
}

}  // namespace

Faults read_faults() {
  Faults faults;
  const char* const text = std::getenv("HEDDLE_LOOPBACK");
  std::istringstream words(text == nullptr ? "" : text);
  for (std::string word; std::getline(words, word, ',');) {
    const size_t equals = word.find('=');
    int* const member = member_of(faults, word.substr(0, equals));
    if (member == nullptr || equals == std::string::npos) std::abort();  // a test's own mistake
    *member = std::stoi(word.substr(equals + 1));
  }
  return faults;
}

}  // namespace heddle::nccl::loopback
