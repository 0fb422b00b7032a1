// The client library of the cluster's files, in this process, against a cluster of real ones.
#include <malloc.h>

#include "base/sanitized.hpp"
#include "storage/files/file_system.hpp"
#include "storage/files/job_files.hpp"
#include "storage/output_directory.hpp"
#include "tests/cluster/file_cluster.hpp"

namespace weft::test {
namespace {

using storage::files::FileSystem;
using storage::files::FileSystemOptions;

class FilesClient : public testing::Test {
 protected:
  void start(int workers, FileClusterOptions options = {}) { cluster = std::make_unique<FileCluster>(workers, std::move(options)); }
  std::shared_ptr<FileSystem> connect(FileSystemOptions options = {}) {
    options.writer = "h1";
    auto files = FileSystem::connect(cluster->address(), std::move(options));
    EXPECT_TRUE(files) << files.error().to_string();
    return *files;
  }
  static void write(FileSystem& files, const std::string& path, const std::string& content) {
    auto writer = files.create(path, {});
    ASSERT_TRUE(writer) << writer.error().to_string();
    ASSERT_TRUE((*writer)->append(as_bytes(content)));
    const auto closed = (*writer)->close();
    ASSERT_TRUE(closed) << closed.error().to_string();
  }
  static Result<std::string> read(FileSystem& files, const std::string& path) {
    WEFT_ASSIGN(const auto reader, files.open(path));
    std::string content(reader->status().bytes, '\0');
    WEFT_ASSIGN(const std::size_t got, reader->read(0, {reinterpret_cast<std::byte*>(content.data()), content.size()}));
    content.resize(got);
    return content;
  }
  /// How many replicas the file's only chunk has, as the master knows.
  static std::size_t replicas(FileSystem& files, const std::string& path) {
    std::size_t found = 0;
    EXPECT_TRUE(files.check(path, [&](const storage::FileChunks& file, const auto&) { found = file.chunks.at(0).nodes.size(); }));
    return found;
  }

  std::unique_ptr<FileCluster> cluster;
};

TEST_F(FilesClient, RemoteReadersGetNoFlippedBitAndTheirReportHasTheReplicaMadeAgain) {
  start(3, {.scrub_rate = "0"});  // nobody else finds it
  FileSystemOptions apart;
  apart.share = false;
  const auto files = connect(apart);
  std::mt19937 random(1);
  const std::string text = some_text(700'000, 2);
  write(*files, "/f", text);
  ASSERT_EQ(cluster->chunk_files(0).size(), 1u);
  const auto replica = [&] {
    const auto found = cluster->chunk_files(0);
    return found.size() == 1 ? read_file(found[0]) : std::string();
  };
  const std::string good = replica();
  for (int round = 0; round < 12; ++round) {
    const std::size_t bit = random() % (8 * good.size());
    SCOPED_TRACE("bit " + std::to_string(bit));
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    std::ofstream(cluster->chunk_files(0)[0], std::ios::in | std::ios::out | std::ios::binary) << bad;
    const auto content = read(*files, "/f");  // from the nearest, which is the damaged one
    ASSERT_TRUE(content) << content.error().to_string();
    ASSERT_TRUE(*content == text);
    ASSERT_TRUE(eventually([&] { return replica() == good; })) << cluster->report();
    ASSERT_TRUE(cluster->healthy()) << cluster->report();
  }
}

/// A worker that dies while a chunk is being written: the first, second and third of the chain.
TEST_F(FilesClient, AWriterGoesOnWhenAWorkerDiesInTheMiddleOfAChunk) {
  start(5);
  const auto files = connect();
  for (std::size_t place = 0; place < 3; ++place) {
    const std::string path = "/f" + std::to_string(place), text = some_text(20'000'000, static_cast<unsigned>(place));
    SCOPED_TRACE(path);
    auto writer = files->create(path, {});
    ASSERT_TRUE(writer);
    ASSERT_TRUE((*writer)->append(as_bytes(text).first(9'000'000)));
    std::vector<std::size_t> targets;
    ASSERT_TRUE(eventually([&] {
      targets.clear();
      for (std::size_t i = 0; i < cluster->size(); ++i)
        if (!cluster->chunk_files(i, "unsealed").empty()) targets.push_back(i);
      return targets.size() == 3;
    }));
    ASSERT_EQ(targets[0], 0u);  // the writer's own
    cluster->kill_worker(targets[place]);
    const auto rest = (*writer)->append(as_bytes(text).subspan(9'000'000));
    ASSERT_TRUE(rest) << rest.error().to_string();
    const auto closed = (*writer)->close();
    ASSERT_TRUE(closed) << closed.error().to_string();
    EXPECT_GE(replicas(*files, path), 2u);
    EXPECT_TRUE(read(*files, path) == text);
    EXPECT_TRUE(cluster->healthy()) << cluster->report();
    EXPECT_EQ(replicas(*files, path), 3u);
    cluster->start_worker(targets[place]);
    ASSERT_TRUE(cluster->ready(5));
  }
}

/// As the reader of a split does, which looks for the end of its last line in the next chunk.
TEST_F(FilesClient, OfAChunkBehindWhatWillBeReadAPageIsFetched) {
  start(1);
  FileSystemOptions far;
  far.share = false;
  far.racks = std::make_shared<storage::RackTally>("far");
  const auto files = connect(far);
  constexpr std::size_t kChunk = 1'048'576, kPage = 65'536, kPiece = 262'144;
  auto writer = files->create("/f", {.replication = 1, .chunk_bytes = kChunk});
  ASSERT_TRUE(writer) << writer.error().to_string();
  ASSERT_TRUE((*writer)->append(as_bytes(std::string(2 * kChunk, 'a'))));
  ASSERT_TRUE((*writer)->close());
  far.racks->take();
  auto reader = *files->open("/f");
  reader->will_read(kChunk + 4'096);
  std::string piece(kPiece, ' ');
  for (std::size_t at = 0; at <= kChunk; at += kPiece)
    ASSERT_TRUE(reader->read(at, {reinterpret_cast<std::byte*>(piece.data()), at == kChunk ? 4'096 : kPiece}));
  const auto crossed = far.racks->take();
  ASSERT_EQ(crossed.size(), 1u);
  EXPECT_EQ(crossed[0].received, kChunk + kPage + 2 * kChunk / kPage * sizeof(std::uint32_t));
}

TEST_F(FilesClient, AReaderGetsTheFileItOpenedOrAnErrorNeverParts) {
  start(2, {.reclaim_delay = "600s"});
  FileSystemOptions impatient;
  impatient.patience = std::chrono::seconds(1);
  const auto files = connect(impatient);
  constexpr std::size_t kChunk = 65'536;
  const auto put = [&](char letter) {
    auto writer = files->create("/f", {.replication = 2, .chunk_bytes = kChunk, .overwrite = true});
    ASSERT_TRUE(writer) << writer.error().to_string();
    ASSERT_TRUE((*writer)->append(as_bytes(std::string(20 * kChunk, letter))));
    ASSERT_TRUE((*writer)->close());
  };
  const auto read_at = [](storage::files::FileReader& reader, std::size_t offset) -> Result<std::string> {
    std::string part(kChunk, ' ');
    WEFT_TRY(reader.read(offset, {reinterpret_cast<std::byte*>(part.data()), part.size()}));
    return part;
  };
  put('a');
  auto reader = *files->open("/f");
  ASSERT_TRUE(read_at(*reader, 0));
  const auto old = cluster->chunk_files(0);
  put('b');
  for (std::size_t i = 0; i < 20; ++i) {
    const auto part = read_at(*reader, i * kChunk);
    ASSERT_TRUE(part) << part.error().to_string();
    EXPECT_EQ(*part, std::string(kChunk, 'a')) << "chunk " << i;
  }
  // What was reclaimed cannot be read; what lies in its place is not taken for it.
  reader = *files->open("/f");
  ASSERT_TRUE(read_at(*reader, 0));
  put('c');
  for (const std::size_t worker : {0u, 1u})
    for (const auto& path : cluster->chunk_files(worker)) std::filesystem::remove(path);
  put('d');
  const auto gone = read_at(*reader, 3 * kChunk);
  ASSERT_FALSE(gone) << *gone;
  EXPECT_TRUE(has(gone.error().to_string(), "/f")) << gone.error().to_string();
  EXPECT_TRUE(has(gone.error().to_string(), "replaced by another")) << gone.error().to_string();
}

TEST_F(FilesClient, AReaderFollowsAReplicaThatMoved) {
  start(2, {.scrub_rate = "0"});  // nobody tells the master before the reader comes
  const auto files = connect();
  auto writer = files->create("/f", {.replication = 1, .chunk_bytes = 65'536});
  ASSERT_TRUE((*writer)->append(as_bytes(some_text(200'000, 1))));
  ASSERT_TRUE((*writer)->close());
  ASSERT_EQ(cluster->chunk_files(0).size(), 4u) << "on the writer's worker";
  const auto reader = *files->open("/f");
  std::string content(200'000, ' ');
  const auto read = [&](std::size_t from, std::size_t to) {
    return reader->read(from, {reinterpret_cast<std::byte*>(content.data() + from), to - from});
  };
  ASSERT_TRUE(read(0, 1000));
  ASSERT_TRUE(files->drain("w1", true));
  ASSERT_TRUE(eventually([&] { return cluster->chunk_files(1).size() == 4; }));
  ASSERT_TRUE(cluster->healthy());
  for (const auto& path : cluster->chunk_files(0)) std::filesystem::remove(path);
  const auto rest = read(1000, content.size());
  ASSERT_TRUE(rest) << rest.error().to_string();
  EXPECT_TRUE(content == some_text(200'000, 1));
}

TEST_F(FilesClient, WaitsSayForWhatAndEnd) {
  start(0);
  std::vector<std::string> told;
  FileSystemOptions options;
  options.patience = std::chrono::seconds(1);
  options.waiting = [&](const std::string& what) { told.push_back(what); };
  const auto files = connect(options);
  {
    auto writer = files->create("/f", {});
    ASSERT_TRUE(writer);
    const auto put = (*writer)->append(as_bytes("x"));
    ASSERT_FALSE(put);
    EXPECT_EQ(put.error().to_string(), "cannot write /f: /f: no worker with a chunk store is there");
    EXPECT_EQ(told, (std::vector<std::string>{"/f: no worker with a chunk store is there; waiting for up to 1 s"}));
  }
  cluster->add_worker();
  ASSERT_TRUE(cluster->ready(1));
  write(*files, "/g", "y");
  cluster->kill_worker(0);
  told.clear();
  const auto got = read(*files, "/g");
  ASSERT_FALSE(got);
  EXPECT_TRUE(has(got.error().to_string(), "cannot read /g at byte 0: ")) << got.error().to_string();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_TRUE(has(told[0], "see `weft fs fsck`; waiting for up to 1 s")) << told[0];
}

TEST_F(FilesClient, AWriterWithADirectoryKeepsItsChunkThere) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer has an allocator of its own";
  start(1);
  ScratchDirectory scratch;
  FileSystemOptions options;
  options.directory = scratch.path();
  const auto files = connect(options);
  const auto heap = [] {
    const auto info = mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  const std::string text = some_text(60u << 20, 5);  // most of a chunk
  const std::size_t before = heap();
  auto writer = files->create("/f", {});
  ASSERT_TRUE(writer);
  ASSERT_TRUE((*writer)->append(as_bytes(text)));
  const std::size_t taken = heap() - before;
  std::printf("a writer with %zu MiB of a chunk takes %.1f MiB\n", text.size() >> 20, static_cast<double>(taken) / (1u << 20));
  EXPECT_LT(taken, 16u << 20);
  EXPECT_TRUE(entries(scratch.path()).empty());
  ASSERT_TRUE((*writer)->close());
  EXPECT_TRUE(read(*files, "/f") == text);
}

TEST_F(FilesClient, AnOutputOfManyDirectoriesTakesNoThreadForEach) {
  constexpr std::size_t kDirectories = 100;
  start(1);
  const auto files = storage::files::job_files({.master = cluster->address(), .host = "h1"});
  auto output = storage::OutputDirectory::prepare("weft://out", false, "job7-0123abcd", files.get(), storage::OutputOwner::job);
  ASSERT_TRUE(output) << output.error().to_string();
  std::string written;
  for (std::size_t i = 0; i < kDirectories; ++i) {
    const std::string number = std::to_string(i);
    auto file = files->create(output->work_directory() + "/task-" + number);
    ASSERT_TRUE(file && (*file)->close());
    written += "task-" + number + "/d=" + number + "\n";
  }
  const std::size_t threads = entries("/proc/self/task").size();
  const auto committed = output->commit({written});
  ASSERT_TRUE(committed) << committed.error().to_string();
  EXPECT_LT(entries("/proc/self/task").size(), threads + 10);
  EXPECT_EQ(files->names("weft://out")->size(), kDirectories + 1);
}

}  // namespace
}  // namespace weft::test
