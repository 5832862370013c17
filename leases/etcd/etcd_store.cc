// See etcd_store.h. `turn` changes with each publication; a transaction that finds it changed does
// nothing.
#include "leases/etcd/etcd_store.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/clocks.h"
#include "base/exec.h"
#include "base/printable.h"
#include "launch/background_command.h"
#include "leases/etcd/client_text.h"
#include "leases/params.h"

namespace heddle::leases {
namespace {

using nlohmann::json;

constexpr std::string_view kJobs = "heddle/leases/job/";
constexpr const char* kTurn = "heddle/leases/turn";
constexpr std::string_view kNoLease = "lease not found";
constexpr useconds_t kPollMicros = 2'000;

std::string key_of(const std::string& job) { return std::string(kJobs) + job; }

// Of one JSON document. Nothing where it is none, or the number is missing.
std::optional<int64_t> number_at(const std::string& text, const char* path) {
  const json document = json::parse(text, nullptr, false);
  const json::json_pointer at{std::string(path)};
  if (document.is_discarded() || !document.contains(at)) return std::nullopt;
  const json& value = document.at(at);
  if (!value.is_number_integer()) return std::nullopt;
  return value.get<int64_t>();
}

int64_t turn_of(const std::string& version) {
  int64_t turn = 0;
  std::from_chars(version.data(), version.data() + version.size(), turn);
  return turn;
}

}  // namespace

Result<std::unique_ptr<Store>> EtcdStore::open(const std::string& endpoints) {
  const auto fits = [](char each) {
    return std::string_view(
               "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
               "._-:,[]/")
               .find(each) != std::string_view::npos;
  };
  if (!endpoints.empty() && endpoints.front() != '-' &&
      std::all_of(endpoints.begin(), endpoints.end(), fits)) {
    return std::unique_ptr<Store>(new EtcdStore(endpoints));
  }
  return fail(ErrorCode::kInvalid, "cannot use the store 'etcd:" + endpoints + "'",
              "it names no server", "give etcd:HOST:PORT, and others behind commas");
}

Result<std::string> EtcdStore::call(std::vector<std::string> words,
                                    const std::string& input) const {
  const std::string what = "cannot use the store 'etcd:" + endpoints_ + "'";
  words.insert(words.begin(), {"etcdctl", "--endpoints=" + endpoints_, "--write-out=json"});
  launch::CommandOptions options{.words = std::move(words),
                                 .input = input,
                                 .limit = params::kMostEtcdWait,
                                 .keep_output = true};
  auto command = launch::BackgroundCommand::start(options, steady_now());
  if (!command) return fail(command.error());
  std::optional<launch::CommandResult> ended;
  while (!(ended = command->poll(steady_now()))) usleep(kPollMicros);
  if (ended->exit_status == 0) return std::move(ended->output);
  if (ended->exit_status == kNotFound) {
    return fail(ErrorCode::kUnavailable, what, "its client 'etcdctl' is not installed",
                "apt install etcd-client, or give a folder as --store");
  }
  if (ended->timed_out) {
    return fail(ErrorCode::kTimeout, what,
                fmt::format("no answer within {:.0f} s", to_seconds(params::kMostEtcdWait)),
                "see `etcdctl endpoint health`");
  }
  return fail(ErrorCode::kUnavailable, what, error_of_client(ended->last_error),
              "see `etcdctl --endpoints=" + endpoints_ + " endpoint health`");
}

Result<std::vector<EtcdStore::Key>> EtcdStore::get(std::vector<std::string> words) const {
  words.insert(words.begin(), "get");
  const Result<std::string> text = call(std::move(words));
  if (!text) return fail(text.error());
  const json document = json::parse(*text, nullptr, false);
  const Unexpected no_answer =
      fail(ErrorCode::kSystem, "cannot use the store 'etcd:" + endpoints_ + "'",
           "its client prints something else than an answer", "use the etcdctl of Debian 12");
  if (!document.is_object()) return no_answer;
  std::vector<Key> keys;
  const auto list = document.find("kvs");
  if (list == document.end()) return keys;
  if (!list->is_array()) return no_answer;
  for (const json& each : *list) {
    if (!each.is_object()) return no_answer;
    const auto text_at = [&each](const char* name) {
      const auto found = each.find(name);
      return found != each.end() && found->is_string()
                 ? from_base64(found->get<std::string>()).value_or("")
                 : std::string();
    };
    const auto at = [&each](const char* name) {
      const auto found = each.find(name);
      return found != each.end() && found->is_number_integer() ? found->get<int64_t>() : 0;
    };
    keys.push_back({text_at("key"), text_at("value"), at("mod_revision"), at("lease")});
  }
  return keys;
}

Result<EtcdStore::Key> EtcdStore::find(const std::string& job) const {
  Result<std::vector<Key>> keys = get({key_of(job)});
  if (!keys) return fail(keys.error());
  return keys->empty() ? Key{} : std::move(keys->front());
}

Result<std::string> EtcdStore::version() {
  // The turn first: what is published later than it is then not missed.
  const Result<std::vector<Key>> turn = get({kTurn, "--keys-only"});
  if (!turn) return fail(turn.error());
  const Result<std::vector<Key>> jobs = get({std::string(kJobs), "--prefix", "--keys-only"});
  if (!jobs) return fail(jobs.error());
  std::string version = fmt::format("{};", turn->empty() ? 0 : turn->front().changed_at);
  for (const Key& each : *jobs) version += fmt::format("{} {};", each.name, each.changed_at);
  return version;
}

Result<Nanos> EtcdStore::left(int64_t lease_id) const {
  const Result<std::string> text =
      call({"lease", "timetolive", fmt::format("{:x}", static_cast<uint64_t>(lease_id))});
  if (!text) return fail(text.error());
  return seconds(std::max<int64_t>(number_at(*text, "/ttl").value_or(0), 0));
}

Result<Snapshot> EtcdStore::read() {
  Snapshot snapshot;
  Result<std::string> version = this->version();
  if (!version) return fail(version.error());
  snapshot.version = std::move(*version);
  const Result<std::vector<Key>> names = get({std::string(kJobs), "--prefix", "--keys-only"});
  if (!names) return fail(names.error());
  for (const Key& name : *names) {
    const std::string job = name.name.substr(std::min(kJobs.size(), name.name.size()));
    const auto ignore = [&](const std::string& why) {
      snapshot.ignored.push_back(printable("key '" + name.name + "' is no lease: " + why));
    };
    if (!check_job_name(job)) {
      ignore("its name is no job's");
      continue;
    }
    const Result<Key> key = find(job);
    if (!key) return fail(key.error());
    if (key->changed_at == 0) continue;  // it has expired since
    Result<Lease> lease = parse_lease(key->value, job);
    if (!lease || lease->job != job || key->lease_id == 0) {
      ignore(!lease              ? lease.error().why
             : lease->job != job ? "it is the lease of '" + lease->job + "'"
                                 : "it never expires");
      continue;
    }
    const Result<Nanos> left = this->left(key->lease_id);
    if (!left) return fail(left.error());
    if (*left > Nanos{}) snapshot.live.push_back({std::move(*lease), *left});
  }
  return snapshot;
}

Result<void> EtcdStore::grant(Nanos ttl) {
  const int64_t whole = std::max<int64_t>((ttl.count + seconds(1).count - 1) / seconds(1).count, 1);
  const Result<std::string> text = call({"lease", "grant", std::to_string(whole)});
  if (!text) return fail(text.error());
  lease_id_ = number_at(*text, "/ID").value_or(0);
  if (lease_id_ != 0) return {};
  return fail(ErrorCode::kSystem, "cannot use the store 'etcd:" + endpoints_ + "'",
              "it grants no lease", "see `etcdctl lease grant 60`");
}

Result<Published> EtcdStore::publish(const Snapshot& seen, const Lease& lease) {
  const std::string text = text_of(lease);
  if (text.size() > params::kMostEtcdBytes) {
    return fail(
        ErrorCode::kExhausted, "cannot take the lease '" + lease.job + "'",
        fmt::format("it has {} bytes, and etcd takes {}", text.size(), params::kMostEtcdBytes),
        "give a folder as --store");
  }
  const bool first = lease.plans == 1;
  if (first && lease_id_ == 0) {
    if (Result<void> granted = grant(lease.ttl); !granted) return fail(granted.error());
  }
  if (!first && changed_at_ == 0) return Published::kLost;
  const std::string key = key_of(lease.job);
  const std::string transaction = fmt::format(
      "mod(\"{0}\") = \"{1}\"\nmod(\"{2}\") = \"{3}\"\n\nput {2} {4} --lease={5:x}\nput {0} {6}\n\n"
      "get {0}\n\n",
      kTurn, turn_of(seen.version), key, first ? 0 : changed_at_, quoted_for_client(text),
      static_cast<uint64_t>(lease_id_), lease.holder);
  const Result<std::string> done = call({"txn"}, transaction);
  if (!done && done.error().why.find(kNoLease) != std::string::npos) {
    lease_id_ = 0;  // it expired while the plan was made
    return first ? Published::kChanged : Published::kLost;
  }
  if (!done) return fail(done.error());
  const json answer = json::parse(*done, nullptr, false);
  if (!answer.is_object() || !answer.value("succeeded", false)) return refused(lease);
  changed_at_ = number_at(*done, "/header/revision").value_or(0);
  return Published::kDone;
}

// Why a transaction was not done.
Result<Published> EtcdStore::refused(const Lease& lease) {
  const Result<Key> key = find(lease.job);
  if (!key) return fail(key.error());
  if (lease.plans > 1) {
    return key->changed_at == changed_at_ ? Published::kChanged : Published::kLost;
  }
  if (key->changed_at == 0) return Published::kChanged;
  const Result<Lease> other = parse_lease(key->value, lease.job);
  if (other && other->holder == lease.holder) {  // done by a call whose answer did not come
    changed_at_ = key->changed_at;
    return Published::kDone;
  }
  if (other) return name_in_use(lease, {*other, left(key->lease_id).value_or(other->ttl)});
  return fail(ErrorCode::kInUse, "cannot take the lease '" + lease.job + "'",
              "etcd has a key that is no lease: " + other.error().why,
              "choose another name with --job, or remove the key " + key_of(lease.job));
}

Result<bool> EtcdStore::renew(const Lease& lease) {
  if (lease_id_ == 0) return false;
  const Result<std::string> kept = call(
      {"lease", "keep-alive", "--once", fmt::format("{:x}", static_cast<uint64_t>(lease_id_))});
  if (!kept && kept.error().why.find(kNoLease) != std::string::npos) {
    lease_id_ = changed_at_ = 0;
    return false;
  }
  if (!kept) return fail(kept.error());
  const Result<Key> key = find(lease.job);
  if (!key) return fail(key.error());
  if (key->changed_at == changed_at_ && key->lease_id == lease_id_) return true;
  changed_at_ = 0;
  return false;
}

// Only the own key has the own etcd lease, and goes with it.
Result<void> EtcdStore::release(const Lease&) {
  if (lease_id_ == 0) return {};
  const Result<std::string> done =
      call({"lease", "revoke", fmt::format("{:x}", static_cast<uint64_t>(lease_id_))});
  if (!done && done.error().why.find(kNoLease) == std::string::npos) return fail(done.error());
  lease_id_ = changed_at_ = 0;
  return {};
}

}  // namespace heddle::leases
