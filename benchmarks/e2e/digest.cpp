#include "benchmarks/e2e/digest.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace weft::bench {

namespace {

namespace fs = std::filesystem;

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = text.size();
  const auto mix = [&hash](std::uint64_t word) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15ULL;
    hash ^= hash >> 29;
  };
  std::uint64_t word = 0;
  for (; text.size() >= 8; text.remove_prefix(8)) {
    std::memcpy(&word, text.data(), 8);
    mix(word);
  }
  word = 0;
  std::memcpy(&word, text.data(), text.size());
  mix(word);
  return hash;
}

void with_content(const fs::path& path, const std::function<void(std::string_view)>& use) {
  const auto size = static_cast<std::size_t>(fs::file_size(path));
  if (size == 0) return;
  const int fd = ::open(path.c_str(), O_RDONLY);
  void* pages = fd < 0 ? MAP_FAILED : ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
  if (pages == MAP_FAILED) {
    std::perror(path.c_str());
    std::exit(1);
  }
  ::close(fd);
  use({static_cast<const char*>(pages), size});
  ::munmap(pages, size);
}

void for_each_file(const std::string& directory, const std::function<void(std::string_view)>& use) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(directory)) {
    const char first = entry.path().filename().string().front();
    if (entry.is_regular_file() && first != '.' && first != '_') files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) with_content(file, use);
}

void add(Digest& digest, std::string_view record) {
  ++digest.records;
  digest.checksum += hash_of(record);
  digest.bytes += record.size();
}

}  // namespace

Digest digest_lines(const std::string& directory) {
  Digest digest;
  for_each_file(directory, [&digest](std::string_view text) {
    while (!text.empty()) {
      const auto length = std::min(text.find('\n'), text.size() - 1) + 1;
      add(digest, text.substr(0, length));
      text.remove_prefix(length);
    }
  });
  return digest;
}

Digest digest_sorted(const std::string& directory, bool& in_order) {
  constexpr std::size_t kRecord = 100, kKey = 10;
  Digest digest;
  std::string last;
  in_order = true;
  for_each_file(directory, [&](std::string_view text) {
    for (; text.size() >= kRecord; text.remove_prefix(kRecord)) {
      add(digest, text.substr(0, kRecord));
      const std::string_view key = text.substr(0, kKey);
      in_order = in_order && last <= key;
      last = key;
    }
    in_order = in_order && text.empty();
  });
  return digest;
}

}  // namespace weft::bench
