#include "storage/http/curl_request.hpp"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/text.hpp"

namespace weft::storage::http {
namespace {

constexpr std::size_t kMostHeaders = 200;

long milliseconds(Duration duration) {
  return static_cast<long>(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

/// libcurl writes the keys of a signature into URLs that it was redirected to. Nobody shall see them.
std::string without_user(std::string url) {
  const auto host = url.find("://");
  if (host == std::string::npos) return url;
  const auto at = url.rfind('@', url.find_first_of("/?#", host + 3));
  if (at != std::string::npos && at > host) url.erase(host + 3, at - (host + 2));
  return url;
}

}  // namespace

bool may_pass(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
      return true;
    default:
      return false;
  }
}

void CurlRequest::begin(CURLM* multi, CURL* handle, std::string body) {
  handle_ = handle;
  response_ = {};
  response_.body = std::move(body);
  sent_ = 0;
  paused_ = false;
  moved_ = SystemClock().now();
  too_long_ = false;
  error_text_[0] = '\0';
  set_options();
  curl_.multi_add_handle(multi, handle_);
}

bool CurlRequest::keep_streaming() {
  if (!std::exchange(paused_, false)) return SystemClock().now() - moved_ <= options_.stall_timeout;
  curl_.easy_pause(handle_, CURLPAUSE_CONT);
  return true;
}

CURL* CurlRequest::end(CURLM* multi) {
  curl_.easy_getinfo(handle_, CURLINFO_RESPONSE_CODE, &response_.status);
  const char* reached = nullptr;
  curl_.easy_getinfo(handle_, CURLINFO_EFFECTIVE_URL, &reached);
  reached_ = reached == nullptr ? wanted_.url : without_user(reached);
  curl_.multi_remove_handle(multi, handle_);
  curl_.slist_free_all(std::exchange(header_list_, nullptr));
  return std::exchange(handle_, nullptr);
}

Error CurlRequest::failure(CURLcode code) const {
  if (stream_failure_) return *stream_failure_;
  const std::string server = reached_.substr(0, reached_.find('/', reached_.find("://") + 3));
  const std::string why = error_text_[0] != '\0' ? error_text_ : curl_.easy_strerror(code);
  if (too_long_)
    return {Code::corrupt, server + " sends more than the " + std::to_string(wanted_.most_bytes) + " bytes that were requested"};
  switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
      return {Code::invalid_argument, "the certificate of " + server + " is not trusted (" + why +
                                          "); name the file of its authority with " + options_.certificate_setting};
    case CURLE_TOO_MANY_REDIRECTS:
      return {Code::invalid_argument,
              server + " redirects again and again; check " + options_.server_setting + options_.redirect_hint};
    case CURLE_OPERATION_TIMEDOUT:
      return {Code::deadline_exceeded, server + " does not answer: " + why};
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
      return {Code::unavailable,
              "cannot reach " + server + " (" + why + "); " + options_.server_setting + " says where the server is"};
    default:
      return {Code::unavailable, "the connection to " + server + " failed: " + why};
  }
}

// ---- libcurl's calls: bytes there and back

std::size_t CurlRequest::take_body(char* bytes, std::size_t, std::size_t count, void* request) {
  auto& self = *static_cast<CurlRequest*>(request);
  self.too_long_ = self.response_.body.size() + count > self.wanted_.most_bytes;
  if (self.too_long_) return 0;
  self.response_.body.append(bytes, count);
  return count;
}

std::size_t CurlRequest::take_header(char* bytes, std::size_t, std::size_t count, void* request) {
  HttpResponse& response = static_cast<CurlRequest*>(request)->response_;
  const std::string_view line(bytes, count);
  if (line.starts_with("HTTP/")) {  // of the last answer, when there are several (100, redirects)
    response.headers.clear();
    response.body.clear();
  }
  const auto colon = line.find(':');
  if (colon == std::string_view::npos || response.headers.size() == kMostHeaders) return count;
  std::string name(line.substr(0, colon));
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  response.headers.emplace_back(std::move(name), std::string(trim(line.substr(colon + 1))));
  return count;
}

std::size_t CurlRequest::give_body(char* into, std::size_t size, std::size_t count, void* request) {
  auto& self = *static_cast<CurlRequest*>(request);
  const ByteView bytes = self.wanted_.body.bytes;
  const std::size_t some = std::min(size * count, bytes.size() - self.sent_);
  std::memcpy(into, bytes.data() + self.sent_, some);
  self.sent_ += some;
  return some;
}

std::size_t CurlRequest::give_stream(char* into, std::size_t size, std::size_t count, void* request) {
  auto& self = *static_cast<CurlRequest*>(request);
  const auto taken = self.wanted_.stream->take(into, size * count);
  if (!taken) {
    self.stream_failure_ = taken.error();
    return CURL_READFUNC_ABORT;
  }
  self.moved_ = SystemClock().now();
  if (taken->bytes != 0 || taken->end) return taken->bytes;
  self.paused_ = true;
  return CURL_READFUNC_PAUSE;
}

/// After a redirect or on a connection that broke before the answer.
int CurlRequest::rewind_body(void* request, curl_off_t offset, int origin) {
  if (origin != SEEK_SET) return CURL_SEEKFUNC_CANTSEEK;
  static_cast<CurlRequest*>(request)->sent_ = static_cast<std::size_t>(offset);
  return CURL_SEEKFUNC_OK;
}

// ---- options

void CurlRequest::set_options() {
  curl_.easy_reset(handle_);
  set(CURLOPT_URL, wanted_.url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  set(CURLOPT_PATH_AS_IS, 1L);
  set(CURLOPT_FOLLOWLOCATION, wanted_.follow ? 1L : 0L);
  set(CURLOPT_MAXREDIRS, 5L);
  set(CURLOPT_FRESH_CONNECT, wanted_.fresh_connection ? 1L : 0L);
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  set(CURLOPT_BUFFERSIZE, 128L << 10);  // what is received stays in the processor's cache until it is copied
  set(CURLOPT_UPLOAD_BUFFERSIZE, 512L << 10);
  if (!options_.certificates.empty()) set(CURLOPT_CAINFO, options_.certificates.c_str());
  if (options_.direct) set(CURLOPT_NOPROXY, "*");
  set_deadlines();
  set_answer();
  set_headers();
  set_method();
}

void CurlRequest::set_deadlines() {
  set(CURLOPT_CONNECTTIMEOUT_MS, milliseconds(options_.connect_timeout));
  if (wanted_.timeout > Duration::zero()) {
    set(CURLOPT_QUICK_EXIT, 1L);  // else a name server that does not answer holds up the end of the try
    set(CURLOPT_TIMEOUT_MS, std::max(1L, milliseconds(wanted_.timeout)));
    return;
  }
  if (streams()) return;  // it waits for its writer: see keep_streaming()
  set(CURLOPT_LOW_SPEED_LIMIT, 1L);
  set(CURLOPT_LOW_SPEED_TIME, std::max(1L, milliseconds(options_.stall_timeout) / 1000));
  set(CURLOPT_TIMEOUT_MS, std::max(300'000L, milliseconds(options_.patience)));
}

void CurlRequest::set_answer() {
  set(CURLOPT_ERRORBUFFER, error_text_);
  set(CURLOPT_WRITEFUNCTION, &take_body);
  set(CURLOPT_WRITEDATA, static_cast<void*>(this));
  set(CURLOPT_HEADERFUNCTION, &take_header);
  set(CURLOPT_HEADERDATA, static_cast<void*>(this));
}

void CurlRequest::set_headers() {
  for (const std::string& header : wanted_.headers) add_header(header);
  if (const Signer* const signer = wanted_.signer.get()) {
    set(CURLOPT_AWS_SIGV4, signer->scope.c_str());
    set(CURLOPT_USERNAME, signer->access_key.c_str());
    set(CURLOPT_PASSWORD, signer->secret_key.c_str());
    if (!signer->session_token.empty()) add_header("x-amz-security-token: " + signer->session_token);
  }
  set(CURLOPT_HTTPHEADER, header_list_);
}

void CurlRequest::set_method() {
  const auto size = static_cast<curl_off_t>(wanted_.body.bytes.size());
  if (wanted_.method == "HEAD") {
    set(CURLOPT_NOBODY, 1L);
  } else if (wanted_.method == "PUT") {
    set_upload();
  } else if (wanted_.method == "POST") {
    set(CURLOPT_POST, 1L);
    set(CURLOPT_POSTFIELDS, size == 0 ? "" : reinterpret_cast<const char*>(wanted_.body.bytes.data()));
    set(CURLOPT_POSTFIELDSIZE_LARGE, size);
  } else if (wanted_.method != "GET") {
    set(CURLOPT_CUSTOMREQUEST, wanted_.method.c_str());
  }
}

void CurlRequest::set_upload() {
  set(CURLOPT_UPLOAD, 1L);
  set(CURLOPT_READDATA, static_cast<void*>(this));
  set(CURLOPT_READFUNCTION, streams() ? &give_stream : &give_body);
  if (streams()) return;
  set(CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(wanted_.body.bytes.size()));
  set(CURLOPT_SEEKFUNCTION, &rewind_body);
  set(CURLOPT_SEEKDATA, static_cast<void*>(this));
}

}  // namespace weft::storage::http
