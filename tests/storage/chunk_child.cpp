// A process for tests to kill.
//
//   chunk_child write DIRECTORY SEED    writes chunks 1, 2, … of any size without end; prints "id length" once each is sealed
//   chunk_child serve DIRECTORY         a worker; prints its address
//   chunk_child put FIRST ADDRESS...    writes chunks FIRST, FIRST + 1, … to the workers; prints as `write` does
#include <cstdio>
#include <cstdlib>

#include <unistd.h>

#include "tests/storage/transfer_fixture.hpp"

namespace weft::storage {
namespace {

int write_chunks(const std::string& directory, std::uint64_t seed) {
  auto store = ChunkStore::open(quiet_options({directory}));
  if (!store) return std::fprintf(stderr, "%s\n", store.error().to_string().c_str()), 1;
  Random random(seed);
  for (std::uint64_t id = 1;; ++id) {
    const std::string content = content_of(id, random.below(300'000));
    auto appender = (*store)->create(ChunkId(id), content.size());
    if (!appender) return std::fprintf(stderr, "%s\n", appender.error().to_string().c_str()), 1;
    for (std::size_t at = 0; at < content.size();) {
      const std::size_t step = std::min<std::size_t>(1 + random.below(100'000), content.size() - at);
      if (!(*appender)->append(as_bytes(std::string_view(content).substr(at, step)))) return 1;
      at += step;
    }
    if (!(*appender)->seal()) return 1;
    std::printf("%llu %zu\n", static_cast<unsigned long long>(id), content.size());
    std::fflush(stdout);
  }
}

int serve(const std::string& directory) {
  const Worker worker(quiet_options({directory}));
  std::printf("%s\n", worker.address().c_str());
  std::fflush(stdout);
  while (true) ::pause();
}

int put_chunks(std::uint64_t first, const std::vector<std::string>& addresses) {
  const auto reactor = rpc::Reactor::start("put");
  ChunkClient client(*reactor);
  Random random(first);
  for (std::uint64_t id = first;; ++id) {
    const auto written = write_chunk(client, ChunkId(id), random.below(3'000'000), addresses, random);
    if (!written) return std::fprintf(stderr, "%s\n", written.error().to_string().c_str()), 1;
    std::printf("%llu %llu\n", static_cast<unsigned long long>(id), static_cast<unsigned long long>(written->info.length));
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace weft::storage

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "write" && argc == 4) return weft::storage::write_chunks(argv[2], std::strtoull(argv[3], nullptr, 10));
  if (mode == "serve" && argc == 3) return weft::storage::serve(argv[2]);
  if (mode == "put" && argc > 3) return weft::storage::put_chunks(std::strtoull(argv[2], nullptr, 10), {argv + 3, argv + argc});
  std::fprintf(stderr, "chunk_child: see the top of chunk_child.cpp\n");
  return 2;
}
