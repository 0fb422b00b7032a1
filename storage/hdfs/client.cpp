#include "storage/hdfs/client.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/log.hpp"
#include "base/text.hpp"
#include "storage/hdfs/errors.hpp"
#include "storage/http/web_text.hpp"
#include "storage/transient.hpp"

namespace weft::storage::hdfs {
namespace {

using http::HttpOptions;
using http::HttpResponse;
using http::uri_encoded;

constexpr std::size_t kMostExcluded = 8;
constexpr std::uint64_t kLargestPage = 64u << 20;  // of a directory
constexpr std::size_t kMostEntries = 10'000'000;

/// "http://host:port" of a URL, and its host alone.
std::string server_of(const std::string& url) { return url.substr(0, url.find('/', url.find("://") + 3)); }
std::string host_of(const std::string& url) {
  std::string server = server_of(url);
  server.erase(0, server.find("://") + 3);
  if (server.starts_with('[')) return server.substr(1, server.find(']') - 1);
  return server.substr(0, server.rfind(':'));
}

/// As NameNodes know datanodes; empty when the name has no address.
std::string address_of_host(const std::string& host) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return {};
  char text[INET_ADDRSTRLEN] = {};
  const auto* const address = reinterpret_cast<const sockaddr_in*>(found->ai_addr);
  const char* const written = ::inet_ntop(AF_INET, &address->sin_addr, text, sizeof text);
  ::freeaddrinfo(found);
  return written == nullptr ? std::string() : std::string(written);
}

std::string identity(const HdfsSettings& settings) {
  return settings.token.empty() ? "user.name=" + uri_encoded(settings.user) : "delegation=" + uri_encoded(settings.token);
}

}  // namespace

Tries::Tries(HdfsClient& client) : client_(client), backoff_(client.options()) {}

bool Tries::again(std::uint32_t most) {
  const Duration pause = backoff_.draw(count_);
  if (count_ >= most || spent() + pause > http::patience_with(client_.options(), client_.known_)) return false;
  std::this_thread::sleep_for(pause);
  ++count_;
  return true;
}

void Tries::exclude(const std::string& url) {
  for (const std::string& node : client_.nodes())
    if (server_of(url) == node) return;  // it is no datanode
  std::string address = address_of_host(host_of(url));
  if (address.empty() || excluded_.size() == kMostExcluded || std::count(excluded_.begin(), excluded_.end(), address) != 0) return;
  excluded_.push_back(std::move(address));
}

std::string Tries::excluded() const {
  return excluded_.empty() ? std::string() : "&excludedatanodes=" + uri_encoded(join(excluded_, ","));
}

HdfsCall::HdfsCall(HdfsClient& client, HdfsRequest request) : client_(client), request_(std::move(request)), tries_(client) {
  start();
}

void HdfsCall::start() {
  node_ = client_.active_;
  http::HttpRequest wanted;
  wanted.method = request_.method;
  wanted.url = client_.nodes_[node_] + "/webhdfs/v1" + uri_encoded(request_.path.path, true) + "?" + request_.query + "&" +
               client_.identity_ + tries_.excluded();
  wanted.follow = request_.follow;
  wanted.fresh_connection = request_.fresh_connection;
  wanted.most_bytes = std::max<std::uint64_t>(request_.most_bytes, 64u << 10);  // or an error's text
  wanted.likely_bytes = request_.likely_bytes;
  wanted.most_tries = 1;
  exchange_ = client_.http_->start(std::move(wanted));
}

Result<HttpResponse> HdfsCall::finish() {
  while (true) {
    auto answer = exchange_->wait();
    if (answer) {
      client_.known_ = true;
      if (verdict_of(*answer) == Verdict::done) return answer;
      if (!retry(*answer)) return fail(given_up(*answer));
    } else if (!retry(answer.error())) {
      return fail(std::move(answer).error().wrap("cannot " + request_.doing + " " + escaped(url_of(request_.path))));
    }
    start();
  }
}

/// From now on the next NameNode is asked, unless somebody has changed to another already.
bool HdfsCall::other_node(bool at_once) {
  std::size_t asked = node_;
  client_.active_.compare_exchange_strong(asked, (node_ + 1) % client_.nodes_.size());
  return at_once ? tries_.elsewhere() : tries_.again();
}

bool HdfsCall::retry(const HttpResponse& answer) {
  const Verdict verdict = verdict_of(answer);
  if (verdict == Verdict::standby) {
    if (client_.nodes_.size() == 1) return false;
    return other_node(++standbys_ % client_.nodes_.size() != 0);  // when all are, one may be about to become active
  }
  standbys_ = 0;
  if (verdict == Verdict::seldom && server_of(exchange_->reached()) != client_.nodes_[node_]) tries_.exclude(exchange_->reached());
  switch (verdict) {
    case Verdict::safe_mode:
      if (tries_.count() == 1) Log("hdfs").warn("{}: HDFS is in safe mode; waiting", client_.nodes_[node_]);
      return tries_.again();
    case Verdict::later:
      return tries_.again();
    case Verdict::seldom:
      return tries_.again(kSeldom);
    default:
      return false;
  }
}

bool HdfsCall::retry(const Error& failure) {
  if (!is_transient(failure)) return false;
  if (server_of(exchange_->reached()) != client_.nodes_[node_]) {
    tries_.exclude(exchange_->reached());
    return tries_.again();
  }
  // The other one at once, both after a pause.
  if (client_.nodes_.size() > 1) return other_node(tries_.count() % client_.nodes_.size() != 0);
  return tries_.again();
}

Error HdfsCall::given_up(const HttpResponse& answer) const {
  const Verdict verdict = verdict_of(answer);
  const std::string what = "cannot " + request_.doing + " " + escaped(url_of(request_.path));
  if (verdict == Verdict::safe_mode)
    return Error(Code::unavailable, "HDFS has been in safe mode for " + human_duration(tries_.spent()) +
                                        "; wait until it has left it (hdfs dfsadmin -safemode get), and try again")
        .wrap(what);
  if (verdict == Verdict::standby && client_.nodes_.size() > 1)
    return Error(Code::unavailable, "none of its NameNodes is active: " + join(client_.nodes_, ", ") +
                                        " are in standby or do not answer (hdfs haadmin -getAllServiceState)")
        .wrap(what);
  return hdfs_error(answer, request_.doing, url_of(request_.path), client_.user_);
}

HdfsClient::HdfsClient(const HdfsSettings& settings, std::vector<std::string> nodes, HttpOptions options,
                       std::unique_ptr<http::HttpClient> http)
    : user_(settings.user),
      identity_(identity(settings)),
      nodes_(std::move(nodes)),
      options_(std::move(options)),
      http_(std::move(http)) {}

Result<std::unique_ptr<HdfsClient>> HdfsClient::open(const HdfsSettings& settings, const std::string& authority,
                                                     HttpOptions options) {
  WEFT_ASSIGN(auto nodes, name_nodes_of(settings, authority));
  options.certificates = settings.certificates;
  options.server_setting = "WEFT_HDFS_HTTP";
  options.certificate_setting = "WEFT_HDFS_CA_BUNDLE";
  WEFT_ASSIGN(auto http, http::HttpClient::open(options));
  return std::unique_ptr<HdfsClient>(new HdfsClient(settings, std::move(nodes), std::move(options), std::move(http)));
}

Result<std::optional<HdfsStatus>> HdfsClient::status(const HdfsPath& path) {
  auto answer = call({.path = path, .query = "op=GETFILESTATUS", .doing = "read"});
  if (!answer && answer.error().code() == Code::not_found) return std::optional<HdfsStatus>();
  if (!answer) return fail(std::move(answer).error());
  WEFT_ASSIGN(HdfsStatus status, parse_status(answer->body, url_of(path)));
  return std::optional<HdfsStatus>(std::move(status));
}

Result<HdfsListing> HdfsClient::page(const HdfsPath& directory, const std::string& after) {
  HdfsRequest request{.path = directory, .query = "op=LISTSTATUS", .doing = "list", .most_bytes = kLargestPage};
  if (lists_in_pages_) {
    request.query = "op=LISTSTATUS_BATCH" + (after.empty() ? "" : "&startAfter=" + uri_encoded(after));
    const auto answer = call(request);
    if (answer) return parse_listing(answer->body, url_of(directory));
    if (answer.error().to_string().find("IllegalArgumentException") == std::string::npos) return fail(answer.error());
    lists_in_pages_ = false;  // Hadoop 2
    return page(directory, after);
  }
  WEFT_ASSIGN(const HttpResponse answer, call(request));
  return parse_listing(answer.body, url_of(directory));
}

Result<std::vector<HdfsStatus>> HdfsClient::list(const HdfsPath& directory) {
  std::vector<HdfsStatus> all;
  while (true) {
    WEFT_ASSIGN(HdfsListing some, page(directory, all.empty() ? std::string() : all.back().name));
    const bool more = some.more && !some.entries.empty();
    if (more && ((!all.empty() && all.back().name == some.entries.back().name) || all.size() > kMostEntries))
      return fail(Code::corrupt, "cannot list " + escaped(url_of(directory)) + ": the list does not end");
    std::move(some.entries.begin(), some.entries.end(), std::back_inserter(all));
    if (more) continue;
    std::sort(all.begin(), all.end(),
              [](const HdfsStatus& a, const HdfsStatus& b) { return a.name < b.name; });  // HDFS: signed bytes
    return all;
  }
}

std::unique_ptr<HdfsCall> HdfsClient::start_blocks(const HdfsPath& path, std::uint64_t length) {
  return std::make_unique<HdfsCall>(*this,
                                    HdfsRequest{.path = path,
                                                .query = "op=GETFILEBLOCKLOCATIONS&offset=0&length=" + std::to_string(length),
                                                .doing = "read",
                                                .most_bytes = kLargestPage});
}

Result<std::vector<RemotePiece>> HdfsClient::finish_blocks(HdfsCall& call, std::uint64_t length) {
  const auto answer = call.finish();
  const std::string url = url_of(call.path());
  if (!answer && (answer.error().code() == Code::not_found || is_transient(answer.error()))) return fail(answer.error());
  Result<std::vector<RemotePiece>> pieces = answer ? parse_blocks(answer->body, length, url) : fail(answer.error());
  if (pieces) return pieces;
  Log("hdfs").debug("the blocks of {} may be anywhere: {}", url, pieces.error().to_string());
  return std::vector<RemotePiece>{{0, length, {}}};  // old servers do not tell; reading notices a file that changed
}

std::unique_ptr<HdfsCall> HdfsClient::start_read(const HdfsPath& path, std::uint64_t offset, std::uint64_t length) {
  return std::make_unique<HdfsCall>(
      *this, HdfsRequest{.path = path,
                         .query = "op=OPEN&offset=" + std::to_string(offset) + "&length=" + std::to_string(length),
                         .doing = "read",
                         .most_bytes = length,
                         .likely_bytes = length});
}

Result<void> HdfsClient::make_directory(const HdfsPath& path) {
  WEFT_ASSIGN(const HttpResponse answer, call({.method = "PUT", .path = path, .query = "op=MKDIRS", .doing = "write"}));
  WEFT_ASSIGN(const bool made, parse_flag(answer.body, url_of(path)));
  if (!made) return fail(Code::io, "cannot write " + escaped(url_of(path)) + ": HDFS does not make the directory");
  return {};
}

Result<void> HdfsClient::remove(const HdfsPath& path) {
  if (path.path == "/") return fail(Code::invalid_argument, "cannot remove " + url_of(path) + ": it is the root directory");
  WEFT_TRY(call({.method = "DELETE", .path = path, .query = "op=DELETE&recursive=true", .doing = "remove"}));
  return {};
}

/// A rename without options moves into a directory that is there, so it needs a look before; one with options never does.
Result<void> HdfsClient::rename(const HdfsPath& from, const HdfsPath& to, Onto onto) {
  const auto exists = [&] { return fail(Code::already_exists, escaped(url_of(to)) + " exists"); };
  if (!strict_renames_) {
    WEFT_ASSIGN(const auto there, status(to));
    if (there && (there->directory || onto == Onto::nothing)) return exists();
  }
  HdfsCall call(*this, {.method = "PUT",
                        .path = from,
                        .query = "op=RENAME&destination=" + uri_encoded(to.path, true) +
                                 "&renameoptions=" + (onto == Onto::file ? "OVERWRITE" : "NONE"),
                        .doing = "rename",
                        .fresh_connection = true});
  const auto answer = call.finish();
  if (!answer && answer.error().code() == Code::already_exists) return exists();
  bool done = answer.has_value();
  if (answer && answer->body.empty()) {
    strict_renames_ = true;
  } else if (answer) {
    WEFT_ASSIGN(done, parse_flag(answer->body, url_of(from)));
  }
  if (done) return {};
  const bool repeated = call.tries() > 1 && (answer || answer.error().code() == Code::not_found);
  if (repeated) {  // the first may have been done although its answer was lost
    WEFT_ASSIGN(const auto before, status(from));
    WEFT_ASSIGN(const auto after, status(to));
    if (!before && after) return {};
  }
  if (!answer) return fail(answer.error());
  return fail(Code::io, "cannot rename " + escaped(url_of(from)) + " to " + escaped(to.path) + ": HDFS refuses it");
}

Result<std::string> HdfsClient::place(const HdfsPath& path, bool with_parents, const std::string& without) {
  WEFT_ASSIGN(const HttpResponse answer, call({.method = "PUT",
                                               .path = path,
                                               .query = std::string("op=CREATE&noredirect=true&overwrite=true&createparent=") +
                                                        (with_parents ? "true" : "false") + without,
                                               .doing = "write",
                                               .follow = false}));
  std::string url = answer.status < 300 ? parse_location(answer.body) : answer.header("location");
  if (!url.starts_with("http://") && !url.starts_with("https://"))
    return fail(Code::corrupt, "cannot write " + escaped(url_of(path)) + ": the NameNode does not say to which datanode");
  return url;
}

}  // namespace weft::storage::hdfs
