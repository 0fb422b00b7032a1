#include "storage/objects/key_sources.hpp"

#include <ctime>
#include <optional>
#include <utility>

#include "base/file.hpp"
#include "base/json_reader.hpp"
#include "base/text.hpp"
#include "storage/http/web_text.hpp"
#include "storage/objects/s3_errors.hpp"
#include "storage/objects/xml.hpp"

namespace weft::storage::objects {
namespace {

using http::HttpClient;
using http::HttpOptions;
using http::HttpRequest;
using http::HttpResponse;
using http::seconds_of_http;
using http::seconds_of_iso;
using http::uri_encoded;

constexpr std::uint64_t kLargestAnswer = 1u << 20;
constexpr std::size_t kLargestToken = 64u << 10;

Result<std::unique_ptr<HttpClient>> client_of(Duration patience, const std::string& certificates, bool direct,
                                              const char* setting) {
  HttpOptions options;
  options.patience = patience;
  options.certificates = certificates;
  options.direct = direct;
  options.server_setting = setting;
  options.certificate_setting = "AWS_CA_BUNDLE";
  if (direct) {  // they are near, or they are not there
    options.connect_timeout = std::chrono::seconds(1);
    options.stall_timeout = std::chrono::seconds(5);
  }
  return HttpClient::open(std::move(options));
}

Result<std::string> token_in(const std::string& file) {
  WEFT_ASSIGN(const std::string text, read_file(file, kLargestToken));
  std::string token(trim(text));
  if (token.empty() || token.find_first_of("\r\n") != std::string::npos)
    return fail(Code::invalid_argument, file + " holds no token of one line");
  return token;
}

/// How long keys are good. The service's own clock says what time it is: this machine's may be wrong.
Result<std::optional<Duration>> lifetime_of(const std::string& expires, const HttpResponse& answer) {
  if (expires.empty()) return std::optional<Duration>();
  const auto end = seconds_of_iso(expires);
  if (!end) return fail(Code::corrupt, "its answer does not say when the keys expire");
  const auto there = seconds_of_http(answer.header("date"));
  return std::optional<Duration>(std::chrono::seconds(*end - there.value_or(static_cast<std::int64_t>(std::time(nullptr)))));
}

std::string short_of(const std::string& text) { return escaped(text.substr(0, 300)); }

/// {"AccessKeyId": …, "SecretAccessKey": …, "Token": …, "Expiration": …}, as services of containers and instances answer.
Result<S3Keys> keys_of_json(const HttpResponse& answer) {
  S3Keys keys;
  std::string expires, code = "Success", message;
  JsonReader json(answer.body, "its answer");
  WEFT_TRY(json.object([&](std::string_view name) -> Result<void> {
    std::string* const into = name == "AccessKeyId"       ? &keys.access_key
                              : name == "SecretAccessKey" ? &keys.secret_key
                              : name == "Token"           ? &keys.session_token
                              : name == "Expiration"      ? &expires
                              : name == "Code"            ? &code
                              : name == "Message"         ? &message
                                                          : nullptr;
    if (into == nullptr || json.peek() != JsonReader::Kind::text) return json.skip();
    WEFT_ASSIGN(*into, json.text());
    return {};
  }));
  if (code != "Success") return fail(Code::unavailable, "it says " + short_of(code + (message.empty() ? "" : ": " + message)));
  if (keys.access_key.empty() || keys.secret_key.empty()) return fail(Code::corrupt, "its answer holds no keys");
  WEFT_ASSIGN(keys.lifetime, lifetime_of(expires, answer));
  return keys;
}

class WebIdentityKeys final : public KeySource {
 public:
  explicit WebIdentityKeys(WebIdentity identity) : identity_(std::move(identity)) {}

  Result<S3Keys> fetch() override {
    auto keys = ask();
    if (!keys) return fail(std::move(keys).error().wrap("cannot get keys for the role " + escaped(identity_.role)));
    return keys;
  }

 private:
  Result<S3Keys> ask() {
    WEFT_ASSIGN(const std::string token, token_in(identity_.token_file));
    WEFT_ASSIGN(const auto client, client_of(std::chrono::seconds(20), identity_.certificates, false, "AWS_ENDPOINT_URL_STS"));
    const std::string form = "Action=AssumeRoleWithWebIdentity&RoleArn=" + uri_encoded(identity_.role) +
                             "&RoleSessionName=" + uri_encoded(identity_.session_name) +
                             "&Version=2011-06-15&WebIdentityToken=" + uri_encoded(token);
    HttpRequest wanted;
    wanted.method = "POST";
    wanted.url = identity_.endpoint + "/";
    wanted.headers.emplace_back("Content-Type: application/x-www-form-urlencoded");
    wanted.body = SharedBytes(Buffer::copy_of(as_bytes(form)));
    wanted.most_bytes = kLargestAnswer;
    WEFT_ASSIGN(const HttpResponse answer, client->exchange(std::move(wanted)));
    const XmlDocument said = parse_xml(answer.body);
    if (answer.status != 200) return fail(refusal(answer, said));
    const std::string at = "AssumeRoleWithWebIdentityResult/Credentials/";
    S3Keys keys{said.text((at + "AccessKeyId").c_str()), said.text((at + "SecretAccessKey").c_str()),
                said.text((at + "SessionToken").c_str())};
    if (keys.access_key.empty() || keys.secret_key.empty())
      return fail(Code::corrupt, "the answer of " + identity_.endpoint + " holds no keys; does AWS_ENDPOINT_URL_STS name an STS?");
    WEFT_ASSIGN(keys.lifetime, lifetime_of(said.text((at + "Expiration").c_str()), answer));
    return keys;
  }
  Error refusal(const HttpResponse& answer, const XmlDocument& said) const {
    const std::string word = said.text("Error/Code"), message = said.text("Error/Message");
    const std::string told = " (" + short_of(word + (message.empty() ? "" : ": " + message)) + ")";
    if (word == "ExpiredTokenException" || message.find("expired") != std::string::npos)
      return {Code::invalid_argument, "the token in " + identity_.token_file +
                                          " (AWS_WEB_IDENTITY_TOKEN_FILE) has expired; whatever writes it must renew it"};
    if (word == "AccessDenied")
      return {Code::invalid_argument,
              "the token in " + identity_.token_file + " may not take it; check AWS_ROLE_ARN and whom the role trusts" + told};
    if (word == "InvalidIdentityToken" || word == "IDPRejectedClaim")
      return {Code::invalid_argument, "the token in " + identity_.token_file +
                                          " is not accepted; check whom the role trusts and for whom the token was made" + told};
    if (word.empty()) return {Code::unavailable, identity_.endpoint + " answers " + std::to_string(answer.status)};
    return {Code::unavailable, identity_.endpoint + " answers " + std::to_string(answer.status) + told};
  }

  const WebIdentity identity_;
};

class ContainerKeys final : public KeySource {
 public:
  explicit ContainerKeys(ContainerService service) : service_(std::move(service)) {}

  Result<S3Keys> fetch() override {
    auto keys = ask();
    if (!keys) return fail(std::move(keys).error().wrap("cannot get keys from this container's service, " + service_.url));
    return keys;
  }

 private:
  Result<S3Keys> ask() {
    HttpRequest wanted;
    wanted.url = service_.url;
    wanted.most_bytes = kLargestAnswer;
    std::string token = service_.token;
    if (!service_.token_file.empty()) {
      WEFT_ASSIGN(token, token_in(service_.token_file));
    }
    if (!token.empty()) wanted.headers.push_back("Authorization: " + token);
    WEFT_ASSIGN(const auto client, client_of(std::chrono::seconds(5), "", true, "AWS_CONTAINER_CREDENTIALS_FULL_URI"));
    WEFT_ASSIGN(const HttpResponse answer, client->exchange(std::move(wanted)));
    if (answer.status == 401 || answer.status == 403)
      return fail(Code::invalid_argument,
                  "it answers " + std::to_string(answer.status) +
                      "; check AWS_CONTAINER_AUTHORIZATION_TOKEN or AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    if (answer.status != 200) return fail(Code::unavailable, "it answers " + std::to_string(answer.status));
    return keys_of_json(answer);
  }

  const ContainerService service_;
};

class InstanceKeys final : public KeySource {
 public:
  InstanceKeys(std::string endpoint, std::string otherwise) : endpoint_(std::move(endpoint)), otherwise_(std::move(otherwise)) {}

  Result<S3Keys> fetch() override {
    auto keys = ask();
    if (keys) known_ = true;
    if (keys || known_)
      return std::move(keys).map_error([&](Error&& error) { return std::move(error).wrap("cannot get keys from " + endpoint_); });
    return fail(Code::invalid_argument, otherwise_ + " (this machine gives none either: " + keys.error().to_string() + ")");
  }

 private:
  Result<S3Keys> ask() {
    WEFT_ASSIGN(const auto client, client_of(std::chrono::seconds(known_ ? 10 : 1), "", true, "AWS_EC2_METADATA_SERVICE_ENDPOINT"));
    HttpRequest session;
    session.method = "PUT";
    session.url = endpoint_ + "/latest/api/token";
    session.headers.emplace_back("X-aws-ec2-metadata-token-ttl-seconds: 300");
    WEFT_ASSIGN(const std::string token, told(*client, std::move(session)));
    const std::string list = endpoint_ + "/latest/meta-data/iam/security-credentials/";
    WEFT_ASSIGN(const std::string roles, told(*client, with_token(list, token)));
    const std::string role(trim(split(roles, '\n').front()));
    if (role.empty()) return fail(Code::not_found, "the instance has no role");
    WEFT_ASSIGN(const HttpResponse answer, client->exchange(with_token(list + uri_encoded(role), token)));
    if (answer.status != 200) return fail(Code::unavailable, "it answers " + std::to_string(answer.status));
    return keys_of_json(answer);
  }
  static HttpRequest with_token(const std::string& url, const std::string& token) {
    HttpRequest wanted;
    wanted.url = url;
    wanted.headers.push_back("X-aws-ec2-metadata-token: " + token);
    wanted.most_bytes = kLargestAnswer;
    return wanted;
  }
  static Result<std::string> told(HttpClient& client, HttpRequest wanted) {
    const std::string path = wanted.url;
    WEFT_ASSIGN(HttpResponse answer, client.exchange(std::move(wanted)));
    if (answer.status != 200) return fail(Code::not_found, path + " answers " + std::to_string(answer.status));
    if (answer.body.find_first_of("\r") != std::string::npos) return fail(Code::corrupt, path + " is no metadata service");
    return std::move(answer.body);
  }

  const std::string endpoint_, otherwise_;
  bool known_ = false;  // it has given keys before
};

}  // namespace

std::shared_ptr<KeySource> web_identity_keys(WebIdentity identity) {
  return std::make_shared<WebIdentityKeys>(std::move(identity));
}
std::shared_ptr<KeySource> container_keys(ContainerService service) { return std::make_shared<ContainerKeys>(std::move(service)); }
std::shared_ptr<KeySource> instance_keys(std::string endpoint, std::string otherwise) {
  return std::make_shared<InstanceKeys>(std::move(endpoint), std::move(otherwise));
}

}  // namespace weft::storage::objects
