// Leases in etcd, with a client of the test's own on PATH: it keeps keys in a file, and can be made
// to do what it is asked without an answer. The real client and server: tests/e2e/lease_test.py.
#include "leases/etcd/etcd_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/temporary_folder.h"
#include "leases/testing/small_lease.h"

namespace heddle::leases {
namespace {

using testing::SizeIs;

constexpr const char* kClient = R"py(#!/usr/bin/python3
import ast, base64, json, os, re, sys
folder = os.path.dirname(sys.argv[0])
path = folder + "/state"
state = {"revision": 1, "keys": {}, "leases": [], "next": 16}
if os.path.exists(path):
    state = json.load(open(path))
def fail(why):
    print(json.dumps({"level": "warn", "error": why}), file=sys.stderr)
    sys.exit(1)
if {"ETCDCTL_ENDPOINTS", "ETCDCTL_WRITE_OUT"} & set(os.environ):
    fail("conflicting environment variable")
words = [each for each in sys.argv[1:] if not each.startswith("--")]
keys = state["keys"]
with open(folder + "/calls", "a") as calls:
    print(" ".join(words), file=calls)
def coded(text):
    return base64.b64encode(text.encode()).decode()
answer = {}
if words[0] == "get":
    prefix = "--prefix" in sys.argv
    found = sorted(key for key in keys if key == words[1] or prefix and key.startswith(words[1]))
    bare = "--keys-only" in sys.argv
    answer = {"kvs": [{"key": coded(key), "mod_revision": keys[key][1], "lease": keys[key][2],
                       "value": "" if bare else coded(keys[key][0])} for key in found]}
elif words[0] == "txn":
    compares, puts = sys.stdin.read().split("\n\n")[:2]
    same = all(keys.get(key, ["", 0, 0])[1] == int(number)
               for key, number in re.findall(r'mod\("(.*?)"\) = "(\d+)"', compares))
    if same:
        state["revision"] += 1
        for line in puts.splitlines():
            put = re.fullmatch(r'put (\S+) (".*"|\S+?)(?: --lease=(\w+))?', line)
            key, value, lease = put.groups()
            if lease and int(lease, 16) not in state["leases"]:
                fail("etcdserver: requested lease not found")
            value = ast.literal_eval(value) if value[0] == '"' else value
            keys[key] = [value, state["revision"], int(lease or "0", 16)]
    answer = {"header": {"revision": state["revision"]}, "succeeded": same}
elif words[1] == "grant":
    state["next"] += 1
    state["leases"].append(state["next"])
    answer = {"ID": state["next"]}
else:
    number = int(words[2], 16)
    if number not in state["leases"]:
        fail("etcdserver: requested lease not found")
    answer = {"ttl": 7}
    if words[1] == "revoke":
        state["leases"].remove(number)
        state["keys"] = {key: value for key, value in keys.items() if value[2] != number}
json.dump(state, open(path, "w"))
if os.path.exists(folder + "/lose_" + words[0]):
    os.remove(folder + "/lose_" + words[0])
    fail("context deadline exceeded")
print(json.dumps(answer))
)py";

class EtcdStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    if (access("/usr/bin/python3", X_OK) != 0) GTEST_SKIP() << "there is no /usr/bin/python3";
    Result<TemporaryFolder> made = TemporaryFolder::make("heddle-etcd");
    ASSERT_TRUE(made.has_value());
    folder_ = std::move(*made);
    std::ofstream(path("etcdctl")) << kClient;
    std::filesystem::permissions(path("etcdctl"), std::filesystem::perms{0755});
    const std::string with = folder_.path() + ":" + std::getenv("PATH");
    setenv("PATH", with.c_str(), 1);
    store_ = open();
  }
  void TearDown() override {
    if (const std::string paths = std::getenv("PATH"); paths.starts_with(folder_.path() + ":")) {
      setenv("PATH", paths.substr(folder_.path().size() + 1).c_str(), 1);
    }
  }

  static std::unique_ptr<Store> open(bool with_times = false) {
    Result<std::unique_ptr<Store>> store = EtcdStore::open("127.0.0.1:1", with_times);
    CHECK(store.has_value());
    return std::move(*store);
  }
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  // The next command of this name is done, and its answer does not come.
  void lose(const std::string& command) const { std::ofstream(path("lose_" + command)) << ""; }
  size_t calls() const {
    std::ifstream file(path("calls"));
    return static_cast<size_t>(
        std::count(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>(), '\n'));
  }
  Snapshot seen() const {
    const Result<Snapshot> snapshot = store_->read();
    CHECK(snapshot.has_value());
    return *snapshot;
  }
  Result<Published> publish(const Lease& lease, Claim claim) const {
    return store_->publish(seen(), lease, claim);
  }
  void published(const Lease& lease, Claim claim, Published as = Published::kDone) const {
    const Result<Published> published = publish(lease, claim);
    ASSERT_TRUE(published.has_value()) << published.error().message();
    ASSERT_EQ(*published, as);
  }
  bool renewed(const Lease& lease) const {
    const Result<bool> renewed = store_->renew(lease);
    EXPECT_TRUE(renewed.has_value());
    return renewed.value_or(false);
  }

  TemporaryFolder folder_;
  std::unique_ptr<Store> store_;
};

TEST_F(EtcdStoreTest, ALeaseIsThereUntilItIsReleased) {
  Lease a = small_lease("a");
  published(a, Claim::kFirst);
  a.plans = 2;
  published(a, Claim::kNext);
  ASSERT_THAT(seen().live, SizeIs(1));
  EXPECT_EQ(seen().live[0].lease, a);
  EXPECT_EQ(seen().live[0].left, seconds(60));
  EXPECT_EQ(open(true)->read().value().live[0].left, seconds(7));
  EXPECT_TRUE(renewed(a));
  ASSERT_TRUE(store_->release(a).has_value());
  EXPECT_THAT(seen().live, SizeIs(0));
}

// The client refuses them beside its options.
TEST_F(EtcdStoreTest, TheClientsOwnVariablesDoNotMatter) {
  setenv("ETCDCTL_ENDPOINTS", "10.0.0.1:2379", 1);
  setenv("ETCDCTL_WRITE_OUT", "table", 1);
  const Result<Snapshot> snapshot = store_->read();
  unsetenv("ETCDCTL_ENDPOINTS");
  unsetenv("ETCDCTL_WRITE_OUT");
  EXPECT_TRUE(snapshot.has_value()) << snapshot.error().message();
}

TEST_F(EtcdStoreTest, AFirstAnswerThatDoesNotComeLosesNoLease) {
  Lease a = small_lease("a");
  lose("txn");
  EXPECT_FALSE(publish(a, Claim::kFirst).has_value());
  EXPECT_TRUE(renewed(a));
  a.plans = 2;
  published(a, Claim::kNext);
  EXPECT_EQ(seen().live[0].lease, a);
}

TEST_F(EtcdStoreTest, AFirstPublicationIsMadeAgainAfterALostAnswer) {
  Lease a = small_lease("a");
  const Snapshot before = seen();
  lose("txn");
  EXPECT_FALSE(store_->publish(before, a, Claim::kFirst).has_value());
  const Result<Published> same = store_->publish(before, a, Claim::kFirst);
  ASSERT_TRUE(same.has_value()) << same.error().message();
  EXPECT_EQ(*same, Published::kDone);
  lose("txn");
  a.loads = {{5, 7}};
  EXPECT_FALSE(publish(a, Claim::kFirst).has_value());
  a.loads = {{6, 7}};
  published(a, Claim::kFirst, Published::kChanged);
  published(a, Claim::kFirst);
  EXPECT_EQ(seen().live[0].lease, a);
}

TEST_F(EtcdStoreTest, ALaterAnswerThatDoesNotComeLosesNoLease) {
  Lease a = small_lease("a");
  published(a, Claim::kFirst);
  lose("txn");
  a.plans = 2;
  EXPECT_FALSE(publish(a, Claim::kNext).has_value());
  EXPECT_TRUE(renewed(a));
  a.plans = 3;
  published(a, Claim::kNext);
  EXPECT_TRUE(renewed(a));
}

TEST_F(EtcdStoreTest, ALateHolderLeavesItsSuccessorAlone) {
  Lease late = small_lease("a");
  published(late, Claim::kFirst);
  ASSERT_EQ(std::system(("cd " + folder_.path() + " && ./etcdctl lease revoke 11 > out").c_str()),
            0);
  const std::unique_ptr<Store> other = open();
  const Lease successor = small_lease("a");
  ASSERT_TRUE(other->publish(other->read().value(), successor, Claim::kFirst).has_value());
  EXPECT_FALSE(renewed(late));
  EXPECT_EQ(publish(late, Claim::kFirst).error().code, ErrorCode::kInUse);
  EXPECT_TRUE(store_->release(late).has_value());
  late.plans = 2;
  published(late, Claim::kNext, Published::kLost);
  EXPECT_EQ(seen().live[0].lease, successor);
}

TEST_F(EtcdStoreTest, KeysThatDidNotChangeAreNotReadAgain) {
  published(small_lease("a"), Claim::kFirst);
  const std::unique_ptr<Store> reader = open();
  ASSERT_THAT(reader->read().value().live, SizeIs(1));
  const size_t before = calls();
  ASSERT_THAT(reader->read().value().live, SizeIs(1));
  EXPECT_EQ(calls(), before + 1);
  ASSERT_TRUE(reader->version().has_value());
  EXPECT_EQ(calls(), before + 2);
}

}  // namespace
}  // namespace heddle::leases
