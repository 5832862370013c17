// See pickle.h. The machine of the pickle format (Python's Lib/pickletools.py) without its calls.
// Values are kept in one array and name each other by number, since a pickle may name one often.
#include "recordings/import/pickle.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "recordings/import/bounded_json.h"
#include "recordings/params.h"

namespace heddle::recordings {
namespace {

// What torch's own pickler wraps lists of one type into; the list itself is their only argument.
constexpr std::string_view kListBuilders = "torch.jit._pickle\nbuild_";

Unexpected refuse(const std::string& why) {
  return fail(ErrorCode::kInvalid, "cannot read the pickle", why,
              "give a dump of PyTorch's Flight Recorder as it was written");
}

enum class Shape : uint8_t { kPlain, kList, kDictionary, kListBuilder };

struct Value {
  Shape shape = Shape::kPlain;
  ForeignJson plain;
  std::vector<uint32_t> items;  // of a dictionary: key, value, key, value …
};

class Machine {
 public:
  Machine(std::string_view bytes, std::string_view left_out) : left_(bytes), left_out_(left_out) {}

  Result<ForeignJson> run() {
    while (error_.empty() && !stopped_) {
      if (std::max({values_.size(), marks_.size(), memory_.size()}) >
          params::foreign::kMostValues) {
        return too_large();
      }
      step();
    }
    if (!error_.empty()) return refuse(error_);
    if (stack_.size() != 1) return refuse("it leaves no single value");
    ForeignJson document = to_json(stack_.front(), 0);
    if (!error_.empty()) return refuse(error_);
    if (spent()) return too_large();
    return document;
  }

 private:
  static Unexpected too_large() {
    return fail(ErrorCode::kExhausted, "cannot read the pickle",
                "it holds too many values, or too much text",
                "dump fewer entries (TORCH_FR_BUFFER_SIZE)");
  }

  // Zeros where it is cut short, and the error is kept.
  std::string_view take(size_t bytes) {
    if (left_.size() < bytes) {
      error_ = "it is cut short";
      left_ = {};
      return {};
    }
    const std::string_view taken = left_.substr(0, bytes);
    left_.remove_prefix(bytes);
    return taken;
  }
  template <typename Number>
  Number number() {
    Number value{};
    const std::string_view bytes = take(sizeof value);
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  std::string_view line() {
    const size_t end = left_.find('\n');
    const std::string_view text = take(end == std::string_view::npos ? left_.size() + 1 : end);
    take(1);
    return text;
  }

  void push(Value value) {
    stack_.push_back(static_cast<uint32_t>(values_.size()));
    values_.push_back(std::move(value));
  }
  void push_plain(ForeignJson plain) { push({Shape::kPlain, std::move(plain), {}}); }
  void push_shape(Shape shape, std::vector<uint32_t> items = {}) {
    push({shape, nullptr, std::move(items)});
  }

  // What stands above the newest mark, which is taken away with it.
  std::vector<uint32_t> above_mark() {
    if (marks_.empty()) {
      error_ = "a mark is missing";
      return {};
    }
    const size_t mark = marks_.back();
    marks_.pop_back();
    if (mark > stack_.size()) {
      error_ = "a mark stands beyond the stack";
      return {};
    }
    std::vector<uint32_t> items(stack_.begin() + static_cast<int64_t>(mark), stack_.end());
    stack_.resize(mark);
    return items;
  }
  std::vector<uint32_t> topmost(size_t count) {
    if (stack_.size() < count) {
      error_ = "the stack is empty";
      return {};
    }
    std::vector<uint32_t> items(stack_.end() - static_cast<int64_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    return items;
  }
  void extend(Shape shape, const std::vector<uint32_t>& items) {
    const bool fits = !stack_.empty() && values_[stack_.back()].shape == shape &&
                      (shape != Shape::kDictionary || items.size() % 2 == 0);
    if (!fits) {
      if (error_.empty()) error_ = "items stand where nothing takes them";
      return;
    }
    std::vector<uint32_t>& all = values_[stack_.back()].items;
    all.insert(all.end(), items.begin(), items.end());
  }

  void remember(uint32_t place) {
    if (stack_.empty()) {
      error_ = "the stack is empty";
      return;
    }
    memory_[place] = stack_.back();
  }
  void recall(uint32_t place) {
    const auto found = memory_.find(place);
    if (found == memory_.end()) {
      error_ = "it names a value that it has not kept";
      return;
    }
    stack_.push_back(found->second);
    // Each time counts, or lists could grow without the file growing.
    if (++recalled_ > params::foreign::kMostValues) error_ = "it names values too often";
  }

  void push_long() {
    const auto bytes = number<uint8_t>();
    const std::string_view digits = take(bytes);
    if (bytes > sizeof(int64_t)) {
      error_ = "a number is too large";
      return;
    }
    int64_t value = !digits.empty() && (digits.back() & 0x80) != 0 ? -1 : 0;
    if (!digits.empty()) std::memcpy(&value, digits.data(), digits.size());
    push_plain(value);
  }
  void push_double() {
    uint64_t bits = __builtin_bswap64(number<uint64_t>());
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    push_plain(value);
  }
  void push_text(size_t bytes) { push_plain(std::string(take(bytes))); }

  // Names something that could be called: only what makes lists of lists may.
  void name_global() {
    const std::string_view from = left_;
    line();
    line();
    if (!error_.empty()) return;
    const std::string_view name = from.substr(0, from.size() - left_.size());
    if (name.substr(0, kListBuilders.size()) == kListBuilders)
      return push_shape(Shape::kListBuilder);
    error_ = "it asks to run something, which is not done";
  }
  void reduce() {
    const std::vector<uint32_t> pair = topmost(2);
    const bool list = pair.size() == 2 && values_[pair[0]].shape == Shape::kListBuilder &&
                      values_[pair[1]].shape == Shape::kList && values_[pair[1]].items.size() == 1;
    if (!list) {
      if (error_.empty()) error_ = "it asks to run something, which is not done";
      return;
    }
    stack_.push_back(values_[pair[1]].items.front());
  }

  void step() {
    const auto code = number<uint8_t>();
    if (!error_.empty() || numbers_and_texts(code) || collections(code)) return;
    switch (code) {
      case 0x80:  // PROTO
        take(1);
        return;
      case 0x95:  // FRAME
        take(8);
        return;
      case 'q':  // BINPUT
        return remember(number<uint8_t>());
      case 'r':  // LONG_BINPUT
        return remember(number<uint32_t>());
      case 0x94:  // MEMOIZE
        return remember(static_cast<uint32_t>(memory_.size()));
      case 'h':  // BINGET
        return recall(number<uint8_t>());
      case 'j':  // LONG_BINGET
        return recall(number<uint32_t>());
      case 'c':  // GLOBAL
        return name_global();
      case 'R':  // REDUCE
        return reduce();
      case '.':  // STOP
        stopped_ = true;
        return;
      default:
        error_ = "it holds more than data (opcode " + std::to_string(code) + ")";
    }
  }

  // Whether it was one.
  bool numbers_and_texts(uint8_t code) {
    switch (code) {
      case 'N':
        return push_plain(nullptr), true;
      case 0x88:
        return push_plain(true), true;
      case 0x89:
        return push_plain(false), true;
      case 'J':  // BININT
        return push_plain(number<int32_t>()), true;
      case 'K':  // BININT1
        return push_plain(number<uint8_t>()), true;
      case 'M':  // BININT2
        return push_plain(number<uint16_t>()), true;
      case 0x8a:  // LONG1
        return push_long(), true;
      case 'G':  // BINFLOAT
        return push_double(), true;
      case 'X':  // BINUNICODE
        return push_text(number<uint32_t>()), true;
      case 0x8c:  // SHORT_BINUNICODE
        return push_text(number<uint8_t>()), true;
      default:
        return false;
    }
  }

  bool collections(uint8_t code) {
    switch (code) {
      case '(':  // MARK
        return marks_.push_back(stack_.size()), true;
      case '}':  // EMPTY_DICT
        return push_shape(Shape::kDictionary), true;
      case ']':  // EMPTY_LIST
      case ')':  // EMPTY_TUPLE
        return push_shape(Shape::kList), true;
      case 't':  // TUPLE
      case 'l':  // LIST
        return push_shape(Shape::kList, above_mark()), true;
      case 0x85:  // TUPLE1, 2, 3
      case 0x86:
      case 0x87:
        return push_shape(Shape::kList, topmost(code - 0x84u)), true;
      case 'a':  // APPEND
        return extend(Shape::kList, topmost(1)), true;
      case 'e':  // APPENDS
        return extend(Shape::kList, above_mark()), true;
      case 's':  // SETITEM
        return extend(Shape::kDictionary, topmost(2)), true;
      case 'u':  // SETITEMS
        return extend(Shape::kDictionary, above_mark()), true;
      default:
        return false;
    }
  }

  // A few bytes can refer to many values: each reference counts.
  bool spent() const {
    return !error_.empty() || shown_ > params::foreign::kMostValues ||
           shown_bytes_ > params::foreign::kMostTextBytes;
  }
  ForeignJson to_json(uint32_t number, int depth) {
    ++shown_;
    const Value& value = values_[number];
    if (value.shape == Shape::kPlain) return plain_json(value.plain);
    if (depth >= kMostJsonDepth) error_ = "values are nested too deeply";
    if (spent() || value.shape == Shape::kListBuilder) return nullptr;
    if (value.shape == Shape::kDictionary) return object_json(value.items, depth);
    ForeignJson made = ForeignJson::array();
    for (size_t i = 0; i < value.items.size() && !spent(); ++i) {
      made.push_back(to_json(value.items[i], depth + 1));
    }
    return made;
  }
  ForeignJson object_json(const std::vector<uint32_t>& items, int depth) {
    ForeignJson made = ForeignJson::object();
    for (size_t i = 0; i < items.size() && !spent(); i += 2) {
      const ForeignJson key = plain_json(values_[items[i]].plain);
      const std::string name = key.is_string() ? key.get<std::string>() : key.dump();
      made[name] = name == left_out_ ? ForeignJson() : to_json(items[i + 1], depth + 1);
    }
    return made;
  }
  ForeignJson plain_json(const ForeignJson& plain) {
    if (plain.is_string()) shown_bytes_ += plain.get_ref<const std::string&>().size();
    return spent() ? ForeignJson() : plain;
  }

  std::string_view left_;
  const std::string_view left_out_;
  std::vector<Value> values_;
  std::vector<uint32_t> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint32_t, uint32_t> memory_;
  std::string error_;
  bool stopped_ = false;
  size_t recalled_ = 0;
  size_t shown_ = 0;
  size_t shown_bytes_ = 0;
};

}  // namespace

bool looks_like_pickle(std::string_view bytes) {
  return bytes.size() >= 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5;
}

Result<ForeignJson> read_pickle(std::string_view bytes, std::string_view left_out) {
  if (!looks_like_pickle(bytes)) return refuse("it begins otherwise");
  return Machine(bytes, left_out).run();
}

}  // namespace heddle::recordings
