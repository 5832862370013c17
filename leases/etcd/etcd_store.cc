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

constexpr std::string_view kAll = "heddle/leases/";
constexpr std::string_view kJobs = "heddle/leases/job/";
constexpr const char* kTurn = "heddle/leases/turn";
constexpr std::string_view kNoLease = "lease not found";

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

// A name that others gave: names of leases are ASCII, and other bytes may be no UTF-8.
std::string shown(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](char each) { return (each & 0x80) != 0; }, '?');
  return printable(std::move(name));
}

int64_t turn_of(const std::string& version) {
  int64_t turn = 0;
  std::from_chars(version.data(), version.data() + version.size(), turn);
  return turn;
}

}  // namespace

Result<std::unique_ptr<Store>> EtcdStore::open(const std::string& endpoints, bool with_times) {
  const auto fits = [](char each) {
    return std::string_view(
               "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
               "._-:,[]/")
               .find(each) != std::string_view::npos;
  };
  if (!endpoints.empty() && endpoints.front() != '-' &&
      std::all_of(endpoints.begin(), endpoints.end(), fits)) {
    return std::unique_ptr<Store>(new EtcdStore(endpoints, with_times));
  }
  return fail(ErrorCode::kInvalid, "cannot use the store 'etcd:" + endpoints + "'",
              "it names no server", "give etcd:HOST:PORT, and others behind commas");
}

Result<std::string> EtcdStore::call(std::vector<std::string> words,
                                    const std::string& input) const {
  const std::string what = "cannot use the store 'etcd:" + endpoints_ + "'";
  // The client refuses options that its variables have too.
  words.insert(words.begin(), {"env", "-u", "ETCDCTL_ENDPOINTS", "-u", "ETCDCTL_WRITE_OUT",
                               "etcdctl", "--endpoints=" + endpoints_, "--write-out=json"});
  launch::CommandOptions options{
      .words = std::move(words), .input = input, .limit = limit_, .keep_output = true};
  auto command = launch::BackgroundCommand::start(options, steady_now());
  if (!command) return fail(command.error());
  std::optional<launch::CommandResult> ended;
  while (!(ended = command->poll(steady_now()))) usleep(params::kPollMicros);
  if (ended->exit_status == 0) return std::move(ended->output);
  if (ended->exit_status == kNotFound) {
    return fail(ErrorCode::kUnavailable, what, "its client 'etcdctl' is not installed",
                "apt install etcd-client, or give a folder as --leases");
  }
  if (ended->timed_out) {
    return fail(ErrorCode::kTimeout, what,
                fmt::format("no answer within {:.1f} s", to_seconds(limit_)),
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

Result<std::vector<EtcdStore::Key>> EtcdStore::keys() const {
  return get({std::string(kAll), "--prefix", "--keys-only"});
}

Result<std::string> EtcdStore::version() {
  const Result<std::vector<Key>> keys = this->keys();
  if (!keys) return fail(keys.error());
  return version_of(*keys);
}

std::string EtcdStore::version_of(const std::vector<Key>& keys) {
  int64_t turn = 0;
  std::string jobs;
  for (const Key& each : keys) {
    if (each.name == kTurn) turn = each.changed_at;
    if (each.name.starts_with(kJobs)) jobs += fmt::format("{} {};", each.name, each.changed_at);
  }
  return fmt::format("{};{}", turn, jobs);
}

Result<Nanos> EtcdStore::left(int64_t lease_id) const {
  const Result<std::string> text =
      call({"lease", "timetolive", fmt::format("{:x}", static_cast<uint64_t>(lease_id))});
  if (!text) return fail(text.error());
  return seconds(std::max<int64_t>(number_at(*text, "/ttl").value_or(0), 0));
}

// What is published after its version was read makes publish() refuse the snapshot.
Result<Snapshot> EtcdStore::read() {
  const Result<std::vector<Key>> keys = this->keys();
  if (!keys) return fail(keys.error());
  Snapshot snapshot;
  snapshot.version = version_of(*keys);
  std::erase_if(known_, [&keys](const auto& known) {
    return std::none_of(keys->begin(), keys->end(),
                        [&](const Key& each) { return each.name == known.first; });
  });
  for (const Key& name : *keys) {
    if (!name.name.starts_with(kJobs)) continue;
    const std::string job = name.name.substr(kJobs.size());
    const auto ignore = [&](const std::string& why) {
      snapshot.ignored.push_back(shown("key '" + name.name + "' is no lease: " + why));
    };
    if (!check_job_name(job)) {
      ignore("its name is no job's");
      continue;
    }
    const Result<const Known*> known = know(name, job);
    if (!known) return fail(known.error());
    if (*known == nullptr) continue;  // it has expired since
    if (!(*known)->lease || name.lease_id == 0) {
      ignore((*known)->lease ? "it never expires" : (*known)->why);
      continue;
    }
    const Lease& lease = *(*known)->lease;
    const Result<Nanos> left = with_times_ ? this->left(name.lease_id) : lease.ttl;
    if (!left) return fail(left.error());
    if (*left > Nanos{}) snapshot.live.push_back({lease, *left});
  }
  return snapshot;
}

// Null: there is no such key any more.
Result<const EtcdStore::Known*> EtcdStore::know(const Key& name, const std::string& job) {
  Known& known = known_[name.name];
  if (known.changed_at == name.changed_at) return &known;
  const Result<Key> key = find(job);
  if (!key) return fail(key.error());
  if (key->changed_at == 0) return nullptr;
  Result<Lease> lease = parse_lease(key->value, job);
  known = {key->changed_at, std::nullopt, ""};
  if (!lease) {
    known.why = lease.error().why;
  } else if (lease->job != job) {
    known.why = "it is the lease of '" + lease->job + "'";
  } else {
    known.lease = std::move(*lease);
  }
  return &known;
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

Result<Published> EtcdStore::publish(const Snapshot& seen, const Lease& lease, Claim claim) {
  const std::string text = text_of(lease);
  if (text.size() > params::kMostEtcdBytes) {
    return fail(
        ErrorCode::kExhausted, "cannot take the lease '" + lease.job + "'",
        fmt::format("it has {} bytes, and etcd takes {}", text.size(), params::kMostEtcdBytes),
        "give a folder as --leases");
  }
  limit_ = std::clamp(lease.ttl / params::kRenewals, params::kLeastEtcdWait, params::kMostEtcdWait);
  if (claim == Claim::kFirst && lease_id_ == 0) {
    if (Result<void> granted = grant(lease.ttl); !granted) return fail(granted.error());
  }
  if (claim == Claim::kNext && changed_at_ == 0) return Published::kLost;
  const std::string key = key_of(lease.job);
  const std::string transaction = fmt::format(
      "mod(\"{0}\") = \"{1}\"\nmod(\"{2}\") = \"{3}\"\n\nput {2} {4} --lease={5:x}\nput {0} {6}\n\n"
      "get {0}\n\n",
      kTurn, turn_of(seen.version), key, changed_at_, quoted_for_client(text),
      static_cast<uint64_t>(lease_id_), lease.holder);
  const Result<std::string> done = call({"txn"}, transaction);
  if (!done && done.error().why.find(kNoLease) != std::string::npos) {
    lease_id_ = changed_at_ = 0;  // it expired while the plan was made
    return claim == Claim::kFirst ? Published::kChanged : Published::kLost;
  }
  if (!done) return fail(done.error());
  const json answer = json::parse(*done, nullptr, false);
  if (!answer.is_object() || !answer.value("succeeded", false)) return refused(lease, claim);
  changed_at_ = number_at(*done, "/header/revision").value_or(0);
  return Published::kDone;
}

// Why a transaction was not done. A key of the own holder was published by a call whose answer did
// not come.
Result<Published> EtcdStore::refused(const Lease& lease, Claim claim) {
  const Result<Key> key = find(lease.job);
  if (!key) return fail(key.error());
  const Result<Lease> is = parse_lease(key->value, lease.job);
  if (is && is->holder == lease.holder) {
    const bool same = *is == lease && key->lease_id == lease_id_;
    const bool unknown = std::exchange(changed_at_, key->changed_at) != key->changed_at;
    return same && unknown ? Published::kDone : Published::kChanged;
  }
  changed_at_ = 0;
  if (claim == Claim::kNext) return Published::kLost;
  if (key->changed_at == 0) return Published::kChanged;
  if (is) return name_in_use(lease, {*is, left(key->lease_id).value_or(is->ttl)});
  return fail(ErrorCode::kInUse, "cannot take the lease '" + lease.job + "'",
              "etcd has a key that is no lease: " + is.error().why,
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
  const Result<std::vector<Key>> keys = get({key_of(lease.job), "--keys-only"});
  if (!keys) return fail(keys.error());
  const Key key = keys->empty() ? Key{} : keys->front();
  if (changed_at_ != 0 && key.changed_at == changed_at_ && key.lease_id == lease_id_) return true;
  // Published by a call whose answer did not come.
  const Result<Key> whole = find(lease.job);
  if (!whole) return fail(whole.error());
  const Result<Lease> is = parse_lease(whole->value, lease.job);
  const bool own = is && is->holder == lease.holder && whole->lease_id == lease_id_;
  changed_at_ = own ? whole->changed_at : 0;
  return own;
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
