// Manifests and signatures of reports: what a changed, added or missing file, another key and a
// key that cannot be used lead to. Keys and some signatures are of the openssl program's library.
#include "acceptance/signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

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

TEST_F(Signature, ALinkInTheFolderIsRefused) {
  sign("one");
  std::filesystem::create_symlink("/etc/passwd", folder() + "/more");
  const auto found = check_signature(folder(), PublicKey::read(key("one.pub")).value());
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message(), HasSubstr("more is a link"));
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
