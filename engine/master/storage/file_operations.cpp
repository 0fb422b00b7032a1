#include "engine/master/storage/file_operations.hpp"

#include <algorithm>
#include <set>
#include <span>
#include <variant>
#include <vector>

#include "base/unguessable.hpp"
#include "engine/master/storage/storage_service.hpp"
#include "engine/master/storage/storage_time.hpp"

namespace weft::master {

using namespace storage;
using namespace storage::files;

namespace {

constexpr std::size_t kMostChecked = 1000;           // files in one reply
constexpr std::size_t kMostCheckedPlaces = 100'000;  // and their chunks

Result<FileReply> done(const Result<void>& result) {
  if (!result) return fail(result.error());
  return FileReply(Done{});
}
template <class T>
Result<FileReply> answered(Result<T> answer) {
  if (!answer) return fail(std::move(answer).error());
  return FileReply(std::move(*answer));
}

struct Operations {
  const Caller& caller;
  Namespace& tree;
  const DrainedTables& tables;
  const WriteSecret& secret;

  Result<FileReply> leased(const Result<LeaseId>& lease) const {
    if (!lease) return fail(lease.error());
    return FileReply(Leased{*lease, tree.lease_length()});
  }
  std::vector<NodeSite> sites(const std::vector<NodeId>& ids) const {
    std::vector<NodeSite> known;
    std::set<NodeId> seen;
    for (const NodeId id : ids)
      if (const StorageNode* node = tree.node(id); node != nullptr && seen.insert(id).second) known.push_back({id, *node});
    return known;
  }
  std::vector<NodeSite> named_in(std::span<const FileChunks> files) const {
    std::vector<NodeId> ids;
    for (const FileChunks& file : files)
      for (const ChunkPlace& place : file.chunks)
        for (const auto* list : {&place.nodes, &place.corrupt}) ids.insert(ids.end(), list->begin(), list->end());
    return sites(ids);
  }

  Result<FileReply> operator()(const MakeDirectory& it) const {
    return done(tree.make_directory(it.path, it.user, it.parents, unix_milliseconds()));
  }
  Result<FileReply> operator()(const LeaseDirectory& it) const {
    return leased(tree.lease_directory(it.path, it.user, unix_milliseconds(), steady_now(), it.take_over));
  }
  Result<FileReply> operator()(const CreateFile& it) const {
    return leased(tree.create(it.path, it.user, it.options, steady_now()));
  }
  Result<FileReply> operator()(const AllocateChunk& it) const {
    WEFT_ASSIGN(const Allocation made,
                tree.allocate(it.lease, it.writer, it.excluded, steady_now(), it.bytes, ChunkId(unguessable_number())));
    return FileReply(Allocated{made.chunk, sites(made.targets), key_to_write(secret, made.chunk)});
  }
  Result<FileReply> operator()(const SealChunk& it) const { return done(tree.seal(it.lease, it.chunk, it.durable, steady_now())); }
  Result<FileReply> operator()(const CompleteFile& it) const {
    return done(tree.complete(it.lease, unix_milliseconds(), steady_now()));
  }
  Result<FileReply> operator()(const Abandon& it) const { return done(tree.abandon(it.lease)); }
  Result<FileReply> operator()(const Renew& it) const {
    return leased(tree.renew(it.lease, steady_now()).map([&] { return it.lease; }));
  }
  Result<FileReply> operator()(const Remove& it) const { return done(tree.remove(it.path, it.recursive, steady_now(), it.id)); }
  Result<FileReply> operator()(const Rename& it) const { return done(tree.rename(it.from, it.to, it.replace, steady_now())); }
  Result<FileReply> operator()(const SetReplication& it) const { return done(tree.set_replication(it.path, it.replication)); }
  Result<FileReply> operator()(const SetMode& it) const { return done(tree.set_mode(it.path, it.mode, it.recursive)); }
  Result<FileReply> operator()(const SetOwner& it) const { return done(tree.set_owner(it.path, it.user, it.recursive)); }
  Result<FileReply> operator()(const SetQuota& it) const { return done(tree.set_quota(it.user, it.quota)); }
  Result<FileReply> operator()(const Stat& it) const { return answered(tree.stat(it.path)); }
  Result<FileReply> operator()(const List& it) const {
    WEFT_ASSIGN(auto entries, tree.list(it.path, it.after, kMostListed));
    return FileReply(Listing{std::move(entries)});
  }
  Result<FileReply> operator()(const Locate& it) const {
    WEFT_ASSIGN(FileChunks file, tree.locate(it.path, it.offset, it.length));
    auto nodes = named_in({&file, 1});
    return FileReply(Located{std::move(file), std::move(nodes), tree.safe_mode()});
  }
  Result<FileReply> operator()(const AskUsage& it) const { return answered(tree.usage(it.path)); }
  Result<FileReply> operator()(const Check& it) const {
    Checked reply;
    std::size_t places = 0;
    const std::size_t most = std::clamp<std::size_t>(it.most, 1, kMostChecked);
    const Actor actor{caller.user, caller.administrator};
    WEFT_TRY(tree.check(it.path, it.after, [&](const FileChunks& file) {
      if (!tree.reads(actor, file.file.path)) return true;
      places += file.chunks.size();
      reply.files.push_back(file);
      return reply.files.size() < most && places < kMostCheckedPlaces;
    }));
    reply.nodes = named_in(reply.files);
    return FileReply(std::move(reply));
  }
  Result<FileReply> operator()(const ListUsers&) const { return FileReply(Users{tree.users()}); }
  Result<FileReply> operator()(const AskReport&) const {
    StorageReport report = tree.report();
    for (NodeStorage& node : report.nodes)
      if (node.draining) node.to_move += tables.replicas_on(node.node.name);
    return FileReply(std::move(report));
  }
  Result<FileReply> operator()(const Drain& it) const {
    WEFT_TRY(tree.drain(it.worker, it.on));
    tables.drain(it.worker, it.on);
    return FileReply(Done{});
  }
  Result<FileReply> operator()(const Balance& it) const { return done(tree.balance(it.threshold)); }
  Result<FileReply> operator()(const LeaveSafeMode&) const {
    tree.leave_safe_mode();
    return FileReply(Done{});
  }
};

/// Each operation has a line here, so that a new one does not compile without.
struct MayDo {
  const Caller& caller;
  const Namespace& tree;
  const Actor actor{caller.user, caller.administrator};

  Result<void> operator()(const MakeDirectory& it) const { return tree.may_make(actor, it.path); }
  Result<void> operator()(const LeaseDirectory& it) const { return tree.may_make(actor, it.path); }
  Result<void> operator()(const CreateFile& it) const { return tree.may_replace(actor, it.path); }
  Result<void> operator()(const AllocateChunk& it) const { return tree.may_use(actor, it.lease); }
  Result<void> operator()(const SealChunk& it) const { return tree.may_use(actor, it.lease); }
  Result<void> operator()(const CompleteFile& it) const { return tree.may_complete(actor, it.lease); }
  Result<void> operator()(const Abandon& it) const { return tree.may_use(actor, it.lease); }
  Result<void> operator()(const Renew& it) const { return tree.may_use(actor, it.lease); }
  Result<void> operator()(const Remove& it) const { return tree.may_remove(actor, it.path); }
  Result<void> operator()(const Rename& it) const { return tree.may_rename(actor, it.from, it.to); }
  Result<void> operator()(const SetReplication& it) const { return tree.may_write(actor, it.path); }
  Result<void> operator()(const SetMode& it) const { return tree.may_own(actor, it.path, it.recursive); }
  Result<void> operator()(const SetOwner&) const { return caller.must_administer("give files to another user"); }
  Result<void> operator()(const Stat& it) const { return tree.may_reach(actor, it.path); }
  Result<void> operator()(const List& it) const { return tree.may_read(actor, it.path); }
  Result<void> operator()(const Locate& it) const { return tree.may_read(actor, it.path); }
  Result<void> operator()(const AskUsage& it) const { return tree.may_read(actor, it.path); }
  Result<void> operator()(const Check& it) const { return tree.may_read(actor, it.path); }
  Result<void> operator()(const ListUsers&) const { return {}; }
  Result<void> operator()(const AskReport&) const { return {}; }
  Result<void> operator()(const SetQuota&) const { return caller.must_administer("change quotas"); }
  Result<void> operator()(const Drain&) const { return caller.must_administer("drain workers"); }
  Result<void> operator()(const Balance&) const { return caller.must_administer("balance the workers' chunks"); }
  Result<void> operator()(const LeaveSafeMode&) const { return caller.must_administer("end the safe mode"); }
};

struct AuditOf {
  const Namespace& tree;

  Audited operator()(const MakeDirectory& it) const { return {"make directory", it.path}; }
  Audited operator()(const LeaseDirectory& it) const { return {"make directory", it.path}; }
  Audited operator()(const CreateFile& it) const { return {"write file", it.path}; }
  Audited operator()(const AllocateChunk&) const { return {"write file", "", "", false}; }
  Audited operator()(const SealChunk&) const { return {"write file", "", "", false}; }
  Audited operator()(const CompleteFile&) const { return {"write file", "", "", false}; }
  Audited operator()(const Abandon& it) const {
    const std::string directory = tree.directory_of(it.lease);
    return directory.empty() ? Audited{"abandon file", "", "", false} : Audited{"remove", directory};
  }
  Audited operator()(const Renew&) const { return {"renew lease", "", "", false}; }
  Audited operator()(const Remove& it) const { return {"remove", it.path}; }
  Audited operator()(const Rename& it) const { return {"rename", it.from, it.to}; }
  Audited operator()(const SetReplication& it) const { return {"change replication", it.path}; }
  Audited operator()(const SetMode& it) const { return {"change mode", it.path}; }
  Audited operator()(const SetOwner& it) const { return {"change owner", it.path, it.user}; }
  Audited operator()(const Stat& it) const { return {"look at", it.path, "", false}; }
  Audited operator()(const List& it) const { return {"list", it.path, "", false}; }
  /// Whatever part is asked for: its chunks can be read from then on. A reader locates a file once, and again where replicas fail.
  Audited operator()(const Locate& it) const { return {"read file", it.path}; }
  Audited operator()(const AskUsage& it) const { return {"look at", it.path, "", false}; }
  /// It names the chunks of all files below the path that the user may read.
  Audited operator()(const Check& it) const { return {"check", it.path}; }
  Audited operator()(const ListUsers&) const { return {"list users", "", "", false}; }
  Audited operator()(const AskReport&) const { return {"report", "", "", false}; }
  Audited operator()(const SetQuota& it) const { return {"change quota", it.user}; }
  Audited operator()(const Drain& it) const { return {it.on ? "drain worker" : "end drain", it.worker}; }
  Audited operator()(const Balance&) const { return {"balance", ""}; }
  Audited operator()(const LeaveSafeMode&) const { return {"leave safe mode", ""}; }
};

}  // namespace

Audited audited(const FileRequest& request, const Namespace& tree) { return std::visit(AuditOf{tree}, request); }

Result<void> may(const Caller& caller, const FileRequest& request, const Namespace& tree) {
  return caller.administrator ? Result<void>() : std::visit(MayDo{caller, tree}, request);
}

void set_owner(FileRequest& request, const std::string& user) {
  if (auto* const directory = std::get_if<MakeDirectory>(&request)) directory->user = user;
  if (auto* const leased = std::get_if<LeaseDirectory>(&request)) leased->user = user;
  if (auto* const file = std::get_if<CreateFile>(&request)) file->user = user;
}

Result<FileReply> apply(const Caller& caller, const FileRequest& request, const FilesAndTables& of) {
  return std::visit(Operations{caller, of.tree, of.tables, of.secret}, request);
}

}  // namespace weft::master
