// The requests of WebHDFS that files need, as functions: tried again, with the other NameNode when one is away or in standby, and
// after a while when HDFS is in safe mode. They block, except those called start_…. Errors name the URL and say what to do.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/access/remote.hpp"
#include "storage/hdfs/answers.hpp"
#include "storage/hdfs/path.hpp"
#include "storage/hdfs/settings.hpp"
#include "storage/http/backoff.hpp"
#include "storage/http/http_client.hpp"

namespace weft::storage::hdfs {

class HdfsClient;

/// Tries of failures that seldom pass (Verdict::seldom).
inline constexpr std::uint32_t kSeldom = 4;

struct HdfsRequest {
  std::string method = "GET";
  HdfsPath path;
  std::string query;  // "op=OPEN&offset=0"
  std::string doing;  // the verb for errors
  bool follow = true;
  bool fresh_connection = false;  // HttpRequest's: HdfsCall::tries() is then right, too, when a connection breaks
  std::uint64_t most_bytes = 16u << 20, likely_bytes = 0;
};

/// How long something is tried, with pauses that double and are drawn at random. One thread.
class Tries {
 public:
  explicit Tries(HdfsClient& client);
  /// After a failure: true, after a pause, when there is time for another try, and there were not `most` already.
  bool again(std::uint32_t most = UINT32_MAX);
  /// True at once.
  bool elsewhere() { return ++count_, true; }
  Duration spent() const { return SystemClock().now() - began_; }
  std::uint32_t count() const { return count_; }
  /// From now on NameNodes are asked not to offer the datanode of this URL, if they know it by its address.
  void exclude(const std::string& url);
  /// For a query: "&excludedatanodes=…", or nothing.
  std::string excluded() const;

 private:
  HdfsClient& client_;
  const TimePoint began_ = SystemClock().now();
  std::uint32_t count_ = 1;
  std::vector<std::string> excluded_;  // addresses
  http::Backoff backoff_;
};

/// A request, begun at once. Dropped before its end, it is cancelled. One thread.
class HdfsCall {
 public:
  HdfsCall(HdfsClient& client, HdfsRequest request);
  /// The answer that is a success; with all further tries that it needs. Once.
  Result<http::HttpResponse> finish();
  /// Before that: whether there is an answer, which may be one that needs another try.
  bool done() const { return exchange_->done(); }
  /// After that.
  std::uint32_t tries() const { return tries_.count(); }
  const HdfsPath& path() const { return request_.path; }

 private:
  void start();
  bool other_node(bool at_once);
  bool retry(const http::HttpResponse& answer);
  bool retry(const Error& failure);
  Error given_up(const http::HttpResponse& answer) const;

  HdfsClient& client_;
  const HdfsRequest request_;
  Tries tries_;
  std::size_t node_ = 0;        // that was asked
  std::uint32_t standbys_ = 0;  // answers in a row
  std::unique_ptr<http::HttpExchange> exchange_;
};

enum class Onto { nothing, file };

/// The HDFS of one authority. Any thread. Outlives its calls.
class HdfsClient {
 public:
  static Result<std::unique_ptr<HdfsClient>> open(const HdfsSettings& settings, const std::string& authority,
                                                  http::HttpOptions options = {});

  /// Nothing when there is no such file or directory.
  Result<std::optional<HdfsStatus>> status(const HdfsPath& path);
  /// What the directory holds, by name; of a file nothing.
  Result<std::vector<HdfsStatus>> list(const HdfsPath& directory);

  /// Starts to ask where the blocks of a file are.
  std::unique_ptr<HdfsCall> start_blocks(const HdfsPath& path, std::uint64_t length);
  /// One piece without hosts where HDFS does not give them.
  Result<std::vector<RemotePiece>> finish_blocks(HdfsCall& call, std::uint64_t length);
  /// Starts to read.
  std::unique_ptr<HdfsCall> start_read(const HdfsPath& path, std::uint64_t offset, std::uint64_t length);

  /// With its parents. An existing directory is fine.
  Result<void> make_directory(const HdfsPath& path);
  /// With all below it. A missing path is no error.
  Result<void> remove(const HdfsPath& path);
  /// In one step. already_exists when `to` exists and is not to be replaced.
  Result<void> rename(const HdfsPath& from, const HdfsPath& to, Onto onto);
  /// Where to send the bytes of a new file, which replaces one that is there: the URL of a datanode. `without` is
  /// Tries::excluded().
  Result<std::string> place(const HdfsPath& path, bool with_parents, const std::string& without);

  http::HttpClient& http() { return *http_; }
  const http::HttpOptions& options() const { return options_; }
  const std::string& user() const { return user_; }
  const std::vector<std::string>& nodes() const { return nodes_; }
  /// Bytes that all readers together hold in read-ahead.
  std::atomic<std::uint64_t>& read_ahead() { return read_ahead_; }

 private:
  friend class HdfsCall;
  friend class Tries;
  HdfsClient(const HdfsSettings& settings, std::vector<std::string> nodes, http::HttpOptions options,
             std::unique_ptr<http::HttpClient> http);
  Result<http::HttpResponse> call(HdfsRequest request) { return HdfsCall(*this, std::move(request)).finish(); }
  Result<HdfsListing> page(const HdfsPath& directory, const std::string& after);

  const std::string user_, identity_;  // the latter as a query has it
  const std::vector<std::string> nodes_;
  const http::HttpOptions options_;
  std::atomic<std::size_t> active_{0};       // the node to ask
  std::atomic<bool> known_{false};           // one has answered
  std::atomic<bool> lists_in_pages_{true};   // until it does not know how
  std::atomic<bool> strict_renames_{false};  // it knows renames that never move into a directory
  std::atomic<std::uint64_t> read_ahead_{0};
  const std::unique_ptr<http::HttpClient> http_;
};

}  // namespace weft::storage::hdfs
