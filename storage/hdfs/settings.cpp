#include "storage/hdfs/settings.hpp"

#include <algorithm>

#include "base/machine.hpp"
#include "base/text.hpp"

namespace weft::storage::hdfs {
namespace {

constexpr std::size_t kMostNameNodes = 8;

bool valid_host(std::string_view host) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
  };
  if (host.starts_with('[') && host.ends_with(']'))
    return host.size() > 2 && host.find_first_not_of("0123456789abcdefABCDEF:.", 1) == host.size() - 1;
  return !host.empty() && std::all_of(host.begin(), host.end(), fits);
}

/// "http://host:port" of what users write.
Result<std::string> address_of(std::string_view written) {
  std::string_view rest = written;
  const bool secure = rest.starts_with("https://");
  if (secure || rest.starts_with("http://")) rest.remove_prefix(secure ? 8 : 7);
  while (rest.ends_with('/')) rest.remove_suffix(1);
  const auto colon = rest.ends_with(']') ? std::string_view::npos : rest.rfind(':');
  const std::string_view host = rest.substr(0, colon);
  std::uint16_t port = secure ? 9871 : 9870;
  if (colon != std::string_view::npos) {
    const auto number = parse_number<std::uint16_t>(rest.substr(colon + 1));
    if (!number || *number == 0) return fail(Code::invalid_argument, "'" + escaped(written) + "' has no valid port");
    port = *number;
  }
  if (!valid_host(host)) return fail(Code::invalid_argument, "'" + escaped(written) + "' is no HOST or HOST:PORT");
  return (secure ? "https://" : "http://") + std::string(host) + ":" + std::to_string(port);
}

Result<void> add_name_nodes(std::string_view entry, HdfsSettings& settings) {
  const auto equals = entry.find('=');
  const std::string name(equals == std::string_view::npos ? std::string_view() : entry.substr(0, equals));
  std::vector<std::string>& all = settings.name_nodes[name];
  for (const std::string_view address : split(entry.substr(equals == std::string_view::npos ? 0 : equals + 1), ',')) {
    WEFT_ASSIGN(std::string url, address_of(address));
    all.push_back(std::move(url));
  }
  if (all.size() > kMostNameNodes) return fail(Code::invalid_argument, "'" + escaped(name) + "' has more than 8 addresses");
  return {};
}

Result<void> check_word(const char* name, const std::string& value) {
  const auto plain = [](unsigned char c) { return c > ' ' && c != 0x7f; };
  if (value.size() <= 8192 && std::all_of(value.begin(), value.end(), plain)) return {};
  return fail(Code::invalid_argument, std::string(name) + " holds a space, the end of a line, or too much; correct it");
}

}  // namespace

Result<HdfsSettings> hdfs_settings(const Variables& variable) {
  HdfsSettings settings;
  settings.user = variable("HADOOP_USER_NAME").value_or("");
  if (settings.user.empty()) settings.user = user_name();
  settings.token = variable("WEFT_HDFS_DELEGATION_TOKEN").value_or("");
  settings.certificates = variable("WEFT_HDFS_CA_BUNDLE").value_or("");
  WEFT_TRY(check_word("HADOOP_USER_NAME", settings.user));
  WEFT_TRY(check_word("WEFT_HDFS_DELEGATION_TOKEN", settings.token));
  const std::string written = variable("WEFT_HDFS_HTTP").value_or("");
  for (const std::string_view entry : split(written, ' ')) {
    if (trim(entry).empty()) continue;
    if (auto added = add_name_nodes(trim(entry), settings); !added)
      return fail(std::move(added).error().wrap("WEFT_HDFS_HTTP cannot be understood (NAME=HOST:PORT,HOST:PORT)"));
  }
  return settings;
}

Result<std::vector<std::string>> name_nodes_of(const HdfsSettings& settings, const std::string& authority) {
  if (const auto found = settings.name_nodes.find(authority); found != settings.name_nodes.end()) return found->second;
  if (authority.empty())
    return fail(Code::invalid_argument, "hdfs:///… names no NameNode: write hdfs://HOST:PORT/…, or set WEFT_HDFS_HTTP=HOST:PORT");
  auto address = address_of(authority);
  if (!address)
    return fail(
        std::move(address).error().wrap("hdfs://" + escaped(authority) + " names no NameNode; write hdfs://HOST:PORT/PATH"));
  return std::vector<std::string>{*std::move(address)};
}

}  // namespace weft::storage::hdfs
