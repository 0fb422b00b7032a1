#include "storage/hdfs/hdfs_files.hpp"

#include <algorithm>
#include <ctime>
#include <deque>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "base/log.hpp"
#include "base/named_file.hpp"
#include "base/text.hpp"
#include "storage/hdfs/client.hpp"
#include "storage/hdfs/input.hpp"
#include "storage/hdfs/output.hpp"
#include "storage/pattern.hpp"

namespace weft::storage::hdfs {
namespace {

using http::HttpOptions;

constexpr std::size_t kMostKnown = 1'000'000;  // files whose status is kept from listings
constexpr std::size_t kMostLocated = 2'000;    // of them, the largest, whose blocks are asked for
constexpr std::size_t kTogether = 16;          // requests under way at once
constexpr int kDeepest = 512;                  // directories in directories

tl::unexpected<Error> missing(const HdfsPath& path) {
  return fail(Code::not_found, escaped(url_of(path)) + " is not there: HDFS has no file or directory of this name");
}

std::string time_text(std::uint64_t milliseconds) {
  const auto seconds = static_cast<std::time_t>(milliseconds / 1000);
  std::tm parts{};
  char text[32];
  if (::gmtime_r(&seconds, &parts) == nullptr || std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0) return {};
  return text;
}

/// What a driver knows of an input since it listed it.
struct Known {
  HdfsPath path;
  HdfsStatus status;
  std::optional<std::vector<RemotePiece>> pieces;
};

class HdfsFiles final : public ForeignFiles {
 public:
  explicit HdfsFiles(std::string scratch) : scratch_(std::move(scratch)) {}
  HdfsFiles(HdfsSettings settings, HttpOptions options, std::string scratch)
      : settings_(std::move(settings)), options_(std::move(options)), scratch_(std::move(scratch)) {}

  using RemoteFiles::expand;
  Result<InputFiles> expand(const std::string& input, const DirectoryFilter& wanted) override {
    WEFT_ASSIGN(const HdfsPath path, parse_hdfs(input));
    WEFT_ASSIGN(HdfsClient* const client, client_of(path));
    InputFiles found;
    WEFT_ASSIGN(const auto itself, client->status(path));
    if (itself) {
      WEFT_TRY(add(*client, path, *itself, wanted, found));
    } else if (is_pattern(path.path)) {
      WEFT_TRY(matches(*client, path, [&](const HdfsPath& match, const HdfsStatus& status) {
        return add(*client, match, status, wanted, found);
      }));
      if (found.paths.empty()) return fail(Code::not_found, "no file matches the pattern");
    } else {
      return missing(path);
    }
    return found;
  }
  Result<std::vector<RemotePiece>> pieces(const std::string& url, const FileVersion& listed) override {
    {
      const std::lock_guard lock(mutex_);
      const auto found = known_.find(url);
      if (found != known_.end()) WEFT_TRY(check_same(url, listed, version_of(found->second.status)));
      if (found != known_.end() && found->second.pieces) return *found->second.pieces;
    }
    if (is_known(url)) {
      WEFT_TRY(locate_known());
      const std::lock_guard lock(mutex_);
      const auto found = known_.find(url);
      if (found != known_.end() && found->second.pieces) return *found->second.pieces;
    }
    WEFT_ASSIGN(const HdfsPath path, parse_hdfs(url));
    WEFT_ASSIGN(HdfsClient* const client, client_of(path));
    WEFT_ASSIGN(const HdfsStatus status, file_status(*client, path));
    WEFT_TRY(check_same(url, listed, version_of(status)));
    const std::uint64_t length = listed.known() ? listed.bytes : status.length;
    if (length == 0) return std::vector<RemotePiece>();
    return client->finish_blocks(*client->start_blocks(path, length), length);
  }
  Result<std::unique_ptr<RemoteFile>> open(const std::string& url, const FileVersion& listed) override {
    WEFT_ASSIGN(HdfsPath path, parse_hdfs(url));
    WEFT_ASSIGN(HdfsClient* const client, client_of(path));
    if (listed.known()) return open_file(*client, std::move(path), listed);
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = known_.find(url); found != known_.end())
        return open_file(*client, path, version_of(found->second.status));
    }
    WEFT_ASSIGN(const HdfsStatus status, file_status(*client, path));
    return open_file(*client, std::move(path), version_of(status));
  }
  Result<std::unique_ptr<RemoteOutput>> create(const std::string& url) override {
    WEFT_ASSIGN(HdfsPath path, parse_hdfs(url));
    if (path.path == "/")
      return fail(Code::invalid_argument, "cannot write " + url + ": it is the root directory; name a file in it");
    WEFT_ASSIGN(HdfsClient* const client, client_of(path));
    std::error_code none;
    return create_file(*client, std::move(path), scratch_.empty() ? std::filesystem::temp_directory_path(none).string() : scratch_);
  }

  Result<std::string> normal(const std::string& url) override { return parse_hdfs(url).map(url_of); }
  Result<bool> exists(const std::string& url) override {
    WEFT_ASSIGN(const HdfsPath path, parse_hdfs(url));
    WEFT_ASSIGN(HdfsClient* const client, client_of(path));
    return client->status(path).map([](const auto& status) { return status.has_value(); });
  }
  Result<void> make_directory(const std::string& url) override {
    WEFT_ASSIGN(const HdfsPath path, parse_hdfs(url));
    WEFT_ASSIGN(HdfsClient* const client, client_of(path));
    return client->make_directory(path);
  }
  Result<std::vector<std::string>> names(const std::string& directory) override {
    WEFT_ASSIGN(const HdfsPath path, parse_hdfs(directory));
    WEFT_ASSIGN(HdfsClient* const client, client_of(path));
    WEFT_ASSIGN(const auto all, client->list(path));
    std::vector<std::string> names;
    for (const HdfsStatus& entry : all) names.push_back(entry.name);
    return names;
  }
  Result<void> rename(const std::string& from, const std::string& to, bool replace) override {
    WEFT_ASSIGN(const HdfsPath source, parse_hdfs(from));
    WEFT_ASSIGN(const HdfsPath target, parse_hdfs(to));
    if (source.authority != target.authority)
      return fail(Code::invalid_argument, "cannot rename " + from + " to " + to + ": they are not of one HDFS");
    WEFT_ASSIGN(HdfsClient* const client, client_of(source));
    if (!replace) return client->rename(source, target, Onto::nothing);
    WEFT_ASSIGN(const auto there, client->status(target));
    if (!there) return client->rename(source, target, Onto::nothing);
    if (!there->directory) return client->rename(source, target, Onto::file);
    return replace_directory(*client, source, target);
  }
  Result<void> remove(const std::string& url) override {
    WEFT_ASSIGN(const HdfsPath path, parse_hdfs(url));
    WEFT_ASSIGN(HdfsClient* const client, client_of(path));
    return client->remove(path);
  }
  bool leaves_directories(const std::string&) override { return true; }

  Result<std::vector<ForeignEntry>> entries(const std::string& url) override {
    WEFT_ASSIGN(const HdfsPath path, parse_hdfs(url));
    WEFT_ASSIGN(HdfsClient* const client, client_of(path));
    WEFT_ASSIGN(const auto itself, client->status(path));
    std::vector<ForeignEntry> found;
    if (itself && itself->directory) {
      WEFT_ASSIGN(const auto all, client->list(path));
      for (const HdfsStatus& entry : all) found.push_back(entry_of(below(path, entry.name), entry));
      return found;
    }
    if (itself) return std::vector<ForeignEntry>{entry_of(path, *itself)};
    if (!is_pattern(path.path)) return missing(path);
    WEFT_TRY(matches(*client, path, [&](const HdfsPath& match, const HdfsStatus& status) -> Result<void> {
      found.push_back(entry_of(match, status));
      return {};
    }));
    if (found.empty()) return fail(Code::not_found, "no file matches the pattern " + escaped(url));
    return found;
  }
  Result<bool> is_directory(const std::string& url) override {
    WEFT_ASSIGN(const HdfsPath path, parse_hdfs(url));
    WEFT_ASSIGN(HdfsClient* const client, client_of(path));
    return client->status(path).map([](const auto& status) { return status && status->directory; });
  }

 private:
  Result<HdfsClient*> client_of(const HdfsPath& path) {
    const std::lock_guard lock(mutex_);
    if (const auto found = clients_.find(path.authority); found != clients_.end()) return found->second.get();
    if (!settings_) {
      WEFT_ASSIGN(settings_, hdfs_settings());
    }
    WEFT_ASSIGN(auto made, HdfsClient::open(*settings_, path.authority, options_));
    return clients_.emplace(path.authority, std::move(made)).first->second.get();
  }
  static ForeignEntry entry_of(const HdfsPath& path, const HdfsStatus& status) {
    return {url_of(path), status.directory, status.length, time_text(status.modified)};
  }
  static Result<HdfsStatus> file_status(HdfsClient& client, const HdfsPath& path) {
    WEFT_ASSIGN(auto status, client.status(path));
    if (!status) return missing(path);
    if (status->directory) return fail(Code::invalid_argument, "cannot read " + escaped(url_of(path)) + ": it is a directory");
    return *std::move(status);
  }

  /// A file, or all files below a directory.
  Result<void> add(HdfsClient& client, const HdfsPath& path, const HdfsStatus& status, const DirectoryFilter& wanted,
                   InputFiles& found, int depth = 0) {
    if (!status.directory) {
      found.paths.push_back(url_of(path));
      found.versions.push_back(version_of(status));
      const std::lock_guard lock(mutex_);
      if (known_.size() < kMostKnown || known_.contains(found.paths.back()))
        known_.insert_or_assign(found.paths.back(), Known{path, status, std::nullopt});
      return {};
    }
    if (depth == kDeepest) return fail(Code::invalid_argument, escaped(url_of(path)) + " has too many directories in directories");
    WEFT_ASSIGN(const auto all, client.list(path));
    for (const HdfsStatus& entry : all) {
      const HdfsPath inner = below(path, entry.name);
      if (is_skipped(entry.name))
        found.skipped.push_back(url_of(inner));
      else if (entry.directory && wanted && !wanted(entry.name))
        ++found.unwanted;
      else
        WEFT_TRY(add(client, inner, entry, wanted, found, depth + 1));
    }
    return {};
  }
  /// Calls `each` for all that a pattern matches: directories are entered only as far as it leads.
  template <class Each>
  static Result<void> matches(HdfsClient& client, const HdfsPath& path, Each&& each) {
    WEFT_ASSIGN(const Pattern pattern, Pattern::parse(path.path.substr(1)));
    HdfsPath top = path;
    top.path = "/" + std::string(fixed_prefix(std::string_view(path.path).substr(1)));
    WEFT_ASSIGN(top, parse_hdfs(url_of(top)));
    WEFT_ASSIGN(const auto there, client.status(top));
    if (!there || !there->directory) return {};
    std::deque<std::pair<HdfsPath, int>> left{{top, 0}};
    for (; !left.empty(); left.pop_front()) {
      const auto [directory, depth] = left.front();
      WEFT_ASSIGN(const auto all, client.list(directory));
      for (const HdfsStatus& entry : all) {
        const HdfsPath inner = below(directory, entry.name);
        const std::string key = inner.path.substr(1);
        const bool matched = pattern.match(key) == key.size();
        if (matched) WEFT_TRY(each(inner, entry));
        const bool whole = matched && entry.directory;  // all below belongs to it
        if (entry.directory && !whole && depth < kDeepest && pattern.leads_below(key)) left.emplace_back(inner, depth + 1);
      }
    }
    return {};
  }

  bool is_known(const std::string& url) {
    const std::lock_guard lock(mutex_);
    return known_.contains(url);
  }
  /// Finds where the blocks of all known files are, many at once: a driver splits thousands. Beyond a number, only those of the
  /// largest: small files together are one task, which is near some of them only.
  Result<void> locate_known() {
    struct Wanted {
      std::string url;
      HdfsPath path;
      std::uint64_t length = 0;
    };
    std::vector<Wanted> wanted;
    {
      const std::lock_guard lock(mutex_);
      for (auto& [url, known] : known_) {
        if (known.pieces) continue;
        if (known.status.length == 0)
          known.pieces.emplace();
        else
          wanted.push_back({url, known.path, known.status.length});
      }
      const auto larger = [](const Wanted& a, const Wanted& b) { return a.length > b.length; };
      if (wanted.size() > kMostLocated) {
        std::nth_element(wanted.begin(), wanted.begin() + kMostLocated, wanted.end(), larger);
        for (std::size_t i = kMostLocated; i < wanted.size(); ++i)
          known_.at(wanted[i].url).pieces = std::vector<RemotePiece>{{0, wanted[i].length, {}}};
        wanted.resize(kMostLocated);
      }
    }
    std::deque<std::unique_ptr<HdfsCall>> calls;
    for (std::size_t begun = 0, ended = 0; ended < wanted.size(); ++ended) {
      for (; begun < wanted.size() && calls.size() < kTogether; ++begun) {
        WEFT_ASSIGN(HdfsClient* const client, client_of(wanted[begun].path));
        calls.push_back(client->start_blocks(wanted[begun].path, wanted[begun].length));
      }
      WEFT_ASSIGN(HdfsClient* const client, client_of(wanted[ended].path));
      auto pieces = client->finish_blocks(*calls.front(), wanted[ended].length);
      calls.pop_front();
      if (!pieces) return fail(std::move(pieces).error());
      const std::lock_guard lock(mutex_);
      known_.at(wanted[ended].url).pieces = *std::move(pieces);
    }
    return {};
  }

  /// HDFS cannot exchange two directories: for the time of one request there is nothing at `to`.
  static Result<void> replace_directory(HdfsClient& client, const HdfsPath& from, const HdfsPath& to) {
    HdfsPath aside = to;
    const auto name = aside.path.rfind('/') + 1;
    aside.path = aside.path.substr(0, name) + short_name(aside.path.substr(name)) + ".weft-replaced";
    if (auto moved = client.rename(to, aside, Onto::nothing); !moved) {
      if (moved.error().code() != Code::already_exists) return moved;
      return fail(Code::already_exists, escaped(url_of(aside)) + " is there: a job was killed while it replaced " +
                                            escaped(url_of(to)) + ", and this is what was there before; move or remove it");
    }
    if (auto moved = client.rename(from, to, Onto::nothing); !moved) {
      if (auto back = client.rename(aside, to, Onto::nothing); !back)
        return fail(std::move(moved).error().wrap("what was at " + escaped(url_of(to)) + " is at " + escaped(url_of(aside))));
      return moved;
    }
    if (auto removed = client.remove(aside); !removed)
      Log("hdfs").warn("{}; it is what was replaced: remove it", removed.error().to_string());
    return {};
  }

  std::mutex mutex_;  // guards what follows
  std::optional<HdfsSettings> settings_;
  const HttpOptions options_{};
  const std::string scratch_;
  std::map<std::string, std::unique_ptr<HdfsClient>> clients_;  // by authority
  std::map<std::string, Known> known_;                          // by URL
};

}  // namespace

std::unique_ptr<ForeignFiles> hdfs_files(std::string scratch) { return std::make_unique<HdfsFiles>(std::move(scratch)); }
std::unique_ptr<ForeignFiles> hdfs_files(HdfsSettings settings, HttpOptions options, std::string scratch) {
  return std::make_unique<HdfsFiles>(std::move(settings), std::move(options), std::move(scratch));
}

}  // namespace weft::storage::hdfs
