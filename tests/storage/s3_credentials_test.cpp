// Keys that expire, and where they come from: an STS, the services of containers and instances, files; and requests without any.
#include "storage/objects/s3_credentials.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "storage/http/web_text.hpp"
#include "storage/objects/s3_files.hpp"
#include "tests/storage/s3_service.hpp"

namespace weft::storage::objects {
namespace {

using http::HttpOptions;
using http::seconds_of_http;
using http::seconds_of_iso;
using http::uri_decoded;
using http::uri_encoded;
using std::chrono::minutes;
using std::chrono::seconds;
using test::eventually;
using test::S3Service;
using test::ScratchDirectory;

/// Keys "1", "2", …, or what the test says instead.
class Numbered final : public KeySource {
 public:
  Result<S3Keys> fetch() override {
    ++fetched;
    if (failure) return fail(*failure);
    return S3Keys{.access_key = std::to_string(fetched), .secret_key = "secret", .session_token = "token", .lifetime = lifetime};
  }
  int fetched = 0;
  std::optional<Duration> lifetime = minutes(60);
  std::optional<Error> failure;
};

class KeptKeys : public testing::Test {
 protected:
  std::string who() {
    auto signer = credentials.signer();
    return signer ? (*signer)->access_key : signer.error().to_string();
  }
  ManualClock clock{TimePoint(minutes(5))};
  std::shared_ptr<Numbered> source = std::make_shared<Numbered>();
  S3Credentials credentials{source, "eu-west-1", clock};
};

TEST_F(KeptKeys, AreFetchedWhenTheyAreFirstNeededAndFiveMinutesBeforeTheyExpire) {
  EXPECT_EQ(source->fetched, 0);
  EXPECT_EQ(who(), "1");
  EXPECT_EQ(credentials.signer().value()->scope, "aws:amz:eu-west-1:s3");
  EXPECT_EQ(credentials.signer().value()->session_token, "token");
  clock.advance(minutes(55) - seconds(1));
  EXPECT_EQ(who(), "1");
  clock.advance(seconds(1));
  EXPECT_EQ(who(), "2");
  EXPECT_EQ(who(), "2");
  source->lifetime = minutes(4);
  clock.advance(minutes(55));
  EXPECT_EQ(who(), "3");
  clock.advance(minutes(3) - seconds(1));  // a quarter is left then
  EXPECT_EQ(who(), "3");
  clock.advance(seconds(1));
  source->lifetime.reset();
  EXPECT_EQ(who(), "4");
  clock.advance(minutes(10'000));  // nobody said that these expire
  EXPECT_EQ(who(), "4");
}

TEST_F(KeptKeys, AreUsedUntilTheyExpireWhenThereAreNoOthers) {
  EXPECT_EQ(who(), "1");
  source->failure = Error(Code::unavailable, "nobody answers");
  clock.advance(minutes(55));
  EXPECT_EQ(who(), "1");
  EXPECT_EQ(source->fetched, 2);
  EXPECT_EQ(who(), "1");
  EXPECT_EQ(source->fetched, 2);  // not with each request
  clock.advance(seconds(10));
  EXPECT_EQ(who(), "1");
  EXPECT_EQ(source->fetched, 3);
  clock.advance(minutes(5));
  EXPECT_EQ(who(), "nobody answers");
  source->failure.reset();
  EXPECT_EQ(who(), "5");
}

TEST_F(KeptKeys, ThatAreRefusedAreFetchedAtOnceButNotAgainAndAgain) {
  const auto first = credentials.signer().value();
  const auto second = credentials.after(first).value();
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->access_key, "2");
  EXPECT_EQ(credentials.after(first).value(), second);  // another request had the first, too
  EXPECT_EQ(credentials.after(second).value(), nullptr);
  EXPECT_EQ(source->fetched, 2);
  clock.advance(seconds(1));
  EXPECT_EQ(credentials.after(second).value()->access_key, "3");
  clock.advance(seconds(1));
  source->failure = Error(Code::unavailable, "nobody answers");
  EXPECT_EQ(credentials.after(credentials.signer().value()).error().to_string(), "nobody answers");
}

TEST(FixedKeys, StayAndNoneSignNothing) {
  S3Credentials keys(S3Keys{.access_key = "A", .secret_key = "S"}, "us-east-1");
  const auto signer = keys.signer().value();
  EXPECT_EQ(signer->access_key, "A");
  EXPECT_EQ(keys.after(signer).value(), nullptr);
  EXPECT_EQ(S3Credentials(S3Keys{}, "us-east-1").signer().value(), nullptr);
}

TEST(WebText, TimesAndNames) {
  EXPECT_EQ(seconds_of_http("Tue, 24 Nov 2026 23:19:21 GMT"), 1795562361);
  EXPECT_EQ(seconds_of_iso("2026-11-24T23:19:21Z"), 1795562361);
  EXPECT_EQ(seconds_of_iso("2026-11-24T23:19:21.123Z"), 1795562361);
  EXPECT_EQ(seconds_of_iso("soon"), std::nullopt);
  EXPECT_EQ(seconds_of_http(""), std::nullopt);
  EXPECT_EQ(uri_encoded("a b/c+\xc3\xbc~"), "a%20b%2Fc%2B%C3%BC~");
  EXPECT_EQ(uri_encoded("a/b", true), "a/b");
  EXPECT_EQ(uri_decoded("a%20b+c%2B%c3%BC%2"), "a b c+\xc3\xbc%2");
}

TEST(WebText, Base64IsThatOfItsStandard) {
  for (const auto& [bytes, text] : {std::pair("", ""),
                                    {"f", "Zg=="},
                                    {"fo", "Zm8="},
                                    {"foo", "Zm9v"},
                                    {"foob", "Zm9vYg=="},
                                    {"fooba", "Zm9vYmE="},
                                    {"foobar", "Zm9vYmFy"},
                                    {"\xff\xfb\xf0", "//vw"}}) {  // RFC 4648, section 10
    EXPECT_EQ(http::base64(bytes), text);
    EXPECT_EQ(http::from_base64(text), bytes);
  }
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all.push_back(static_cast<char>(byte));
  EXPECT_EQ(http::from_base64(http::base64(all)), all);
  for (const char* const text : {"Zg", "Zg=", "Zg===", "Zh==", "Z", "Zm9v=", "=", "==", "Zm9v\n", "Z-9v", "Zg==Zg=="})
    EXPECT_EQ(http::from_base64(text), std::nullopt) << text;
}

class KeysOfServices : public testing::Test {
 protected:
  KeysOfServices() {
    variables = {{"HOME", home.path()}, {"AWS_ENDPOINT_URL", service.endpoint()}, {"AWS_EC2_METADATA_DISABLED", "true"}};
    service.store("in/a", "text\n");
  }
  void use_web_identity() {
    test::write_file(home / "token", "header.claims.signature\n");
    variables["AWS_WEB_IDENTITY_TOKEN_FILE"] = home / "token";
    variables["AWS_ROLE_ARN"] = "arn:aws:iam::1:role/reader";
    variables["AWS_ROLE_SESSION_NAME"] = "me@weft";
    service.set(R"({"identity": "header.claims.signature"})");
  }
  std::unique_ptr<S3Files> files() {
    auto settings = s3_settings([copy = variables](const std::string& name) -> std::optional<std::string> {
      const auto found = copy.find(name);
      return found == copy.end() ? std::nullopt : std::optional(found->second);
    });
    if (!settings) {
      error = settings.error().to_string();
      return nullptr;
    }
    HttpOptions options;
    options.patience = seconds(20);
    options.first_pause = std::chrono::milliseconds(2);
    return s3_files(*std::move(settings), options);
  }
  /// What the object holds, or the error.
  std::string read(S3Files& from) {
    const auto file = from.open("s3://books/in/a");
    if (!file) return file.error().to_string();
    Buffer bytes((*file)->size());
    const auto count = (*file)->read(0, bytes.span());
    return count ? std::string(as_chars(bytes.view())) : count.error().to_string();
  }
  std::string read() {
    const auto from = files();
    return from ? read(*from) : error;
  }
  bool given(const std::string& whom, int count) { return service.has("\"" + whom + "\": " + std::to_string(count)); }

  ScratchDirectory home;
  S3Service service;
  std::map<std::string, std::string> variables;
  std::string error;
};

TEST_F(KeysOfServices, AWebIdentityTakesItsRole) {
  use_web_identity();
  const auto from = files();
  EXPECT_EQ(read(*from), "text\n");
  EXPECT_EQ(read(*from), "text\n");
  EXPECT_TRUE(given("sts", 1)) << service.state();
  variables["AWS_ENDPOINT_URL"] = "http://127.0.0.1:1";
  variables["AWS_ENDPOINT_URL_S3"] = variables["AWS_ENDPOINT_URL_STS"] = service.endpoint();
  EXPECT_EQ(read(), "text\n");
}

TEST_F(KeysOfServices, AProfileMayHaveAWebIdentity) {
  use_web_identity();
  for (const char* const name : {"AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN", "AWS_ROLE_SESSION_NAME"}) variables.erase(name);
  variables["AWS_CONFIG_FILE"] = home / "config";
  test::write_file(home / "config",
                   "[default]\nrole_arn = arn:aws:iam::1:role/reader\nrole_session_name = me@weft\nweb_identity_token_file = " +
                       (home / "token") + "\n");
  EXPECT_EQ(read(), "text\n");
  EXPECT_TRUE(given("sts", 1)) << service.state();
  test::write_file(home / "config", "[default]\nweb_identity_token_file = " + (home / "token") + "\n");
  EXPECT_EQ(read(), "the profile default has a web_identity_token_file and no role_arn; s3:// needs both");
}

TEST_F(KeysOfServices, KeysThatExpireWhileAJobRunsAreFetchedAnewWithTheTokenThatIsThereThen) {
  use_web_identity();
  const auto from = files();
  auto output = from->create("s3://books/out").value();
  const std::string large(6u << 20, 'x');
  EXPECT_TRUE(output->append(as_bytes(large)));  // a part is under way
  test::write_file(home / "token", "another token");
  service.set(R"({"identity": "another token", "expire": true})");
  EXPECT_TRUE(output->append(as_bytes(large)));  // the keys were good for an hour, and the service refuses them
  const auto closed = output->close();
  EXPECT_TRUE(closed) << closed.error().to_string();
  EXPECT_TRUE(service.has("\"out\": 12582912")) << service.state();
  EXPECT_TRUE(given("sts", 2)) << service.state();
  service.set(R"({"lifetime": 2, "expire": true})");
  EXPECT_TRUE(eventually([&] { return read(*from) == "text\n"; }));
  EXPECT_TRUE(eventually([&] {  // and now others come every two seconds
    read(*from);
    return given("sts", 5);
  }));
}

TEST_F(KeysOfServices, TheServicesClockSaysHowLongTheyAreGood) {
  use_web_identity();
  service.set(R"({"skew": -800, "lifetime": 600})");
  const auto from = files();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(read(*from), "text\n");
  EXPECT_TRUE(given("sts", 1)) << service.state();
}

TEST_F(KeysOfServices, RefusalsOfWebIdentitiesNameTheCauseAndTheRemedy) {
  use_web_identity();
  const std::string token = home / "token", role = "arn:aws:iam::1:role/reader";
  const std::string cannot = "cannot read s3://books/in/a: cannot get keys for the role " + role + ": ";
  const auto says = [&](const std::string& word) {
    service.set(R"({"sts": ")" + word + "\"}");
    return read();
  };
  EXPECT_EQ(says("ExpiredTokenException"),
            cannot + "the token in " + token + " (AWS_WEB_IDENTITY_TOKEN_FILE) has expired; whatever writes it must renew it");
  EXPECT_EQ(says("InvalidIdentityToken"), cannot + "the token in " + token +
                                              " is not accepted; check whom the role trusts and for whom the token was made "
                                              "(InvalidIdentityToken: Not so.)");
  EXPECT_EQ(says("AccessDenied"), cannot + "the token in " + token +
                                      " may not take it; check AWS_ROLE_ARN and whom the role trusts (AccessDenied: Not so.)");
  EXPECT_EQ(says("Odd"), cannot + service.endpoint() + " answers 400 (Odd: Not so.)");
  service.set(R"({"sts": ""})");
  test::write_file(token, "\n");
  EXPECT_EQ(read(), cannot + token + " holds no token of one line");
  variables["AWS_WEB_IDENTITY_TOKEN_FILE"] = home / "nothing";
  EXPECT_EQ(read(), cannot + "cannot open " + (home / "nothing") + ": No such file or directory");
  test::write_file(token, "header.claims.signature");
  variables["AWS_WEB_IDENTITY_TOKEN_FILE"] = token;
  variables["AWS_ENDPOINT_URL_STS"] = "http://127.0.0.1:1";
  EXPECT_NE(read().find("cannot reach http://127.0.0.1:1 ("), std::string::npos) << read();
  EXPECT_NE(read().find("; AWS_ENDPOINT_URL_STS says where the server is"), std::string::npos) << read();
  variables["AWS_ENDPOINT_URL_STS"] = "sts";
  EXPECT_EQ(read(), "the endpoint of web identities, sts, is no URL; it begins with https:// or http:// (AWS_ENDPOINT_URL_STS)");
  variables.erase("AWS_ROLE_ARN");
  EXPECT_EQ(read(), "AWS_WEB_IDENTITY_TOKEN_FILE is set and AWS_ROLE_ARN is not; s3:// needs both");
}

TEST_F(KeysOfServices, AContainerHasAServiceOfItsOwn) {
  variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = service.endpoint() + "/keys/container";
  variables["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = "Basic wrong";
  service.set(R"({"container": "Basic right"})");
  EXPECT_EQ(read(), "cannot read s3://books/in/a: cannot get keys from this container's service, " + service.endpoint() +
                        "/keys/container: it answers 403; check AWS_CONTAINER_AUTHORIZATION_TOKEN or "
                        "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  variables["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = "Basic right";
  EXPECT_EQ(read(), "text\n");
  test::write_file(home / "shown", "from a file\n");
  variables["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = home / "shown";
  service.set(R"({"container": "from a file"})");
  const auto from = files();
  EXPECT_EQ(read(*from), "text\n");
  test::write_file(home / "shown", "a later one\n");
  service.set(R"({"container": "a later one", "expire": true})");
  EXPECT_EQ(read(*from), "text\n");
  EXPECT_TRUE(given("container", 3)) << service.state();
}

TEST_F(KeysOfServices, KeysOfContainersComeFromThisMachineOrInCipher) {
  const auto refused = [&](const std::string& url) {
    variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = url;
    return files() == nullptr;
  };
  for (const char* const url : {"http://192.168.0.1/keys", "http://127.0.0.1.example.com/", "http://127.0.0.1@example.com/",
                                "http://localhost.example.com/", "http://[::2]/", "http://127.evil.0.1/", "keys"})
    EXPECT_TRUE(refused(url)) << url;
  for (const char* const url : {"https://192.168.0.1/keys", "http://127.0.0.1:80/keys", "http://localhost/x", "http://[::1]:8/x",
                                "http://169.254.170.23/v1/credentials", "http://169.254.170.2/x"})
    EXPECT_FALSE(refused(url)) << url << ": " << error;
  EXPECT_TRUE(refused("http://192.168.0.1/keys"));
  EXPECT_EQ(error,
            "AWS_CONTAINER_CREDENTIALS_FULL_URI is http://192.168.0.1/keys; keys come over https://, or from this machine "
            "(127.0.0.1, 169.254.170.2, 169.254.170.23)");
  variables["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = "keys";
  EXPECT_EQ(files(), nullptr);
  EXPECT_EQ(error, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI is keys; it begins with a slash");
}

TEST_F(KeysOfServices, AnInstanceHasARole) {
  variables["AWS_EC2_METADATA_DISABLED"] = "false";
  variables["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = service.endpoint() + "/";
  service.set(R"({"role": "reader"})");
  const auto from = files();
  EXPECT_EQ(read(*from), "text\n");
  EXPECT_EQ(read(*from), "text\n");
  EXPECT_TRUE(given("instance", 1)) << service.state();
  service.set(R"({"expire": true})");
  EXPECT_EQ(read(*from), "text\n");
  EXPECT_TRUE(given("instance", 2)) << service.state();
  service.set(R"({"role": "", "expire": true})");
  const std::string none = "cannot read s3://books/in/a: the keys have expired and there are no new ones: cannot get keys from " +
                           service.endpoint() + ": " + service.endpoint() +
                           "/latest/meta-data/iam/security-credentials/ answers 404";
  EXPECT_TRUE(eventually([&] { return read(*from) == none; })) << read(*from);  // it is asked once a second at most
}

constexpr const char* kNone =
    "s3:// needs credentials and this process has none: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write them to "
    "~/.aws/credentials (profile default); AWS_NO_SIGN_REQUEST=true reads what everybody may read";

TEST_F(KeysOfServices, AMachineWithoutAnyIsToldSoSoon) {
  EXPECT_EQ(read(), kNone);
  variables["AWS_EC2_METADATA_DISABLED"] = "maybe";
  EXPECT_EQ(read(), "AWS_EC2_METADATA_DISABLED is 'maybe'; it is true or false");
  variables.erase("AWS_EC2_METADATA_DISABLED");
  variables["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = service.endpoint();
  const std::string cannot = "cannot read s3://books/in/a: ";
  EXPECT_EQ(read(), cannot + kNone + " (this machine gives none either: " + service.endpoint() +
                        "/latest/meta-data/iam/security-credentials/ answers 404)");
  // Somebody who listens and never answers.
  const Fd silent(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(silent.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(silent.get(), 8), 0);
  ASSERT_EQ(::getsockname(silent.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::string endpoint = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  variables["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = endpoint;
  const auto began = std::chrono::steady_clock::now();
  const std::string said = read();
  EXPECT_LT(std::chrono::steady_clock::now() - began, seconds(18));  // five, and a busy machine
  EXPECT_EQ(said.find(cannot + kNone + " (this machine gives none either: " + endpoint + " does not answer: "), 0u) << said;
}

TEST_F(KeysOfServices, WhatEverybodyMayReadNeedsNone) {
  variables["AWS_NO_SIGN_REQUEST"] = "true";
  variables["AWS_ACCESS_KEY_ID"] = "is not used";
  EXPECT_EQ(
      read(),
      "cannot read s3://books/in/a: not everybody may do that (AccessDenied: no signature); unset AWS_NO_SIGN_REQUEST and give "
      "credentials");
  service.set(R"({"public": true})");
  EXPECT_EQ(read(), "text\n");
  EXPECT_EQ(files()->expand("s3://books/in/*").value().paths.size(), 1u);
  EXPECT_FALSE(files()->check_writable("s3://books/out"));
  variables["AWS_NO_SIGN_REQUEST"] = "perhaps";
  EXPECT_EQ(read(), "AWS_NO_SIGN_REQUEST is 'perhaps'; it is true or false");
}

TEST_F(KeysOfServices, AProfileThatIsWrittenAnewIsReadAnew) {
  const auto keys = [&](const std::string& token) {
    test::write_file(
        home / "keys",
        "[default]\naws_access_key_id = AKIAWEFT\naws_secret_access_key = secret/of+weft\naws_session_token = " + token + "\n");
  };
  variables["AWS_SHARED_CREDENTIALS_FILE"] = home / "keys";
  keys("old");
  service.set(R"({"token": "old"})");
  const auto from = files();
  EXPECT_EQ(read(*from), "text\n");
  service.set(R"({"token": "new"})");
  EXPECT_EQ(read(*from),
            "cannot read s3://books/in/a: the credentials have expired; get new ones and start the processes that use them again "
            "(AWS_SESSION_TOKEN)");
  keys("new");
  EXPECT_TRUE(eventually([&] { return read(*from) == "text\n"; }));  // the file is read once a second at most
}

}  // namespace
}  // namespace weft::storage::objects
