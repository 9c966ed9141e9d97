#include "vitrine/data/checksum.h"

#include <openssl/evp.h>

#include <fstream>
#include <memory>

#include "vitrine/core/error.h"

namespace vitrine {
namespace {

std::string hex(const unsigned char* digest, unsigned int length) {
  std::string text;
  for (unsigned int i = 0; i < length; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

std::string digest_of(std::string_view bytes, const EVP_MD* kind, const char* refusal) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  check(EVP_Digest(bytes.data(), bytes.size(), digest, &length, kind, nullptr) == 1, "{}", refusal);
  return hex(digest, length);
}

}  // namespace

std::string md5(std::string_view bytes) {
  return digest_of(bytes, EVP_md5(), "md5: OpenSSL on this machine does not offer MD5");
}

std::string sha256(std::string_view bytes) {
  return digest_of(bytes, EVP_sha256(), "sha256: OpenSSL on this machine does not offer SHA-256");
}

std::string sha256_of_file(const fs::path& path) {
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> sum(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  std::ifstream file(path, std::ios::binary);
  check(file.good(), "sha256: cannot read {}", path.string());
  bool ok = EVP_DigestInit_ex(sum.get(), EVP_sha256(), nullptr) == 1;
  std::string block(1 << 20, '\0');
  while (file.read(block.data(), std::ssize(block)), file.gcount() > 0)
    ok = ok && EVP_DigestUpdate(sum.get(), block.data(), static_cast<size_t>(file.gcount())) == 1;
  check(file.eof(), "sha256: cannot read {} to its end", path.string());
  ok = ok && EVP_DigestFinal_ex(sum.get(), digest, &length) == 1;
  check(ok, "sha256: OpenSSL on this machine does not offer SHA-256");
  return hex(digest, length);
}

}  // namespace vitrine
