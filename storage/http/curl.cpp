#include "storage/http/curl.hpp"

#include <string>
#include <type_traits>

#include <dlfcn.h>

namespace weft::storage::http {
namespace {

constexpr const char* kLibrary = "libcurl.so.4";
constexpr unsigned kOldestVersion = 0x074b00;

Result<Curl> load() {
  void* const library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return fail(Code::not_found, std::string("s3://, hdfs:// and webhdfs:// need libcurl, which cannot be loaded here (") +
                                     ::dlerror() +
                                     "); install it on every machine that reads or writes URLs (apt-get install libcurl4)");
  bool complete = true;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
    complete = complete && function != nullptr;
  };
  Curl curl;
  decltype(&::curl_global_init) global_init = nullptr;
  decltype(&::curl_version_info) version_info = nullptr;
  find(global_init, "curl_global_init");
  find(version_info, "curl_version_info");
  find(curl.easy_init, "curl_easy_init");
  find(curl.easy_cleanup, "curl_easy_cleanup");
  find(curl.easy_reset, "curl_easy_reset");
  find(curl.easy_setopt, "curl_easy_setopt");
  find(curl.easy_getinfo, "curl_easy_getinfo");
  find(curl.easy_pause, "curl_easy_pause");
  find(curl.easy_strerror, "curl_easy_strerror");
  find(curl.slist_append, "curl_slist_append");
  find(curl.slist_free_all, "curl_slist_free_all");
  find(curl.multi_init, "curl_multi_init");
  find(curl.multi_cleanup, "curl_multi_cleanup");
  find(curl.multi_setopt, "curl_multi_setopt");
  find(curl.multi_add_handle, "curl_multi_add_handle");
  find(curl.multi_remove_handle, "curl_multi_remove_handle");
  find(curl.multi_perform, "curl_multi_perform");
  find(curl.multi_poll, "curl_multi_poll");
  find(curl.multi_wakeup, "curl_multi_wakeup");
  find(curl.multi_info_read, "curl_multi_info_read");
  if (!complete || version_info(CURLVERSION_NOW)->version_num < kOldestVersion)
    return fail(
        Code::not_found,
        "s3://, hdfs:// and webhdfs:// need libcurl 7.75 or newer, and the one of this machine is older; install a newer libcurl4");
  if (global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) return fail(Code::internal, "libcurl cannot be initialised");
  return curl;
}

}  // namespace

Result<const Curl*> load_curl() {
  static const Result<Curl> loaded = load();
  if (!loaded) return fail(loaded.error());
  return &*loaded;
}

}  // namespace weft::storage::http
