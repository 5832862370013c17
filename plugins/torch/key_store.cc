// Torch's store as a store of keys: see key_store.h.
#include "plugins/torch/key_store.h"

#include <exception>
#include <optional>
#include <string>
#include <vector>

namespace heddle::pytorch {
namespace {

// Its keys may be in another process. There is no wait for a key here: torch 1.13's clients mistake
// the late answer to a wait that they abandoned for that to their next question.
template <typename F>
auto or_error(const F& body) -> Result<decltype(body())> {
  try {
    return body();
  } catch (const std::exception& error) {
    return fail(ErrorCode::kSystem, "cannot use torch's store", error.what(),
                "see that the process that serves it lives");
  }
}

std::string text_at(c10d::Store& store, const std::string& key) {
  const std::vector<uint8_t> bytes = store.get(key);
  return {bytes.begin(), bytes.end()};
}

}  // namespace

collectives::KeyStore key_store(const c10::intrusive_ptr<c10d::Store>& store) {
  collectives::KeyStore keys = {.owner = "PyTorch"};
  keys.set = [store](const std::string& key, const std::string& text) -> Result<void> {
    const Result<bool> set = or_error([&] {
      store->set(key, std::vector<uint8_t>(text.begin(), text.end()));
      return true;
    });
    if (!set) return fail(set.error());
    return {};
  };
  keys.find = [store](const std::string& key) {
    return or_error([&]() -> std::optional<std::string> {
      if (!store->check({key})) return std::nullopt;
      return text_at(*store, key);
    });
  };
  keys.count = [store](const std::string& key, uint32_t more) {
    return or_error([&] { return static_cast<uint64_t>(store->add(key, int64_t{more})); });
  };
  return keys;
}

}  // namespace heddle::pytorch
