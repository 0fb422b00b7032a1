#include "base/rpc/peer_user.hpp"

#include <array>
#include <charconv>
#include <cstring>
#include <fstream>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <arpa/inet.h>
#include <fmt/core.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.hpp"
#include "base/rpc/socket.hpp"
#include "base/text.hpp"

namespace weft::rpc {
namespace {

/// A socket as the kernel knows it. One that its process has closed belongs to inode 0, and, as it seems, to root.
struct Owner {
  uid_t user = 0;
  std::uint32_t inode = 0;
  friend bool operator==(const Owner&, const Owner&) = default;
};

struct Ends {
  Address local, remote;  // of the peer's socket
};

void put(const Address& address, __be16& port, __be32* words) {
  if (address.family() == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(&address.storage);
    port = v4->sin_port;
    words[0] = v4->sin_addr.s_addr;
    return;
  }
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&address.storage);
  port = v6->sin6_port;
  std::memcpy(words, &v6->sin6_addr, sizeof v6->sin6_addr);
}

/// The socket for questions, which is kept: a process whose descriptors are short could not open one when it needs it most.
class Questions {
 public:
  /// By one question about exactly this connection. Nothing where the kernel has no such questions. Any thread.
  std::optional<Owner> ask(const Ends& ends) {
    const std::lock_guard lock(mutex_);
    if (!socket_.valid() || process_ != ::getpid()) {  // one of before a fork has two readers
      socket_ = Fd(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
      process_ = ::getpid();
    }
    struct {
      nlmsghdr header;
      inet_diag_req_v2 request;
    } question{};
    question.header = {sizeof question, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, ++number_, 0};
    question.request.sdiag_family = static_cast<std::uint8_t>(ends.local.family());
    question.request.sdiag_protocol = IPPROTO_TCP;
    question.request.idiag_states = ~0U;
    put(ends.local, question.request.id.idiag_sport, question.request.id.idiag_src);
    put(ends.remote, question.request.id.idiag_dport, question.request.id.idiag_dst);
    question.request.id.idiag_cookie[0] = question.request.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
    if (::send(socket_.get(), &question, sizeof question, 0) != sizeof question) return std::nullopt;
    alignas(nlmsghdr) std::array<char, 4096> answer;
    const ssize_t size = ::recv(socket_.get(), answer.data(), answer.size(), MSG_DONTWAIT);  // it is there when send() returns
    if (size < static_cast<ssize_t>(NLMSG_LENGTH(sizeof(inet_diag_msg)))) return std::nullopt;
    const auto* const header = reinterpret_cast<const nlmsghdr*>(answer.data());
    if (header->nlmsg_type != SOCK_DIAG_BY_FAMILY || header->nlmsg_seq != number_) return std::nullopt;
    const auto* const found = reinterpret_cast<const inet_diag_msg*>(answer.data() + NLMSG_HDRLEN);
    if (found->id.idiag_dport != question.request.id.idiag_dport) return std::nullopt;  // a listener
    return Owner{found->idiag_uid, found->idiag_inode};
  }

 private:
  std::mutex mutex_;  // guards what follows
  Fd socket_;
  pid_t process_ = -1;
  std::uint32_t number_ = 0;
};

std::optional<Owner> ask_kernel(const Ends& ends) {
  static Questions questions;
  return questions.ask(ends);
}

/// As /proc/net/tcp writes it: words of the machine's byte order, in hexadecimal digits.
std::string proc_text(const Address& address) {
  __be16 port = 0;
  std::array<__be32, 4> words{};
  put(address, port, words.data());
  std::string text;
  for (std::size_t i = 0; i < (address.family() == AF_INET ? 1U : 4U); ++i) text += fmt::format("{:08X}", words[i]);
  return text + fmt::format(":{:04X}", ntohs(port));
}

std::optional<Owner> read_proc(const Ends& ends) {
  const std::string local = proc_text(ends.local), remote = proc_text(ends.remote);
  std::ifstream lines(ends.local.family() == AF_INET ? "/proc/net/tcp" : "/proc/net/tcp6");
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string_view> words;
    for (const std::string_view word : split(line, ' '))
      if (!word.empty()) words.push_back(word);
    if (words.size() < 10 || words[1] != local || words[2] != remote) continue;
    const auto user = parse_number<std::uint32_t>(words[7]);
    const auto inode = parse_number<std::uint32_t>(words[9]);
    if (user && inode) return Owner{*user, *inode};
  }
  return std::nullopt;
}

std::optional<Owner> look(const Ends& ends) {
  if (const auto owner = ask_kernel(ends)) return owner;
  return read_proc(ends);
}

}  // namespace

std::optional<uid_t> user_of_peer(int fd) {
  const Ends ends{peer_address(fd), local_address(fd)};
  const auto owner = look(ends);
  // Asked twice, because a socket that is closed between the two values of one answer would pass for root's.
  if (!owner || owner->inode == 0 || look(ends) != owner) return std::nullopt;
  return owner->user;
}

bool may_talk(std::optional<uid_t> user, Side side) {
  if (!user) return side == Side::dialled;
  return *user == ::geteuid() || *user == 0;
}

bool is_loopback(const Address& address) {
  if (address.family() == AF_INET)
    return (ntohl(reinterpret_cast<const sockaddr_in*>(&address.storage)->sin_addr.s_addr) >> 24) == 127;
  if (address.family() != AF_INET6) return false;
  const in6_addr& v6 = reinterpret_cast<const sockaddr_in6*>(&address.storage)->sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&v6) || (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == 127);
}

bool is_over_loopback(int fd) { return is_loopback(peer_address(fd)) && is_loopback(local_address(fd)); }

}  // namespace weft::rpc
