#include "storage/objects/s3_files.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/log.hpp"
#include "base/text.hpp"
#include "storage/in_parallel.hpp"
#include "storage/kept_directories.hpp"
#include "storage/objects/s3_file.hpp"
#include "storage/partition_path.hpp"
#include "storage/pattern.hpp"

namespace weft::storage::objects {
namespace {

using http::HttpOptions;

constexpr std::string_view kMark = "_$folder$";  // at the end of the keys of directories, as some of Hadoop has it
constexpr std::size_t kMostKnown = 1'000'000;    // objects whose sizes are kept from listings
constexpr std::size_t kPublishingThreads = 16;   // each mostly waits for the service
constexpr std::size_t kListingThreads = 16;
constexpr std::size_t kMostListings = 1000;  // for one input; a listing of all objects has a thousand in each answer

tl::unexpected<Error> missing(const std::string& url) {
  return fail(Code::not_found, escaped(url) + " is not there: no object has this key, and none is below it");
}

/// Whether an object is there only to say that a directory is: its key ends with a slash, or it is empty and its key ends as Hadoop
/// has it, or it is empty and others are below it in a listing, which is in the order of keys.
bool is_mark(const S3Object& object, const S3Listing& listing) {
  if (object.key.ends_with('/')) return true;
  if (object.size != 0) return false;
  if (object.key.ends_with(kMark)) return true;
  const std::string below = object.key + "/";
  const auto next = std::lower_bound(listing.objects.begin(), listing.objects.end(), below,
                                     [](const S3Object& a, const std::string& key) { return a.key < key; });
  return (next != listing.objects.end() && next->key.starts_with(below)) ||
         std::binary_search(listing.prefixes.begin(), listing.prefixes.end(), below);
}

/// Whether directories are read without an object, as one of the names below `directory` says: the first that does, or npos.
std::size_t skipped_at(std::string_view key, std::size_t begin) {
  while (begin < key.size()) {
    if (is_skipped(key.substr(begin))) return begin;
    const auto slash = key.find('/', begin);
    if (slash == std::string_view::npos) break;
    begin = slash + 1;
  }
  return std::string_view::npos;
}

/// The last name of a prefix, which ends with a slash.
std::string_view directory_name(std::string_view prefix) {
  prefix.remove_suffix(1);
  return prefix.substr(prefix.rfind('/') + 1);
}

class ObjectFiles final : public S3Files {
 public:
  ObjectFiles() = default;
  ObjectFiles(S3Settings settings, HttpOptions options) : settings_(std::move(settings)), options_(std::move(options)) {}

  using RemoteFiles::expand;
  Result<InputFiles> expand(const std::string& input, const DirectoryFilter& wanted) override {
    WEFT_ASSIGN(const S3Path path, parse_s3(input));
    WEFT_ASSIGN(S3Client* const client, connected());
    std::optional<S3Object> itself;
    if (!path.key.empty()) {
      WEFT_ASSIGN(itself, client->head(path));
    }
    InputFiles found;
    if (itself && itself->size != 0) {
      add(path.bucket, *itself, found);
      return found;
    }
    if (!itself && is_pattern(path.key)) {
      WEFT_TRY(expand_pattern(*client, path, found));
      if (found.paths.empty()) return fail(Code::not_found, "no object matches the pattern");
      return found;
    }
    const S3Path below{path.bucket, path.key.empty() ? "" : path.key + "/"};
    if (wanted) {
      WEFT_ASSIGN(const bool listed, list_wanted(*client, below, wanted, found));
      if (listed) return found;
    }
    WEFT_ASSIGN(const bool any, list_all(*client, below, found));
    if (any || path.key.empty()) return found;
    if (itself) {
      add(path.bucket, *itself, found);
      return found;
    }
    WEFT_ASSIGN(const auto mark, client->head({path.bucket, path.key + std::string(kMark)}));
    if (!mark) return missing(input);
    return found;
  }
  Result<std::vector<RemotePiece>> pieces(const std::string& path, const FileVersion& listed) override {
    WEFT_ASSIGN(const S3Object object, object_of(path, listed));
    if (object.size == 0) return std::vector<RemotePiece>();
    return std::vector<RemotePiece>{{0, object.size, {}}};
  }
  Result<std::unique_ptr<RemoteFile>> open(const std::string& url, const FileVersion& listed) override {
    WEFT_ASSIGN(const S3Path path, parse_s3(url));
    WEFT_ASSIGN(S3Client* const client, connected());
    WEFT_ASSIGN(S3Object object, object_of(url, listed));
    return open_object(*client, path, std::move(object));
  }
  Result<std::unique_ptr<RemoteOutput>> create(const std::string& url) override { return new_object(url, Appears::when_closed); }
  Result<std::unique_ptr<RemoteOutput>> stage(const std::string& url) override { return new_object(url, Appears::when_published); }

  Result<std::string> normal(const std::string& url) override { return parse_s3(url).map(url_of); }
  Result<bool> exists(const std::string& url) override {
    WEFT_ASSIGN(const S3Path path, parse_s3(url));
    WEFT_ASSIGN(S3Client* const client, connected());
    if (path.key.empty()) {
      WEFT_TRY(client->list(path.bucket, "", false, 1));
      return true;
    }
    WEFT_ASSIGN(const auto itself, client->head(path));
    if (itself) return true;
    WEFT_ASSIGN(const S3Listing below, client->list(path.bucket, path.key + "/", true, 1));
    return !below.objects.empty();
  }
  /// Prefixes need not be made.
  Result<void> make_directory(const std::string& url) override {
    WEFT_TRY(parse_s3(url));
    return {};
  }
  Result<std::vector<std::string>> names(const std::string& directory) override {
    WEFT_ASSIGN(const auto all, entries_in(directory));
    std::vector<std::string> names;
    for (const ForeignEntry& entry : all) names.push_back(entry.url.substr(entry.url.rfind('/') + 1));
    return names;
  }
  Result<void> rename(const std::string& from, const std::string&, bool) override {
    return fail(Code::invalid_argument,
                "cannot rename " + from + ": objects have no other name than their key; copy it, and remove it");
  }
  Result<void> remove(const std::string& url) override {
    WEFT_ASSIGN(const S3Path path, parse_s3(url));
    if (path.key.empty()) return fail(Code::invalid_argument, "cannot remove " + url + ": it is a bucket");
    WEFT_ASSIGN(S3Client* const client, connected());
    WEFT_ASSIGN(const S3Listing below, client->list(path.bucket, path.key + "/", true));
    std::vector<std::string> keys{path.key, path.key + std::string(kMark)};
    for (const S3Object& object : below.objects) keys.push_back(object.key);
    return client->remove(path.bucket, keys);
  }
  RemotePublisher* publisher(const std::string&) override { return this; }

  /// Begins an upload and aborts it: that needs all rights that writing needs.
  Result<void> check_writable(const std::string& directory) override {
    WEFT_ASSIGN(S3Path path, parse_s3(directory));
    if (path.key.empty())
      return fail(Code::invalid_argument,
                  fmt::format("output {} is a whole bucket; name a directory in it, such as s3://{}/NAME", directory, path.bucket));
    WEFT_ASSIGN(S3Client* const client, connected());
    path.key += "/_SUCCESS";
    WEFT_ASSIGN(const std::string id, client->begin_upload(path));
    return client->abort(path, id);
  }
  Result<void> publish(const std::string& directory, const std::vector<StagedFile>& files, const LastFile& last,
                       Replaced replaced) override {
    const bool replace = replaced != Replaced::nothing;
    WEFT_ASSIGN(const S3Path target, parse_s3(directory));
    WEFT_ASSIGN(S3Client* const client, connected());
    WEFT_ASSIGN(const S3Path mark, parse_s3(last.path));
    WEFT_ASSIGN(std::vector<NewObject> objects, new_objects(*client, files));  // before what is there is touched
    std::map<std::string, std::string> old;
    if (replace) {
      WEFT_ASSIGN(old, etags_below(*client, target));
      if (replaced == Replaced::directories) keep_others(old, target, directory, files);
      // What is there is no longer whole. With directories that stay, it is what later runs know it by.
      if (replaced == Replaced::all) WEFT_TRY(client->remove(target.bucket, {mark.key}));
    }
    auto published = show(*client, objects, old);
    if (published && replace) published = remove_others(*client, target, old, objects);
    if (published) published = client->put(mark, SharedBytes(Buffer::copy_of(as_bytes(last.text))));
    // A mark with a text is a job's, of which another driver may have published the same objects, or does so now.
    const bool own = !replace && last.text.empty();
    if (!published && own) take_back(*client, objects, mark);
    if (!published)
      return fail(std::move(published).error().wrap("the output " + directory + (own ? " was taken back" : " is incomplete")));
    auto discarded = discard(directory);
    if (discarded && client->forgets_uploads()) discarded = discard_of(*client, files, mark);
    if (!discarded)
      Log("objects").warn("uploads of attempts that were not needed stay below {}: {}", directory, discarded.error().to_string());
    return {};
  }
  Result<void> discard(const std::string& directory) override {
    WEFT_ASSIGN(const S3Path path, parse_s3(directory));
    WEFT_ASSIGN(S3Client* const client, connected());
    WEFT_ASSIGN(const auto uploads, client->uploads(path.bucket, path.key + "/"));
    return in_parallel(kPublishingThreads, uploads.size(), [&](std::size_t i) {
      return client->abort({path.bucket, uploads[i].key}, uploads[i].id);
    });
  }

  Result<std::vector<ForeignEntry>> entries(const std::string& url) override {
    WEFT_ASSIGN(const S3Path path, parse_s3(url));
    if (is_pattern(path.key)) return entries_of_pattern(path, url);
    WEFT_ASSIGN(std::vector<ForeignEntry> found, entries_in(url));
    if (!found.empty() || path.key.empty()) return found;
    WEFT_ASSIGN(S3Client* const client, connected());
    WEFT_ASSIGN(const S3Listing beside, client->list(path.bucket, path.key, false));
    for (const S3Object& object : beside.objects)
      if (object.key == path.key) found.push_back({url_of(path), false, object.size, object.modified});
    if (found.empty()) return missing(url);
    return found;
  }

 private:
  Result<S3Client*> connected() {
    const std::lock_guard lock(mutex_);
    if (client_) return client_.get();
    if (!settings_) {
      WEFT_ASSIGN(settings_, s3_settings());
    }
    WEFT_ASSIGN(client_, S3Client::open(*settings_, options_));
    return client_.get();
  }

  static FileVersion version_of(const S3Object& object) { return {.bytes = object.size, .tag = object.etag}; }
  void add(const std::string& bucket, const S3Object& object, InputFiles& found) {
    found.paths.push_back(url_of({bucket, object.key}));
    found.versions.push_back(version_of(object));
    const std::lock_guard lock(mutex_);
    if (known_.size() < kMostKnown) known_.insert_or_assign(found.paths.back(), object);
  }
  /// An object that a directory or pattern means, whose own part of the key begins at `begin`.
  void add_below(const std::string& bucket, const S3Object& object, std::size_t begin, InputFiles& found) {
    const std::size_t skipped = skipped_at(object.key, begin);
    if (skipped == std::string::npos) return add(bucket, object, found);
    std::string name = url_of({bucket, object.key.substr(0, object.key.find('/', skipped))});
    if (found.skipped.empty() || found.skipped.back() != name) found.skipped.push_back(std::move(name));
  }
  /// All objects below a directory, in one listing. False: there is none.
  Result<bool> list_all(S3Client& client, const S3Path& below, InputFiles& found) {
    WEFT_ASSIGN(const S3Listing listing, client.list(below.bucket, below.key, true));
    for (const S3Object& object : listing.objects)
      if (!is_mark(object, listing)) add_below(below.bucket, object, below.key.size(), found);
    return !listing.objects.empty();
  }
  /// The same without the directories "KEY=VALUE" that are not wanted: each of the others, and each directory of another name
  /// beside them, is a listing of its own. False, with nothing found: one listing of all is better, since there are no such
  /// directories, or too many.
  Result<bool> list_wanted(S3Client& client, const S3Path& below, const DirectoryFilter& wanted, InputFiles& found) {
    struct Directory {
      std::string prefix;
      bool deep = false;  // with all below it
    };
    InputFiles some;
    std::vector<Directory> level{{below.key}};
    for (std::size_t listings = 1; !level.empty(); listings += level.size()) {
      if (listings > kMostListings) return false;
      std::vector<S3Listing> lists(level.size());
      WEFT_TRY(in_parallel(kListingThreads, level.size(), [&](std::size_t i) -> Result<void> {
        WEFT_ASSIGN(lists[i], client.list(below.bucket, level[i].prefix, level[i].deep));
        return {};
      }));
      if (listings == 1 && std::none_of(lists[0].prefixes.begin(), lists[0].prefixes.end(),
                                        [](const std::string& prefix) { return partition_value(directory_name(prefix)); }))
        return false;
      level.clear();
      for (const S3Listing& listing : lists) {
        for (const S3Object& object : listing.objects)
          if (!is_mark(object, listing)) add_below(below.bucket, object, below.key.size(), some);
        for (const std::string& prefix : listing.prefixes) {
          const std::string_view name = directory_name(prefix);
          const bool partition = partition_value(name).has_value();
          if (is_skipped(name))
            some.skipped.push_back(url_of({below.bucket, prefix.substr(0, prefix.size() - 1)}));
          else if (partition && !wanted(name))
            ++some.unwanted;
          else
            level.push_back({prefix, !partition});
        }
      }
    }
    found = std::move(some);
    return true;
  }
  Result<void> expand_pattern(S3Client& client, const S3Path& path, InputFiles& found) {
    WEFT_ASSIGN(const Pattern pattern, Pattern::parse(path.key));
    WEFT_ASSIGN(const S3Listing listing, client.list(path.bucket, std::string(fixed_prefix(path.key)), true));
    for (const S3Object& object : listing.objects) {
      const std::size_t end = pattern.match(object.key);
      if (end != std::string::npos && !is_mark(object, listing)) add_below(path.bucket, object, end, found);
    }
    return {};
  }
  /// As when it was listed: a job reads what its driver saw. Whether it still is that, each request to read asks by its ETag.
  Result<S3Object> object_of(const std::string& url, const FileVersion& listed) {
    if (!listed.tag.empty()) {
      WEFT_ASSIGN(S3Path path, parse_s3(url));
      return S3Object{.key = std::move(path.key), .size = listed.bytes, .etag = listed.tag};
    }
    WEFT_ASSIGN(S3Object object, known_or_asked(url));
    WEFT_TRY(check_same(url, listed, version_of(object)));
    return object;
  }
  Result<S3Object> known_or_asked(const std::string& url) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = known_.find(url); found != known_.end()) return found->second;
    }
    WEFT_ASSIGN(const S3Path path, parse_s3(url));
    WEFT_ASSIGN(S3Client* const client, connected());
    WEFT_ASSIGN(auto object, client->head(path));
    if (!object) return missing(url);
    return *std::move(object);
  }
  Result<std::unique_ptr<RemoteOutput>> new_object(const std::string& url, Appears appears) {
    WEFT_ASSIGN(const S3Path path, parse_s3(url));
    if (path.key.empty()) return fail(Code::invalid_argument, "cannot write " + url + ": it is a bucket; name an object in it");
    WEFT_ASSIGN(S3Client* const client, connected());
    return create_object(*client, path, appears);
  }

  /// By key.
  static Result<std::map<std::string, std::string>> etags_below(S3Client& client, const S3Path& directory) {
    WEFT_ASSIGN(const S3Listing listing, client.list(directory.bucket, directory.key + "/", true));
    std::map<std::string, std::string> etags;
    for (const S3Object& object : listing.objects) etags.emplace(object.key, object.etag);
    return etags;
  }
  /// Leaves in `old` only what is in the directories of the files.
  static void keep_others(std::map<std::string, std::string>& old, const S3Path& target, const std::string& directory,
                          const std::vector<StagedFile>& files) {
    DirectoryNames replaced;
    for (const StagedFile& file : files) {
      const std::string name = file.path.substr(directory.size() + 1);
      replaced.insert(name.substr(0, name.rfind('/')));
    }
    std::erase_if(old, [&](const auto& object) { return !is_in(object.first.substr(target.key.size() + 1), replaced); });
  }
  /// What publish() makes appear.
  struct NewObject {
    S3Path path;
    UploadReceipt upload{};  // without an id: it is empty
    std::vector<S3Part> parts{};
    bool there = false;  // a process that was killed has completed it
    bool shown = false;  // by this call, or perhaps
  };
  /// An error when an upload is gone.
  static Result<std::vector<NewObject>> new_objects(S3Client& client, const std::vector<StagedFile>& files) {
    std::vector<NewObject> objects(files.size());
    WEFT_TRY(in_parallel(kPublishingThreads, files.size(), [&](std::size_t i) -> Result<void> {
      NewObject& object = objects[i];
      WEFT_ASSIGN(object.path, parse_s3(files[i].path));
      if (files[i].receipt.empty()) return {};
      object.upload = parse_receipt(files[i].receipt);
      auto parts = client.parts(object.path, object.upload.id);
      if (!parts && parts.error().code() == Code::not_found) {
        WEFT_ASSIGN(const auto there, client.head(object.path));
        object.there = there && !object.upload.name.empty() && there->upload == object.upload.name;
      }
      if (object.there) return {};
      WEFT_ASSIGN(object.parts, std::move(parts));
      return {};
    }));
    return objects;
  }
  static Result<void> show(S3Client& client, std::vector<NewObject>& objects, const std::map<std::string, std::string>& old) {
    return in_parallel(kPublishingThreads, objects.size(), [&](std::size_t i) -> Result<void> {
      NewObject& object = objects[i];
      if (object.there) return {};
      object.shown = true;
      if (object.upload.id.empty()) return client.put(object.path, {});
      const auto before = old.find(object.path.key);
      return client.complete(object.path, object.upload.id, object.parts, before == old.end() ? std::string() : before->second,
                             object.upload.name);
    });
  }
  /// Uploads of the same names, asked for one by one, and of the one that check_writable() began.
  static Result<void> discard_of(S3Client& client, const std::vector<StagedFile>& files, const S3Path& mark) {
    return in_parallel(kPublishingThreads, files.size() + 1, [&](std::size_t i) -> Result<void> {
      S3Path path = mark;
      if (i < files.size()) {
        WEFT_ASSIGN(path, parse_s3(files[i].path));
      }
      WEFT_ASSIGN(const auto uploads, client.uploads_of(path));
      for (const S3Upload& upload : uploads) WEFT_TRY(client.abort(path, upload.id));
      return {};
    });
  }
  static Result<void> remove_others(S3Client& client, const S3Path& directory, const std::map<std::string, std::string>& old,
                                    const std::vector<NewObject>& objects) {
    std::set<std::string> kept;
    for (const NewObject& object : objects) kept.insert(object.path.key);
    std::vector<std::string> others;
    for (const auto& [key, etag] : old)
      if (!kept.contains(key)) others.push_back(key);
    return client.remove(directory.bucket, others);
  }
  /// The mark first, which may be there although the service did not say so: without it nobody takes the output for complete.
  static void take_back(S3Client& client, const std::vector<NewObject>& objects, const S3Path& mark) {
    std::vector<std::string> keys;
    for (const NewObject& object : objects)
      if (object.shown) keys.push_back(object.path.key);
    if (keys.empty() && !objects.empty()) return;
    auto removed = client.remove(mark.bucket, {mark.key});
    if (removed) removed = client.remove(mark.bucket, keys);
    if (!removed) Log("objects").warn("{}; remove it: its job has failed", removed.error().to_string());
  }

  /// What a directory holds, by name.
  Result<std::vector<ForeignEntry>> entries_in(const std::string& url) {
    WEFT_ASSIGN(const S3Path path, parse_s3(url));
    WEFT_ASSIGN(S3Client* const client, connected());
    WEFT_ASSIGN(const S3Listing listing, client->list(path.bucket, path.key.empty() ? "" : path.key + "/", false));
    std::vector<ForeignEntry> found;
    for (const std::string& prefix : listing.prefixes)
      found.push_back({url_of({path.bucket, prefix.substr(0, prefix.size() - 1)}), true});
    for (const S3Object& object : listing.objects)
      if (!is_mark(object, listing)) found.push_back({url_of({path.bucket, object.key}), false, object.size, object.modified});
    std::sort(found.begin(), found.end(), [](const ForeignEntry& a, const ForeignEntry& b) { return a.url < b.url; });
    return found;
  }
  Result<std::vector<ForeignEntry>> entries_of_pattern(const S3Path& path, const std::string& url) {
    WEFT_ASSIGN(S3Client* const client, connected());
    WEFT_ASSIGN(const S3Listing listing, client->list(path.bucket, std::string(fixed_prefix(path.key)), true));
    WEFT_ASSIGN(const Pattern pattern, Pattern::parse(path.key));
    std::map<std::string, ForeignEntry> found;
    for (const S3Object& object : listing.objects) {
      const std::size_t end = pattern.match(object.key);
      if (end == std::string::npos || is_mark(object, listing)) continue;
      const std::string name = url_of({path.bucket, object.key.substr(0, end)});
      found.try_emplace(name,
                        ForeignEntry{name, end != object.key.size(), end == object.key.size() ? object.size : 0, object.modified});
    }
    if (found.empty()) return fail(Code::not_found, "no object matches the pattern " + escaped(url));
    std::vector<ForeignEntry> all;
    for (auto& [name, entry] : found) all.push_back(std::move(entry));
    return all;
  }

  std::mutex mutex_;  // guards what follows
  std::optional<S3Settings> settings_;
  const HttpOptions options_{};
  std::unique_ptr<S3Client> client_;
  std::map<std::string, S3Object> known_;  // by URL
};

}  // namespace

std::unique_ptr<S3Files> s3_files() { return std::make_unique<ObjectFiles>(); }
std::unique_ptr<S3Files> s3_files(S3Settings settings, HttpOptions options) {
  return std::make_unique<ObjectFiles>(std::move(settings), std::move(options));
}

}  // namespace weft::storage::objects
