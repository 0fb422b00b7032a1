#include "storage/objects/s3_client.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <deque>
#include <utility>

#include "base/crc32c.hpp"
#include "base/text.hpp"
#include "storage/http/web_text.hpp"
#include "storage/objects/s3_errors.hpp"
#include "storage/objects/xml.hpp"

namespace weft::storage::objects {
namespace {

using http::base64;
using http::HttpClient;
using http::HttpExchange;
using http::HttpOptions;
using http::HttpRequest;
using http::HttpResponse;
using http::uri_decoded;
using http::uri_encoded;

constexpr std::string_view kUploadHeader = "x-amz-meta-weft-upload";
constexpr std::string_view kScheme = "s3://";
constexpr std::uint64_t kLargestReply = 16u << 20;  // of 1,000 keys of 1,024 bytes, encoded
constexpr std::size_t kTogether = 16;               // requests of one call under way at once

/// As headers have it: the bytes of the number, highest first.
std::string base64_of(std::uint32_t checksum) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(checksum >> shift & 0xff));
  return base64(bytes);
}

bool valid_bucket(std::string_view name) {
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.'; };
  return name.size() >= 3 && name.size() <= 63 && std::all_of(name.begin(), name.end(), fits);
}

Result<std::uint64_t> size_of(const std::string& text, const std::string& url) {
  if (const auto size = parse_number<std::uint64_t>(text)) return *size;
  return fail(Code::corrupt, "the service does not say how large " + url + " is");
}

std::unique_ptr<S3Credentials> credentials_of(const S3Settings& settings) {
  if (settings.unsigned_requests) return std::make_unique<S3Credentials>(S3Keys{}, settings.region);
  static const SystemClock clock;
  if (settings.keys) return std::make_unique<S3Credentials>(settings.keys, settings.region, clock);
  return std::make_unique<S3Credentials>(S3Keys{settings.access_key, settings.secret_key, settings.session_token}, settings.region);
}

/// A key as an answer has it: encoded, unless the service ignored that this was asked for.
std::string listed_name(const XmlDocument& page, const std::string& text) {
  return page.text("EncodingType") == "url" ? uri_decoded(text) : text;
}

std::string prefix_url(const std::string& bucket, const std::string& prefix) { return url_of({bucket, prefix}); }

/// A long request may be answered with 200 before it fails.
bool fails_late(const HttpResponse& answer) { return answer.body.size() < 4096 && parse_xml(answer.body).root() == "Error"; }

bool fails_late_and_may_pass(const HttpResponse& answer) {
  constexpr std::array<std::string_view, 4> kPassing{"InternalError", "SlowDown", "ServiceUnavailable", "RequestTimeout"};
  return fails_late(answer) && std::find(kPassing.begin(), kPassing.end(), s3_error_code(answer)) != kPassing.end();
}

/// Runs `start(i)` and then `finish(exchange, i)` for all i below `count`, some at once, until one fails.
template <class Start, class Finish>
Result<void> for_all(std::size_t count, Start&& start, Finish&& finish) {
  std::deque<std::unique_ptr<HttpExchange>> under_way;
  for (std::size_t begun = 0, ended = 0; ended < count; ++ended) {
    for (; begun < count && under_way.size() < kTogether; ++begun) under_way.push_back(start(begun));
    WEFT_TRY(finish(*under_way.front(), ended));
    under_way.pop_front();
  }
  return {};
}

}  // namespace

Result<S3Path> parse_s3(std::string_view url) {
  if (!url.starts_with(kScheme)) return fail(Code::invalid_argument, std::string(url) + " is no s3:// URL");
  const std::string_view rest = url.substr(kScheme.size());
  const auto slash = rest.find('/');
  S3Path path{std::string(rest.substr(0, slash)), slash == std::string_view::npos ? "" : std::string(rest.substr(slash + 1))};
  while (path.key.ends_with('/')) path.key.pop_back();
  if (!valid_bucket(path.bucket))
    return fail(Code::invalid_argument, escaped(url) + ": '" + escaped(path.bucket) +
                                            "' is no name of a bucket (3 to 63 small letters, digits, dots and dashes); URLs are "
                                            "s3://BUCKET/KEY");
  if (path.key.size() > 1024)
    return fail(Code::invalid_argument, "a key of " + escaped(url.substr(0, 100)) + "… has more than 1024 bytes");
  return path;
}

std::string url_of(const S3Path& path) { return std::string(kScheme) + path.bucket + (path.key.empty() ? "" : "/" + path.key); }

Result<std::unique_ptr<S3Client>> S3Client::open(S3Settings settings, HttpOptions options) {
  options.certificates = settings.certificates;
  options.server_setting = "AWS_ENDPOINT_URL";
  options.redirect_hint = " and the region";
  options.certificate_setting = "AWS_CA_BUNDLE";
  WEFT_ASSIGN(auto http, HttpClient::open(std::move(options)));
  return std::unique_ptr<S3Client>(new S3Client(std::move(settings), std::move(http)));
}

S3Client::S3Client(S3Settings settings, std::unique_ptr<HttpClient> http)
    : settings_(std::move(settings)), credentials_(credentials_of(settings_)), http_(std::move(http)) {}

std::unique_ptr<HttpExchange> S3Client::start(HttpRequest wanted) { return credentials_->start(*http_, std::move(wanted)); }

HttpRequest S3Client::request(std::string method, const S3Path& path, std::string_view query) const {
  HttpRequest made;
  made.method = std::move(method);
  // A dot in a bucket's name makes a host's name for which no certificate is.
  if (settings_.path_style || (path.bucket.find('.') != std::string::npos && settings_.endpoint.starts_with("https://"))) {
    made.url = settings_.endpoint + "/" + path.bucket;
  } else {
    const auto host = settings_.endpoint.find("://") + 3;
    made.url = settings_.endpoint.substr(0, host) + path.bucket + "." + settings_.endpoint.substr(host);
  }
  made.url += "/" + uri_encoded(path.key, true);
  if (!query.empty()) made.url.append("?").append(query);
  made.headers.emplace_back("x-amz-content-sha256: UNSIGNED-PAYLOAD");
  made.most_bytes = kLargestReply;
  return made;
}

Result<HttpResponse> S3Client::checked(Result<HttpResponse> answer, const S3Path& path, std::string_view doing) const {
  if (!answer) return fail(std::move(answer).error().wrap("cannot " + std::string(doing) + " " + escaped(url_of(path))));
  if (answer->status < 200 || answer->status >= 300 || fails_late(*answer))
    return fail(s3_error(*answer, doing, url_of(path), settings_, static_cast<std::int64_t>(std::time(nullptr))));
  return answer;
}

Result<HttpResponse> S3Client::exchange(HttpRequest wanted, const S3Path& path, std::string_view doing) {
  return checked(start(std::move(wanted))->wait(), path, doing);
}

Result<S3Listing> S3Client::list(const std::string& bucket, const std::string& prefix, bool deep, std::uint64_t most) {
  S3Listing found;
  std::string token;
  while (true) {
    // Sorted by name.
    std::string query = token.empty() ? "" : "continuation-token=" + uri_encoded(token) + "&";
    if (!deep) query += "delimiter=%2F&";
    query += "encoding-type=url&list-type=2&max-keys=" + std::to_string(std::min<std::uint64_t>(most, 1000)) +
             "&prefix=" + uri_encoded(prefix);
    WEFT_ASSIGN(const HttpResponse answer, exchange(request("GET", {bucket, ""}, query), {bucket, prefix}, "list"));
    const XmlDocument page = parse_xml(answer.body);
    if (page.root() != "ListBucketResult")
      return fail(Code::corrupt, "cannot list " + prefix_url(bucket, prefix) +
                                     ": the answer is no list; does AWS_ENDPOINT_URL name an S3 service?");
    for (auto& row : page.rows("Contents", {"Key", "Size", "ETag", "LastModified"})) {
      S3Object& object = found.objects.emplace_back();
      object.key = listed_name(page, row[0]);
      WEFT_ASSIGN(object.size, size_of(row[1], url_of({bucket, object.key})));
      object.etag = std::move(row[2]);
      object.modified = std::move(row[3]);
    }
    for (const auto& row : page.rows("CommonPrefixes", {"Prefix"})) found.prefixes.push_back(listed_name(page, row[0]));
    std::string next = page.text("NextContinuationToken");
    if (page.text("IsTruncated") != "true" || found.objects.size() + found.prefixes.size() >= most) return found;
    if (next.empty() || next == token)
      return fail(Code::corrupt, "cannot list " + prefix_url(bucket, prefix) + ": the service does not say how its list continues");
    token = std::move(next);
  }
}

Result<std::optional<S3Object>> S3Client::head(const S3Path& path) {
  auto answer = start(request("HEAD", path))->wait();
  if (answer && answer->status >= 300 && answer->status != 404) {  // an answer to HEAD does not say why
    HttpRequest wanted = request("GET", path);
    wanted.headers.emplace_back("Range: bytes=0-0");
    auto told = start(std::move(wanted))->wait();
    const bool there = told && (told->status < 300 || told->status == 416);  // 416: it is empty
    answer = there ? start(request("HEAD", path))->wait() : std::move(told);
  }
  if (answer && answer->status == 404 && s3_error_code(*answer) != "NoSuchBucket") return std::optional<S3Object>();
  WEFT_ASSIGN(const HttpResponse found, checked(std::move(answer), path, "read"));
  S3Object object{.key = path.key, .etag = found.header("etag"), .upload = found.header(kUploadHeader)};
  WEFT_ASSIGN(object.size, size_of(found.header("content-length"), url_of(path)));
  return std::optional<S3Object>(std::move(object));
}

std::unique_ptr<HttpExchange> S3Client::start_read(const S3Path& path, std::uint64_t offset, std::uint64_t length,
                                                   const std::string& etag) {
  HttpRequest wanted = request("GET", path);
  wanted.headers.push_back("Range: bytes=" + std::to_string(offset) + "-" + std::to_string(offset + length - 1));
  if (!etag.empty()) wanted.headers.push_back("If-Match: " + etag);
  wanted.most_bytes = std::max<std::uint64_t>(length, 64u << 10);  // or an error's text
  wanted.likely_bytes = length;
  return start(std::move(wanted));
}

Result<std::string> S3Client::finish_read(HttpExchange& read, const S3Path& path, std::uint64_t offset, std::uint64_t length,
                                          const std::string& etag) {
  auto answer = read.wait();
  if (answer && answer->status == 404 && s3_error_code(*answer) == "NoSuchKey")
    return fail(Code::invalid_argument, "cannot read " + url_of(path) + ": it was removed while the job ran");
  if (!answer || answer->status >= 300) return fail(checked(std::move(answer), path, "read").error());
  const std::string there = answer->header("etag");
  if (answer->status != 206 && !(answer->status == 200 && offset == 0 && answer->body.size() == length))
    return fail(Code::corrupt, "cannot read " + url_of(path) + ": the service does not answer requests for a range of bytes");
  if (!etag.empty() && !there.empty() && there != etag)
    return fail(Code::invalid_argument,
                "cannot read " + url_of(path) + ": it changed while the job ran; run the job again when nobody writes to it");
  if (answer->body.size() != length)
    return fail(Code::corrupt, "cannot read " + url_of(path) + ": " + std::to_string(answer->body.size()) + " bytes came at byte " +
                                   std::to_string(offset) + ", and " + std::to_string(length) + " were requested");
  return std::move(answer->body);
}

Result<void> S3Client::put(const S3Path& path, SharedBytes bytes) {
  HttpRequest wanted = request("PUT", path);
  wanted.headers.push_back("x-amz-checksum-crc32c: " + base64_of(crc32c(bytes.bytes)));
  wanted.body = std::move(bytes);
  WEFT_TRY(exchange(std::move(wanted), path, "write"));
  return {};
}

Result<void> S3Client::remove(const std::string& bucket, const std::vector<std::string>& keys) {
  return for_all(
      keys.size(),
      [&](std::size_t i) {
        return start(request("DELETE", {bucket, keys[i]}));
      },
      [&](HttpExchange& removal, std::size_t i) -> Result<void> {
        auto answer = removal.wait();
        if (answer && answer->status == 404) return {};
        WEFT_TRY(checked(std::move(answer), {bucket, keys[i]}, "remove"));
        return {};
      });
}

Result<std::string> S3Client::begin_upload(const S3Path& path, const std::string& name) {
  HttpRequest wanted = request("POST", path, "uploads=");
  if (!name.empty()) wanted.headers.push_back(std::string(kUploadHeader) + ": " + name);
  wanted.headers.emplace_back("x-amz-checksum-algorithm: CRC32C");
  wanted.headers.emplace_back("Content-Type: application/octet-stream");
  WEFT_ASSIGN(const HttpResponse answer, exchange(std::move(wanted), path, "write"));
  std::string id = parse_xml(answer.body).text("UploadId");
  if (id.empty()) return fail(Code::corrupt, "cannot write " + url_of(path) + ": the service began no upload in parts");
  return id;
}

std::unique_ptr<HttpExchange> S3Client::start_part(const S3Path& path, const std::string& id, std::uint32_t number,
                                                   SharedBytes bytes) {
  HttpRequest wanted = request("PUT", path, "partNumber=" + std::to_string(number) + "&uploadId=" + uri_encoded(id));
  wanted.headers.push_back("x-amz-checksum-crc32c: " + base64_of(crc32c(bytes.bytes)));
  wanted.body = std::move(bytes);
  return start(std::move(wanted));
}

Result<void> S3Client::finish_part(HttpExchange& part, const S3Path& path) {
  WEFT_TRY(checked(part.wait(), path, "write"));
  return {};
}

Result<std::vector<S3Part>> S3Client::parts(const S3Path& path, const std::string& id) {
  std::vector<S3Part> all;
  while (true) {
    const std::string marker = all.empty() ? "" : "part-number-marker=" + std::to_string(all.back().number) + "&";
    WEFT_ASSIGN(const HttpResponse answer,
                exchange(request("GET", path, "max-parts=1000&" + marker + "uploadId=" + uri_encoded(id)), path, "write"));
    const XmlDocument page = parse_xml(answer.body);
    if (page.root() != "ListPartsResult")
      return fail(Code::corrupt, "cannot write " + url_of(path) + ": the service does not list the parts of its upload");
    const auto rows = page.rows("Part", {"PartNumber", "Size", "ETag", "ChecksumCRC32C"});
    for (const auto& row : rows) {
      const auto number = parse_number<std::uint32_t>(row[0]);
      WEFT_ASSIGN(const std::uint64_t size, size_of(row[1], url_of(path)));
      if (!number || (!all.empty() && *number <= all.back().number))
        return fail(Code::corrupt, "cannot write " + url_of(path) + ": the service does not list its parts in order");
      all.push_back({*number, size, row[2], row[3]});
    }
    if (page.text("IsTruncated") != "true" || rows.empty()) return all;
  }
}

Result<void> S3Client::complete(const S3Path& path, const std::string& id, const std::vector<S3Part>& parts,
                                const std::string& before, const std::string& name) {
  std::string body = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
  std::uint64_t size = 0;
  for (const S3Part& part : parts) {
    size += part.size;
    body += "<Part><PartNumber>" + std::to_string(part.number) + "</PartNumber><ETag>" + xml_escaped(part.etag) + "</ETag>";
    if (!part.checksum.empty()) body += "<ChecksumCRC32C>" + xml_escaped(part.checksum) + "</ChecksumCRC32C>";
    body += "</Part>";
  }
  body += "</CompleteMultipartUpload>";
  HttpRequest wanted = request("POST", path, "uploadId=" + uri_encoded(id));
  wanted.headers.emplace_back("Content-Type: application/xml");
  wanted.body = SharedBytes(Buffer::copy_of(as_bytes(body)));
  wanted.is_passing = fails_late_and_may_pass;
  auto answer = start(std::move(wanted))->wait();
  // Of a try whose answer was lost the service knows no upload any more. (libcurl, too, sends again what it sent on a connection
  // that had just ended.)
  if (answer && s3_error_code(*answer) == "NoSuchUpload") {
    WEFT_ASSIGN(const auto there, head(path));
    const bool known = there && !name.empty() && !there->upload.empty();
    if (known ? there->upload == name : there && there->size == size && there->etag != before) return {};
  }
  WEFT_TRY(checked(std::move(answer), path, "write"));
  return {};
}

Result<void> S3Client::abort(const S3Path& path, const std::string& id) {
  auto answer = start(request("DELETE", path, "uploadId=" + uri_encoded(id)))->wait();
  if (answer && answer->status == 404) return {};
  WEFT_TRY(checked(std::move(answer), path, "abort the upload of"));
  return {};
}

Result<std::vector<S3Upload>> S3Client::uploads(const std::string& bucket, const std::string& prefix) {
  WEFT_ASSIGN(auto all, listed_uploads({bucket, prefix}, prefix));
  if (prefix.empty() || !forgets_uploads_) return all;
  return listed_uploads({bucket, ""}, prefix);  // MinIO took the prefix for a whole key
}

Result<std::vector<S3Upload>> S3Client::uploads_of(const S3Path& path) {
  WEFT_ASSIGN(auto all, listed_uploads(path, path.key));
  std::erase_if(all, [&](const S3Upload& upload) { return upload.key != path.key; });
  return all;
}

Result<std::vector<S3Upload>> S3Client::listed_uploads(const S3Path& asked, const std::string& wanted) {
  std::vector<S3Upload> all;
  std::string key_marker, id_marker;
  while (true) {
    // Sorted by name.
    std::string query = "encoding-type=url&";
    if (!key_marker.empty()) query += "key-marker=" + uri_encoded(key_marker) + "&";
    query += "max-uploads=1000&prefix=" + uri_encoded(asked.key);
    if (!id_marker.empty()) query += "&upload-id-marker=" + uri_encoded(id_marker);
    query += "&uploads=";
    WEFT_ASSIGN(const HttpResponse answer,
                exchange(request("GET", {asked.bucket, ""}, query), {asked.bucket, wanted}, "list the uploads of"));
    if (answer.header("server").starts_with("MinIO")) forgets_uploads_ = true;
    const XmlDocument page = parse_xml(answer.body);
    for (auto& row : page.rows("Upload", {"Key", "UploadId"}))
      if (std::string key = listed_name(page, row[0]); key.starts_with(wanted)) all.push_back({std::move(key), std::move(row[1])});
    std::string next_key = listed_name(page, page.text("NextKeyMarker")), next_id = page.text("NextUploadIdMarker");
    if (page.text("IsTruncated") != "true" || (next_key == key_marker && next_id == id_marker)) return all;
    key_marker = std::move(next_key);
    id_marker = std::move(next_id);
  }
}

}  // namespace weft::storage::objects
