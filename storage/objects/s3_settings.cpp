#include "storage/objects/s3_settings.hpp"

#include <map>

#include "base/file.hpp"
#include "base/text.hpp"
#include "storage/objects/key_sources.hpp"

namespace weft::storage::objects {
namespace {

constexpr std::size_t kLargestFile = 1u << 20;

using Section = std::map<std::string, std::string>;

/// One section of an INI file as the AWS tools write it; indented lines below a key are keys of their own, "s3.addressing_style".
Section section_of(std::string_view text, std::string_view name) {
  Section found;
  bool inside = false;
  std::string above;
  for (std::string_view line : split(text, '\n')) {
    const bool indented = line.starts_with(' ') || line.starts_with('\t');
    line = trim(line);
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    if (line.front() == '[') {
      const auto end = line.find(']');
      inside = trim(line.substr(1, end == std::string_view::npos ? end : end - 1)) == name;
      continue;
    }
    const auto equals = line.find('=');
    if (!inside || equals == std::string_view::npos) continue;
    const std::string key(trim(line.substr(0, equals)));
    if (!indented) above = key;
    found[indented ? above + "." + key : key] = std::string(trim(line.substr(equals + 1)));
  }
  return found;
}

Result<Section> section_in(const std::string& path, bool must_exist, const std::string& name) {
  auto text = read_file(path, kLargestFile);
  if (text) return section_of(*text, name);
  if (!must_exist && text.error().code() == Code::not_found) return Section();
  return fail(std::move(text).error().wrap("cannot read the settings of s3://"));
}

/// What the variables and both files say.
class Sources {
 public:
  explicit Sources(const Variables& variable) : variable_(variable) {}

  Result<void> read_files() {
    profile_ = any({"AWS_PROFILE", "AWS_DEFAULT_PROFILE"}).value_or("default");
    WEFT_TRY(read("AWS_SHARED_CREDENTIALS_FILE", "credentials", profile_));
    return read("AWS_CONFIG_FILE", "config", profile_ == "default" ? profile_ : "profile " + profile_);
  }
  std::optional<std::string> any(std::initializer_list<const char*> names) const {
    for (const char* const name : names)
      if (auto value = variable_(name); value && !value->empty()) return value;
    return std::nullopt;
  }
  std::optional<std::string> in_files(const std::string& key) const {
    const auto found = keys_.find(key);
    return found == keys_.end() || found->second.empty() ? std::nullopt : std::optional(found->second);
  }
  std::string either(std::initializer_list<const char*> names, const std::string& key, std::string otherwise = {}) const {
    if (auto value = any(names)) return *value;
    return in_files(key).value_or(std::move(otherwise));
  }
  const std::string& profile() const { return profile_; }

 private:
  Result<void> read(const char* name, const char* file, const std::string& section) {
    const auto named = any({name});
    const auto home = any({"HOME"});
    if (!named && !home) return {};
    WEFT_ASSIGN(Section keys, section_in(named ? *named : *home + "/.aws/" + file, named.has_value(), section));
    keys_.merge(keys);  // those of the first file stay
    return {};
  }

  const Variables& variable_;
  std::string profile_;
  Section keys_;
};

/// Whether a variable is set to yes. invalid_argument for what is neither yes nor no.
Result<bool> flag(const Sources& sources, const char* name) {
  const std::string value = sources.any({name}).value_or("false");
  for (const char* const yes : {"true", "TRUE", "True", "1", "yes", "YES"})
    if (value == yes) return true;
  for (const char* const no : {"false", "FALSE", "False", "0", "no", "NO"})
    if (value == no) return false;
  return fail(Code::invalid_argument, std::string(name) + " is '" + escaped(value) + "'; it is true or false");
}

/// Keys that must be usable in headers.
Result<void> check_keys(const std::string& access_key, const std::string& secret_key, const std::string& session_token) {
  for (const std::string* const value : {&access_key, &secret_key, &session_token})
    if (value->find_first_of(" \t\r\n") != std::string::npos)
      return fail(Code::invalid_argument, "the credentials of s3:// hold a space or the end of a line; remove it");
  return {};
}

/// Those of a profile, read again each time: tools that log in write new ones there.
class ProfileKeys final : public KeySource {
 public:
  explicit ProfileKeys(Variables variable) : variable_(std::move(variable)) {}
  Result<S3Keys> fetch() override {
    Sources sources(variable_);
    WEFT_TRY(sources.read_files());
    S3Keys keys = of(sources);
    WEFT_TRY(check_keys(keys.access_key, keys.secret_key, keys.session_token));
    if (keys.access_key.empty() || keys.secret_key.empty())
      return fail(Code::invalid_argument, "the keys of the profile " + sources.profile() + " are gone from ~/.aws/credentials");
    return keys;
  }
  static S3Keys of(const Sources& sources) {
    return {sources.in_files("aws_access_key_id").value_or(""), sources.in_files("aws_secret_access_key").value_or(""),
            sources.in_files("aws_session_token").value_or("")};
  }

 private:
  const Variables variable_;
};

std::string amazon(const std::string& service, const std::string& region) {
  return "https://" + service + "." + region + ".amazonaws.com" + (region.starts_with("cn-") ? ".cn" : "");
}

/// A URL with a scheme, without slashes at its end.
Result<std::string> checked_url(std::string url, const char* what, const char* setting) {
  if (!url.starts_with("http://") && !url.starts_with("https://"))
    return fail(Code::invalid_argument,
                std::string(what) + ", " + escaped(url) + ", is no URL; it begins with https:// or http:// (" + setting + ")");
  while (url.ends_with('/')) url.pop_back();
  return url;
}

Result<std::shared_ptr<KeySource>> web_identity(const Sources& sources, const S3Settings& settings, bool in_variables) {
  const auto get = [&](const char* variable, const char* key) {
    return (in_variables ? sources.any({variable}) : sources.in_files(key)).value_or("");
  };
  WebIdentity identity;
  identity.token_file = get("AWS_WEB_IDENTITY_TOKEN_FILE", "web_identity_token_file");
  identity.role = get("AWS_ROLE_ARN", "role_arn");
  identity.session_name = get("AWS_ROLE_SESSION_NAME", "role_session_name");
  if (identity.token_file.empty()) return std::shared_ptr<KeySource>();
  if (identity.role.empty())
    return fail(Code::invalid_argument,
                in_variables
                    ? "AWS_WEB_IDENTITY_TOKEN_FILE is set and AWS_ROLE_ARN is not; s3:// needs both"
                    : "the profile " + sources.profile() + " has a web_identity_token_file and no role_arn; s3:// needs both");
  if (identity.session_name.empty()) identity.session_name = "weft";
  WEFT_ASSIGN(identity.endpoint, checked_url(sources.either({"AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL"}, "endpoint_url",
                                                            amazon("sts", settings.region)),
                                             "the endpoint of web identities", "AWS_ENDPOINT_URL_STS"));
  identity.certificates = settings.certificates;
  return web_identity_keys(std::move(identity));
}

/// Keys stay secret: without TLS they are requested from this machine's own services only.
bool may_be_asked(const std::string& url) {
  if (url.starts_with("https://")) return true;
  const std::string_view rest = std::string_view(url).substr(std::string_view("http://").size());
  std::string_view host = rest.substr(0, rest.find_first_of("/?#"));
  if (host.find('@') != std::string_view::npos) return false;
  if (host.starts_with('[')) {
    host = host.substr(0, host.find(']') + 1);
    return host == "[::1]" || host == "[fd00:ec2::23]";
  }
  host = host.substr(0, host.find(':'));
  const auto parts = split(host, '.');
  bool loopback = parts.size() == 4 && parts[0] == "127";
  for (const std::string_view part : parts) loopback = loopback && parse_number<std::uint8_t>(part).has_value();
  return loopback || host == "localhost" || host == "169.254.170.2" || host == "169.254.170.23";
}

Result<std::shared_ptr<KeySource>> container(const Sources& sources) {
  const auto relative = sources.any({"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"});
  const auto full = sources.any({"AWS_CONTAINER_CREDENTIALS_FULL_URI"});
  if (!relative && !full) return std::shared_ptr<KeySource>();
  ContainerService service;
  service.url = relative ? "http://169.254.170.2" + *relative : *full;
  if (relative && !relative->starts_with('/'))
    return fail(Code::invalid_argument,
                "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI is " + escaped(*relative) + "; it begins with a slash");
  WEFT_ASSIGN(service.url,
              checked_url(std::move(service.url), "the service of this container's keys", "AWS_CONTAINER_CREDENTIALS_FULL_URI"));
  if (!may_be_asked(service.url))
    return fail(Code::invalid_argument,
                "AWS_CONTAINER_CREDENTIALS_FULL_URI is " + escaped(service.url) +
                    "; keys come over https://, or from this machine (127.0.0.1, 169.254.170.2, 169.254.170.23)");
  service.token_file = sources.any({"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"}).value_or("");
  service.token = sources.any({"AWS_CONTAINER_AUTHORIZATION_TOKEN"}).value_or("");
  if (service.token.find_first_of("\r\n") != std::string::npos)
    return fail(Code::invalid_argument, "AWS_CONTAINER_AUTHORIZATION_TOKEN holds the end of a line; remove it");
  return container_keys(std::move(service));
}

Result<std::shared_ptr<KeySource>> instance(const Sources& sources) {
  const std::string otherwise =
      "s3:// needs credentials and this process has none: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write them to "
      "~/.aws/credentials (profile " +
      sources.profile() + "); AWS_NO_SIGN_REQUEST=true reads what everybody may read";
  WEFT_ASSIGN(const bool disabled, flag(sources, "AWS_EC2_METADATA_DISABLED"));
  if (disabled) return fail(Code::invalid_argument, otherwise);
  WEFT_ASSIGN(std::string endpoint,
              checked_url(sources.any({"AWS_EC2_METADATA_SERVICE_ENDPOINT"}).value_or("http://169.254.169.254"),
                          "the metadata service of this machine", "AWS_EC2_METADATA_SERVICE_ENDPOINT"));
  return instance_keys(std::move(endpoint), otherwise);
}

Result<void> add_credentials(const Variables& variable, const Sources& sources, S3Settings& settings) {
  WEFT_ASSIGN(settings.unsigned_requests, flag(sources, "AWS_NO_SIGN_REQUEST"));
  if (settings.unsigned_requests) return {};
  if (const auto key = sources.any({"AWS_ACCESS_KEY_ID"})) {
    settings.access_key = *key;
    settings.secret_key = sources.any({"AWS_SECRET_ACCESS_KEY"}).value_or("");
    settings.session_token = sources.any({"AWS_SESSION_TOKEN"}).value_or("");
    if (settings.secret_key.empty())
      return fail(Code::invalid_argument, "AWS_ACCESS_KEY_ID is set and AWS_SECRET_ACCESS_KEY is not; s3:// needs both");
    return check_keys(settings.access_key, settings.secret_key, settings.session_token);
  }
  WEFT_ASSIGN(settings.keys, web_identity(sources, settings, true));
  if (settings.keys) return {};
  S3Keys of_profile = ProfileKeys::of(sources);
  if (!of_profile.access_key.empty() && !of_profile.secret_key.empty()) {
    settings.access_key = std::move(of_profile.access_key);
    settings.secret_key = std::move(of_profile.secret_key);
    settings.session_token = std::move(of_profile.session_token);
    settings.keys = std::make_shared<ProfileKeys>(variable);
    return check_keys(settings.access_key, settings.secret_key, settings.session_token);
  }
  WEFT_ASSIGN(settings.keys, web_identity(sources, settings, false));
  if (settings.keys) return {};
  WEFT_ASSIGN(settings.keys, container(sources));
  if (settings.keys) return {};
  WEFT_ASSIGN(settings.keys, instance(sources));
  return {};
}

Result<void> add_endpoint(const Sources& sources, S3Settings& settings) {
  settings.endpoint = sources.either({"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"}, "endpoint_url");
  const bool own = !settings.endpoint.empty();
  if (!own) settings.endpoint = amazon("s3", settings.region);
  WEFT_ASSIGN(settings.endpoint, checked_url(std::move(settings.endpoint), "the endpoint of s3://", "AWS_ENDPOINT_URL"));
  const auto style = sources.in_files("s3.addressing_style").value_or("auto");
  if (style != "auto" && style != "path" && style != "virtual")
    return fail(Code::invalid_argument, "addressing_style = " + style + " in ~/.aws/config; it is path, virtual or auto");
  settings.path_style = style == "path" || (style == "auto" && own);
  return {};
}

}  // namespace

Result<S3Settings> s3_settings(const Variables& variable) {
  Sources sources(variable);
  WEFT_TRY(sources.read_files());
  S3Settings settings;
  settings.region = sources.either({"AWS_REGION", "AWS_DEFAULT_REGION"}, "region", settings.region);
  settings.certificates = sources.either({"AWS_CA_BUNDLE"}, "ca_bundle");
  if (settings.region.find_first_of(" \t\r\n") != std::string::npos)
    return fail(Code::invalid_argument, "the region of s3:// holds a space or the end of a line; remove it (AWS_REGION)");
  WEFT_TRY(add_credentials(variable, sources, settings));
  WEFT_TRY(add_endpoint(sources, settings));
  return settings;
}

}  // namespace weft::storage::objects
