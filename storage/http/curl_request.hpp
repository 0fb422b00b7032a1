// One request as libcurl carries it out: its options, its bytes there and back, and what its failures mean. Private to
// storage/http.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "storage/http/curl.hpp"
#include "storage/http/http_client.hpp"

namespace weft::storage::http {

/// Whether another try may end otherwise.
bool may_pass(CURLcode code);

/// From begin() to end() libcurl calls it, and it stays where it is. One thread.
class CurlRequest {
 public:
  /// Both references outlive it.
  CurlRequest(const Curl& curl, const HttpOptions& options, HttpRequest wanted)
      : curl_(curl), options_(options), wanted_(std::move(wanted)) {}
  CurlRequest(const CurlRequest&) = delete;
  CurlRequest& operator=(const CurlRequest&) = delete;

  const HttpRequest& wanted() const { return wanted_; }
  bool streams() const { return wanted_.stream != nullptr; }

  /// Begins a try among the requests of `multi`. The answer's body grows in `body`, which is empty.
  void begin(CURLM* multi, CURL* handle, std::string body);
  /// Asks a stream again that had nothing to give; it may pause again at once. False when the other side has taken nothing of a
  /// stream for HttpOptions::stall_timeout.
  bool keep_streaming();
  /// Ends the try and gives its handle back. Then response() and reached() are those of the try.
  CURL* end(CURLM* multi);

  HttpResponse& response() { return response_; }
  const std::string& reached() const { return reached_; }
  /// Why there is no answer, and what to do.
  Error failure(CURLcode code) const;

 private:
  static std::size_t take_body(char* bytes, std::size_t size, std::size_t count, void* request);
  static std::size_t take_header(char* bytes, std::size_t size, std::size_t count, void* request);
  static std::size_t give_body(char* into, std::size_t size, std::size_t count, void* request);
  static std::size_t give_stream(char* into, std::size_t size, std::size_t count, void* request);
  static int rewind_body(void* request, curl_off_t offset, int origin);

  template <class T>
  void set(CURLoption option, T value) {
    curl_.easy_setopt(handle_, option, value);
  }
  void set_options();
  void set_deadlines();
  void set_answer();
  void set_headers();
  void set_method();
  void set_upload();
  void add_header(const std::string& header) { header_list_ = curl_.slist_append(header_list_, header.c_str()); }

  const Curl& curl_;
  const HttpOptions& options_;
  const HttpRequest wanted_;
  HttpResponse response_;
  std::string reached_;

  // Of the try.
  CURL* handle_ = nullptr;
  curl_slist* header_list_ = nullptr;
  std::size_t sent_ = 0;  // of the body
  bool paused_ = false;   // until a stream has more
  TimePoint moved_{};     // when a stream last gave something, or had nothing to give
  bool too_long_ = false;
  std::optional<Error> stream_failure_;
  char error_text_[CURL_ERROR_SIZE] = {};
};

}  // namespace weft::storage::http
