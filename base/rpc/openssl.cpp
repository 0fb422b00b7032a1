#include "base/rpc/openssl.hpp"

#include <string>
#include <type_traits>

#include <dlfcn.h>

namespace weft::rpc {
namespace {

Result<OpenSsl> load() {
  const auto refuse = [](const std::string& why) {
    return fail(Code::not_found, "--security needs OpenSSL 3, which cannot be loaded here (" + why +
                                     "); install it on every machine of the cluster (apt-get install libssl3)");
  };
  void* const ssl = ::dlopen("libssl.so.3", RTLD_NOW | RTLD_LOCAL);
  void* const crypto = ssl == nullptr ? nullptr : ::dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);
  if (crypto == nullptr) return refuse(::dlerror());
  OpenSsl functions;
  const char* missing = nullptr;
  const auto find = [&](void* library, auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
    if (function == nullptr) missing = name;
  };
#define WEFT_FIND_SSL(name) find(ssl, functions.name, #name);
#define WEFT_FIND_CRYPTO(name) find(crypto, functions.name, #name);
  WEFT_OPENSSL_FUNCTIONS(WEFT_FIND_SSL, WEFT_FIND_CRYPTO)
#undef WEFT_FIND_SSL
#undef WEFT_FIND_CRYPTO
  if (missing != nullptr) return refuse(std::string("it has no function ") + missing);
  // The machine's configuration file could allow more than this does; and reading it takes as long as all the rest.
  if (functions.OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr) != 1) return refuse("it cannot be initialised");
  return functions;
}

}  // namespace

Result<const OpenSsl*> load_openssl() {
  static const Result<OpenSsl> loaded = load();
  if (!loaded) return fail(loaded.error());
  return &*loaded;
}

}  // namespace weft::rpc
