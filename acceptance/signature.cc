// See signature.h.
#include "acceptance/signature.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "acceptance/params.h"
#include "base/descriptor.h"
#include "base/document.h"

namespace heddle::acceptance {
namespace {

constexpr size_t kSignatureBytes = 64;  // RFC 8032, section 5.1.6
constexpr const char* kMakeKey = "make one with `openssl genpkey -algorithm ed25519 -out KEY`";

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Digest = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

EVP_PKEY* raw(const std::shared_ptr<void>& key) { return static_cast<EVP_PKEY*>(key.get()); }

const unsigned char* bytes(const std::string& text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

Unexpected no_key(const std::string& path, const std::string& why, const std::string& todo) {
  return fail(ErrorCode::kInvalid, fmt::format("cannot use the key {}", path), why, todo);
}

// Instead of a question on the terminal.
int no_passphrase(char* /*to*/, int /*size*/, int /*writing*/, void* /*given*/) { return -1; }

using ReadKey = EVP_PKEY* (*)(BIO*, EVP_PKEY**, pem_password_cb*, void*);

// Empty: there is none.
std::shared_ptr<void> key_in(const std::string& text, ReadKey read) {
  const Bio from(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free);
  EVP_PKEY* const key = read(from.get(), nullptr, no_passphrase, nullptr);
  if (key == nullptr) return nullptr;
  return {key, [](void* each) { EVP_PKEY_free(static_cast<EVP_PKEY*>(each)); }};
}

// A file of the report's folder, which others may have made: not a link, a pipe or a device.
Result<std::string> read_report_file(const std::string& path, size_t most, const char* todo) {
  const std::string what = fmt::format("cannot read {}", path);
  const Descriptor file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.valid()) {
    const char* const why = errno == ELOOP ? "it is a link" : std::strerror(errno);
    return fail(ErrorCode::kUnavailable, what, why, todo);
  }
  struct stat found {};
  if (fstat(file.number(), &found) != 0 || !S_ISREG(found.st_mode)) {
    return fail(ErrorCode::kInvalid, what, "it is no file", todo);
  }
  std::string text;
  std::array<char, 1 << 16> piece{};
  for (;;) {
    const ssize_t got = read(file.number(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(ErrorCode::kSystem, what, std::strerror(errno), todo);
    if (got == 0) return text;
    text.append(piece.data(), static_cast<size_t>(got));
    if (text.size() > most) {
      return fail(ErrorCode::kInvalid, what, fmt::format("it has more than {} bytes", most), todo);
    }
  }
}

bool is_ed25519(const std::shared_ptr<void>& key) {
  return EVP_PKEY_get_base_id(raw(key)) == EVP_PKEY_ED25519;
}

}  // namespace

Result<PublicKey> PublicKey::read(const std::string& path) {
  const Result<std::string> text = read_text_file(path, "give the signer's public key, a PEM file");
  if (!text) return fail(text.error());
  return parse(*text, path);
}

Result<PublicKey> PublicKey::parse(const std::string& text, const std::string& path) {
  if (has(text, "PRIVATE KEY-----")) {
    return no_key(path, "it is a private key",
                  fmt::format("give the public one: openssl pkey -in {} -pubout", path));
  }
  std::shared_ptr<void> key = key_in(text, PEM_read_bio_PUBKEY);
  if (key == nullptr) {
    return no_key(path, "it has no public key in PEM form",
                  "make it of the private one: openssl pkey -in KEY -pubout");
  }
  if (!is_ed25519(key)) return no_key(path, "it is no Ed25519 key", kMakeKey);
  return PublicKey(std::move(key));
}

std::string PublicKey::id() const {
  const Bio to(BIO_new(BIO_s_mem()), BIO_free);
  i2d_PUBKEY_bio(to.get(), raw(key_));
  char* from = nullptr;
  const long length = BIO_get_mem_data(to.get(), &from);  // NOLINT: as the library has it
  return sha256_text(std::string(from, static_cast<size_t>(length)));
}

std::string PublicKey::pem() const {
  const Bio to(BIO_new(BIO_s_mem()), BIO_free);
  PEM_write_bio_PUBKEY(to.get(), raw(key_));
  char* from = nullptr;
  const long length = BIO_get_mem_data(to.get(), &from);  // NOLINT: as the library has it
  return {from, static_cast<size_t>(length)};
}

bool PublicKey::verifies(const std::string& text, const std::string& signature) const {
  if (signature.size() != kSignatureBytes) return false;
  const Digest context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  return EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, raw(key_)) == 1 &&
         EVP_DigestVerify(context.get(), bytes(signature), signature.size(), bytes(text),
                          text.size()) == 1;
}

Result<PrivateKey> PrivateKey::read(const std::string& path) {
  const Result<std::string> text = read_text_file(path, kMakeKey);
  if (!text) return fail(text.error());
  std::shared_ptr<void> key = key_in(*text, PEM_read_bio_PrivateKey);
  if (key == nullptr && has(*text, "ENCRYPTED")) {
    return no_key(path, "it has a passphrase, which heddle does not ask for",
                  fmt::format("give a copy without one, for your eyes alone: (umask 077; openssl "
                              "pkey -in {} -out COPY)",
                              path));
  }
  if (key == nullptr && has(*text, "PUBLIC KEY-----")) {
    return no_key(path, "it is a public key", "give the private one that belongs to it");
  }
  if (key == nullptr) return no_key(path, "it has no private key in PEM form", kMakeKey);
  if (!is_ed25519(key)) return no_key(path, "it is no Ed25519 key", kMakeKey);
  return PrivateKey(std::move(key));
}

Result<std::string> PrivateKey::sign(const std::string& text) const {
  std::string made(kSignatureBytes, '\0');
  size_t length = made.size();
  const Digest context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  if (EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, raw(key_)) == 1 &&
      EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(made.data()), &length,
                     bytes(text), text.size()) == 1 &&
      length == kSignatureBytes) {
    return made;
  }
  return fail(ErrorCode::kSystem, "cannot sign", "libcrypto refuses", "see `openssl version -a`");
}

Result<SignatureCheck> check_signature(const std::string& folder, const PublicKey& key) {
  const char* const todo = "it was not signed: ask for a report of `heddle verify --sign`";
  if (folder.empty()) {
    return fail(ErrorCode::kInvalid, "cannot check a signature", "the folder's name is empty",
                "give the folder of --report");
  }
  const Result<std::string> text =
      read_report_file(folder + "/" + kManifestName, params::kMostManifestBytes, todo);
  if (!text) return fail(text.error());
  const Result<std::string> signature =
      read_report_file(folder + "/" + kSignatureName, params::kMostPemBytes, todo);
  if (!signature) return fail(signature.error());
  SignatureCheck made;
  made.signed_by_key = key.verifies(*text, *signature);
  if (!made.signed_by_key) {
    const std::string path = folder + "/" + kSignerName;
    const Result<std::string> pem = read_report_file(path, params::kMostPemBytes, todo);
    const Result<PublicKey> signer = pem ? PublicKey::parse(*pem, path) : fail(pem.error());
    if (signer && signer->verifies(*text, *signature)) made.other_signer = signer->id();
    return made;
  }
  const Result<Manifest> listed = parse_manifest(*text);
  if (!listed) return fail(listed.error());
  const Result<Manifest> found = survey_of(folder);
  if (!found) return fail(found.error());
  made.diff = compare_manifests(*listed, *found);
  return made;
}

}  // namespace heddle::acceptance
