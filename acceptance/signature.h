// Signature of a report: Ed25519 (RFC 8032) over its manifest, with PEM keys of `openssl genpkey
// -algorithm ed25519`. The signature is the raw 64 bytes that `openssl pkeyutl -verify -rawin`
// takes, so that a customer can check a report without heddle.
#pragma once

#include <memory>
#include <string>

#include "acceptance/manifest.h"
#include "base/result.h"

namespace heddle::acceptance {

class PublicKey {
 public:
  // A PEM file. Errors: kUnavailable; kInvalid for a private key, another kind of key, or no key.
  static Result<PublicKey> read(const std::string& path);
  // The text of such a file; `path` is its name in errors. Errors: kInvalid as of read().
  static Result<PublicKey> parse(const std::string& text, const std::string& path);

  // SHA-256 of its DER form, in hexadecimal: `openssl pkey -pubin -outform DER | sha256sum`.
  std::string id() const;
  std::string pem() const;
  bool verifies(const std::string& text, const std::string& signature) const;

 private:
  friend class PrivateKey;
  explicit PublicKey(std::shared_ptr<void> key) : key_(std::move(key)) {}

  std::shared_ptr<void> key_;  // EVP_PKEY
};

class PrivateKey {
 public:
  // A PEM file without a passphrase. Errors: kUnavailable; kInvalid, also for one with a
  // passphrase.
  static Result<PrivateKey> read(const std::string& path);

  PublicKey public_key() const { return PublicKey(key_); }
  // 64 bytes. Errors: kSystem.
  Result<std::string> sign(const std::string& text) const;

 private:
  explicit PrivateKey(std::shared_ptr<void> key) : key_(std::move(key)) {}

  std::shared_ptr<void> key_;  // EVP_PKEY
};

struct SignatureCheck {
  bool signed_by_key = false;  // the manifest is as it was when this key signed it
  std::string other_signer;    // id of the key in the folder that did sign it; empty: none did
  ManifestDiff diff;           // of files, where signed_by_key; links and other things are added

  bool good() const { return signed_by_key && diff.empty(); }
};

// Errors: kUnavailable where there is no signature; kInvalid where it, the manifest or the key in
// the folder is no file or too large; as survey_of().
Result<SignatureCheck> check_signature(const std::string& folder, const PublicKey& key);

}  // namespace heddle::acceptance
