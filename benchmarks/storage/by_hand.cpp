#include "benchmarks/storage/by_hand.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <vector>

#include <asio/connect.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/write.hpp>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.hpp"
#include "base/fd.hpp"
#include "base/file.hpp"

namespace weft::bench {
namespace {

constexpr std::size_t kPage = 64u << 10;
using Tcp = asio::ip::tcp;

struct Mapping {
  const std::byte* data = nullptr;
  std::size_t size = 0;
  explicit Mapping(const char* path) {
    const Fd file(::open(path, O_RDONLY | O_CLOEXEC));
    struct stat status {};
    if (!file.valid() || ::fstat(file.get(), &status) != 0) return;
    void* const mapped = ::mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_SHARED, file.get(), 0);
    if (mapped == MAP_FAILED) return;
    data = static_cast<const std::byte*>(mapped);
    size = static_cast<std::size_t>(status.st_size);
  }
  ~Mapping() { ::munmap(const_cast<std::byte*>(data), size); }
};

volatile std::uint32_t seen;  // keeps the sums from being left out

Result<void> sync_folder(const std::string& path) {
  const Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid() || ::fsync(folder.get()) != 0) return fail(errno_error("cannot sync " + path, errno));
  return {};
}

}  // namespace

Result<void> map_and_sum(const std::string& path) {
  const Mapping file(path.c_str());
  if (file.data == nullptr) return fail(errno_error("cannot map " + path, errno));
  for (std::size_t at = 0; at < file.size; at += kPage) seen = crc32c({file.data + at, std::min(kPage, file.size - at)});
  return {};
}

Result<void> write_three(const std::string& directory, unsigned number, const std::string& content) {
  for (int copy = 0; copy < 3; ++copy) {
    const std::string folder = directory + std::to_string(copy);
    std::filesystem::create_directories(folder);
    const std::string path = folder + "/" + std::to_string(number);
    const Fd file(::open((path + ".new").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!file.valid()) return fail(errno_error("cannot create " + path, errno));
    WEFT_TRY(write_all(file.get(), as_bytes(content)));
    if (::fsync(file.get()) != 0) return fail(errno_error("cannot sync " + path, errno));
    std::filesystem::rename(path + ".new", path);
    WEFT_TRY(sync_folder(folder));
  }
  return {};
}

int send_bare(const char* path, int times) {
  const Mapping file(path);
  asio::io_context io;
  Tcp::acceptor acceptor(io, Tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  std::printf("%u\n", acceptor.local_endpoint().port());
  std::fflush(stdout);
  Tcp::socket socket = acceptor.accept();
  socket.set_option(Tcp::no_delay(true));
  asio::error_code error;
  for (int i = 0; i < times && !error; ++i) asio::write(socket, asio::buffer(file.data, file.size), error);
  return error ? 1 : 0;
}

double receive_all(unsigned short port, std::size_t bytes) {
  asio::io_context io;
  Tcp::socket socket(io);
  asio::error_code error;
  socket.connect(Tcp::endpoint(asio::ip::address_v4::loopback(), port), error);
  const auto began = std::chrono::steady_clock::now();
  std::vector<std::byte> buffer(1u << 20);
  while (bytes != 0 && !error) bytes -= std::min(bytes, socket.read_some(asio::buffer(buffer), error));
  return error ? -1 : std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

}  // namespace weft::bench
