#include "storage/objects/s3_errors.hpp"

#include <array>
#include <cstdlib>

#include "base/text.hpp"
#include "storage/http/web_text.hpp"
#include "storage/objects/xml.hpp"

namespace weft::storage::objects {
namespace {

using http::HttpResponse;
using http::seconds_of_http;

struct ErrorMeaning {
  std::string_view word;  // of the service
  Code code;
  std::string_view text;
};

constexpr auto kMeanings = std::to_array<ErrorMeaning>({
    {"SignatureDoesNotMatch", Code::invalid_argument,
     "the secret key does not belong to the access key; check AWS_SECRET_ACCESS_KEY or ~/.aws/credentials"},
    {"InvalidAccessKeyId", Code::invalid_argument,
     "the service does not know the access key; check AWS_ACCESS_KEY_ID or ~/.aws/credentials, and AWS_ENDPOINT_URL"},
    {"ExpiredToken", Code::invalid_argument,
     "the credentials have expired; get new ones and start the processes that use them again (AWS_SESSION_TOKEN)"},
    {"InvalidToken", Code::invalid_argument,
     "the session token is not valid; set AWS_SESSION_TOKEN to the one that came with the keys, or unset it"},
    {"InvalidTokenId", Code::invalid_argument,
     "the session token is not valid; set AWS_SESSION_TOKEN to the one that came with the keys, or unset it"},
    {"NoSuchBucket", Code::not_found, "there is no such bucket; check its name, and AWS_ENDPOINT_URL"},
    {"NoSuchKey", Code::not_found, "there is no such object"},
    {"NoSuchUpload", Code::not_found,
     "its upload was aborted by somebody else, or by another job that writes to the same place; run the job again"},
    {"InvalidBucketName", Code::invalid_argument, "the bucket's name is not valid"},
    {"BadDigest", Code::unavailable, "bytes were damaged on the way to the service"},
    {"XAmzContentChecksumMismatch", Code::unavailable, "bytes were damaged on the way to the service"},
    {"EntityTooLarge", Code::resource_exhausted, "the object is larger than the service allows"},
    {"InvalidObjectState", Code::invalid_argument, "the object is in an archive; restore it first"},
    {"XMinioStorageFull", Code::resource_exhausted, "the service's disks are full"},
});

bool about_region(const std::string& word) {
  return word == "AuthorizationHeaderMalformed" || word == "PermanentRedirect" || word == "TemporaryRedirect" ||
         word == "IllegalLocationConstraintException" || word == "InvalidRegion";
}

/// `told` is what the service says.
std::string region_text(const std::string& told, const S3Settings& settings) {
  const std::string wanted = escaped(told.substr(0, 100));
  const std::string is = wanted.empty() ? "the bucket is not in the region " + settings.region
                                        : "the bucket is in the region " + wanted + ", not in " + settings.region;
  return is + "; set AWS_REGION" + (wanted.empty() ? "" : "=" + wanted) + " (or AWS_ENDPOINT_URL)";
}

std::string clock_text(const std::string& date, std::int64_t now) {
  const auto there = seconds_of_http(date);
  if (!there) return "this machine's clock differs too much from the service's; set it (timedatectl set-ntp true)";
  const std::int64_t ahead = now - *there;
  return "this machine's clock is " + human_duration(std::chrono::seconds(std::llabs(ahead))) +
         (ahead < 0 ? " behind" : " ahead of") + " the service's; set it (timedatectl set-ntp true)";
}

/// What a status alone says, as answers to HEAD have no body.
Error by_status(const HttpResponse& answer, const std::string& said, const S3Settings& settings) {
  switch (answer.status) {
    case 401:
    case 403:
      if (settings.unsigned_requests)
        return {Code::invalid_argument, "not everybody may do that" + said + "; unset AWS_NO_SIGN_REQUEST and give credentials"};
      return {Code::invalid_argument, "these credentials have no right to it" + said +
                                          "; ask the bucket's owner, or use other credentials (AWS_ACCESS_KEY_ID, AWS_PROFILE)"};
    case 404:
      return {Code::not_found, "there is no such object or bucket"};
    case 409:
      return {Code::unavailable, "another request changed it at the same time" + said};
    case 412:
      return {Code::invalid_argument, "it changed while the job ran; run the job again when nobody writes to it"};
    case 416:
      return {Code::invalid_argument, "it became shorter while the job ran; run the job again when nobody writes to it"};
    case 429:
    case 503:
      return {Code::unavailable, "the service is too busy (" + std::to_string(answer.status) + " " + std::to_string(answer.tries) +
                                     " times)" + said + "; run fewer tasks at once, or later"};
    default:
      return {answer.status >= 500 ? Code::unavailable : Code::io, "the service answers " + std::to_string(answer.status) + said};
  }
}

Error meaning_of(const HttpResponse& answer, const S3Settings& settings, std::int64_t now) {
  const XmlDocument body = parse_xml(answer.body);
  const std::string word = body.text("Code"), message = body.text("Message");
  for (const ErrorMeaning& meaning : kMeanings)
    if (word == meaning.word) return {meaning.code, std::string(meaning.text)};
  if (word == "RequestTimeTooSkewed") return {Code::invalid_argument, clock_text(answer.header("date"), now)};
  const std::string bucket_region = answer.header("x-amz-bucket-region");
  const bool redirected = answer.status >= 300 && answer.status < 400;
  const bool elsewhere = !bucket_region.empty() && bucket_region != settings.region && (redirected || answer.status == 400);
  if (about_region(word) || redirected || elsewhere)
    return {Code::invalid_argument, region_text(body.text("Region").empty() ? bucket_region : body.text("Region"), settings)};
  std::string said;
  if (!word.empty()) said = " (" + escaped((message.empty() ? word : word + ": " + message).substr(0, 300)) + ")";
  return by_status(answer, said, settings);
}

}  // namespace

Error s3_error(const HttpResponse& answer, std::string_view doing, const std::string& url, const S3Settings& settings,
               std::int64_t now) {
  return meaning_of(answer, settings, now).wrap("cannot " + std::string(doing) + " " + escaped(url));
}

std::string s3_error_code(const HttpResponse& answer) { return parse_xml(answer.body).text("Code"); }

}  // namespace weft::storage::objects
