// Manifests and signatures of reports: what a changed, added or missing file, another key and a
// key that cannot be used lead to. Keys and some signatures are of the openssl program's library.
#include "acceptance/signature.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "base/document.h"
#include "base/temporary_folder.h"

namespace heddle::acceptance {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A folder with two files and, beside it, keys.
class Signature : public testing::Test {
 protected:
  void SetUp() override {
    auto made = TemporaryFolder::make("heddle-signature");
    ASSERT_TRUE(made);
    place_ = std::move(*made);
    std::filesystem::create_directories(folder() + "/recordings");
    put("report.html", "<p>passed</p>");
    put("recordings/rank0", "bytes");
    make_key("one", "ED25519", nullptr);
    make_key("two", "ED25519", nullptr);
  }

  std::string folder() const { return place_.path() + "/report"; }
  std::string key(const std::string& name) const { return place_.path() + "/" + name; }

  void put(const std::string& name, const std::string& text) const {
    ASSERT_TRUE(write_text_file(folder() + "/" + name, text));
  }

  void make_key(const std::string& name, const char* type, const char* passphrase) const {
    EVP_PKEY* const made = std::string(type) == "ED25519"
                               ? EVP_PKEY_Q_keygen(nullptr, nullptr, type)
                               : EVP_EC_gen("P-256");
    std::FILE* file = std::fopen(key(name + ".key").c_str(), "w");
    const EVP_CIPHER* const cipher = passphrase == nullptr ? nullptr : EVP_aes_256_cbc();
    PEM_write_PKCS8PrivateKey(file, made, cipher, passphrase,
                              passphrase == nullptr ? 0 : std::string(passphrase).size(), nullptr,
                              nullptr);
    std::fclose(file);
    file = std::fopen(key(name + ".pub").c_str(), "w");
    PEM_write_PUBKEY(file, made);
    std::fclose(file);
    EVP_PKEY_free(made);
  }

  void sign(const std::string& name) const {
    const auto signer = PrivateKey::read(key(name + ".key"));
    ASSERT_TRUE(signer);
    put(kSignerName, signer->public_key().pem());
    const auto manifest = manifest_of(folder());
    ASSERT_TRUE(manifest);
    put(kManifestName, text_of(*manifest));
    put(kSignatureName, signer->sign(text_of(*manifest)).value());
  }

  SignatureCheck check(const std::string& name) const {
    return check_signature(folder(), PublicKey::read(key(name + ".pub")).value()).value();
  }

  TemporaryFolder place_;
};

TEST_F(Signature, OfUnchangedFilesIsGood) {
  sign("one");
  EXPECT_TRUE(check("one").good());
}

TEST_F(Signature, ASumIsThatOfTheStandard) {  // FIPS 180-2, appendix B.1
  EXPECT_EQ(sha256_text("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_F(Signature, NamesWhatChanged) {
  sign("one");
  put("report.html", "<p>passed!</p>");
  put("more.txt", "");
  std::filesystem::remove(folder() + "/recordings/rank0");
  const SignatureCheck found = check("one");
  EXPECT_TRUE(found.signed_by_key);
  EXPECT_FALSE(found.good());
  EXPECT_THAT(found.diff.changed, ElementsAre("report.html"));
  EXPECT_THAT(found.diff.added, ElementsAre("more.txt"));
  EXPECT_THAT(found.diff.missing, ElementsAre("recordings/rank0"));
}

TEST_F(Signature, OfAnotherKeyNamesThatKey) {
  sign("one");
  const SignatureCheck found = check("two");
  EXPECT_FALSE(found.signed_by_key);
  EXPECT_EQ(found.other_signer, PublicKey::read(key("one.pub")).value().id());
}

TEST_F(Signature, AnEditedManifestIsSignedByNone) {
  sign("one");
  put("report.html", "<p>passed!</p>");
  put(kManifestName, text_of(manifest_of(folder()).value()));
  const SignatureCheck found = check("one");
  EXPECT_FALSE(found.signed_by_key);
  EXPECT_EQ(found.other_signer, "");
}

TEST_F(Signature, ThatIsMissingOrCutIsNotGood) {
  const PublicKey one = PublicKey::read(key("one.pub")).value();
  EXPECT_THAT(check_signature(folder(), one).error().message(), HasSubstr("it was not signed"));
  sign("one");
  put(kSignatureName, "short");
  EXPECT_FALSE(check("one").signed_by_key);
}

TEST_F(Signature, LinksAndOddNamesAreListedAsAddedAndNotSigned) {
  sign("one");
  std::filesystem::create_symlink("/etc/passwd", folder() + "/more");
  put("line\nbreak", "");
  const SignatureCheck found = check("one");
  EXPECT_TRUE(found.signed_by_key);
  EXPECT_THAT(found.diff.added, ElementsAre("line\nbreak", "more"));
  EXPECT_THAT(manifest_of(folder()).error().message(), HasSubstr("control character"));
  EXPECT_FALSE(check_signable(folder()));
  std::filesystem::remove(folder() + "/line\nbreak");
  EXPECT_THAT(manifest_of(folder()).error().message(), HasSubstr("more"));
  std::filesystem::remove(folder() + "/more");
  EXPECT_TRUE(check_signable(folder()));
}

TEST_F(Signature, AFileReplacedByALinkIsChanged) {
  sign("one");
  std::filesystem::rename(folder() + "/report.html", place_.path() + "/elsewhere");
  std::filesystem::create_symlink(place_.path() + "/elsewhere", folder() + "/report.html");
  EXPECT_THAT(check("one").diff.changed, ElementsAre("report.html"));
}

// A path longer than PATH_MAX: no function that takes the path can look at the file.
TEST_F(Signature, AFileInFoldersNestedBeyondPathMaxIsFound) {
  sign("one");
  const std::string name(250, 'd');
  int at = ::open(folder().c_str(), O_RDONLY | O_DIRECTORY);
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(mkdirat(at, name.c_str(), 0700), 0);
    const int inner = openat(at, name.c_str(), O_RDONLY | O_DIRECTORY);
    close(at);
    at = inner;
  }
  close(openat(at, "more", O_WRONLY | O_CREAT, 0600));
  close(at);
  const SignatureCheck found = check("one");
  EXPECT_FALSE(found.good());
  ASSERT_EQ(found.diff.added.size(), 1U);
  EXPECT_THAT(found.diff.added.front(), testing::EndsWith("/more"));
}

TEST_F(Signature, FoldersNestedTooDeepAreAnErrorWithTheirPath) {
  sign("one");
  std::string path = folder();
  for (int i = 0; i < 70; ++i) path += "/d";
  std::filesystem::create_directories(path);
  const auto found = check_signature(folder(), PublicKey::read(key("one.pub")).value());
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message(), HasSubstr("report/d/d/d"));
}

TEST_F(Signature, AFolderThatCannotBeReadIsAnErrorWithItsPath) {
  if (geteuid() == 0 && seteuid(65'534) != 0) GTEST_SKIP() << "no other user may be taken";
  const auto self = geteuid();
  static_cast<void>(seteuid(0));
  sign("one");
  std::filesystem::create_directories(folder() + "/hidden");
  put("hidden/more", "");
  std::filesystem::permissions(folder() + "/hidden", std::filesystem::perms(0444));
  std::filesystem::permissions(place_.path(), std::filesystem::perms(0755));
  static_cast<void>(seteuid(self));
  const auto found = check_signature(folder(), PublicKey::read(key("one.pub")).value());
  static_cast<void>(seteuid(0));
  std::filesystem::permissions(folder() + "/hidden", std::filesystem::perms(0755));
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message(), HasSubstr("hidden/more"));
}

TEST_F(Signature, PipesInPlaceOfItsFilesAreRefusedAndDoNotBlock) {
  const PublicKey one = PublicKey::read(key("one.pub")).value();
  for (const char* const name : {kManifestName, kSignatureName}) {
    sign("one");
    const std::string path = folder() + "/" + name;
    std::filesystem::remove(path);
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    EXPECT_THAT(check_signature(folder(), one).error().message(), HasSubstr("it is no file"));
    std::filesystem::remove(path);
  }
  sign("one");
  std::filesystem::remove(folder() + "/" + kSignerName);
  ASSERT_EQ(mkfifo((folder() + "/" + kSignerName).c_str(), 0600), 0);
  EXPECT_EQ(check("two").other_signer, "");
  EXPECT_THAT(check("one").diff.changed, ElementsAre(kSignerName));
}

TEST_F(Signature, OfAMegabyteIsRefused) {
  sign("one");
  put(kSignatureName, std::string(1 << 20, 's'));
  const auto found = check_signature(folder(), PublicKey::read(key("one.pub")).value());
  EXPECT_THAT(found.error().message(), HasSubstr("it has more than"));
  EXPECT_THAT(check_signature("", PublicKey::read(key("one.pub")).value()).error().message(),
              HasSubstr("name is empty"));
}

TEST_F(Signature, KeysThatCannotBeUsedAreRefusedWithTheReason) {
  make_key("locked", "ED25519", "secret");
  make_key("curve", "EC", nullptr);
  const auto why = [&](const char* name) { return PrivateKey::read(key(name)).error().message(); };
  EXPECT_THAT(why("locked.key"), HasSubstr("it has a passphrase"));
  EXPECT_THAT(why("curve.key"), HasSubstr("it is no Ed25519 key"));
  EXPECT_THAT(why("one.pub"), HasSubstr("it is a public key"));
  EXPECT_THAT(why("report/report.html"), HasSubstr("it has no private key in PEM form"));
  EXPECT_THAT(why("none"), HasSubstr("none"));
  const auto why_public = [&](const char* name) {
    return PublicKey::read(key(name)).error().message();
  };
  EXPECT_THAT(why_public("one.key"), HasSubstr("it is a private key"));
  EXPECT_THAT(why_public("curve.pub"), HasSubstr("it is no Ed25519 key"));
  EXPECT_THAT(why_public("report/report.html"), HasSubstr("it has no public key"));
}

TEST_F(Signature, ALineThatSha256sumWouldNotWriteIsRefused) {
  const std::string sum(64, 'a');
  EXPECT_TRUE(parse_manifest(sum + "  a b\n"));
  for (const std::string& bad : {sum + " a\n", sum.substr(1) + "  aa\n", sum + "  \n",
                                 sum + "  a\n" + sum + "  a\n", std::string(64, 'g') + "  a\n"}) {
    EXPECT_FALSE(parse_manifest(bad)) << bad;
  }
}

}  // namespace
}  // namespace heddle::acceptance
