// Random events in random orders, against a model that keeps nothing but a map of paths. The seed is printed; WEFT_LONG=1 runs
// more.
#include "base/random.hpp"

#include <cstdlib>
#include <optional>

#include "base/sanitized.hpp"
#include "storage/namespace/path.hpp"
#include "tests/storage/namespace/world.hpp"

namespace weft::storage {
namespace {

struct ModelFile {
  bool directory = false;
  std::string user;
  std::uint32_t replication = 0;
  std::vector<ChunkInfo> chunks;
  bool operator==(const ModelFile&) const = default;
};

/// What the namespace is to be: paths and nothing else.
class Model {
 public:
  Model() { files["/"] = {true, "weft", 0, {}}; }

  bool directory(const std::string& path) const { return files.contains(path) && files.at(path).directory; }
  bool can_hold(const std::string& path) const { return directory(std::string(parent_of(path))); }
  std::vector<std::string> below(const std::string& path) const {
    std::vector<std::string> found;
    for (const auto& [name, file] : files)
      if (name != path && (path == "/" || name.starts_with(path + "/"))) found.push_back(name);
    return found;
  }
  void remove(const std::string& path) {
    for (const std::string& name : below(path)) files.erase(name);
    files.erase(path);
  }

  std::map<std::string, ModelFile> files;
};

class Trial {
 public:
  explicit Trial(std::uint64_t seed) : random_(seed), world_(options(seed)) {
    world_.slow = true;
    for (int i = 0; i < 6; ++i) world_.add("w" + std::to_string(i), i % 2 == 0 ? "A" : "B");
  }

  void events(int count) {
    for (int i = 0; i < count && !testing::Test::HasFailure(); ++i) {
      event();
      if (random_.chance(0.3)) obey_some();
      if (random_.chance(0.3)) world_.keep();
      check();
    }
  }
  /// All workers come, everything that can be repaired is.
  void settle() {
    if (!drained_.empty()) {
      EXPECT_TRUE(world_.ns->drain(drained_, false)) << drained_;
    }
    world_.obey();
    world_.slow = false;
    for (auto& [name, worker] : world_.workers) {
      world_.erase(worker);
      world_.tell(worker);
    }
    for (auto& [name, worker] : world_.workers)
      if (worker.node == NodeId{}) world_.join(worker);
    world_.step();  // what is stale goes with the first tick
    const bool calm = world_.until(
        [&] {
          const StorageReport report = world_.ns->report();
          return !report.safe_mode && report.under_replicated == 0 && report.over_replicated == 0 && report.copies == 0 &&
                 report.open_files == 0 && report.trashed == 0;
        },
        1500);
    const StorageReport report = world_.ns->report();
    EXPECT_TRUE(calm) << report.under_replicated << " lack replicas, " << report.copies << " copies, safe mode "
                      << report.safe_mode;
    EXPECT_EQ(report.missing_chunks, lost_.size());
    std::set<ChunkId> known;
    for (const auto& [path, file] : model_.files) {
      if (file.directory) continue;
      const auto places = world_.ns->locate(path, 0, UINT64_MAX).value().chunks;
      for (const ChunkPlace& place : places) {
        known.insert(place.info.id);
        if (lost_.contains(place.info.id)) continue;
        EXPECT_EQ(place.nodes.size(), file.replication) << path;
        for (const NodeId node : place.nodes) {
          const auto& disk = world_.by_node(node)->disk;
          ASSERT_TRUE(disk.contains(place.info.id)) << path;
          EXPECT_EQ(disk.at(place.info.id), place.info) << path;
        }
      }
    }
    for (const auto& [name, worker] : world_.workers)
      for (const auto& [id, info] : worker.disk)
        EXPECT_TRUE(known.contains(id)) << "chunk " << id.value() << " is left on " << name;
  }
  void restart() { world_.restart(); }
  const std::vector<std::string>& commands() const { return world_.commands; }
  std::string describe() const { return storage::describe(*world_.ns); }

 private:
  static NamespaceOptions options(std::uint64_t seed) {
    NamespaceOptions options;
    options.lease = 20s;
    options.reclaim_delay = 5s;
    options.seed = seed;
    return options;
  }

  std::string some_path() {
    std::string path;
    const auto depth = 1 + random_.below(3);
    for (std::uint64_t i = 0; i < depth; ++i) path += "/" + std::string(1, static_cast<char>('a' + random_.below(4)));
    return path;
  }
  PretendedWorker& some_worker() {
    auto at = world_.workers.begin();
    std::advance(at, random_.below(world_.workers.size()));
    return at->second;
  }

  void event() {
    const auto what = random_.below(100);
    if (what < 10) return make_directory();
    if (what < 35) return begin_or_go_on_writing();
    if (what < 42) return rename();
    if (what < 48) return remove();
    if (what < 52) return set_replication();
    if (what < 60) return kill_or_revive();
    if (what < 63) return corrupt();
    if (what < 65) return drain();
    if (what < 67) return fail_copy();
    if (what < 69) return stale();
    if (what == 69) return restart();
    step();
  }

  void step() {
    world_.now += 200ms;
    for (auto& [name, worker] : world_.workers)
      if (worker.node != NodeId{}) {
        EXPECT_TRUE(world_.ns->heartbeat(worker.node, worker.space(), world_.now));
      }
    world_.ns->tick(world_.now);
    if (random_.chance(0.5)) obey_some();
  }
  void obey_some() {
    world_.obey();
    for (auto& [name, worker] : world_.workers) {
      if (random_.chance(0.3)) world_.erase(worker);
      if (random_.chance(0.3)) world_.tell(worker);
    }
  }

  void make_directory() {
    const std::string path = some_path();
    const bool parents = random_.chance(0.5);
    bool good = parents ? true : model_.can_hold(path) && !model_.files.contains(path);
    std::string at;
    for (const std::string_view name : names_of(path)) {
      at += "/" + std::string(name);
      if (parents && model_.files.contains(at) && !model_.directory(at)) good = false;
    }
    const auto made = world_.ns->make_directory(path, "ann", parents, 1);
    ASSERT_EQ(made.has_value(), good) << path;
    if (!good) return;
    at.clear();
    for (const std::string_view name : names_of(path)) {
      at += "/" + std::string(name);
      model_.files.emplace(at, ModelFile{true, "ann", 0, {}});
    }
  }

  struct Writing {
    std::string path;
    CreateOptions options;
    std::vector<ChunkInfo> chunks;
    std::optional<std::pair<Allocation, ChunkInfo>> pending;
    Time touched{0};
  };
  void begin_or_go_on_writing() {
    if (writing_.empty() || random_.chance(0.3)) {
      Writing fresh;
      fresh.path = some_path();
      fresh.options.replication = static_cast<std::uint32_t>(1 + random_.below(4));
      fresh.options.overwrite = random_.chance(0.5);
      const bool good = model_.can_hold(fresh.path) && !model_.directory(fresh.path) &&
                        (fresh.options.overwrite || !model_.files.contains(fresh.path));
      const auto lease = world_.ns->create(fresh.path, "bob", fresh.options, world_.now);
      ASSERT_EQ(lease.has_value(), good) << fresh.path;
      if (good) writing_[*lease] = std::move(fresh);
      return;
    }
    auto at = writing_.begin();
    std::advance(at, random_.below(writing_.size()));
    auto& [lease, file] = *at;
    if (!world_.ns->renew(lease, world_.now)) {  // it was silent for too long
      writing_.erase(at);
      return;
    }
    const auto what = random_.below(10);
    if (what == 0) {
      ASSERT_TRUE(world_.ns->abandon(lease));
      writing_.erase(at);
    } else if (what <= 2) {
      const bool good = model_.can_hold(file.path) && !model_.directory(file.path) &&
                        (file.options.overwrite || !model_.files.contains(file.path));
      const auto done = world_.ns->complete(lease, 1, world_.now);
      ASSERT_EQ(done.has_value(), good) << file.path;
      if (good) {
        model_.files[file.path] = {false, "bob", file.options.replication, file.chunks};
        ASSERT_TRUE(world_.ns->complete(lease, 1, world_.now));
        writing_.erase(at);
      }
    } else if (what <= 5 || !file.pending) {
      const auto allocation = world_.ns->allocate(lease, random_.chance(0.5) ? some_worker().name : "", {}, world_.now);
      if (!allocation) return;  // nobody is there
      const ChunkInfo info{allocation->chunk, 1 + random_.below(100'000), static_cast<std::uint32_t>(random_.below(1u << 30))};
      file.pending = {{*allocation, info}};
    } else {
      std::vector<NodeId> durable;
      const auto& [allocation, info] = *file.pending;
      for (const NodeId target : allocation.targets) {
        PretendedWorker* worker = world_.by_node(target);
        if (worker == nullptr || (!durable.empty() && random_.chance(0.2))) continue;
        worker->disk[info.id] = info;
        durable.push_back(target);
        if (random_.chance(0.5)) world_.happened(*worker, ChunkEvent::sealed, info);
      }
      if (durable.empty()) {
        file.pending.reset();
        return;
      }
      ASSERT_TRUE(world_.ns->seal(lease, info, durable, world_.now));
      ASSERT_TRUE(world_.ns->seal(lease, info, durable, world_.now));
      file.chunks.push_back(info);
      file.pending.reset();
    }
  }

  void rename() {
    const std::string from = some_path(), to = some_path();
    const bool replace = random_.chance(0.5);
    bool good = model_.files.contains(from) && model_.can_hold(to) && !(to + "/").starts_with(from + "/");
    if (from == to) good = model_.files.contains(from);
    if (good && from != to && model_.files.contains(to))
      good = replace && model_.directory(from) == model_.directory(to) && !from.starts_with(to + "/");
    const auto renamed = world_.ns->rename(from, to, replace, world_.now);
    ASSERT_EQ(renamed.has_value(), good) << from << " " << to << (renamed ? "" : renamed.error().to_string());
    if (!good || from == to) return;
    model_.remove(to);
    for (const std::string& name : model_.below(from)) {
      auto moved = model_.files.extract(name);
      moved.key() = to + name.substr(from.size());
      model_.files.insert(std::move(moved));
    }
    auto moved = model_.files.extract(from);
    moved.key() = to;
    model_.files.insert(std::move(moved));
  }
  void remove() {
    const std::string path = some_path();
    const bool recursive = random_.chance(0.3);
    const bool good = model_.files.contains(path) && (recursive || model_.below(path).empty());
    ASSERT_EQ(world_.ns->remove(path, recursive, world_.now).has_value(), good) << path;
    if (good) model_.remove(path);
  }
  void set_replication() {
    const std::string path = some_path();
    const auto replication = static_cast<std::uint32_t>(1 + random_.below(4));
    ASSERT_EQ(world_.ns->set_replication(path, replication).has_value(), model_.files.contains(path)) << path;
    for (auto& [name, file] : model_.files)
      if (!file.directory && (name == path || name.starts_with(path + "/"))) file.replication = replication;
  }
  void kill_or_revive() {
    PretendedWorker& worker = some_worker();
    if (worker.node == NodeId{}) return world_.join(worker);
    const auto up =
        std::count_if(world_.workers.begin(), world_.workers.end(), [](const auto& item) { return item.second.node != NodeId{}; });
    if (up > 3) world_.kill(worker);
  }
  /// Only where another good replica is.
  void corrupt() {
    PretendedWorker& worker = some_worker();
    if (worker.node == NodeId{} || worker.disk.empty()) return;
    auto at = worker.disk.begin();
    std::advance(at, random_.below(worker.disk.size()));
    const ChunkInfo info = at->second;
    if (!another_has(worker, info)) return;
    world_.damage(worker, info);
    world_.tell(worker);  // before the last good one can be taken for surplus
  }
  /// One that is not to be erased.
  bool another_has(const PretendedWorker& worker, const ChunkInfo& info) {
    for (const auto& [path, file] : model_.files) {
      if (std::find(file.chunks.begin(), file.chunks.end(), info) == file.chunks.end()) continue;
      const auto places = world_.ns->locate(path, 0, UINT64_MAX).value().chunks;
      for (const ChunkPlace& place : places)
        for (const NodeId node : place.nodes)
          if (place.info == info && node != worker.node && world_.by_node(node)->disk.contains(info.id)) return true;
    }
    return false;
  }
  void drain() {
    const auto draining =
        std::find_if(world_.workers.begin(), world_.workers.end(), [&](const auto& item) { return item.first == drained_; });
    if (draining != world_.workers.end()) {
      ASSERT_TRUE(world_.ns->drain(drained_, false));
      drained_.clear();
      return;
    }
    const PretendedWorker& worker = some_worker();
    if (worker.node == NodeId{}) return;
    ASSERT_TRUE(world_.ns->drain(worker.name, true));
    drained_ = worker.name;
  }
  void fail_copy() { ASSERT_FALSE(world_.ns->copy_failed(NodeId(99'999), ChunkId(1), NodeId(99'998), world_.now)); }
  void stale() {
    PretendedWorker& worker = some_worker();
    const ChunkId id(1'000'000 + random_.below(1000));
    if (worker.node != NodeId{}) return;
    worker.disk[id] = {id, 10, 1};
  }

  /// The namespace is what the model says, at every moment.
  void check() {
    std::map<std::string, ModelFile> seen;
    const std::function<void(const FileStatus&)> visit = [&](const FileStatus& status) {
      ModelFile& file = seen[status.path];
      file = {status.directory, status.user, status.replication, {}};
      if (!status.directory) {
        const auto places = world_.ns->locate(status.path, 0, UINT64_MAX).value().chunks;
        for (const ChunkPlace& place : places) file.chunks.push_back(place.info);
        return;
      }
      const auto entries = world_.ns->list(status.path, "", 1000).value();
      for (const FileStatus& entry : entries) visit(entry);
    };
    visit(world_.ns->stat("/").value());
    ASSERT_EQ(seen.size(), model_.files.size());
    ASSERT_TRUE(seen == model_.files);
  }

  Random random_;
  World world_;
  Model model_;
  std::map<LeaseId, Writing> writing_;
  std::string drained_;
  std::set<ChunkId> lost_;
};

constexpr int kUsualRounds = kSanitized ? 150 : 2000;  // it is twenty times slower

int rounds() { return std::getenv("WEFT_LONG") != nullptr ? 30'000 : kUsualRounds; }

TEST(RandomNamespace, FollowsAModelAndRepairsItselfWhateverHappens) {
  for (int seed = 0; seed < rounds(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Trial run(static_cast<std::uint64_t>(seed));
    run.events(200);
    run.settle();
    if (testing::Test::HasFailure()) {
      std::fprintf(stderr, "failed with seed %d\n", seed);
      return;
    }
  }
}

TEST(RandomNamespace, GivesTheSameCommandsForTheSameEvents) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Trial first(seed), second(seed);
    first.events(300);
    second.events(300);
    ASSERT_EQ(first.commands(), second.commands()) << "seed " << seed;
    ASSERT_EQ(first.describe(), second.describe()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace weft::storage
