// The keys that sign requests to an S3 service: those that expire are fetched again before they do.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "storage/http/http_client.hpp"

namespace weft::storage::objects {

struct S3Keys {
  std::string access_key{}, secret_key{};
  std::string session_token{};         // empty: none
  std::optional<Duration> lifetime{};  // from when they were fetched; nothing: they do not expire
};

/// A source of keys that may change: a file, a service of tokens. One thread at a time.
class KeySource {
 public:
  virtual ~KeySource() = default;
  /// Blocks, at most for some seconds. The error says in one line what could not be fetched from where, and what to do.
  virtual Result<S3Keys> fetch() = 0;
};

/// Any thread.
class S3Credentials {
 public:
  /// These keys for ever. An empty access key signs nothing (requests without a signature).
  S3Credentials(S3Keys keys, std::string region);
  /// The keys of a source. `clock` outlives it.
  S3Credentials(std::shared_ptr<KeySource> source, std::string region, const Clock& clock);

  /// Signs the request and starts it. When the service answers that the keys have expired and the source has others, it is sent
  /// once more. `http` outlives the exchange, and so does this.
  std::unique_ptr<http::HttpExchange> start(http::HttpClient& http, http::HttpRequest request);
  /// The keys for a request that begins now; null: it is not signed. Blocks only while there are no keys that are still good. They
  /// are fetched again when a quarter of their life is left, five minutes at most; when that fails they are used until they expire,
  /// and then its error is returned.
  Result<std::shared_ptr<const http::Signer>> signer();
  /// Other keys, fetched at once, after the service has refused these because they have expired. Null when there are none.
  Result<std::shared_ptr<const http::Signer>> after(const std::shared_ptr<const http::Signer>& refused);

 private:
  Result<std::shared_ptr<const http::Signer>> fetched(std::unique_lock<std::mutex>& lock);
  bool expired(TimePoint now) const { return expires_ && now >= *expires_; }

  const std::shared_ptr<KeySource> source_;  // null: what signer_ holds stays
  const std::string region_;
  const Clock& clock_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable fetch_ended_;
  bool fetching_ = false;
  std::shared_ptr<const http::Signer> signer_;
  std::optional<TimePoint> expires_;
  TimePoint fetch_again_{};               // when to, if they expire
  std::optional<TimePoint> last_forced_;  // when after() fetched last
};

}  // namespace weft::storage::objects
