// The requests of S3 that files need, as functions. They block, except those called start_…. Errors name the object and say what to
// do.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/http/http_client.hpp"
#include "storage/objects/s3_credentials.hpp"
#include "storage/objects/s3_settings.hpp"

namespace weft::storage::objects {

/// s3://bucket/key. An empty key is the bucket itself.
struct S3Path {
  std::string bucket, key;
};

/// As users write it; slashes at the end go. Keys are taken as they are, nothing in them is decoded. invalid_argument when the
/// bucket has no valid name.
Result<S3Path> parse_s3(std::string_view url);
std::string url_of(const S3Path& path);

struct S3Object {
  std::string key{};
  std::uint64_t size = 0;
  std::string etag{};      // with its quotes
  std::string modified{};  // as the service writes it; of listings only
  std::string upload{};    // the name that begin_upload() was given; of head() only
};

struct S3Listing {
  std::vector<S3Object> objects;
  std::vector<std::string> prefixes;  // of directories that are not entered, with their slash
};

struct S3Upload {
  std::string key, id;
};

struct S3Part {
  std::uint32_t number = 0;
  std::uint64_t size = 0;
  std::string etag, checksum;
};

/// Any thread.
class S3Client {
 public:
  static Result<std::unique_ptr<S3Client>> open(S3Settings settings, http::HttpOptions options = {});

  /// Objects whose keys begin with `prefix`, in the order of their keys, all of them or about as many as `most`. Without `deep`
  /// only those without a further slash, and the prefixes of the others.
  Result<S3Listing> list(const std::string& bucket, const std::string& prefix, bool deep, std::uint64_t most = UINT64_MAX);
  /// Nothing when there is no such object.
  Result<std::optional<S3Object>> head(const S3Path& path);

  /// Starts to read bytes of an object that must still have this ETag.
  std::unique_ptr<http::HttpExchange> start_read(const S3Path& path, std::uint64_t offset, std::uint64_t length,
                                                 const std::string& etag);
  /// The bytes that the answer holds, exactly `length`. An object that changed or was removed is Code::invalid_argument: another
  /// try cannot succeed.
  Result<std::string> finish_read(http::HttpExchange& read, const S3Path& path, std::uint64_t offset, std::uint64_t length,
                                  const std::string& etag);
  /// Bytes of finish_read() that are no longer needed.
  void recycle(std::string bytes) { http_->recycle(std::move(bytes)); }

  /// Makes or replaces a small object.
  Result<void> put(const S3Path& path, SharedBytes bytes);
  /// What is not there is no error.
  Result<void> remove(const std::string& bucket, const std::vector<std::string>& keys);

  /// An object in parts, which appears when it is completed. `name` stays with it, to know it by; may be empty.
  Result<std::string> begin_upload(const S3Path& path, const std::string& name = {});
  std::unique_ptr<http::HttpExchange> start_part(const S3Path& path, const std::string& id, std::uint32_t number,
                                                 SharedBytes bytes);
  Result<void> finish_part(http::HttpExchange& part, const S3Path& path);
  Result<std::vector<S3Part>> parts(const S3Path& path, const std::string& id);
  /// When an answer is lost, the `name` that begin_upload() was given shows whether the object that is there was written by this
  /// call; or else, where there is none, `before`, the ETag of the object that is there now, if any.
  Result<void> complete(const S3Path& path, const std::string& id, const std::vector<S3Part>& parts, const std::string& before = {},
                        const std::string& name = {});
  /// An upload that is no longer there is no error.
  Result<void> abort(const S3Path& path, const std::string& id);
  /// Uploads that are neither complete nor aborted, of keys that begin with `prefix`.
  Result<std::vector<S3Upload>> uploads(const std::string& bucket, const std::string& prefix);
  /// The same, of one key.
  Result<std::vector<S3Upload>> uploads_of(const S3Path& path);
  /// Whether uploads() has found that the service leaves some out: MinIO leaves out those from before it was started.
  bool forgets_uploads() const { return forgets_uploads_; }

  /// Bytes that all readers together hold in read-ahead.
  std::atomic<std::uint64_t>& read_ahead() { return read_ahead_; }

 private:
  S3Client(S3Settings settings, std::unique_ptr<http::HttpClient> http);
  /// As S3Credentials::start().
  std::unique_ptr<http::HttpExchange> start(http::HttpRequest wanted);
  /// As the service lists those whose keys begin with `asked`; only those that begin with `wanted`.
  Result<std::vector<S3Upload>> listed_uploads(const S3Path& asked, const std::string& wanted);
  http::HttpRequest request(std::string method, const S3Path& path, std::string_view query = {}) const;
  Result<http::HttpResponse> exchange(http::HttpRequest wanted, const S3Path& path, std::string_view doing);
  Result<http::HttpResponse> checked(Result<http::HttpResponse> answer, const S3Path& path, std::string_view doing) const;

  const S3Settings settings_;
  const std::unique_ptr<S3Credentials> credentials_;
  const std::unique_ptr<http::HttpClient> http_;
  std::atomic<std::uint64_t> read_ahead_{0};
  std::atomic<bool> forgets_uploads_{false};
};

}  // namespace weft::storage::objects
