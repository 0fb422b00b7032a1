#include "storage/files/file_system.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fnmatch.h>

#include "base/machine.hpp"
#include "base/text.hpp"
#include "storage/files/file_system_impl.hpp"
#include "storage/files/lease.hpp"
#include "storage/namespace/path.hpp"

namespace weft::storage {
namespace {

constexpr Duration kAskDeadline = std::chrono::seconds(15);
constexpr Duration kFirstPause = std::chrono::milliseconds(20);
constexpr Duration kLongestPause = std::chrono::seconds(1);
constexpr std::uint64_t kCheckedAtOnce = 1000;

ChunkClientOptions client_options(const FileSystemOptions& options) {
  ChunkClientOptions chunks;
  chunks.share = options.share;
  return chunks;
}

}  // namespace

Result<std::shared_ptr<FileSystem>> FileSystem::connect(const std::string& master, FileSystemOptions options) {
  WEFT_ASSIGN(auto endpoint, rpc::Endpoint::parse(master));
  auto files = std::make_shared<FileSystemImpl>(master, std::move(endpoint), std::move(options));
  WEFT_TRY(files->begin());
  return std::shared_ptr<FileSystem>(std::move(files));
}

FileSystemImpl::FileSystemImpl(std::string master, rpc::Endpoint endpoint, FileSystemOptions options)
    : options_(std::move(options)),
      reactor_(rpc::Reactor::start("weft-files")),
      master_(*reactor_, std::move(endpoint), std::move(master)),
      chunks_(std::make_unique<ChunkClient>(*reactor_, client_options(options_))) {
  if (options_.user.empty()) options_.user = user_name();
  if (options_.writer.empty()) options_.writer = machine_name();
}

FileSystemImpl::~FileSystemImpl() {
  chunks_.reset();
  master_.close();
  reactor_->stop();
}

Result<void> FileSystemImpl::begin() {
  return master_.connect().map([](auto&&) {});
}

Result<FileReply> FileSystemImpl::ask_once(const FileRequest& request, Duration deadline) {
  WEFT_ASSIGN(const rpc::Message answer, master_.call(kFileRequest, storage::encode(request), deadline));
  return decode_file_reply(answer);
}

Result<FileReply> FileSystemImpl::ask(const FileRequest& request, bool* repeated) {
  Patience patience(options_);
  for (Duration pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
    auto reply = ask_once(request, kAskDeadline);
    if (reply || !MasterLink::worth_another_try(reply.error()) || !patience.wait(reply.error(), pause)) return reply;
    if (repeated != nullptr) *repeated = true;
  }
}

Result<FileStatus> FileSystemImpl::stat(const std::string& path) {
  FileRequest request{Operation::stat, path};
  WEFT_ASSIGN(FileReply reply, ask(request));
  if (reply.files.size() != 1) return fail(Code::corrupt, "the master answered with another number of files than one");
  return std::move(reply.files[0].status);
}

Result<std::vector<FileStatus>> FileSystemImpl::list(const std::string& path) {
  std::vector<FileStatus> all;
  FileRequest request{Operation::list, path};
  request.length = kMostListed;
  while (true) {
    WEFT_ASSIGN(FileReply reply, ask(request));
    all.reserve(all.size() + reply.files.size());
    for (FileEntry& entry : reply.files) all.push_back(std::move(entry.status));
    if (reply.files.size() < kMostListed) return all;
    request.other = name_of(all.back().path);
  }
}

Result<std::vector<FilePiece>> FileSystemImpl::pieces(const std::string& path) {
  FileRequest request{Operation::locate, path};
  request.length = UINT64_MAX;
  WEFT_ASSIGN(FileReply reply, ask(request));
  std::vector<FilePiece> all;
  if (reply.files.size() != 1) return fail(Code::corrupt, "the master answered with another number of files than one");
  for (const FilePlace& place : reply.files[0].places) {
    FilePiece& piece = all.emplace_back(FilePiece{place.offset, place.chunk.info.length, {}});
    for (const NodeId id : place.chunk.nodes)
      for (const NodeStorage& node : reply.nodes)
        if (node.id == id) piece.hosts.push_back(node.node.host);
    std::sort(piece.hosts.begin(), piece.hosts.end());
    piece.hosts.erase(std::unique(piece.hosts.begin(), piece.hosts.end()), piece.hosts.end());
  }
  return all;
}

Result<void> FileSystemImpl::make_directory(const std::string& path, bool parents) {
  FileRequest request{Operation::make_directory, path, {}, options_.user};
  request.flag = parents;
  bool repeated = false;
  const auto made = ask(request, &repeated);
  if (made || (repeated && made.error().code() == Code::already_exists)) return {};
  return fail(made.error());
}

namespace {

class Leased final : public DirectoryLease {
 public:
  Leased(std::shared_ptr<FileSystemImpl> files, LeaseId id) : lease_(std::move(files), id) {}
  ~Leased() override { lease_.abandon(); }

 private:
  Lease lease_;
};

}  // namespace

Result<std::unique_ptr<DirectoryLease>> FileSystemImpl::lease_directory(const std::string& path) {
  WEFT_ASSIGN(const FileReply reply, ask(FileRequest{Operation::lease_directory, path, {}, options_.user}));
  return std::make_unique<Leased>(shared_from_this(), reply.lease);
}

Result<void> FileSystemImpl::remove(const std::string& path, bool recursive) {
  FileRequest request{Operation::remove, path};
  request.flag = recursive;
  bool repeated = false;
  const auto gone = ask(request, &repeated);
  if (gone || (repeated && gone.error().code() == Code::not_found)) return {};
  return fail(gone.error());
}

Result<void> FileSystemImpl::rename(const std::string& from, const std::string& to, bool replace) {
  FileRequest request{Operation::rename, from, to};
  request.flag = replace;
  bool repeated = false;
  const auto renamed = ask(request, &repeated);
  if (renamed || (repeated && renamed.error().code() == Code::not_found && stat(to) && !stat(from))) return {};
  return fail(renamed.error());
}

Result<void> FileSystemImpl::set_replication(const std::string& path, std::uint32_t replication) {
  FileRequest request{Operation::set_replication, path};
  request.replication = replication;
  return ask(request).map([](auto&&) {});
}

Result<Usage> FileSystemImpl::usage(const std::string& path) {
  return ask(FileRequest{Operation::usage, path}).map([](FileReply&& reply) { return reply.usage; });
}

Result<void> FileSystemImpl::check(const std::string& path, const Visit& visit) {
  FileRequest request{Operation::check, path};
  request.length = kCheckedAtOnce;
  while (true) {
    WEFT_ASSIGN(const FileReply reply, ask(request));
    if (reply.files.empty()) return {};
    for (const FileEntry& entry : reply.files) visit(entry, reply.nodes);
    request.other = reply.files.back().status.path;
  }
}

Result<FileReport> FileSystemImpl::report() {
  FileReport report;
  WEFT_ASSIGN(FileReply storage, ask(FileRequest{Operation::report}));
  report.storage = std::move(storage.report);
  report.storage.nodes = std::move(storage.nodes);
  WEFT_ASSIGN(FileReply users, ask(FileRequest{Operation::users}));
  report.users = std::move(users.users);
  return report;
}

Result<void> FileSystemImpl::set_quota(const std::string& user, const Quota& quota) {
  FileRequest request{Operation::set_quota, {}, {}, user};
  request.length = quota.bytes;
  request.offset = quota.entries;
  return ask(request).map([](auto&&) {});
}

Result<void> FileSystemImpl::drain(const std::string& worker, bool on) {
  FileRequest request{Operation::drain, {}, worker};
  request.flag = on;
  return ask(request).map([](auto&&) {});
}

Result<void> FileSystemImpl::balance(double threshold) {
  FileRequest request{Operation::balance};
  request.share = threshold;
  return ask(request).map([](auto&&) {});
}

Result<void> FileSystemImpl::leave_safe_mode() {
  return ask(FileRequest{Operation::leave_safe_mode}).map([](auto&&) {});
}

Result<std::unique_ptr<FileReader>> FileSystemImpl::open(const std::string& path) {
  FileRequest request{Operation::locate, path};
  request.length = UINT64_MAX;
  WEFT_ASSIGN(FileReply located, ask(request));
  if (located.files.size() != 1) return fail(Code::corrupt, "the master answered with another number of files than one");
  return make_reader(shared_from_this(), std::move(located));
}

Result<std::unique_ptr<FileWriter>> FileSystemImpl::create(const std::string& path, const CreateOptions& options) {
  FileRequest request{Operation::create, path, {}, options_.user};
  request.replication = options.replication;
  request.chunk_bytes = options.chunk_bytes;
  request.flag = options.overwrite;
  WEFT_ASSIGN(const FileReply reply, ask(request));
  return make_writer(shared_from_this(), path, reply.lease, options);
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
  if (pattern.find_first_of("*?[") == std::string::npos || stat(pattern)) return std::vector{pattern};
  std::vector<std::string> found;
  WEFT_TRY(expand(*this, "/", names_of(pattern), found));
  if (found.empty()) return fail(Code::not_found, fmt::format("nothing matches {}", escaped(pattern)));
  return found;
}

ChunkLocation location_of(const FilePlace& place, const std::vector<NodeStorage>& nodes, const std::string& host) {
  ChunkLocation location{place.chunk.info, {}};
  const auto add = [&](const std::vector<NodeId>& ids, std::vector<std::string>& to) {
    for (const bool here : {true, false})
      for (const NodeId id : ids)
        for (const NodeStorage& node : nodes)
          if (node.id == id && (node.node.host == host || node.node.name == host) == here) to.push_back(node.node.address);
  };
  add(place.chunk.nodes, location.replicas);
  add(place.chunk.corrupt, location.damaged);
  return location;
}

}  // namespace weft::storage
