#include "engine/master/file_service.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <span>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "engine/master/table_service.hpp"
#include "storage/files/protocol.hpp"
#include "storage/namespace/namespace.hpp"
#include "storage/namespace/namespace_store.hpp"

namespace weft::master {
namespace {

using namespace storage;
constexpr Duration kTick = std::chrono::milliseconds(100);
constexpr std::size_t kMostChecked = 1000;           // files in one reply
constexpr std::size_t kMostCheckedPlaces = 100'000;  // and their chunks

class FileService final : public StorageService {
 public:
  FileService(StorageShell shell, std::unique_ptr<NamespaceStore> store, NamespaceOptions options)
      : shell_(std::move(shell)),
        store_(std::move(store)),
        namespace_(options),
        tables_(shell_, options.lost_grace, [this](Published then) { publish(std::move(then)); }) {}
  ~FileService() override { timer_.reset(); }

  Result<void> begin() {
    WEFT_TRY(store_->load(namespace_, now()));
    WEFT_TRY(store_->load_tables([this](std::string_view key, std::string_view value) { return tables_.restore(key, value); }));
    tables_.begin(store_->cluster_id(), now());
    for (const std::string& name : namespace_.draining()) tables_.drain(name, true);
    const StorageReport report = namespace_.report();
    log_.info("cluster {}: {} files in {} directories, {} chunks", store_->cluster_id(), report.files, report.directories,
              report.chunks);
    safe_mode_ = report.safe_mode;
    if (safe_mode_) log_.info("safe mode: nothing is copied or erased until the workers have told of their chunks");
    tick();
    return {};
  }

  NodeId first_node() const override { return namespace_.next_node(); }

  void on_client_request(const rpc::Message& message, rpc::Responder responder) override {
    if (message.type == kTableRequest) return tables_.on_client_request(message, std::move(responder));
    if (message.type != kFileRequest)
      return responder.fail(Error(Code::invalid_argument, fmt::format("the master does not know message {}", message.type)));
    const auto request = decode_file_request(message);
    if (!request) return responder.fail(request.error());
    FileReply reply;
    if (auto done = apply(*request, reply); !done) return responder.fail(done.error());
    answer(*request, storage::encode(reply), std::move(responder));
  }

  void on_worker_request(const WorkerSite& worker, const rpc::Message& message, rpc::Responder responder) override {
    if (TableService::is_for_tables(message.type)) return tables_.on_worker_request(worker, message, std::move(responder));
    if (message.type == kStorageHello) return responder.reply(storage::encode(StorageSite{true, store_->cluster_id()}));
    if (message.type != kStorageJoin)
      return responder.fail(Error(Code::invalid_argument, fmt::format("the master does not know message {}", message.type)));
    const auto join = decode_storage_join(message);
    if (!join) return responder.fail(join.error());
    if (auto joined = namespace_.node_joined(worker.id, {worker.name, worker.host, worker.rack, join->address}, join->space, now());
        !joined)
      return responder.fail(joined.error());
    auto to = std::make_shared<rpc::Responder>(std::move(responder));
    publish([to](const Result<void>& written) { written ? to->reply({}) : to->fail(written.error()); });
  }

  Result<void> on_worker_notify(NodeId worker, const rpc::Message& message) override {
    switch (message.type) {
      case kStorageSpace: {
        WEFT_ASSIGN(const StorageJoin beat, decode_storage_join(message));
        return namespace_.heartbeat(worker, beat.space, now());
      }
      case kBlockReport: {
        WEFT_ASSIGN(const ChunkReport report, decode_chunk_report(message));
        return namespace_.block_report(worker, report.chunks, report.first, report.last);
      }
      case kChunkNews: {
        WEFT_ASSIGN(const ChunkNews news, decode_chunk_news(message));
        return on_news(worker, news);
      }
      default:
        return fail(Code::corrupt, fmt::format("unknown message {}", message.type));
    }
  }

  void worker_lost(NodeId worker) override {
    namespace_.node_lost(worker, now());
    tables_.worker_lost(worker, now());
  }

 private:
  static Time now() { return std::chrono::duration_cast<Time>(SystemClock().now().time_since_epoch()); }

  /// Some of the same kind.
  Result<void> on_notes(NodeId worker, std::span<const ChunkNote> notes) {
    std::vector<ChunkId> ids;
    for (const ChunkNote& note : notes) ids.push_back(note.chunk.id);
    switch (notes.front().event) {
      case ChunkEvent::sealed: {
        std::vector<ChunkInfo> sealed;
        for (const ChunkNote& note : notes) sealed.push_back(note.chunk);
        return namespace_.chunks_sealed(worker, sealed);
      }
      case ChunkEvent::corrupt:
        log_.warn("node {} found {} damaged chunks, the first is {}", worker.value(), ids.size(), to_string(ids.front()));
        return namespace_.chunks_corrupt(worker, ids);
      case ChunkEvent::lost:
        log_.warn("node {} lost {} chunks, the first is {}", worker.value(), ids.size(), to_string(ids.front()));
        return namespace_.chunks_lost(worker, ids);
      case ChunkEvent::erased:
        return namespace_.chunks_erased(worker, ids);
      case ChunkEvent::verified:
        return namespace_.chunks_verified(worker, ids);
    }
    return {};
  }

  Result<void> on_news(NodeId worker, const ChunkNews& news) {
    const auto& notes = news.notes;
    for (auto from = notes.begin(); from != notes.end();) {
      const auto to = std::find_if(from, notes.end(), [&](const ChunkNote& note) { return note.event != from->event; });
      WEFT_TRY(on_notes(worker, {from, to}));
      from = to;
    }
    for (const FailedCopy& copy : news.failed_copies) {
      log_.info("copying {} from node {} to node {} failed: {}", to_string(copy.chunk), worker.value(), copy.to.value(),
                copy.reason);
      (void)namespace_.copy_failed(worker, copy.chunk, copy.to, now());  // refused when it was given up before
    }
    return {};
  }

  /// Questions are answered at once; what changes something when it, and all that it may be a repetition of, is on disk.
  void answer(const FileRequest& request, rpc::Payload payload, rpc::Responder responder) {
    switch (request.operation) {
      case Operation::renew:
      case Operation::stat:
      case Operation::list:
      case Operation::locate:
      case Operation::usage:
      case Operation::check:
      case Operation::users:
      case Operation::report:
        return responder.reply(std::move(payload));
      default:
        break;
    }
    struct Answer {
      rpc::Payload payload;
      rpc::Responder responder;
    };
    auto waiting = std::make_shared<Answer>(Answer{std::move(payload), std::move(responder)});
    publish([waiting](const Result<void>& written) {
      written ? waiting->responder.reply(std::move(waiting->payload)) : waiting->responder.fail(written.error());
    });
  }

  /// Makes what changed durable; then carries out the commands that came with it, and then `then`. When it cannot, the master ends;
  /// the error says that another try is worth it, with the next one.
  void publish(Published then) {
    std::vector<Change> changes = namespace_.take_changes();
    for (Change& change : tables_.take_changes()) changes.push_back(std::move(change));
    auto commands = std::make_shared<std::vector<StorageCommand>>(namespace_.take_commands());
    if (changes.empty() && commands->empty() && !then) return;
    if (changes.empty() && committing_ == 0) {
      obey(*commands);
      if (then) then({});
      return;
    }
    ++committing_;
    store_->commit(std::move(changes), [this, alive = std::weak_ptr(alive_), commands, then = std::move(then),
                                        &reactor = shell_.reactor](Result<void> written) {
      reactor.post([this, alive, commands, then, written] {
        if (alive.expired()) return;
        --committing_;
        if (written) obey(*commands);
        if (then && written) then({});
        if (then && !written) then(fail(Code::unavailable, "the master ends: " + written.error().to_string()));
        if (!written) shell_.give_up(written.error());
      });
    });
  }

  void obey(const std::vector<StorageCommand>& commands) {
    std::map<NodeId, std::vector<StorageCommand>> by_node;
    for (const StorageCommand& command : commands) {
      const auto* copy = std::get_if<CopyChunk>(&command);
      const auto* erase = std::get_if<EraseChunks>(&command);
      by_node[copy ? copy->from : erase ? erase->node : std::get<VerifyChunk>(command).node].push_back(command);
    }
    for (const auto& [node, some] : by_node) shell_.send(node, kChunkCommands, storage::encode(some));
  }

  void tick() {
    namespace_.tick(now());
    tables_.tick(now());
    if (safe_mode_ && !namespace_.report().safe_mode) {
      safe_mode_ = false;
      log_.info("safe mode is over");
    }
    publish({});
    timer_ = shell_.reactor.after(kTick, [this] { tick(); });
  }

  /// The nodes named in the reply's places, or given.
  void add_nodes(FileReply& reply, std::vector<NodeId> named) {
    std::set<NodeId> known;
    for (const FileEntry& file : reply.files)
      for (const FilePlace& place : file.places)
        for (const auto* list : {&place.chunk.nodes, &place.chunk.corrupt}) named.insert(named.end(), list->begin(), list->end());
    for (const NodeId id : named) {
      if (!known.insert(id).second) continue;
      if (const StorageNode* node = namespace_.node(id)) reply.nodes.push_back({id, *node, {}, 0, false, 0, true});
    }
  }

  Result<void> apply(const FileRequest& request, FileReply& reply) {
    switch (request.operation) {
      case Operation::make_directory:
        return namespace_.make_directory(request.path, request.user, request.flag, unix_milliseconds());
      case Operation::create: {
        const CreateOptions options{request.replication, request.chunk_bytes, request.flag};
        WEFT_ASSIGN(reply.lease, namespace_.create(request.path, request.user, options, now()));
        return {};
      }
      case Operation::lease_directory: {
        WEFT_ASSIGN(reply.lease, namespace_.lease_directory(request.path, request.user, unix_milliseconds(), now()));
        return {};
      }
      case Operation::allocate: {
        WEFT_ASSIGN(Allocation allocation, namespace_.allocate(request.lease, request.other, request.nodes, now(), request.length));
        reply.chunk = allocation.chunk;
        add_nodes(reply, std::move(allocation.targets));
        return {};
      }
      case Operation::seal:
        return namespace_.seal(request.lease, request.chunk, request.nodes, now());
      case Operation::complete:
        return namespace_.complete(request.lease, unix_milliseconds(), now());
      case Operation::abandon:
        return namespace_.abandon(request.lease);
      case Operation::renew:
        return namespace_.renew(request.lease, now());
      case Operation::remove:
        return namespace_.remove(request.path, request.flag, now());
      case Operation::rename:
        return namespace_.rename(request.path, request.other, request.flag, now());
      case Operation::set_replication:
        return namespace_.set_replication(request.path, request.replication);
      case Operation::set_quota:
        return namespace_.set_quota(request.user, {request.length, request.offset});
      case Operation::drain:
        WEFT_TRY(namespace_.drain(request.other, request.flag));
        tables_.drain(request.other, request.flag);
        return {};
      case Operation::balance:
        return namespace_.balance(request.share);
      case Operation::leave_safe_mode:
        namespace_.leave_safe_mode();
        return {};
      default:
        return ask(request, reply);
    }
  }

  Result<void> ask(const FileRequest& request, FileReply& reply) {
    switch (request.operation) {
      case Operation::stat: {
        WEFT_ASSIGN(FileStatus status, namespace_.stat(request.path));
        reply.files.push_back({std::move(status), {}});
        return {};
      }
      case Operation::list: {
        WEFT_ASSIGN(auto entries,
                    namespace_.list(request.path, request.other, std::clamp<std::uint64_t>(request.length, 1, kMostListed)));
        reply.files.reserve(entries.size());
        for (FileStatus& entry : entries) reply.files.push_back({std::move(entry), {}});
        return {};
      }
      case Operation::locate: {
        WEFT_ASSIGN(auto places, namespace_.locate(request.path, request.offset, request.length));
        WEFT_ASSIGN(FileStatus status, namespace_.stat(request.path));
        FileEntry& file = reply.files.emplace_back();
        for (ChunkPlace& place : places)
          file.places.push_back({{place.info, status.replication, std::move(place.nodes), std::move(place.corrupt)}, place.offset});
        file.status = std::move(status);
        add_nodes(reply, {});
        reply.report.safe_mode = safe_mode_;
        return {};
      }
      case Operation::usage: {
        WEFT_ASSIGN(reply.usage, namespace_.usage(request.path));
        return {};
      }
      case Operation::check:
        return check(request, reply);
      case Operation::users:
        reply.users = namespace_.users();
        return {};
      case Operation::report:
        reply.report = namespace_.report();
        reply.nodes = std::move(reply.report.nodes);
        for (NodeStorage& node : reply.nodes)
          if (node.draining) node.to_move += tables_.replicas_on(node.node.name);
        return {};
      default:
        return fail(Code::invalid_argument,
                    fmt::format("the master does not know the file operation {}", static_cast<unsigned>(request.operation)));
    }
  }

  Result<void> check(const FileRequest& request, FileReply& reply) {
    std::size_t places = 0;
    const std::size_t most = std::clamp<std::size_t>(request.length, 1, kMostChecked);
    WEFT_TRY(namespace_.check(request.path, request.other, [&](const FileCheck& file) {
      FileEntry& entry = reply.files.emplace_back(FileEntry{file.file, {}});
      std::uint64_t offset = 0;
      for (const ChunkCheck& chunk : file.chunks) {
        entry.places.push_back({chunk, offset});
        offset += chunk.info.length;
      }
      places += file.chunks.size();
      return reply.files.size() < most && places < kMostCheckedPlaces;
    }));
    add_nodes(reply, {});
    reply.report.safe_mode = safe_mode_;
    return {};
  }

  StorageShell shell_;
  Log log_{"storage"};
  std::unique_ptr<NamespaceStore> store_;
  Namespace namespace_;
  TableService tables_;
  std::size_t committing_ = 0;
  bool safe_mode_ = false;
  std::unique_ptr<rpc::Timer> timer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace

StorageFactory file_service(FileServiceOptions options) {
  return [options = std::move(options)](StorageShell shell) -> Result<std::unique_ptr<StorageService>> {
    WEFT_ASSIGN(auto store, NamespaceStore::open(options.data_directory + "/namespace"));
    auto service = std::make_unique<FileService>(std::move(shell), std::move(store), options.options);
    WEFT_TRY(service->begin());
    return std::unique_ptr<StorageService>(std::move(service));
  };
}

}  // namespace weft::master
