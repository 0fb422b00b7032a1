#include "storage/objects/s3_settings.hpp"

#include <cstdlib>
#include <map>

#include "base/file.hpp"
#include "base/text.hpp"

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

Result<void> add_credentials(const Sources& sources, S3Settings& settings) {
  if (const auto key = sources.any({"AWS_ACCESS_KEY_ID"})) {
    settings.access_key = *key;
    settings.secret_key = sources.any({"AWS_SECRET_ACCESS_KEY"}).value_or("");
    settings.session_token = sources.any({"AWS_SESSION_TOKEN"}).value_or("");
    if (settings.secret_key.empty())
      return fail(Code::invalid_argument, "AWS_ACCESS_KEY_ID is set and AWS_SECRET_ACCESS_KEY is not; s3:// needs both");
    return {};
  }
  settings.access_key = sources.in_files("aws_access_key_id").value_or("");
  settings.secret_key = sources.in_files("aws_secret_access_key").value_or("");
  settings.session_token = sources.in_files("aws_session_token").value_or("");
  if (!settings.access_key.empty() && !settings.secret_key.empty()) return {};
  return fail(Code::invalid_argument,
              "s3:// needs credentials and this process has none: set AWS_ACCESS_KEY_ID and "
              "AWS_SECRET_ACCESS_KEY, or write them to ~/.aws/credentials (profile " +
                  sources.profile() + ")");
}

Result<void> add_endpoint(const Sources& sources, S3Settings& settings) {
  settings.endpoint = sources.either({"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"}, "endpoint_url");
  const bool own = !settings.endpoint.empty();
  if (!own) settings.endpoint = "https://s3." + settings.region + ".amazonaws.com";
  if (!settings.endpoint.starts_with("http://") && !settings.endpoint.starts_with("https://"))
    return fail(Code::invalid_argument, "the endpoint of s3://, " + settings.endpoint +
                                            ", is no URL; it begins with https:// or http:// (AWS_ENDPOINT_URL)");
  while (settings.endpoint.ends_with('/')) settings.endpoint.pop_back();
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
  WEFT_TRY(add_credentials(sources, settings));
  WEFT_TRY(add_endpoint(sources, settings));
  for (const std::string* const value : {&settings.access_key, &settings.secret_key, &settings.session_token, &settings.region})
    if (value->find_first_of(" \t\r\n") != std::string::npos)
      return fail(Code::invalid_argument, "the credentials or the region of s3:// hold a space or the end of a line; remove it");
  return settings;
}

Result<S3Settings> s3_settings_of_environment() {
  return s3_settings([](const std::string& name) -> std::optional<std::string> {
    const char* const value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  });
}

}  // namespace weft::storage::objects
