#include "storage/files/file_system.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fnmatch.h>

#include "base/machine.hpp"
#include "base/rpc/credentials.hpp"
#include "base/text.hpp"
#include "storage/files/file_system_impl.hpp"
#include "storage/files/lease.hpp"
#include "storage/namespace/path.hpp"
#include "storage/pattern.hpp"

namespace weft::storage::files {
namespace {

constexpr Duration kAskDeadline = std::chrono::seconds(15);
constexpr Retry::Pauses kPauses{std::chrono::milliseconds(20), std::chrono::seconds(1)};
constexpr std::uint64_t kCheckedAtOnce = 1000;

ChunkClientOptions client_options(const FileSystemOptions& options) {
  ChunkClientOptions chunks;
  chunks.share = options.share;
  chunks.racks = options.racks;
  return chunks;
}

FileSystemOptions with_names(FileSystemOptions options) {
  if (options.user.empty()) options.user = user_name();
  if (options.writer.empty()) options.writer = machine_name();
  return options;
}

}  // namespace

Result<std::shared_ptr<FileSystem>> FileSystem::connect(const std::string& master, FileSystemOptions options) {
  WEFT_ASSIGN(auto endpoint, rpc::Endpoint::parse_list(master));
  WEFT_ASSIGN(auto security, rpc::security_of_environment());
  auto files = std::make_shared<FileSystemImpl>(master, std::move(endpoint), std::move(options), std::move(security));
  WEFT_TRY(files->begin());
  return std::shared_ptr<FileSystem>(std::move(files));
}

FileSystemImpl::FileSystemImpl(std::string master, rpc::Endpoint endpoint, FileSystemOptions options, rpc::Security security)
    : options_(with_names(std::move(options))),
      reactor_(rpc::Reactor::start("weft-files", std::move(security))),
      master_(*reactor_, std::move(endpoint), std::move(master), options_.user),
      chunks_(std::make_unique<ChunkClient>(*reactor_, client_options(options_))) {}

FileSystemImpl::~FileSystemImpl() {
  chunks_.reset();
  master_.close();
  reactor_->stop();
}

Result<void> FileSystemImpl::begin() { return master_.await(Retry::at_first(options_, kPauses)); }

Result<FileReply> FileSystemImpl::ask_for_once(const FileRequest& request, Duration deadline) {
  WEFT_ASSIGN(const rpc::Message answer, master_.call(kFileRequest, encode(request), deadline));
  return decode_file_reply(answer);
}

Result<FileReply> FileSystemImpl::ask_for(const FileRequest& request, bool* repeated) {
  WEFT_ASSIGN(const rpc::Message answer,
              master_.call(
                  kFileRequest, [&] { return encode(request); }, kAskDeadline, Retry(options_, kPauses), repeated));
  return decode_file_reply(answer);
}

Result<FileStatus> FileSystemImpl::stat(const std::string& path) { return ask(Stat{path}); }

Result<std::vector<FileStatus>> FileSystemImpl::list(const std::string& path) {
  std::vector<FileStatus> all;
  for (List some{path, {}};; some.after = name_of(all.back().path)) {
    WEFT_ASSIGN(Listing listing, ask(some));
    const bool end = listing.entries.size() < kMostListed;
    std::move(listing.entries.begin(), listing.entries.end(), std::back_inserter(all));
    if (end) return all;
  }
}

Result<FileLayout> FileSystemImpl::layout(const std::string& path) {
  WEFT_ASSIGN(const Located located, ask(Locate{path, 0, UINT64_MAX}));
  FileLayout layout{located.file.file, {}};
  for (const ChunkPlace& place : located.file.chunks) {
    FilePiece& piece = layout.pieces.emplace_back(FilePiece{place.offset, place.info.length, {}});
    for (const NodeId id : place.nodes)
      for (const NodeSite& site : located.nodes)
        if (site.id == id) piece.hosts.push_back(site.node.host);
    std::sort(piece.hosts.begin(), piece.hosts.end());
    piece.hosts.erase(std::unique(piece.hosts.begin(), piece.hosts.end()), piece.hosts.end());
  }
  return layout;
}

Result<void> FileSystemImpl::make_directory(const std::string& path, bool parents) {
  return done_or(Code::already_exists, [&](bool* repeated) { return ask(MakeDirectory{path, options_.user, parents}, repeated); });
}

namespace {

class HeldLease final : public DirectoryLease {
 public:
  HeldLease(std::shared_ptr<FileSystemImpl> files, const Leased& leased) : lease_(std::move(files), leased) {}
  ~HeldLease() override {
    if (!left_) lease_.abandon();
  }
  void leave() override {
    lease_.end();
    left_ = true;
  }

 private:
  Lease lease_;
  bool left_ = false;
};

}  // namespace

Result<std::unique_ptr<DirectoryLease>> FileSystemImpl::lease_directory(const std::string& path, bool take_over) {
  bool repeated = false;
  auto leased = ask(LeaseDirectory{path, options_.user, take_over}, &repeated);
  // A master that made the directory and died before its answer: the lease is this process's, and nobody knows its number.
  if (!leased && repeated && !take_over && leased.error().code() == Code::already_exists)
    leased = ask(LeaseDirectory{path, options_.user, true});
  if (!leased) return fail(std::move(leased).error());
  return std::make_unique<HeldLease>(shared_from_this(), *leased);
}

Result<void> FileSystemImpl::remove(const std::string& path, bool recursive) {
  // A request whose answer was lost must not remove what somebody has made there since.
  WEFT_ASSIGN(const FileStatus there, ask(Stat{path}));
  return done_or(Code::not_found, [&](bool* repeated) { return ask(Remove{path, recursive, there.id}, repeated); });
}

Result<void> FileSystemImpl::rename(const std::string& from, const std::string& to, bool replace) {
  bool repeated = false;
  const auto renamed = ask(Rename{from, to, replace}, &repeated);
  if (renamed || (repeated && renamed.error().code() == Code::not_found && stat(to) && !stat(from))) return {};
  return fail(renamed.error());
}

Result<void> FileSystemImpl::set_mode(const std::string& path, std::uint32_t mode, bool recursive) {
  return ask(SetMode{path, mode, recursive}).map([](Done) {});
}

Result<void> FileSystemImpl::set_owner(const std::string& path, const std::string& user, bool recursive) {
  return ask(SetOwner{path, user, recursive}).map([](Done) {});
}

Result<void> FileSystemImpl::set_replication(const std::string& path, std::uint32_t replication) {
  return ask(SetReplication{path, replication}).map([](Done) {});
}

Result<Usage> FileSystemImpl::usage(const std::string& path) { return ask(AskUsage{path}); }

Result<void> FileSystemImpl::check(const std::string& path, const Visit& visit) {
  for (Check some{path, {}, kCheckedAtOnce};;) {
    WEFT_ASSIGN(const Checked checked, ask(some));
    if (checked.files.empty()) return {};
    for (const FileChunks& file : checked.files) visit(file, checked.nodes);
    some.after = checked.files.back().file.path;
  }
}

Result<FileReport> FileSystemImpl::report() {
  WEFT_ASSIGN(StorageReport storage, ask(AskReport{}));
  WEFT_ASSIGN(Users users, ask(ListUsers{}));
  return FileReport{std::move(storage), std::move(users.users)};
}

Result<void> FileSystemImpl::set_quota(const std::string& user, const Quota& quota) {
  return ask(SetQuota{user, quota}).map([](Done) {});
}
Result<void> FileSystemImpl::drain(const std::string& worker, bool on) {
  return ask(Drain{worker, on}).map([](Done) {});
}
Result<void> FileSystemImpl::balance(double threshold) {
  return ask(Balance{threshold}).map([](Done) {});
}
Result<void> FileSystemImpl::leave_safe_mode() {
  return ask(LeaveSafeMode{}).map([](Done) {});
}

Result<std::unique_ptr<FileReader>> FileSystemImpl::open(const std::string& path) {
  WEFT_ASSIGN(Located located, ask(Locate{path, 0, UINT64_MAX}));
  return make_reader(shared_from_this(), std::move(located));
}

Result<std::unique_ptr<FileWriter>> FileSystemImpl::create(const std::string& path, const CreateOptions& options) {
  WEFT_ASSIGN(const Leased leased, ask(CreateFile{path, options_.user, options}));
  return make_writer(shared_from_this(), path, leased, options);
}

namespace {

/// Paths below `at` that match the names of the pattern.
Result<void> expand(FileSystem& files, const std::string& at, std::span<const std::string_view> names,
                    std::vector<std::string>& found) {
  if (names.empty()) {
    found.push_back(at);
    return {};
  }
  const std::string pattern(names.front());
  if (pattern == "**") {  // this directory and all below
    if (names.size() == 1) {
      found.push_back(at);
      return {};
    }
    WEFT_TRY(expand(files, at, names.subspan(1), found));
    WEFT_ASSIGN(const auto below, files.list(at));
    for (const FileStatus& entry : below) {
      const char first = name_of(entry.path).front();
      if (entry.directory && first != '.' && first != '_') WEFT_TRY(expand(files, entry.path, names, found));
    }
    return {};
  }
  if (pattern.find_first_of("*?[") == std::string::npos) {
    const std::string path = joined(at, pattern);
    const auto status = files.stat(path);
    if (!status && status.error().code() == Code::not_found) return {};
    if (!status) return fail(status.error());
    if (!status->directory && names.size() > 1) return {};
    return expand(files, path, names.subspan(1), found);
  }
  WEFT_ASSIGN(const auto entries, files.list(at));
  for (const FileStatus& entry : entries) {
    const std::string name(name_of(entry.path));
    if (::fnmatch(pattern.c_str(), name.c_str(), FNM_PERIOD) != 0 || (names.size() > 1 && !entry.directory)) continue;
    WEFT_TRY(expand(files, entry.path, names.subspan(1), found));
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> FileSystem::glob(const std::string& written) {
  WEFT_ASSIGN(const std::string pattern, parse_path(written));
  if (!is_pattern(pattern) || stat(pattern)) return std::vector{pattern};
  WEFT_ASSIGN(const auto patterns, without_braces(pattern));
  std::vector<std::string> found;
  for (const std::string& one : patterns) WEFT_TRY(expand(*this, "/", names_of(one), found));
  if (found.empty()) return fail(Code::not_found, fmt::format("nothing matches {}", escaped(pattern)));
  return found;
}

ChunkLocation location_of(const ChunkPlace& place, const std::vector<NodeSite>& nodes, const std::string& host,
                          const std::string& rack) {
  const auto distance = [&](const StorageNode& node) {
    if (node.host == host || node.name == host) return 0;
    return !rack.empty() && node.rack == rack ? 1 : 2;
  };
  const auto nearest_first = [&](const std::vector<NodeId>& ids) {
    std::vector<std::string> addresses;
    for (const int wanted : {0, 1, 2})
      for (const NodeId id : ids)
        for (const auto& [known, node] : nodes)
          if (known == id && distance(node) == wanted) addresses.push_back(node.address);
    return addresses;
  };
  return {place.info, nearest_first(place.nodes), nearest_first(place.corrupt)};
}

}  // namespace weft::storage::files
