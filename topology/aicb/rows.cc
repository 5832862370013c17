// See rows.h.
#include "topology/aicb/rows.h"

#include <string>
#include <string_view>

#include "topology/params.h"

namespace heddle::topology::aicb {
namespace {

constexpr size_t kWords = 12;  // name, -1, three passes, time of the update
constexpr const char* kRowTodo =
    "write NAME -1, then a time in ns, a collective and its bytes for the forward pass, the input "
    "gradient and the weight gradient, then the time of the update";

struct NamedCall {
  std::string_view name;
  CallKind call;
};
constexpr NamedCall kCalls[] = {{"ALLREDUCE", CallKind::kAllReduce},
                                {"ALLGATHER", CallKind::kAllGather},
                                {"REDUCESCATTER", CallKind::kReduceScatter},
                                {"ALLTOALL", CallKind::kAllToAll},
                                {"BROADCAST", CallKind::kBroadcast}};

// "ALLTOALL", "ALLTOALL_EP", "ALLGATHER_DP_EP".
bool read_call(std::string_view word, PassKind kind, Pass& pass) {
  pass.group = kind == PassKind::kWeightGradient ? Group::kData : Group::kTensor;
  for (const NamedCall& each : kCalls) {
    if (!word.starts_with(each.name)) continue;
    const std::string_view suffix = word.substr(each.name.size());
    if (!suffix.empty() && suffix != "_EP" && suffix != "_DP_EP") continue;
    if (suffix == "_EP") pass.group = Group::kExpert;
    if (suffix == "_DP_EP") pass.group = Group::kDataOfExperts;
    pass.call = each.call;
    return true;
  }
  return word == "NONE";
}

Result<Pass> read_pass(const WordReader& reader, size_t at, PassKind kind) {
  const auto& words = reader.words();
  Pass pass;
  const auto span = whole_number(words[at]);
  if (!span || *span > params::aicb::kMostNanos) {
    return reader.wrong(
        "word " + std::to_string(at + 1) + ", " + quoted(words[at]) + ", is no time in ns",
        kRowTodo);
  }
  pass.span = {static_cast<int64_t>(*span)};
  if (!read_call(words[at + 1], kind, pass)) {
    return reader.wrong(
        "word " + std::to_string(at + 2) + ", " + quoted(words[at + 1]) + ", is no collective",
        "write NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER, ALLTOALL or BROADCAST, "
        "and _EP or _DP_EP behind it for expert parallel ranks");
  }
  const auto bytes = whole_number(words[at + 2]);
  if (!bytes || (pass.call && *bytes > kMaxCallBytes)) {
    return reader.wrong("word " + std::to_string(at + 3) + ", " + quoted(words[at + 2]) +
                            ", is no size of a collective",
                        "give whole bytes, up to 64 GiB");
  }
  pass.bytes = *bytes;
  return pass;
}

}  // namespace

Result<std::vector<Row>> read_rows(WordReader& reader) {
  const char* const todo = "write the number of rows, up to 200000, below the header";
  if (!reader.next()) return reader.wrong("it ends before the number of its rows", todo);
  const auto count = whole_number(reader.words().front());
  if (!count || *count == 0 || *count > params::aicb::kMostRows) {
    return reader.wrong(quoted(reader.words().front()) + " is no number of rows", todo);
  }
  const int line_of_count = reader.line();
  std::vector<Row> rows;
  while (rows.size() < *count && reader.next()) {
    const auto& words = reader.words();
    if (words.size() != kWords) {
      return reader.wrong("a row has 12 words, and this one has " + std::to_string(words.size()),
                          kRowTodo);
    }
    Row row;
    for (size_t i = 0; i < kPasses; ++i) {
      const Result<Pass> pass = read_pass(reader, 2 + 3 * i, static_cast<PassKind>(i));
      if (!pass) return fail(pass.error());
      row.passes[i] = *pass;
    }
    const auto update = whole_number(words.back());
    if (!update) return reader.wrong(quoted(words.back()) + " is no time in ns", kRowTodo);
    row.update_ns = *update;
    rows.push_back(row);
  }
  if (rows.size() < *count) {
    return reader.wrong_at(line_of_count,
                           "there are " + std::to_string(*count) + " rows by this line, and " +
                               std::to_string(rows.size()) + " in the file",
                           "correct the number, or complete the file");
  }
  if (reader.next()) {
    return reader.wrong("there are more rows than the " + std::to_string(*count) + " of line " +
                            std::to_string(line_of_count),
                        "correct the number");
  }
  return rows;
}

}  // namespace heddle::topology::aicb
