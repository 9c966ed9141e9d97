#include "vitrine/data/checksum.h"

#include <openssl/evp.h>

#include "vitrine/core/error.h"

namespace vitrine {

std::string md5(std::string_view bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  check(EVP_Digest(bytes.data(), bytes.size(), digest, &length, EVP_md5(), nullptr) == 1,
        "md5: OpenSSL on this machine does not offer MD5");
  std::string text;
  for (unsigned int i = 0; i < length; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

}  // namespace vitrine
